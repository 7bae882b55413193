//! SQL of the table `user_playbooks`.

use sqlx::types::Json;

use super::{Filter, filtered, has_tag, is_one_of};
use crate::learnings::rank::Candidate;
use crate::learnings::{LearningStatus, UserPlaybook};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, run};

macro_rules! columns {
    () => {
        columns!("{user_of:b} AS user_id", "b.", "")
    };
    // The user's id, and what columns that hold JSON stand between.
    ($user_id:literal, $json:literal, $end:literal) => {
        concat!(
            "b.user_playbook_id, ",
            $user_id,
            ", b.agent_version, b.request_id, b.playbook_name, b.created_at,
             b.content, b.\"trigger\", b.rationale, b.status, b.source, ",
            $json,
            "source_interaction_ids",
            $end,
            ", ",
            $json,
            "tags",
            $end
        )
    };
}

/// SQL condition of a [`Filter`] but for the user, with the parameters of `filtered!`.
macro_rules! passing {
    // Of a filter that is a status alone.
    (only_status) => {
        "b.org_id = $1 AND b.status = $4"
    };
    () => {
        concat!(
            "b.org_id = $1 AND ",
            is_one_of!("b.status", "$4"),
            " AND ($6 IS NULL OR b.source = $6)
             AND ($8 IS NULL OR b.agent_version = $8) AND ($9 IS NULL OR b.playbook_name = $9)
             AND ($10 IS NULL OR b.created_at >= $10) AND ($11 IS NULL OR b.created_at < $11)",
            has_tag!()
        )
    };
}
pub(super) use {columns, passing};

/// Stores a new playbook.
pub async fn insert(
    tx: &mut Tx,
    subject: &SubjectWrite,
    playbook: &UserPlaybook,
    terms: &str,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO user_playbooks
           (user_playbook_id, org_id, subject, epoch, agent_version, request_id, playbook_name, created_at,
            content, \"trigger\", rationale, source, status, tags, source_interaction_ids, revision, terms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 1, $16)",
        playbook.user_playbook_id,
        subject.org_id(),
        subject.user_id(),
        subject.epoch(),
        &playbook.agent_version,
        &playbook.request_id,
        &playbook.playbook_name,
        playbook.created_at,
        &playbook.content,
        &playbook.trigger,
        &playbook.rationale,
        &playbook.source,
        playbook.status,
        &playbook.tags,
        &playbook.source_interaction_ids,
        terms
    )?;
    Ok(())
}

/// Stores what may change of a playbook. With new terms its vector is behind.
pub async fn update(
    tx: &mut Tx,
    subject: &SubjectWrite,
    playbook: &UserPlaybook,
    new_terms: Option<&str>,
) -> Result<()> {
    run!(
        tx,
        "UPDATE user_playbooks SET agent_version = $4, playbook_name = $5, content = $6, \"trigger\" = $7,
            rationale = $8, status = $9, tags = $10, epoch = $11, terms = COALESCE($12, terms),
            revision = revision + CASE WHEN $12 IS NULL THEN 0 ELSE 1 END
         WHERE org_id = $1 AND subject = $2 AND user_playbook_id = $3",
        subject.org_id(),
        subject.user_id(),
        playbook.user_playbook_id,
        &playbook.agent_version,
        &playbook.playbook_name,
        &playbook.content,
        &playbook.trigger,
        &playbook.rationale,
        playbook.status,
        &playbook.tags,
        subject.epoch(),
        new_terms
    )?;
    Ok(())
}

/// Adds turns to those it came from.
pub async fn add_sources(
    tx: &mut Tx,
    subject: &SubjectWrite,
    id: i64,
    turns: &[i64],
) -> Result<()> {
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let Some(mut row) = hold(tx, org_id, id).await? else { return Ok(()) };
    let sources = &mut row.source_interaction_ids.0;
    sources.extend(turns);
    sources.sort_unstable();
    sources.dedup();
    run!(
        tx,
        "UPDATE user_playbooks SET source_interaction_ids = $4, epoch = $5
         WHERE org_id = $1 AND subject = $2 AND user_playbook_id = $3",
        org_id,
        user_id,
        id,
        &row.source_interaction_ids,
        subject.epoch()
    )?;
    Ok(())
}

