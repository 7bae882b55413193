//! Endpoints for operators: the queue at a glance.

pub mod jobs_http;
