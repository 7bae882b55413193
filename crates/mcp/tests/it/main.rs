//! The server, asked by rmcp's own client over a pipe, on top of an interface that keeps to openapi.json.
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot go on has failed

mod fake;
mod http_service;
mod playbooks;
mod protocol;
mod refusals;
mod specification;
mod tools_of_agents;
mod tools_of_operators;
