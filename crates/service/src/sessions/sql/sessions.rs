//! SQL of the table `sessions`: a session's summary, and deleting a session with all that is in it.

use super::list::{SessionFilter, session_columns};
use crate::sessions::SessionSummary;
use crate::sessions::reads::Snapshot;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

pub async fn finish_session(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE sessions SET finished_at = $4 WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id,
        now
    )?;
    Ok(())
}

/// The users who have a session of this id; two are enough to know that the id is ambiguous.
pub async fn owners(tx: &mut Tx, org_id: &OrgId, session_id: &str) -> Result<Vec<UserId>> {
    let found = rows!(
        tx,
        (UserId,),
        "SELECT {user_of:s} FROM sessions s WHERE s.org_id = $1 AND s.session_id = $2 ORDER BY s.subject LIMIT 2",
        org_id,
        session_id
    )?;
    Ok(found.into_iter().map(|(user_id,)| user_id).collect())
}

pub async fn find_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<SessionSummary>> {
    row!(
        tx,
        SessionSummary,
        concat!(
            "SELECT {user_of:s} AS user_id, ",
            session_columns!(),
            " FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3"
        ),
        org_id,
        user_id,
        session_id
    )
}

/// Sessions by user and session, after the given one. Of the filter, user, source, agent version and times count: an
/// order by activity would lose a session that goes on while it is read. The empty user, which nobody is, stands for
/// the beginning.
pub async fn sessions_by_id(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    after: &(UserId, String),
    limit: i64,
) -> Result<Vec<(UserId, String)>> {
    macro_rules! page {
        ($after:literal, $of_user:literal) => {
            storage::statement!(concat!(
                "SELECT {user_of:s}, s.session_id FROM sessions s WHERE s.org_id = $1 AND ",
                $after,
                " AND ",
                $of_user,
                " AND ($5 IS NULL OR s.source = $5)
                  AND ($6 IS NULL OR s.agent_version = $6)
                  AND ($7 IS NULL OR s.last_request_at >= $7) AND ($8 IS NULL OR s.last_request_at < $8)
                  ORDER BY s.subject, s.session_id LIMIT $9 + 0"
            ))
        };
    }
    // The subject of the empty user is not less than all others.
    let sql = match (after.0.is_empty(), &filter.user_id) {
        (true, Some(_)) => page!("$2 IS NOT NULL AND $3 IS NOT NULL", "s.subject = $4"),
        (true, None) => page!("$2 IS NOT NULL AND $3 IS NOT NULL", "$4 IS NULL"),
        (false, Some(_)) => page!("(s.subject, s.session_id) > ($2, $3)", "s.subject = $4"),
        (false, None) => page!("(s.subject, s.session_id) > ($2, $3)", "$4 IS NULL"),
    };
    rows!(
        tx,
        (UserId, String),
        sql,
        org_id,
        &after.0,
        &after.1,
        filter.user_id.as_ref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        limit
    )
}

/// Holds a session's row until the transaction ends, so that what is written about it goes with it when it is deleted. A
/// publish that grows the session waits: what is deleted and what is counted afterwards are the same rows. False when
/// there is no such session.
pub async fn lock_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT session_id FROM sessions
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 {lock:UPDATE}",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.is_some())
}

pub async fn snapshot(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Snapshot> {
    let found = row!(
        tx,
        Snapshot,
        "SELECT COUNT(*) AS interaction_count, COALESCE(MAX(interaction_id), 0) AS last_interaction_id
         FROM interactions WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    found.ok_or_else(|| storage::error::Error::Internal("a count has a row".to_owned()))
}

/// A session in a time window, as samples are drawn from.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct SessionInWindow {
    pub user_id: UserId,
    pub session_id: String,
    pub first_request_at: i64,
    pub source: String,
}

/// The sessions whose first request is in the window, both ends included; where asked, only those that have a shadow
/// response.
pub async fn in_window(
    tx: &mut Tx,
    org_id: &OrgId,
    from: i64,
    to: i64,
    with_shadow: bool,
) -> Result<Vec<SessionInWindow>> {
    rows!(
        tx,
        SessionInWindow,
        "SELECT {user_of:s} AS user_id, s.session_id, s.first_request_at, s.source FROM sessions s
         WHERE s.org_id = $1 AND s.first_request_at >= $2 AND s.first_request_at <= $3 AND ($4 = 0 OR EXISTS (
             SELECT 1 FROM interactions i WHERE i.org_id = s.org_id AND i.subject = s.subject
                AND i.session_id = s.session_id AND i.shadow_content <> ''))
         ORDER BY s.subject, s.session_id",
        org_id,
        from,
        to,
        i64::from(with_shadow)
    )
}

/// The organization with sessions that comes after this one by name; the first after the empty name.
pub async fn next_organization(tx: &mut Tx, after: &str) -> Result<Option<OrgId>> {
    let found =
        row!(tx, (Option<OrgId>,), "SELECT MIN(org_id) FROM sessions WHERE org_id > $1", after)?;
    Ok(found.and_then(|(org_id,)| org_id))
}

/// `(user, session, last request)` of the organization's sessions whose last request is in `from..before`, the oldest
/// first.
pub async fn idle_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    from: i64,
    before: i64,
    limit: i64,
) -> Result<Vec<(UserId, String, i64)>> {
    rows!(
        tx,
        (UserId, String, i64),
        "SELECT {user_of:s}, s.session_id, s.last_request_at FROM sessions s
         WHERE s.org_id = $1 AND s.last_request_at >= $2 AND s.last_request_at < $3
         ORDER BY s.last_request_at, s.subject, s.session_id LIMIT $4 + 0",
        org_id,
        from,
        before,
        limit
    )
}

