//! The HTTP surface that all areas share: input, problem bodies, rate limits, the server, the dashboard's files.
//!
//! Handlers live with their areas (`<area>/http.rs`), extract, call the area's rules and respond. They decide
//! nothing and hold no SQL. `router.rs` puts them together.

mod bodies;
pub mod connections;
pub mod docs;
pub mod fields;
mod input;
pub mod middleware;
mod ndjson;
mod paced;
mod path;
pub mod problem;
mod rate_limits;
pub mod server;
pub mod ui;
mod unread;

pub use bodies::BodyBudget;
pub use input::{Input, MediaType, QueryInput, RawInput};
pub use ndjson::{Pages, lines, ndjson};
pub use path::{PathId, PathIds};
pub use problem::{BadGateway, HttpError, Result};
pub use rate_limits::{RateBucket, RateLimits};
