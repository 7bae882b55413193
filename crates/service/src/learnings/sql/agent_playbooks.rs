//! SQL of the tables `agent_playbooks` and `agent_playbook_sources`.

use sqlx::types::Json;

use super::{Filter, filtered, has_tag, is_one_of};
use crate::learnings::{AgentPlaybook, LearningStatus, PlaybookStatus, SourceWindow};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        columns!("b.", "")
    };
    // Columns that hold JSON stand between these two.
    ($json:literal, $end:literal) => {
        concat!(
            "b.agent_playbook_id, b.playbook_name, b.agent_version, b.created_at, b.content, b.\"trigger\",
             b.rationale, b.playbook_status, ",
            $json,
            "playbook_metadata",
            $end,
            ", b.status, ",
            $json,
            "tags",
            $end
        )
    };
}

/// SQL condition of a [`Filter`], with the parameters of `filtered!`. [`Traits::pass`] says the same in
/// memory.
macro_rules! passing {
    // Of a filter that is a status alone.
    (only_status) => {
        concat!("b.org_id = $1 AND b.status = $4 AND ", is_one_of!("b.playbook_status", "$5"))
    };
    () => {
        concat!(
            "b.org_id = $1 AND ",
            is_one_of!("b.status", "$4"),
            " AND ",
            is_one_of!("b.playbook_status", "$5"),
            "
             AND ($8 IS NULL OR b.agent_version = $8) AND ($9 IS NULL OR b.playbook_name = $9)
             AND ($10 IS NULL OR b.created_at >= $10) AND ($11 IS NULL OR b.created_at < $11)",
            has_tag!()
        )
    };
}
pub(super) use {columns, passing};

/// Columns by which searches for a playbook are filtered.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Traits {
    pub no: i64,
    pub revision: i64,
    pub status: LearningStatus,
    pub playbook_status: PlaybookStatus,
    pub agent_version: String,
    pub playbook_name: String,
    pub created_at: i64,
    pub tags: Json<Vec<String>>,
}

impl Traits {
    pub fn pass(&self, filter: &Filter) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|w| w == value);
        filter.statuses.contains(&self.status)
            && filter.playbook_statuses.contains(&self.playbook_status)
            && is(&filter.agent_version, &self.agent_version)
            && is(&filter.playbook_name, &self.playbook_name)
            && filter.from.is_none_or(|from| self.created_at >= from)
            && filter.to.is_none_or(|to| self.created_at < to)
            && filter
                .tags
                .as_ref()
                .is_none_or(|tags| tags.iter().any(|tag| self.tags.contains(tag)))
    }
}

/// Stores a new playbook.
pub async fn insert(
    tx: &mut Tx,
    org_id: &OrgId,
    playbook: &AgentPlaybook,
    terms: &str,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO agent_playbooks
           (agent_playbook_id, org_id, playbook_name, agent_version, created_at, content, \"trigger\",
            rationale, playbook_status, playbook_metadata, status, tags, revision, terms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, $13)",
        playbook.agent_playbook_id,
        org_id,
        &playbook.playbook_name,
        &playbook.agent_version,
        playbook.created_at,
        &playbook.content,
        &playbook.trigger,
        &playbook.rationale,
        playbook.playbook_status,
        &playbook.playbook_metadata,
        playbook.status,
        &playbook.tags,
        terms
    )?;
    Ok(())
}

/// Stores what may change of a playbook. With new terms its vector is behind.
pub async fn update(
    tx: &mut Tx,
    org_id: &OrgId,
    playbook: &AgentPlaybook,
    new_terms: Option<&str>,
) -> Result<()> {
    run!(
        tx,
        "UPDATE agent_playbooks SET playbook_name = $3, agent_version = $4, content = $5, \"trigger\" = $6,
            rationale = $7, playbook_status = $8, playbook_metadata = $9, status = $10, tags = $11,
            terms = COALESCE($12, terms), revision = revision + CASE WHEN $12 IS NULL THEN 0 ELSE 1 END
         WHERE org_id = $1 AND agent_playbook_id = $2",
        org_id,
        playbook.agent_playbook_id,
        &playbook.playbook_name,
        &playbook.agent_version,
        &playbook.content,
        &playbook.trigger,
        &playbook.rationale,
        playbook.playbook_status,
        &playbook.playbook_metadata,
        playbook.status,
        &playbook.tags,
        new_terms
    )?;
    Ok(())
}

/// One playbook, held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &OrgId, id: i64) -> Result<Option<AgentPlaybook>> {
    row!(
        tx,
        AgentPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE b.org_id = $1 AND b.agent_playbook_id = $2 {lock:UPDATE}"
        ),
        org_id,
        id
    )
}

/// Deletes these; their source windows and vectors go with them.
pub async fn delete_by_ids(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM agent_playbooks WHERE org_id = $1 AND agent_playbook_id IN {integers:$2}",
        org_id,
        Json(ids)
    )
}

