//! Endpoints for operators: health, the queue at a glance, and jobs that gave up.

pub mod health_http;
pub mod jobs_http;
pub mod stall_http;
