//! The integration tests: one binary, one file per area. Every storage function is exercised on SQLite and on
//! PostgreSQL by the same text (`both_backends`). `make test` starts the PostgreSQL they need.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod support;

mod alerts;
mod architecture;
mod bad_input;
mod commands;
mod conformance;
mod crash;
mod credentials;
mod dashboard;
mod db;
mod deletes;
mod disk;
mod edge;
mod embedder;
mod evaluation;
mod experiments;
mod failover;
mod governance;
mod import;
mod interface;
mod isolation;
mod jobs;
mod judge;
mod learning_loop;
mod learnings;
mod mcp;
mod migrations;
mod organization;
mod outcomes;
mod overview;
mod people;
mod places;
mod plans;
mod poolers;
mod properties;
mod proxy;
mod publish;
mod publish_queue;
mod python_client;
mod questions;
mod reads;
mod remote_commands;
mod replicas;
mod restarts;
mod roles;
mod search;
mod search_quality;
mod spans;
mod spending;
mod stats;
mod telemetry;
mod trials;
mod upgrades;
mod webhooks;
mod whole;
