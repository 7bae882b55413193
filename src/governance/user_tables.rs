//! The one list of tables that hold what belongs to a person.
//!
//! Export, erasure, the final empty check, the audit counts and the triggers of `wall.rs` all iterate
//! [`USER_TABLES`]. A test compares both lists with the live schema on both engines: a table that is in neither
//! fails the build's tests.

use crate::db::Tx;
use crate::error::Result;

/// One user-owned table. Every one of them has the columns `org_id`, `user_id` and `epoch`.
pub struct UserTable {
    pub table: &'static str,
    /// The name people see in exports, counts and certificates.
    pub target: &'static str,
    /// Whether rows without a user may be in it too (`user_id IS NULL`: not user-owned).
    pub user_optional: bool,
}

impl UserTable {
    /// Deletes a person's rows and gives how many there were.
    pub async fn delete_rows(&self, tx: &mut Tx, org_id: &str, user_id: &str) -> Result<u64> {
        let statement = format!("DELETE FROM {} WHERE org_id = $1 AND user_id = $2", self.table);
        tx.change(statement, &[org_id, user_id]).await
    }
}

const fn owned(table: &'static str, target: &'static str) -> UserTable {
    UserTable { table, target, user_optional: false }
}

/// In the order in which rows are deleted: what points at a session goes before the session.
pub const USER_TABLES: &[UserTable] = &[
    UserTable { table: "jobs", target: "jobs", user_optional: true },
    owned("candidate_verdicts", "candidate_verdicts"),
    owned("session_labels", "labels"),
    owned("learning_verdicts", "learning_verdicts"),
    owned("cited_rules", "cited_rules"),
    owned("shadow_verdicts", "shadow_verdicts"),
    owned("shadow_sessions", "shadow_sessions"),
    owned("imported_scores", "imported_scores"),
    owned("evaluation_results", "evaluation_results"),
    owned("evaluation_decisions", "evaluation_decisions"),
    owned("agent_playbook_sources", "agent_playbook_sources"),
    owned("profile_vectors", "profile_vectors"),
    owned("user_playbook_vectors", "user_playbook_vectors"),
    owned("profiles", "profiles"),
    owned("user_playbooks", "user_playbooks"),
    owned("learning_scopes", "learning_scopes"),
    owned("session_outcomes", "outcomes"),
    owned("interactions", "interactions"),
    owned("requests", "requests"),
    owned("sessions", "sessions"),
];

const FOLLOWS: &str = "full-text index (SQLite): triggers keep it together with its table, row by row; bytes of \
    deleted entries go with learnings::compact_index";

const SUMS: &str = "sums that name nobody; triggers correct them with every row, and a line without rows is deleted";

/// Tables that hold nothing of a person, each with the reason.
pub const NOT_USER_DATA: &[(&str, &str)] = &[
    ("schema_migrations", "versions of the schema"),
    ("installation", "facts about this installation"),
    ("organization_configs", "the organization's own settings"),
    ("regenerations", "windows and counts of an organization's replays; their sessions are jobs"),
    ("evaluation_rollups", SUMS),
    ("rule_rollups", SUMS),
    ("shadow_session_rollups", SUMS),
    ("shadow_turn_rollups", SUMS),
    ("credentials", "tokens of the organization's programs, as hashes"),
    (
        "subjects",
        "the barrier itself: keyed by a reference that cannot be turned back; user_id is set only while the \
         person is not erased",
    ),
    ("sequences", "counters (SQLite)"),
    ("organization_scopes", "one number per organization for the full-text index"),
    (
        "agent_playbooks",
        "the organization's own; what links them to people is in agent_playbook_sources",
    ),
    ("agent_playbook_vectors", "vectors of the organization's own playbooks"),
    ("profiles_index", FOLLOWS),
    ("profiles_index_config", FOLLOWS),
    ("profiles_index_data", FOLLOWS),
    ("profiles_index_docsize", FOLLOWS),
    ("profiles_index_idx", FOLLOWS),
    ("user_playbooks_index", FOLLOWS),
    ("user_playbooks_index_config", FOLLOWS),
    ("user_playbooks_index_data", FOLLOWS),
    ("user_playbooks_index_docsize", FOLLOWS),
    ("user_playbooks_index_idx", FOLLOWS),
    ("agent_playbooks_index", FOLLOWS),
    ("agent_playbooks_index_config", FOLLOWS),
    ("agent_playbooks_index_data", FOLLOWS),
    ("agent_playbooks_index_docsize", FOLLOWS),
    ("agent_playbooks_index_idx", FOLLOWS),
];
