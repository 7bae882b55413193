//! Learnings: what agents learned about a person (profiles), from a person (user playbooks) and across people
//! (agent playbooks), and the search that agents call before they answer.
//!
//! - Profiles and user playbooks belong to a person: they are read and searched by that person's id only, and go
//!   with them. Agent playbooks belong to the organization and stay.
//! - A write is found by the next search, on every replica: index entries are written with their rows. Vectors
//!   follow by a job; until then full text finds the row.
//! - What a search returns is read from the database after it was ranked. No memory decides what may be returned.
//! - Everything that hands learnings to a caller passes [`gate::hand_over`].

pub mod agent_playbooks;
pub mod decisions;
mod deletes;
pub mod embedding_job;
pub mod flags;
pub mod gate;
pub mod http;
mod http_profiles;
mod http_reads;
mod http_whole;
mod known_playbooks;
pub mod likeness;
mod playbook_index;
pub mod profiles;
mod rank;
mod rankings;
mod reads;
pub mod rejections;
pub mod requests;
mod resolve;
mod search;
mod sql;
mod sweep;
pub mod trials;
mod upgrade;
pub mod user_playbooks;
pub mod vectors;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::app::App;
use base::owner::UserId;
use judge::LearningKind;
use storage::db;
use storage::jobs::Handler;

pub use decisions::{DecisionKind, PlaybookDecision};
pub use flags::PlaybookFlag;
pub use known_playbooks::KnownPlaybooks;
pub use resolve::{Resolved, resolve};
pub use sql::{check_index, compact_index};
pub use user_playbooks::{USER_PLAYBOOKS_CHANGED, UserPlaybooksChanged};

/// The rows of learnings, for the loop that compares, supersedes and rewrites them.
pub mod rows {
    pub use super::sql::decisions::decisions;
    pub use super::sql::{Filter, agent_playbooks, next_version, profiles, user_playbooks};
}

/// Under this name a playbook's metadata keeps what was proposed: the part of its text that is nobody's alone.
pub const PROPOSED: &str = "proposed";

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![Arc::new(sweep::Sweep), Arc::new(embedding_job::Embed)]
}

/// The expiration of what never expires: 2100-01-01.
pub const NEVER: i64 = 4_102_444_800;

base::vocabulary! {
    /// Status of a learning. Clients read `current` as null.
    pub enum LearningStatus {
        Current = "current",
        /// Neither served nor aggregated until a person has looked at it.
        Pending = "pending",
        Archived = "archived",
        /// A newer one took its place.
        Superseded = "superseded",
    }
}

impl LearningStatus {
    /// As clients read it: null when it is current.
    pub fn unless_current(self) -> Option<LearningStatus> {
        (self != LearningStatus::Current).then_some(self)
    }
}

base::vocabulary! {
    /// The approval of an agent playbook.
    pub enum PlaybookStatus {
        Pending = "pending",
        Approved = "approved",
        Rejected = "rejected",
    }
}

base::vocabulary! {
    /// Time to live of a profile.
    pub enum TimeToLive {
        OneDay = "one_day",
        OneWeek = "one_week",
        OneMonth = "one_month",
        OneQuarter = "one_quarter",
        OneYear = "one_year",
        Infinity = "infinity",
    }
}

impl TimeToLive {
    /// Expiration time, counted from `from`.
    pub fn expiration(self, from: i64) -> i64 {
        let days = match self {
            TimeToLive::OneDay => 1,
            TimeToLive::OneWeek => 7,
            TimeToLive::OneMonth => 30,
            TimeToLive::OneQuarter => 91,
            TimeToLive::OneYear => 365,
            TimeToLive::Infinity => return NEVER,
        };
        from + days * 86_400
    }
}

/// Index prefix of each term of a scope.
fn scope_prefix(kind: LearningKind, scope: i64) -> String {
    let letter = match kind {
        LearningKind::Profile => 'p',
        LearningKind::UserPlaybook => 'u',
        LearningKind::AgentPlaybook => 'a',
    };
    format!("{letter}{scope}x")
}

/// Terms as the index stores them: each behind the letter of its kind, the number of whose it is, and an `x`.
/// Words of one person are neighbours in the index, and nobody else's are among them.
fn scoped_terms(kind: LearningKind, scope: i64, terms: &[String]) -> String {
    let prefix = scope_prefix(kind, scope);
    let scoped: Vec<String> = terms.iter().map(|term| format!("{prefix}{term}")).collect();
    scoped.join(" ")
}

