//! SQL of the table `requests`.

use crate::sessions::{LearningMode, Request};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

macro_rules! request_columns {
    () => {
        "r.request_id, u.user_id, r.created_at, r.source, r.agent_version, r.session_id, r.evaluation_only, \
         r.retrieval_experiment_id, r.retrieval_experiment_arm"
    };
}

/// Filter of `get_requests`.
#[derive(Clone, Default)]
pub struct RequestFilter {
    pub user_id: Option<UserId>,
    pub session_id: Option<String>,
    pub request_id: Option<String>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
}

macro_rules! matching_requests {
    () => {
        " AND ($3 IS NULL OR r.session_id = $3) AND ($4 IS NULL OR r.request_id = $4)
          AND ($5 IS NULL OR r.source = $5) AND ($6 IS NULL OR r.agent_version = $6)
          AND ($7 IS NULL OR r.created_at >= $7) AND ($8 IS NULL OR r.created_at < $8)"
    };
}

/// Sessions that have a matching request, newest activity first.
pub async fn sessions_with_requests(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &RequestFilter,
    limit: i64,
    offset: i64,
) -> Result<Vec<(UserId, String)>> {
    macro_rules! page {
        ($of_user:literal, $plus:literal) => {
            storage::statement!(concat!(
                "SELECT {user_of:s}, s.session_id FROM sessions s WHERE s.org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR s.session_id = $3) AND EXISTS (
                    SELECT 1 FROM requests r WHERE r.org_id = s.org_id AND r.subject = s.subject
                       AND r.session_id = s.session_id",
                matching_requests!(),
                ") ORDER BY ",
                $plus,
                "s.last_request_at DESC, s.subject DESC, s.session_id DESC LIMIT $9 + 0 OFFSET $10"
            ))
        };
    }
    // `+`: an engine that does not know how many sessions a person has would walk everybody's in their order, or in an
    // index that has all that is asked for; it does not have `request_count`, which is never 0.
    let sql = match filter.user_id {
        Some(_) => page!("s.subject = $2 AND s.request_count > 0", "+"),
        None => page!("$2 IS NULL", ""),
    };
    rows!(
        tx,
        (UserId, String),
        sql,
        org_id,
        filter.user_id.as_ref(),
        filter.session_id.as_deref(),
        filter.request_id.as_deref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        limit,
        offset
    )
}

/// The matching requests of one session, oldest first.
pub async fn requests_of_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    filter: &RequestFilter,
) -> Result<Vec<Request>> {
    rows!(
        tx,
        Request,
        concat!(
            "SELECT ",
            request_columns!(),
            " FROM requests r JOIN subjects u USING (org_id, subject)
              WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $9",
            matching_requests!(),
            " ORDER BY r.created_at, r.request_id"
        ),
        org_id,
        user_id,
        filter.session_id.as_deref(),
        filter.request_id.as_deref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        session_id
    )
}

/// The user of a request, whether it feeds learning, whether it was for evaluation only, and its last turn. Of several
/// users' requests with this id it is the newest.
pub async fn request_for_learning(
    tx: &mut Tx,
    org_id: &OrgId,
    request_id: &str,
) -> Result<Option<(UserId, LearningMode, bool, i64)>> {
    row!(
        tx,
        (UserId, LearningMode, bool, i64),
        "SELECT {user_of:r}, r.learning, r.evaluation_only,
                (SELECT COALESCE(MAX(i.interaction_id), 0) FROM interactions i
                  WHERE i.org_id = r.org_id AND i.subject = r.subject AND i.session_id = r.session_id
                    AND i.request_id = r.request_id)
         FROM requests r WHERE r.org_id = $1 AND r.request_id = $2 ORDER BY r.created_at DESC LIMIT 1",
        org_id,
        request_id
    )
}

/// The users and sessions of the requests with an id: one, unless several users sent the same.
pub async fn locate_requests(
    tx: &mut Tx,
    org_id: &OrgId,
    request_id: &str,
) -> Result<Vec<(UserId, String)>> {
    rows!(
        tx,
        (UserId, String),
        "SELECT {user_of:r}, r.session_id FROM requests r WHERE r.org_id = $1 AND r.request_id = $2",
        org_id,
        request_id
    )
}

pub async fn delete_request(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    request_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM interactions
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND request_id = $4",
        org_id,
        user_id,
        session_id,
        request_id
    )?;
    run!(
        tx,
        "DELETE FROM requests
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND request_id = $4",
        org_id,
        user_id,
        session_id,
        request_id
    )?;
    Ok(())
}

/// True if the session has a request whose id begins so.
pub async fn has_request_beginning(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    beginning: &str,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT request_id FROM requests WHERE org_id = $1 AND subject = $2 AND session_id = $3
            AND SUBSTR(request_id, 1, LENGTH($4)) = $4 LIMIT 1",
        org_id,
        user_id,
        session_id,
        beginning
    )?;
    Ok(found.is_some())
}

/// True if the session has any request left.
pub async fn has_requests(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT request_id FROM requests WHERE org_id = $1 AND subject = $2 AND session_id = $3 LIMIT 1",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.is_some())
}
