//! Webhooks: what happens here is told to other programs, to a chat, and to people by e-mail.
//!
//! - An area that makes something happen calls [`emit()`] in the same transaction: one delivery, and one job of the queue,
//!   for each webhook that asks for the event. What has no transaction of its own is told once by its name
//!   ([`emit_once`]).
//! - A delivery is one message with one id, however often it is tried. It is tried for about a day (`deliver.rs`), and its
//!   outcome is in the log.
//! - Messages carry ids and numbers, never what somebody said. A delivery about a session belongs to the session's user:
//!   it goes with them, waiting or not.
//! - Addresses are checked when the connection is made, and nothing else is followed (`post.rs`).

mod addresses;
mod deliver;
mod email;
mod emit;
mod events;
mod forget;
pub mod http;
mod post;
mod rules;
mod signature;
mod sql;
mod target;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::jobs::Handler;

pub use deliver::{DELIVER, Deliver};
pub use emit::{ToldPauses, emit, emit_once, judge_paused, organizations_asking};
pub use events::{AlertNews, Event, TrialNews};
pub use rules::{NewWebhook, WebhookChange, change, create, deliveries, list, remove, send_test};

base::vocabulary! {
    /// Something that webhooks are told of.
    pub enum EventType {
        /// A session was judged a failure, or is one now that was none before.
        SessionFailed = "session.failed",
        /// A regeneration has ended.
        RegenerationDone = "regeneration.done",
        /// An experiment has an answer.
        ExperimentDecided = "experiment.decided",
        /// A health check of an experiment failed.
        ExperimentUnhealthy = "experiment.unhealthy",
        /// The trial of a playbook found that it helps.
        PlaybookHelps = "playbook.helps",
        /// The trial of a playbook found that it hurts.
        PlaybookHurts = "playbook.hurts",
        /// The judge cannot be asked until somebody acts. Told once a day and reason.
        JudgePaused = "judge.paused",
        /// The judge's daily budget is spent.
        BudgetReached = "judge.budget_reached",
        /// A rule found a metric worse than before.
        AlertRaised = "alert.raised",
        /// Such an episode is over.
        AlertCleared = "alert.cleared",
        /// Somebody asked for a test.
        Test = "webhook.test",
    }
}

base::vocabulary! {
    /// Form of the messages to a webhook.
    pub enum WebhookFormat {
        /// `{"type", "timestamp", "data"}`, signed as Standard Webhooks says.
        Standard = "standard",
        /// `{"text"}`, as Slack and programs compatible with it take it.
        Slack = "slack",
        /// An e-mail to the address of a `mailto:` URL.
        Email = "email",
    }
}

base::vocabulary! {
    /// State of a delivery.
    pub enum DeliveryState {
        /// Not delivered yet.
        Waiting = "waiting",
        Delivered = "delivered",
        /// Given up after about a day.
        Failed = "failed",
    }
}

/// A stored webhook.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Webhook {
    pub webhook_id: String,
    /// The address as it is shown: of a chat without its end, because whoever knows it may write there.
    pub url: String,
    /// The whole address of a chat, sealed.
    sealed_url: Option<String>,
    pub format: WebhookFormat,
    pub description: String,
    pub events: Json<Vec<EventType>>,
    pub enabled: bool,
    key_id: String,
    /// Attempts that failed since the last one that did not.
    failures: i64,
    /// Nothing is sent before.
    failing_until: Option<i64>,
    pub created_at: i64,
}

/// A delivery as the log shows it.
#[derive(Clone, Debug, Serialize, ToSchema, sqlx_macros::FromRow)]
#[schema(as = WebhookDelivery)]
pub struct Delivery {
    /// The `webhook-id` of the message, the same at every attempt.
    pub delivery_id: String,
    pub webhook_id: String,
    pub event: EventType,
    pub state: DeliveryState,
    pub attempts: i64,
    /// Status of the last answer; null without one.
    pub status_code: Option<i64>,
    /// The beginning of the last error; null if there was none.
    pub error: Option<String>,
    pub created_at: i64,
    pub last_attempt_at: Option<i64>,
    /// When it is tried again; null when it is over.
    pub next_attempt_at: Option<i64>,
    #[serde(skip)]
    #[schema(ignore)]
    user_id: Option<UserId>,
    #[serde(skip)]
    #[schema(ignore)]
    body: String,
}

/// Payload of the job of a delivery.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DeliveryJob {
    delivery_id: String,
}

/// The work of this area that sends nothing.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![Arc::new(forget::ForgetDeliveries)]
}

/// The work of this area that waits for other programs.
pub fn delivery_handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![Arc::new(Deliver)]
}

/// The organization and the id of a webhook.
#[derive(Clone, Debug)]
struct WebhookKey {
    org_id: OrgId,
    webhook_id: String,
}
