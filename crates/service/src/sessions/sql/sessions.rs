//! SQL of the table `sessions`: a session's summary, and deleting a session with all that is in it.

use crate::experiments::Arm;
use crate::sessions::reads::Snapshot;
use crate::sessions::{CallTotals, ListedSession, SessionOrder, SessionSummary, VerdictFilter};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! session_columns {
    () => {
        "s.session_id, s.first_request_at, s.last_request_at, s.finished_at, s.source, s.agent_version, \
         s.request_count, s.interaction_count"
    };
}

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

/// Filter of a list of sessions. `None` means any.
#[derive(Clone, Default)]
pub struct SessionFilter {
    pub user_id: Option<UserId>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// By the newest verdict.
    pub verdict: Option<VerdictFilter>,
    /// Last activity at or after, before.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// A pattern from [`storage::db::like_pattern`] that some turn's content matches.
    pub text: Option<String>,
    /// One of these ids.
    pub session_ids: Option<Vec<String>>,
    /// As many corrections or more, and as many at most, by the newest verdict.
    pub min_corrections: Option<i64>,
    pub max_corrections: Option<i64>,
    /// Some request names this experiment, and this arm of it.
    pub experiment_id: Option<String>,
    pub arm: Option<Arm>,
    pub order: SessionOrder,
    /// Only sessions after this one in the list's order.
    pub after: Option<(i64, UserId, String)>,
}

impl SessionFilter {
    /// The ids as a parameter of a statement.
    fn session_id_list(&self) -> Option<String> {
        let ids = self.session_ids.as_ref()?;
        Some(serde_json::Value::from(ids.clone()).to_string())
    }
}

/// Sessions of a filter, $1 to $13, with their newest verdicts. Two texts, so that each is answered from its index.
macro_rules! filtered {
    ($of_user:literal) => {
        concat!(
            " FROM sessions s
              LEFT JOIN evaluation_results v ON v.org_id = s.org_id AND v.subject = s.subject
                AND v.session_id = s.session_id AND v.is_newest
              WHERE s.org_id = $1 AND ",
            $of_user,
            " AND ($3 IS NULL OR s.source = $3)
              AND ($4 IS NULL OR s.agent_version = $4)
              AND ($5 IS NULL OR s.last_request_at >= $5)
              AND ($6 IS NULL OR s.last_request_at < $6)
              AND ($7 IS NULL OR EXISTS (
                    SELECT 1 FROM interactions i WHERE i.org_id = s.org_id AND i.subject = s.subject
                       AND i.session_id = s.session_id AND LOWER(i.content) LIKE LOWER($7) ESCAPE '\\'))
              AND ($8 IS NULL OR ($8 = 'none' AND v.result_id IS NULL)
                   OR ($8 = 'success' AND v.is_success = TRUE)
                   OR ($8 = 'failure' AND v.is_success = FALSE))
              AND ($9 IS NULL OR s.session_id IN {texts:$9})
              AND ($10 IS NULL OR v.number_of_corrections >= $10)
              AND ($11 IS NULL OR EXISTS (
                    SELECT 1 FROM requests q WHERE q.org_id = s.org_id AND q.subject = s.subject
                       AND q.session_id = s.session_id AND q.retrieval_experiment_id = $11
                       AND ($12 IS NULL OR q.retrieval_experiment_arm = $12)))
              AND ($13 IS NULL OR v.number_of_corrections <= $13)"
        )
    };
}

