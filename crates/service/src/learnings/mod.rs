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
pub mod gate;
pub mod http;
mod http_reads;
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
pub mod user_playbooks;
pub mod vectors;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::app::App;
use storage::jobs::Handler;

pub use decisions::PlaybookDecision;
pub use known_playbooks::KnownPlaybooks;
pub use resolve::{Resolved, resolve};
pub use sql::{check_index, compact_index};
pub use user_playbooks::USER_PLAYBOOKS_CHANGED;

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

/// The three kinds of learnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Profile,
    UserPlaybook,
    AgentPlaybook,
}

impl Kind {
    pub const ALL: &'static [Kind] = &[Kind::Profile, Kind::UserPlaybook, Kind::AgentPlaybook];

    /// What the index puts before each term of a scope.
    fn scope_prefix(self, scope: i64) -> String {
        let letter = match self {
            Kind::Profile => 'p',
            Kind::UserPlaybook => 'u',
            Kind::AgentPlaybook => 'a',
        };
        format!("{letter}{scope}x")
    }

    /// Terms as the index stores them: each behind the letter of its kind, the number of whose it is, and an `x`.
    /// Words of one person are neighbours in the index, and nobody else's are among them.
    fn scoped_terms(self, scope: i64, terms: &[String]) -> String {
        let prefix = self.scope_prefix(scope);
        let scoped: Vec<String> = terms.iter().map(|term| format!("{prefix}{term}")).collect();
        scoped.join(" ")
    }
}

/// The kinds as they are written.
pub const KINDS: [&str; 3] = ["profile", "user_playbook", "agent_playbook"];
/// `status` of a learning as it is stored; `current` is `null` to clients.
pub const STATUSES: &[&str] = &["current", "pending", "archived", "superseded"];
pub const PLAYBOOK_STATUSES: &[&str] = &["pending", "approved", "rejected"];
/// `profile_time_to_live`, with its days.
pub const TIMES_TO_LIVE: &[(&str, Option<i64>)] = &[
    ("one_day", Some(1)),
    ("one_week", Some(7)),
    ("one_month", Some(30)),
    ("one_quarter", Some(91)),
    ("one_year", Some(365)),
    ("infinity", None),
];

/// When something with this time to live that begins at `from` ends.
pub fn expiration(time_to_live: &str, from: i64) -> i64 {
    let known = TIMES_TO_LIVE.iter().find(|(name, _)| *name == time_to_live);
    match known {
        Some((_, Some(days))) => from + days * 86_400,
        _ => NEVER,
    }
}

/// Something an agent knows about a person.
#[derive(Clone, Debug, Serialize, Deserialize, sqlx_macros::FromRow, ToSchema)]
pub struct Profile {
    #[serde(skip_serializing)]
    pub profile_no: i64,
    pub profile_id: String,
    pub user_id: String,
    pub content: String,
    pub last_modified_timestamp: i64,
    pub generated_from_request_id: String,
    /// `one_day`, `one_week`, `one_month`, `one_quarter`, `one_year` or `infinity`.
    pub profile_time_to_live: String,
    /// From then on it is not returned; 4102444800 means never.
    pub expiration_timestamp: i64,
    #[schema(value_type = Option<Object>)]
    pub custom_features: Option<Json<Map<String, Value>>>,
    pub source: String,
    /// null (current), `pending`, `archived` or `superseded`.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<String>)]
    pub status: String,
    #[schema(value_type = Vec<String>)]
    pub tags: Json<Vec<String>>,
    #[schema(value_type = Vec<i64>)]
    pub source_interaction_ids: Json<Vec<i64>>,
}

/// How to handle something, learned from one person's sessions.
#[derive(Clone, Debug, Serialize, Deserialize, sqlx_macros::FromRow, ToSchema)]
pub struct UserPlaybook {
    pub user_playbook_id: i64,
    pub user_id: String,
    pub agent_version: String,
    pub request_id: String,
    pub playbook_name: String,
    pub created_at: i64,
    pub content: String,
    /// When it applies.
    pub trigger: String,
    pub rationale: String,
    /// null (current), `pending`, `archived` or `superseded`.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<String>)]
    pub status: String,
    pub source: String,
    #[schema(value_type = Vec<i64>)]
    pub source_interaction_ids: Json<Vec<i64>>,
    #[schema(value_type = Vec<String>)]
    pub tags: Json<Vec<String>>,
}

/// How to handle something, put together from several people's playbooks. The organization's own.
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
    /// `pending`, `approved` or `rejected`.
    pub playbook_status: String,
    #[schema(value_type = Value)]
    pub playbook_metadata: Json<Value>,
    /// null (current), `pending`, `archived` or `superseded`.
    #[serde(serialize_with = "null_when_current")]
    #[schema(value_type = Option<String>)]
    pub status: String,
    #[schema(value_type = Vec<String>)]
    pub tags: Json<Vec<String>>,
    /// What it came from; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub source_windows: Option<Vec<SourceWindow>>,
    /// How many different people it came from, of those who are still there; null in search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub source_user_count: Option<i64>,
    /// Whether aggregation proposed it, it is pending, and fewer than `min_users` of its people are still there; null in
    /// search results.
    #[serde(default)]
    #[sqlx(skip)]
    pub below_min_users: Option<bool>,
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

fn null_when_current<S: Serializer>(status: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match status {
        "current" => serializer.serialize_none(),
        other => serializer.serialize_str(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_live_end_when_they_say() {
        assert_eq!(expiration("one_day", 1000), 1000 + 86_400);
        assert_eq!(expiration("one_year", 0), 365 * 86_400);
        assert_eq!(expiration("infinity", 1000), NEVER);
    }
}
