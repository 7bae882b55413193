//! Endpoints for operators: health, the queue at a glance, and jobs that gave up.

pub mod health_http;
pub mod history_http;
pub mod jobs_http;
pub mod queue_ages;
pub mod stall_http;