/// In the filter's order, ties by user and session.
pub async fn list_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    limit: i64,
) -> Result<Vec<ListedSession>> {
    macro_rules! by_activity {
        ($direction:literal) => {
            concat!(
                "s.last_request_at ",
                $direction,
                ", s.subject ",
                $direction,
                ", s.session_id ",
                $direction
            )
        };
    }
    macro_rules! looked_up {
        () => {
            ", {user_of:s} AS user_id,
               (SELECT SUBSTR(i.content, 1, 200) FROM interactions i
                WHERE i.org_id = $1 AND i.subject = s.subject AND i.session_id = s.session_id
                  AND LOWER(i.role) = 'user' AND i.content <> ''
                ORDER BY i.created_at, i.interaction_id LIMIT 1) AS first_words,
               (SELECT CAST({json_rows:i.usage} AS TEXT) FROM interactions i
                WHERE i.org_id = $1 AND i.subject = s.subject AND i.session_id = s.session_id
                  AND i.usage IS NOT NULL) AS usages"
        };
    }
    macro_rules! page {
        ($looked_up:expr, $of_user:literal, $after:literal, $direction:literal) => {
            concat!(
                "SELECT s.org_id, s.subject, ",
                session_columns!(),
                ", v.is_success, v.failure_type, v.failure_reason,
                   v.number_of_corrections AS number_of_correction_per_session, v.is_escalated",
                $looked_up,
                filtered!($of_user),
                " AND ($14 IS NULL OR (s.last_request_at, s.subject, s.session_id) ",
                $after,
                " ($14, $15, $16)) ORDER BY ",
                by_activity!($direction),
                " LIMIT $17 + 0"
            )
        };
    }
    // Users, first words and usages are looked up for the sessions of the page only. Citus does so beside the sessions:
    // what it has put together from several servers it cannot look anything up for.
    macro_rules! list {
        ($of_user:literal, $after:literal, $direction:literal) => {
            match tx.is_spread() {
                true => storage::statement!(page!(looked_up!(), $of_user, $after, $direction)),
                false => storage::statement!(concat!(
                    "SELECT s.*",
                    looked_up!(),
                    " FROM (",
                    page!("", $of_user, $after, $direction),
                    ") s ORDER BY ",
                    by_activity!($direction)
                )),
            }
        };
    }
    let sql = match (&filter.user_id, filter.order) {
        (Some(_), SessionOrder::Newest) => list!("s.subject = $2", "<", "DESC"),
        (None, SessionOrder::Newest) => list!("$2 IS NULL", "<", "DESC"),
        (Some(_), SessionOrder::Oldest) => list!("s.subject = $2", ">", "ASC"),
        (None, SessionOrder::Oldest) => list!("$2 IS NULL", ">", "ASC"),
    };
    let (after_time, after_user, after_session) = match &filter.after {
        Some((time, user, session)) => (Some(*time), Some(user), Some(session.as_str())),
        None => (None, None, None),
    };
    let found = rows!(
        tx,
        ListedRow,
        sql,
        org_id,
        filter.user_id.as_ref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        filter.text.as_deref(),
        filter.verdict,
        filter.session_id_list(),
        filter.min_corrections,
        filter.experiment_id.as_deref(),
        filter.arm,
        filter.max_corrections,
        after_time,
        after_user,
        after_session,
        limit
    )?;
    let listed = |row: ListedRow| {
        Ok(ListedSession { calls: CallTotals::of_rows(&row.usages)?, ..row.session })
    };
    found.into_iter().map(listed).collect()
}

#[derive(sqlx_macros::FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    session: ListedSession,
    /// Usage of each turn that has one.
    usages: String,
}

/// Number of sessions of a filter, wherever in the list; counted no further than `most`.
pub async fn count_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &SessionFilter,
    most: i64,
) -> Result<i64> {
    macro_rules! count {
        ($of_user:literal) => {
            storage::statement!(concat!(
                "SELECT COUNT(*) FROM (SELECT 1",
                filtered!($of_user),
                " LIMIT $14 + 0) s"
            ))
        };
    }
    let sql = match filter.user_id {
        Some(_) => count!("s.subject = $2"),
        None => count!("$2 IS NULL"),
    };
    let counted = row!(
        tx,
        (i64,),
        sql,
        org_id,
        filter.user_id.as_ref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        filter.text.as_deref(),
        filter.verdict,
        filter.session_id_list(),
        filter.min_corrections,
        filter.experiment_id.as_deref(),
        filter.arm,
        filter.max_corrections,
        most
    )?;
    Ok(counted.map_or(0, |(count,)| count))
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
        ($after:literal) => {
            storage::statement!(concat!(
                "SELECT {user_of:s}, s.session_id FROM sessions s WHERE s.org_id = $1 AND ",
                $after,
                " AND ($4 IS NULL OR s.subject = $4) AND ($5 IS NULL OR s.source = $5)
                  AND ($6 IS NULL OR s.agent_version = $6)
                  AND ($7 IS NULL OR s.last_request_at >= $7) AND ($8 IS NULL OR s.last_request_at < $8)
                  ORDER BY s.subject, s.session_id LIMIT $9 + 0"
            ))
        };
    }
    // Two texts, because the subject of the empty user is not less than all others.
    let sql = match after.0.is_empty() {
        true => page!("$2 IS NOT NULL AND $3 IS NOT NULL"),
        false => page!("(s.subject, s.session_id) > ($2, $3)"),
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

/// Holds a session's row until the transaction ends. A publish that grows the session waits, so what is deleted
/// and what is counted afterwards are the same rows. False when there is no such session.
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
