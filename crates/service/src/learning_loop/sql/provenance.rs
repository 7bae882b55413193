//! SQL that follows a learning back to where it came from.

use sqlx::types::Json;

use crate::learning_loop::provenance::ProposalRecord;
use base::owner::{OrgId, UserId};
use judge::LearningKind;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows};

/// Proposals that became, or were merged into, one of these learnings.
pub async fn proposals_of(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: LearningKind,
    learning_ids: &[String],
) -> Result<Vec<ProposalRecord>> {
    rows!(
        tx,
        ProposalRecord,
        "SELECT {user_of:p} AS user_id, p.window_no, p.content, p.\"trigger\", p.rationale,
                p.source_interaction_ids, p.outcome, p.reason, p.learning_id, p.replaced_id, w.extractor,
                w.prompt_version, w.rubric_hash, p.created_at
         FROM learning_proposals p JOIN learning_windows w ON w.org_id = p.org_id AND w.subject = p.subject
              AND w.window_no = p.window_no
         WHERE p.org_id = $1 AND p.kind = $2 AND p.learning_id IN {texts:$3}
         ORDER BY p.window_no, p.place",
        org_id,
        kind,
        Json(learning_ids)
    )
}

/// Id of the learning that replaced this one.
pub async fn successor(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: LearningKind,
    id: &str,
) -> Result<Option<String>> {
    let found = row!(
        tx,
        (Option<String>,),
        "SELECT learning_id FROM learning_proposals
         WHERE org_id = $1 AND kind = $2 AND replaced_id = $3 ORDER BY window_no DESC LIMIT 1",
        org_id,
        kind,
        id
    )?;
    Ok(found.and_then(|(id,)| id))
}

/// A profile that a window added, and the one it replaced.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct ProfileChange {
    pub user_id: UserId,
    pub window_no: i64,
    pub learning_id: Option<String>,
    pub replaced_id: Option<String>,
    pub created_at: i64,
}

/// The newest changes of profiles that extraction made, those of one window together.
pub async fn profile_changes(
    tx: &mut Tx,
    org_id: &OrgId,
    limit: i64,
) -> Result<Vec<ProfileChange>> {
    rows!(
        tx,
        ProfileChange,
        "SELECT {user_of:p} AS user_id, window_no, learning_id, replaced_id, created_at
         FROM learning_proposals p
         WHERE org_id = $1 AND kind = 'profile' AND outcome IN ('added', 'superseded')
         ORDER BY created_at DESC, subject, window_no, place LIMIT $2 + 0",
        org_id,
        limit
    )
}

/// The turns a person's learning says it came from.
pub async fn source_turns(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: LearningKind,
    id: &str,
) -> Result<Vec<i64>> {
    let found = if kind == LearningKind::Profile {
        row!(
            tx,
            (Json<Vec<i64>>,),
            "SELECT source_interaction_ids FROM profiles WHERE org_id = $1 AND profile_id = $2",
            org_id,
            id
        )?
    } else {
        let number: i64 = id.parse().unwrap_or(0);
        row!(
            tx,
            (Json<Vec<i64>>,),
            "SELECT source_interaction_ids FROM user_playbooks WHERE org_id = $1 AND user_playbook_id = $2",
            org_id,
            number
        )?
    };
    Ok(found.map_or_else(Vec::new, |(Json(turns),)| turns))
}

/// `(user playbook, user, turns)` that an agent playbook came from.
pub async fn sources(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
) -> Result<Vec<(i64, UserId, Json<Vec<i64>>)>> {
    rows!(
        tx,
        (i64, UserId, Json<Vec<i64>>),
        "SELECT user_playbook_id, {user_of:s}, source_interaction_ids FROM agent_playbook_sources s
         WHERE org_id = $1 AND agent_playbook_id = $2 ORDER BY user_playbook_id",
        org_id,
        agent_playbook_id
    )
}
