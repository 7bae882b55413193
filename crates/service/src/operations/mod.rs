//! What operators look at: the queue at a glance.

pub mod jobs_http;
