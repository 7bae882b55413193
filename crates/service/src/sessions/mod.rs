//! Sessions: what an agent did for a person, as published, request by request. [`crate::intake`] writes them.
//!
//! - A session id is unique per user: two users may have the same one, and nothing mixes them.
//! - The row in `sessions` sums its requests up; it is kept in the transactions that change them.

mod export;
pub mod http;
mod list;
mod new_turn;
mod outcomes;
mod reads;
mod sql;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::experiments::Arm;
use base::owner::UserId;
use judge::{FailureType, LearningKind};
use storage::db;
use storage::error::Result;

pub use list::{ListSessions, list};
pub use new_turn::{ITEMS, InteractionData, LEARNINGS_PER_REQUEST};
pub use outcomes::{ListedOutcome, NewOutcome, OutcomeFilter, SessionOutcome, list_outcomes};
pub use reads::{
    GetInteractions, GetRequests, Snapshot, Transcript, get_interactions, get_requests, idle,
    next_organization, owner, transcript_in,
};
pub use sql::{
    Published, SessionInWindow, TurnSelection, arrivals, arrivals_beside, citations,
    count_arrivals, first_turns, in_window, interactions_by_ids, lock_session, recount_mismatches,
    request_for_learning, said, snapshot,
};

pub(crate) use sql::{published, session_columns};

/// The rows of sessions, for intake, which writes and deletes them.
pub mod rows {
    pub use super::sql::{
        NewRequest, RequestColumns, RequestFilter, RequestRows, StoredAnswer, delete_interaction,
        delete_request, delete_session, find_answers, find_exposures, find_session, finish_session,
        first_sessions, has_request_beginning, has_requests, insert_outcome, insert_requests,
        locate_requests, lock_idle_session, newest_outcome, recount_session,
    };
}

/// True if a turn of this role is the person's own; all others are the agent's side.
pub fn is_user(role: &str) -> bool {
    role.trim().eq_ignore_ascii_case("user")
}

base::vocabulary! {
    /// An action of a person besides saying something.
    pub enum UserAction {
        Click = "click",
        Scroll = "scroll",
        Type = "type",
        None = "none",
    }
}

base::vocabulary! {
    /// The kinds of learnings that an agent can cite; `playbook` where it does not say which.
    pub enum CitationKind {
        Profile = "profile",
        UserPlaybook = "user_playbook",
        AgentPlaybook = "agent_playbook",
        Playbook = "playbook",
    }
}

base::vocabulary! {
    /// The outcome of a session.
    pub enum SessionOutcomeKind {
        Success = "success",
        Failure = "failure",
        Unknown = "unknown",
    }
}

base::vocabulary! {
    /// Learning mode of a request.
    pub enum LearningMode {
        On = "on",
        WithoutAggregation = "without_aggregation",
        Off = "off",
    }
}

base::vocabulary! {
    /// Filter of sessions by their newest verdict.
    pub enum VerdictFilter {
        Success = "success",
        Failure = "failure",
        /// Sessions without a verdict.
        None = "none",
    }
}

base::vocabulary! {
    /// Order of a list of sessions, by their last activity.
    #[derive(Default)]
    pub enum SessionOrder {
        #[default]
        Newest = "newest",
        Oldest = "oldest",
    }
}

/// A tool the agent called.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct ToolUsed {
    pub tool_name: String,
    /// Its arguments and results.
    #[schema(required = false, value_type = Object)]
    pub tool_data: Map<String, Value>,
    /// `success` when absent.
    #[schema(required = false)]
    pub status: String,
}

/// A learning that the agent says shaped its response.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct Citation {
    pub kind: CitationKind,
    pub real_id: String,
    #[schema(required = false)]
    pub tag: String,
    #[schema(required = false)]
    pub title: String,
}

/// A learning that was put before the agent for this response.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct RetrievedLearning {
    pub kind: LearningKind,
    pub learning_id: String,
    pub exposure_receipt: Option<String>,
}

/// The model's call behind a turn, as far as it was reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    pub model: Option<String>,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    /// From the request to the end of the response.
    pub latency_ms: Option<i64>,
}

