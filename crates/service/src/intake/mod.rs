//! Intake: what arrives about sessions (publishes, ends, outcomes) or takes them away, and whom it concerns.
//!
//! - A publish that was answered with 200 is on disk, whole. The same `request_id` with the same content is
//!   answered again with the first answer; with other content it is refused.
//! - What follows from it (evaluation, learning, attribution to an experiment) is planned in the same transaction.

mod deletes;
pub mod http;
mod http_deletes;
mod outcomes;
mod publish;
mod publish_request;
mod queue;
mod spans;
mod spans_http;
mod tokens;

pub use deletes::{
    clear_user_data, delete_all, delete_idle_session, delete_interaction, delete_requests,
    delete_session,
};
pub use outcomes::{finalize, record_outcome};
pub use publish::{PublishResponse, publish};
pub use publish_request::PublishRequest;
pub use queue::PublishQueue;
