//! SQL of the tables `agent_playbooks` and `agent_playbook_sources`.

use sqlx::types::Json;

use super::{Filter, has_tag};
use crate::db::Tx;
use crate::error::Result;
use crate::governance::SubjectWrite;
use crate::learnings::rank::Candidate;
use crate::learnings::{AgentPlaybook, SourceWindow};
use crate::{row, rows, run};

macro_rules! columns {
    () => {
        "b.agent_playbook_id, b.playbook_name, b.agent_version, b.created_at, b.content, b.\"trigger\", \
         b.rationale, b.playbook_status, b.playbook_metadata, b.status, b.tags"
    };
}

/// The filter of every read: `$2` organization, `$3` statuses, `$4` approval, `$5` tags, `$6` agent version, `$7`
/// name, `$8` and `$9` times.
macro_rules! filter {
    () => {
        concat!(
            "b.org_id = $2 AND b.status IN {texts:$3} AND b.playbook_status IN {texts:$4}
             AND ($6 IS NULL OR b.agent_version = $6) AND ($7 IS NULL OR b.playbook_name = $7)
             AND ($8 IS NULL OR b.created_at >= $8) AND ($9 IS NULL OR b.created_at < $9)",
            has_tag!("$5")
        )
    };
}

/// Stores a new playbook.
pub async fn insert(
    tx: &mut Tx,
    org_id: &str,
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
        &playbook.playbook_status,
        &playbook.playbook_metadata,
        &playbook.status,
        &playbook.tags,
        terms
    )?;
    Ok(())
}

/// Stores what may change of a playbook. With new terms its vector is behind.
pub async fn update(
    tx: &mut Tx,
    org_id: &str,
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
        &playbook.playbook_status,
        &playbook.playbook_metadata,
        &playbook.status,
        &playbook.tags,
        new_terms
    )?;
    Ok(())
}

/// One playbook, held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &str, id: i64) -> Result<Option<AgentPlaybook>> {
    row!(
        tx,
        AgentPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE b.org_id = $1 AND b.agent_playbook_id = $2 {for_update}"
        ),
        org_id,
        id
    )
}

/// Deletes these; their source windows and vectors go with them.
pub async fn delete_by_ids(tx: &mut Tx, org_id: &str, ids: &[i64]) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM agent_playbooks WHERE org_id = $1 AND agent_playbook_id IN {integers:$2}",
        org_id,
        Json(ids)
    )
}

/// The newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64) -> Result<Vec<AgentPlaybook>> {
    rows!(
        tx,
        AgentPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE ",
            filter!(),
            " ORDER BY b.agent_playbook_id DESC {limit:$1}"
        ),
        limit,
        &filter.org_id,
        &filter.statuses,
        &filter.playbook_statuses,
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to
    )
}

/// For each of these full-text queries (a JSON list) the newest rows that match it, without looking at them.
pub async fn matching(tx: &mut Tx, queries: &str, limit: i64) -> Result<Vec<Vec<i64>>> {
    let found = rows!(
        tx,
        (Json<Vec<i64>>,),
        "SELECT (SELECT {listed:found.no} FROM (
                    SELECT {found:agent_playbook_id} AS no FROM {index_of:agent_playbooks}
                    WHERE {matches:t.value} ORDER BY 1 DESC {limit:$2}) AS found)
         FROM {each:$1} AS t",
        queries,
        limit
    )?;
    Ok(found.into_iter().map(|(Json(numbers),)| numbers).collect())
}

/// The newest rows that match a full-text query and pass the filter.
pub async fn found(
    tx: &mut Tx,
    query: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Candidate>> {
    rows!(
        tx,
        Candidate,
        concat!(
            "SELECT b.agent_playbook_id AS no, b.terms FROM {found_in:agent_playbooks}
             WHERE {matches:$1} AND ",
            filter!(),
            " ORDER BY {found:agent_playbook_id} DESC {limit:$10}"
        ),
        query,
        &filter.org_id,
        &filter.statuses,
        &filter.playbook_statuses,
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to,
        limit
    )
}

/// The terms of those of these rows that pass the filter, in any order.
pub async fn candidates(tx: &mut Tx, filter: &Filter, numbers: &[i64]) -> Result<Vec<Candidate>> {
    rows!(
        tx,
        Candidate,
        concat!(
            "SELECT b.agent_playbook_id AS no, b.terms FROM agent_playbooks b
             WHERE b.agent_playbook_id IN {integers:$1} AND ",
            filter!()
        ),
        Json(numbers),
        &filter.org_id,
        &filter.statuses,
        &filter.playbook_statuses,
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to
    )
}

/// Those of these rows that pass the filter, in any order.
pub async fn by_numbers(
    tx: &mut Tx,
    filter: &Filter,
    numbers: &[i64],
) -> Result<Vec<AgentPlaybook>> {
    rows!(
        tx,
        AgentPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM agent_playbooks b WHERE b.agent_playbook_id IN {integers:$1} AND ",
            filter!()
        ),
        Json(numbers),
        &filter.org_id,
        &filter.statuses,
        &filter.playbook_statuses,
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to
    )
}

/// Those of these numbers whose rows pass the filter, in any order.
pub async fn passing(tx: &mut Tx, filter: &Filter, numbers: &[i64]) -> Result<Vec<i64>> {
    let found = rows!(
        tx,
        (i64,),
        concat!(
            "SELECT b.agent_playbook_id FROM agent_playbooks b
             WHERE b.agent_playbook_id IN {integers:$1} AND ",
            filter!()
        ),
        Json(numbers),
        &filter.org_id,
        &filter.statuses,
        &filter.playbook_statuses,
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to
    )?;
    Ok(found.into_iter().map(|(number,)| number).collect())
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
           (org_id, user_id, agent_playbook_id, user_playbook_id, epoch, source_interaction_ids)
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
    org_id: &str,
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

/// How many different people these agent playbooks came from.
pub async fn source_users(
    tx: &mut Tx,
    org_id: &str,
    agent_playbook_ids: &[i64],
) -> Result<Vec<(i64, i64)>> {
    rows!(
        tx,
        (i64, i64),
        "SELECT agent_playbook_id, COUNT(DISTINCT user_id) FROM agent_playbook_sources
         WHERE org_id = $1 AND agent_playbook_id IN {integers:$2} GROUP BY agent_playbook_id",
        org_id,
        Json(agent_playbook_ids)
    )
}