/// One turn, as it is read back.
// Its fields are in the order of the list in `sql/transcript.rs`.
#[derive(Clone, Debug, Deserialize, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct Interaction {
    pub interaction_id: i64,
    pub user_id: UserId,
    #[serde(skip)]
    pub session_id: String,
    pub request_id: String,
    pub created_at: i64,
    pub role: String,
    pub content: String,
    pub user_action: UserAction,
    pub user_action_description: String,
    pub interacted_image_url: String,
    pub shadow_content: String,
    pub expert_content: String,
    #[schema(value_type = Vec<ToolUsed>)]
    #[serde(deserialize_with = "db::json_text")]
    pub tools_used: Json<Vec<ToolUsed>>,
    #[schema(value_type = Vec<RetrievedLearning>)]
    #[serde(deserialize_with = "db::json_text")]
    pub retrieved_learnings: Json<Vec<RetrievedLearning>>,
    #[schema(value_type = Vec<Citation>)]
    #[serde(deserialize_with = "db::json_text")]
    pub citations: Json<Vec<Citation>>,
    /// Tokens of `content` (cl100k_base).
    pub token_count: Option<i64>,
    #[schema(value_type = Option<Usage>)]
    #[serde(deserialize_with = "db::json_text")]
    pub usage: Option<Json<Usage>>,
}

impl Interaction {
    /// True if it is the person's own turn.
    pub fn is_user(&self) -> bool {
        is_user(&self.role)
    }
}

/// A turn on its way to learning.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Arrival {
    #[sqlx(flatten)]
    pub interaction: Interaction,
    pub agent_version: String,
    pub learning: LearningMode,
}

/// One publish, as it is read back.
// Its fields are in the order of the list in `sql/transcript.rs`.
#[derive(Clone, Debug, Deserialize, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct Request {
    pub request_id: String,
    pub user_id: UserId,
    pub created_at: i64,
    pub source: String,
    pub agent_version: String,
    pub session_id: String,
    #[serde(deserialize_with = "db::flag")]
    pub evaluation_only: bool,
    pub retrieval_experiment_id: Option<String>,
    pub retrieval_experiment_arm: Option<Arm>,
}

/// A session in a list.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct SessionSummary {
    pub user_id: UserId,
    pub session_id: String,
    /// Time of its first request; dates its verdicts.
    pub first_request_at: i64,
    pub last_request_at: i64,
    /// Time at which it was declared finished, if it was and has not grown since.
    pub finished_at: Option<i64>,
    /// The source of its first request.
    pub source: String,
    /// The agent version of its newest request.
    pub agent_version: String,
    pub request_count: i64,
    pub interaction_count: i64,
}

/// A session in a list, with its newest verdict. Null where it has none.
#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct ListedSession {
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub session: SessionSummary,
    pub is_success: Option<bool>,
    /// Empty on success.
    pub failure_type: Option<FailureType>,
    /// Empty on success.
    pub failure_reason: Option<String>,
    pub number_of_correction_per_session: Option<i64>,
    pub is_escalated: Option<bool>,
    /// The beginning of the user's first turn.
    pub first_words: Option<String>,
    #[sqlx(skip)]
    pub calls: CallTotals,
}

/// Calls of models that a session's turns carry: sums of what is known of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct CallTotals {
    pub count: usize,
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_usd: Option<f64>,
    pub latency_ms: Option<i64>,
}

impl CallTotals {
    /// Of usages as a list of lists, as the engines give rows.
    fn of_rows(rows: &str) -> Result<Self> {
        #[derive(Deserialize)]
        struct UsageRow {
            #[serde(deserialize_with = "db::json_column")]
            usage: Usage,
        }
        let usages: Vec<UsageRow> = db::listed(rows)?;
        let mut totals = CallTotals { count: usages.len(), ..CallTotals::default() };
        for UsageRow { usage } in usages {
            add(&mut totals.input_tokens, usage.input_tokens);
            add(&mut totals.output_tokens, usage.output_tokens);
            add(&mut totals.cost_usd, usage.cost_usd);
            add(&mut totals.latency_ms, usage.latency_ms);
        }
        Ok(totals)
    }
}

/// Adds a number that is known to a sum.
fn add<T: std::ops::Add<Output = T> + Copy>(sum: &mut Option<T>, number: Option<T>) {
    if let Some(number) = number {
        *sum = Some(sum.map_or(number, |sum| sum + number));
    }
}
