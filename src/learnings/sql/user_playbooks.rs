//! SQL of the table `user_playbooks`.

use sqlx::types::Json;

use super::{Filter, Owned, has_tag};
use crate::db::Tx;
use crate::error::Result;
use crate::governance::SubjectWrite;
use crate::learnings::UserPlaybook;
use crate::learnings::rank::Candidate;
use crate::{row, rows, run};

macro_rules! columns {
    () => {
        "b.user_playbook_id, b.user_id, b.agent_version, b.request_id, b.playbook_name, b.created_at, \
         b.content, b.\"trigger\", b.rationale, b.status, b.source, b.source_interaction_ids, b.tags"
    };
}

/// The filter of every read but the user: `$2` organization, `$4` statuses, `$5` source, `$6` tags, `$7` agent
/// version, `$8` name, `$9` and `$10` times.
macro_rules! filter {
    () => {
        concat!(
            "b.org_id = $2 AND b.status IN {texts:$4} AND ($5 IS NULL OR b.source = $5)
             AND ($7 IS NULL OR b.agent_version = $7) AND ($8 IS NULL OR b.playbook_name = $8)
             AND ($9 IS NULL OR b.created_at >= $9) AND ($10 IS NULL OR b.created_at < $10)",
            has_tag!("$6")
        )
    };
}

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
           (user_playbook_id, org_id, user_id, epoch, agent_version, request_id, playbook_name, created_at,
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
        &playbook.status,
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
         WHERE org_id = $1 AND user_id = $2 AND user_playbook_id = $3",
        subject.org_id(),
        subject.user_id(),
        playbook.user_playbook_id,
        &playbook.agent_version,
        &playbook.playbook_name,
        &playbook.content,
        &playbook.trigger,
        &playbook.rationale,
        &playbook.status,
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
         WHERE org_id = $1 AND user_id = $2 AND user_playbook_id = $3",
        org_id,
        user_id,
        id,
        &row.source_interaction_ids,
        subject.epoch()
    )?;
    Ok(())
}

/// Changes its status alone.
pub async fn set_status(tx: &mut Tx, subject: &SubjectWrite, id: i64, status: &str) -> Result<()> {
    run!(
        tx,
        "UPDATE user_playbooks SET status = $4, epoch = $5
         WHERE org_id = $1 AND user_id = $2 AND user_playbook_id = $3",
        subject.org_id(),
        subject.user_id(),
        id,
        status,
        subject.epoch()
    )?;
    Ok(())
}

/// One playbook, held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &str, id: i64) -> Result<Option<UserPlaybook>> {
    row!(
        tx,
        UserPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM user_playbooks b WHERE b.org_id = $1 AND b.user_playbook_id = $2 {for_update}"
        ),
        org_id,
        id
    )
}

/// Whose playbook it is.
pub async fn owner(tx: &mut Tx, org_id: &str, id: i64) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "SELECT user_id FROM user_playbooks WHERE org_id = $1 AND user_playbook_id = $2",
        org_id,
        id
    )?;
    Ok(found.map(|(user_id,)| user_id))
}

/// Deletes these; their source windows and vectors go with them.
pub async fn delete_by_ids(tx: &mut Tx, org_id: &str, ids: &[i64]) -> Result<u64> {
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
            concat!(
                "SELECT ",
                columns!(),
                " FROM user_playbooks b WHERE ",
                filter!(),
                " AND ",
                $of_user,
                " ORDER BY b.user_playbook_id DESC {limit:$1}"
            )
        };
    }
    let sql = match filter.user_id {
        Some(_) => list!("b.user_id = $3"),
        None => list!("$3 IS NULL"),
    };
    rows!(
        tx,
        UserPlaybook,
        sql,
        limit,
        &filter.org_id,
        filter.user_id.as_deref(),
        &filter.statuses,
        filter.source.as_deref(),
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to
    )
}

/// The newest rows that match a full-text query.
pub async fn candidates(
    tx: &mut Tx,
    query: &str,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Candidate>> {
    rows!(
        tx,
        Candidate,
        concat!(
            "SELECT b.user_playbook_id AS no, b.terms FROM {found_in:user_playbooks}
             WHERE {matches:$1} AND b.user_id = $3 AND ",
            filter!(),
            " ORDER BY {found:user_playbook_id} DESC {limit:$11}"
        ),
        query,
        &filter.org_id,
        filter.user_id.as_deref(),
        &filter.statuses,
        filter.source.as_deref(),
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to,
        limit
    )
}

/// Up to `limit` of the person's rows that pass the filter, the newest first; with a model, also their vectors as
/// far as they are there.
pub async fn all(
    tx: &mut Tx,
    model: Option<&str>,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<Owned>> {
    let sql = match model {
        None => concat!(
            "SELECT b.user_playbook_id AS no, b.terms, NULL AS vector FROM user_playbooks b
             WHERE $1 = '' AND b.user_id = $3 AND ",
            filter!(),
            " ORDER BY b.user_playbook_id DESC {limit:$11}"
        ),
        Some(_) => concat!(
            "SELECT b.user_playbook_id AS no, b.terms, v.vector FROM user_playbooks b LEFT JOIN user_playbook_vectors v
                ON v.org_id = b.org_id AND v.user_id = b.user_id AND v.user_playbook_id = b.user_playbook_id
                AND v.revision = b.revision AND v.model = $1
             WHERE b.user_id = $3 AND ",
            filter!(),
            " ORDER BY b.user_playbook_id DESC {limit:$11}"
        ),
    };
    rows!(
        tx,
        Owned,
        sql,
        model.unwrap_or_default(),
        &filter.org_id,
        filter.user_id.as_deref(),
        &filter.statuses,
        filter.source.as_deref(),
        filter.tags.as_deref(),
        filter.agent_version.as_deref(),
        filter.playbook_name.as_deref(),
        filter.from,
        filter.to,
        limit
    )
}

/// These rows, in any order.
pub async fn by_numbers(
    tx: &mut Tx,
    filter: &Filter,
    numbers: &[i64],
) -> Result<Vec<UserPlaybook>> {
    rows!(
        tx,
        UserPlaybook,
        concat!(
            "SELECT ",
            columns!(),
            " FROM user_playbooks b
             WHERE b.user_playbook_id IN {integers:$3} AND b.org_id = $1 AND b.user_id = $2"
        ),
        &filter.org_id,
        filter.user_id.as_deref(),
        Json(numbers)
    )
}