/// Changes its status alone.
pub async fn set_status(
    tx: &mut Tx,
    subject: &SubjectWrite,
    id: i64,
    status: LearningStatus,
) -> Result<()> {
    run!(
        tx,
        "UPDATE user_playbooks SET status = $4, epoch = $5
         WHERE org_id = $1 AND subject = $2 AND user_playbook_id = $3",
        subject.org_id(),
        subject.user_id(),
        id,
        status,
        subject.epoch()
    )?;
    Ok(())
}

/// One playbook, held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &OrgId, id: i64) -> Result<Option<UserPlaybook>> {
    let Some(user_id) = owner(tx, org_id, id).await? else { return Ok(None) };
    row!(
        tx,
        UserPlaybook,
        concat!(
            "SELECT ",
            columns!(
                "(SELECT u.user_id FROM subjects u WHERE u.org_id = $1 AND u.subject = $2) AS user_id",
                "b.",
                ""
            ),
            " FROM user_playbooks b
              WHERE b.org_id = $1 AND b.subject = $2 AND b.user_playbook_id = $3 {lock:UPDATE}"
        ),
        org_id,
        user_id,
        id
    )
}

/// Owner of the playbook.
pub async fn owner(tx: &mut Tx, org_id: &OrgId, id: i64) -> Result<Option<UserId>> {
    let found = row!(
        tx,
        (UserId,),
        "SELECT {user_of:b} FROM user_playbooks b WHERE b.org_id = $1 AND b.user_playbook_id = $2",
        org_id,
        id
    )?;
    Ok(found.map(|(user_id,)| user_id))
}

/// Number of a user's playbooks of any status.
pub async fn count(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "SELECT COUNT(*) FROM user_playbooks WHERE org_id = $1 AND subject = $2",
        org_id,
        user_id
    )?;
    Ok(found.map_or(0, |(count,)| count))
}

/// Deletes these; their source windows and vectors go with them.
pub async fn delete_by_ids(tx: &mut Tx, org_id: &OrgId, ids: &[i64]) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM user_playbooks WHERE org_id = $1 AND user_playbook_id IN {integers:$2}",
        org_id,
        Json(ids)
    )
}

/// The newest first: of one user, or of all.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64) -> Result<Vec<UserPlaybook>> {
    macro_rules! list {
        ($of_user:literal) => {
            storage::statement!(concat!(
                "SELECT ",
                columns!(),
                " FROM user_playbooks b WHERE ",
                passing!(),
                " AND ",
                $of_user,
                " ORDER BY b.user_playbook_id DESC LIMIT $12 + 0"
            ))
        };
    }
    let sql = match filter.user_id {
        Some(_) => list!("b.subject = $2"),
        None => list!("$2 IS NULL"),
    };
    filtered!(tx, UserPlaybook, filter, sql, limit)
}

/// The newest rows that match a full-text query.
pub async fn candidates(
    tx: &mut Tx,
    query: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Candidate>> {
    filtered!(
        tx,
        Candidate,
        filter,
        concat!(
            "SELECT b.user_playbook_id AS no, b.terms FROM {found_in:user_playbooks}
             WHERE {matches:$12} AND b.subject = $2 AND ",
            passing!(),
            " ORDER BY {found:user_playbook_id} DESC LIMIT $13 + 0"
        ),
        query,
        limit
    )
}

/// Up to `limit` of the person's vectors by `model` that pass the filter, the newest first. A row without one is
/// there without one.
pub async fn vectors(
    tx: &mut Tx,
    model: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<(i64, Option<Vec<u8>>)>> {
    filtered!(
        tx,
        (i64, Option<Vec<u8>>),
        filter,
        concat!(
            "SELECT b.user_playbook_id, v.vector FROM user_playbooks b LEFT JOIN user_playbook_vectors v
                ON v.org_id = b.org_id AND v.subject = b.subject AND v.user_playbook_id = b.user_playbook_id
                AND v.revision = b.revision AND v.model = $12
             WHERE b.subject = $2 AND ",
            passing!(),
            " ORDER BY b.user_playbook_id DESC LIMIT $13 + 0"
        ),
        model,
        limit
    )
}
