//! The integration tests: one binary, one file per area. Every storage function is exercised on SQLite and on
//! PostgreSQL by the same text (`both_backends!`). `make test` starts the PostgreSQL they need.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[macro_use]
mod support;

mod embedder;
mod learnings;
mod publish;
mod search;
mod search_quality;