/// [`lock_session`], if its last request is still from before `before`.
pub async fn lock_idle_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    before: i64,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT session_id FROM sessions
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND last_request_at < $4 {lock:UPDATE}",
        org_id,
        user_id,
        session_id,
        before
    )?;
    Ok(found.is_some())
}

/// Deletes a session with everything in it; gives how many requests it had. Lock it first.
pub async fn delete_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<u64> {
    let mut requests = 0;
    for (table, sql) in [
        (
            "session_outcomes",
            "DELETE FROM session_outcomes WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        ),
        (
            "interactions",
            "DELETE FROM interactions WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        ),
        ("requests", "DELETE FROM requests WHERE org_id = $1 AND subject = $2 AND session_id = $3"),
        ("sessions", "DELETE FROM sessions WHERE org_id = $1 AND subject = $2 AND session_id = $3"),
    ] {
        let deleted = run!(tx, sql, org_id, user_id, session_id)?;
        if table == "requests" {
            requests = deleted;
        }
    }
    Ok(requests)
}

/// Sums a session up anew after something in it was deleted.
pub async fn recount_session(tx: &mut Tx, subject: &SubjectWrite, session_id: &str) -> Result<()> {
    run!(
        tx,
        "UPDATE sessions SET
            (first_request_at, first_request_id, source) = (
                SELECT created_at, request_id, source FROM requests r
                WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3
                ORDER BY created_at, request_id LIMIT 1),
            (last_request_at, agent_version) = (
                SELECT created_at, agent_version FROM requests r
                WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3
                ORDER BY created_at DESC, received_at DESC, request_id DESC LIMIT 1),
            request_count = (SELECT COUNT(*) FROM requests r
                WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3),
            interaction_count = (SELECT COUNT(*) FROM interactions i
                WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3)
         WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(())
}

/// Sessions whose summary does not agree with their rows, and requests without a session: always 0.
pub async fn recount_mismatches(tx: &mut Tx) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "SELECT (SELECT COUNT(*) FROM sessions s WHERE
                 s.request_count <> (SELECT COUNT(*) FROM requests r WHERE r.org_id = s.org_id
                     AND r.subject = s.subject AND r.session_id = s.session_id)
              OR s.interaction_count <> (SELECT COUNT(*) FROM interactions i WHERE i.org_id = s.org_id
                     AND i.subject = s.subject AND i.session_id = s.session_id)
              OR s.first_request_at <> (SELECT MIN(created_at) FROM requests r WHERE r.org_id = s.org_id
                     AND r.subject = s.subject AND r.session_id = s.session_id)
              OR s.last_request_at <> (SELECT MAX(created_at) FROM requests r WHERE r.org_id = s.org_id
                     AND r.subject = s.subject AND r.session_id = s.session_id))
              + (SELECT COUNT(*) FROM requests r WHERE NOT EXISTS (SELECT 1 FROM sessions s
                     WHERE r.org_id = s.org_id AND r.subject = s.subject AND r.session_id = s.session_id))"
    )?;
    Ok(found.map_or(0, |(count,)| count))
}

/// The first sessions of the organization in the order of people and session ids.
pub async fn first_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    limit: i64,
) -> Result<Vec<(UserId, String)>> {
    rows!(
        tx,
        (UserId, String),
        "SELECT {user_of:s}, s.session_id FROM sessions s WHERE s.org_id = $1
         ORDER BY s.subject, s.session_id LIMIT $2 + 0",
        org_id,
        limit
    )
}