/// The newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64) -> Result<Vec<AgentPlaybook>> {
    filtered!(
        tx,
        AgentPlaybook,
        filter,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE ",
            passing!(),
            " ORDER BY b.agent_playbook_id DESC LIMIT $12 + 0"
        ),
        limit
    )
}

// ── for the index in memory ─────────────────────────────────────────────────────────────────────────

/// Filter columns of all playbooks of the organization.
pub async fn traits(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<Traits>> {
    rows!(
        tx,
        Traits,
        "SELECT agent_playbook_id AS no, revision, status, playbook_status, agent_version, playbook_name,
            created_at, tags
         FROM agent_playbooks WHERE org_id = $1 ORDER BY agent_playbook_id",
        org_id
    )
}

/// Terms of these playbooks.
pub async fn terms(tx: &mut Tx, org_id: &OrgId, numbers: &[i64]) -> Result<Vec<(i64, String)>> {
    rows!(
        tx,
        (i64, String),
        "SELECT agent_playbook_id, terms FROM agent_playbooks
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} ORDER BY agent_playbook_id",
        org_id,
        Json(numbers)
    )
}

// ── source windows ──────────────────────────────────────────────────────────────────────────────────

/// Links an agent playbook to one of the source user's playbooks.
pub async fn link(
    tx: &mut Tx,
    source: &SubjectWrite,
    agent_playbook_id: i64,
    window: &SourceWindow,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO agent_playbook_sources
           (org_id, subject, agent_playbook_id, user_playbook_id, epoch, source_interaction_ids)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        source.org_id(),
        source.user_id(),
        agent_playbook_id,
        window.user_playbook_id,
        source.epoch(),
        Json(&window.source_interaction_ids)
    )?;
    Ok(())
}

/// The source windows of these agent playbooks, as `(agent playbook, user playbook, interactions)`.
pub async fn windows(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_ids: &[i64],
) -> Result<Vec<(i64, i64, Json<Vec<i64>>)>> {
    rows!(
        tx,
        (i64, i64, Json<Vec<i64>>),
        "SELECT agent_playbook_id, user_playbook_id, source_interaction_ids FROM agent_playbook_sources
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} ORDER BY agent_playbook_id, user_playbook_id",
        org_id,
        Json(agent_playbook_ids)
    )
}

/// `(user, user playbook, interactions)` of everything that these agent playbooks came from.
pub async fn source_links(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_ids: &[i64],
) -> Result<Vec<(UserId, i64, Json<Vec<i64>>)>> {
    rows!(
        tx,
        (UserId, i64, Json<Vec<i64>>),
        "SELECT {user_of:s}, user_playbook_id, source_interaction_ids FROM agent_playbook_sources s
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} ORDER BY agent_playbook_id, user_playbook_id",
        org_id,
        Json(agent_playbook_ids)
    )
}

/// Archives those of these playbooks that are still pending, and gives their numbers.
pub async fn archive_pending(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<Vec<i64>> {
    let archived = rows!(
        tx,
        (i64,),
        "UPDATE agent_playbooks SET status = 'archived'
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} AND playbook_status = 'pending'
            AND status IN ('current', 'pending') RETURNING agent_playbook_id",
        org_id,
        Json(ids)
    )?;
    Ok(archived.into_iter().map(|(id,)| id).collect())
}

/// Number of different people each of these agent playbooks came from.
pub async fn source_users(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_ids: &[i64],
) -> Result<Vec<(i64, i64)>> {
    rows!(
        tx,
        (i64, i64),
        "SELECT agent_playbook_id, COUNT(DISTINCT subject) FROM agent_playbook_sources
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} GROUP BY agent_playbook_id",
        org_id,
        Json(agent_playbook_ids)
    )
}

/// Agent playbooks of this list that aggregation proposed.
pub async fn aggregated(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_ids: &[i64],
) -> Result<Vec<i64>> {
    let found = rows!(
        tx,
        (i64,),
        "SELECT agent_playbook_id FROM agent_playbook_decisions WHERE org_id = $1
            AND decision = 'proposed' AND actor = 'aggregation' AND agent_playbook_id IN {integers:$2}",
        org_id,
        Json(agent_playbook_ids)
    )?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// Removes a person's links to an agent playbook from before `epoch` and gives how many there were.
pub async fn unlink(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: i64,
    agent_playbook_id: i64,
) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM agent_playbook_sources
         WHERE org_id = $1 AND subject = $2 AND epoch < $3 AND agent_playbook_id = $4",
        org_id,
        user_id,
        epoch,
        agent_playbook_id
    )
}

pub async fn by_ids(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<Vec<AgentPlaybook>> {
    rows!(
        tx,
        AgentPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE b.org_id = $1 AND b.agent_playbook_id IN {integers:$2}
              ORDER BY b.agent_playbook_id"
        ),
        org_id,
        Json(ids)
    )
}