/// Something an agent knows about a person.
#[derive(Clone, Debug, Serialize, Deserialize, sqlx_macros::FromRow, ToSchema)]
pub struct Profile {
    #[serde(skip_serializing)]
    pub profile_no: i64,
    pub profile_id: String,
    pub user_id: UserId,
    pub content: String,
    pub last_modified_timestamp: i64,
    pub generated_from_request_id: String,
    pub profile_time_to_live: TimeToLive,
    /// From then on it is not returned; 4102444800 means never.
    pub expiration_timestamp: i64,
    #[schema(value_type = Option<Object>)]
    #[serde(deserialize_with = "db::json_text")]
    pub custom_features: Option<Json<Map<String, Value>>>,
    pub source: String,
    /// Null when it is current.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<LearningStatus>)]
    pub status: LearningStatus,
    #[schema(value_type = Vec<String>)]
    #[serde(deserialize_with = "db::json_text")]
    pub tags: Json<Vec<String>>,
    #[schema(value_type = Vec<i64>)]
    #[serde(deserialize_with = "db::json_text")]
    pub source_interaction_ids: Json<Vec<i64>>,
}

/// Instruction for a recurring situation, learned from one person's sessions.
#[derive(Clone, Debug, Serialize, Deserialize, sqlx_macros::FromRow, ToSchema)]
pub struct UserPlaybook {
    pub user_playbook_id: i64,
    pub user_id: UserId,
    pub agent_version: String,
    pub request_id: String,
    pub playbook_name: String,
    pub created_at: i64,
    pub content: String,
    /// When it applies.
    pub trigger: String,
    pub rationale: String,
    /// Null when it is current.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<LearningStatus>)]
    pub status: LearningStatus,
    pub source: String,
    #[schema(value_type = Vec<i64>)]
    #[serde(deserialize_with = "db::json_text")]
    pub source_interaction_ids: Json<Vec<i64>>,
    #[schema(value_type = Vec<String>)]
    #[serde(deserialize_with = "db::json_text")]
    pub tags: Json<Vec<String>>,
}

/// Instruction for a recurring situation, put together from several people's playbooks. The organization's
/// own.
#[derive(Clone, Debug, Serialize, Deserialize, sqlx_macros::FromRow, ToSchema)]
pub struct AgentPlaybook {
    pub agent_playbook_id: i64,
    pub playbook_name: String,
    pub agent_version: String,
    pub created_at: i64,
    pub content: String,
    /// When it applies.
    pub trigger: String,
    pub rationale: String,
    pub playbook_status: PlaybookStatus,
    #[schema(value_type = Value)]
    #[serde(deserialize_with = "db::json_text")]
    pub playbook_metadata: Json<Value>,
    /// Null when it is current.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<LearningStatus>)]
    pub status: LearningStatus,
    #[schema(value_type = Vec<String>)]
    #[serde(deserialize_with = "db::json_text")]
    pub tags: Json<Vec<String>>,
    /// User playbooks it came from, with their turns; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub source_windows: Option<Vec<SourceWindow>>,
    /// Number of different people it came from, of those who are still there; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub source_user_count: Option<i64>,
    /// True if aggregation proposed it, it is pending, and fewer than `min_users` of its people are still
    /// there; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub below_min_users: Option<bool>,
    /// Share of users from whom it is withheld, while it is on trial; null for agents.
    #[serde(default)]
    #[sqlx(skip)]
    pub withheld_share: Option<f64>,
    /// Reasons to look at it twice: approving it needs `confirmed`; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub flags: Option<Vec<PlaybookFlag>>,
}

/// A user playbook, and the turns behind it, that an agent playbook came from.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct SourceWindow {
    pub user_playbook_id: i64,
    #[schema(required = false)]
    pub source_interaction_ids: Vec<i64>,
}

/// Learnings on their way to a caller.
#[derive(Debug, Default)]
pub struct Learnings {
    pub profiles: Vec<Profile>,
    pub user_playbooks: Vec<UserPlaybook>,
    pub agent_playbooks: Vec<AgentPlaybook>,
}

fn null_when_current<S: Serializer>(
    status: &LearningStatus,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    status.unless_current().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_end_when_they_say() {
        assert_eq!(TimeToLive::OneDay.expiration(1000), 1000 + 86_400);
        assert_eq!(TimeToLive::OneYear.expiration(0), 365 * 86_400);
        assert_eq!(TimeToLive::Infinity.expiration(1000), NEVER);
    }
}
