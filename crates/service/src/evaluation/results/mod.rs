//! Verdicts on sessions and on what was retrieved for them: when a session is due, how it is judged, what is stored.

pub mod candidates;
pub mod decisions;
pub mod grading;
pub mod http;
pub mod learning_job;
pub mod learning_verdicts;
pub mod on_demand;
pub mod rows;
pub mod rule_evaluators;
pub mod sampling;
pub mod schedule;
pub mod session_job;
pub mod under_way;
