//! Endpoints for operators: health, and the queue at a glance.

pub mod health_http;
pub mod jobs_http;
pub mod stall_http;
