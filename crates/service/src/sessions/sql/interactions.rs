//! SQL of the table `interactions`: the turns of sessions.

use sqlx::types::Json;

use crate::sessions::{Arrival, Citation, Interaction};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows};

macro_rules! interaction_columns {
    () => {
        "i.interaction_id, u.user_id, i.session_id, i.request_id, i.created_at, i.role, i.content, i.user_action, \
         i.user_action_description, i.interacted_image_url, i.shadow_content, i.expert_content, \
         i.tools_used, i.retrieved_learnings, i.citations, i.token_count, i.usage"
    };
}

/// The turns of one session, oldest first.
pub async fn interactions_of_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions i JOIN subjects u USING (org_id, subject)
              WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3
              ORDER BY i.created_at, i.interaction_id"
        ),
        org_id,
        user_id,
        session_id
    )
}

/// The newest turns of everybody, newest first: those of as many sessions as there may be turns.
pub async fn newest_of_everybody(
    tx: &mut Tx,
    org_id: &OrgId,
    limit: i64,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions i CROSS JOIN subjects u
              WHERE i.org_id = $1 AND (i.subject, i.session_id) IN (
                  SELECT subject, session_id FROM sessions WHERE org_id = $1
                  ORDER BY last_request_at DESC, subject, session_id LIMIT $2 + 0)
                AND u.org_id = i.org_id AND u.subject = i.subject
              ORDER BY i.created_at DESC, i.interaction_id DESC LIMIT $2 + 0"
        ),
        org_id,
        limit
    )
}

/// The newest turns of a user within a time range, newest first; those of one request when given.
pub async fn newest_interactions(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    request_id: Option<&str>,
    from: Option<i64>,
    to: Option<i64>,
    limit: i64,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions i JOIN subjects u USING (org_id, subject)
              WHERE i.org_id = $1 AND i.subject = $2
              AND ($3 IS NULL OR i.created_at >= $3) AND ($4 IS NULL OR i.created_at < $4)
              AND ($6 IS NULL OR i.request_id = $6)
              ORDER BY i.created_at DESC, i.interaction_id DESC LIMIT $5 + 0"
        ),
        org_id,
        user_id,
        from,
        to,
        limit,
        request_id
    )
}

/// The citations of a session's turns, oldest turn first.
pub async fn citations(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Vec<Citation>> {
    let found = rows!(
        tx,
        (Json<Vec<Citation>>,),
        "SELECT citations FROM interactions WHERE org_id = $1 AND subject = $2 AND session_id = $3
         ORDER BY created_at, interaction_id",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.into_iter().flat_map(|(Json(citations),)| citations).collect())
}

/// Turns with what learning needs of their requests.
macro_rules! select_arrivals {
    ($where:literal) => {
        concat!(
            "SELECT i.interaction_id, u.user_id, i.session_id, i.request_id, i.created_at, i.role, i.content,
                    i.user_action, i.user_action_description, i.interacted_image_url, i.shadow_content,
                    i.expert_content, i.tools_used, i.retrieved_learnings, i.citations, i.token_count, i.usage,
                    r.agent_version, r.learning
             FROM interactions i JOIN requests r ON r.org_id = i.org_id AND r.subject = i.subject
                  AND r.session_id = i.session_id AND r.request_id = i.request_id
                  JOIN subjects u ON u.org_id = i.org_id AND u.subject = i.subject
             WHERE i.org_id = $1 AND i.subject = $2 AND r.learning <> 'off' AND ",
            $where,
            " ORDER BY i.interaction_id LIMIT $4 + 0"
        )
    };
}

/// A person's turns that feed learning after `after`, in the order of their arrival.
pub async fn arrivals(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    after: i64,
    limit: i64,
) -> Result<Vec<Arrival>> {
    rows!(tx, Arrival, select_arrivals!("i.interaction_id > $3"), org_id, user_id, after, limit)
}

/// The turns of the sessions that these turns are of, in the order of their arrival.
pub async fn arrivals_beside(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    ids: &[i64],
    limit: i64,
) -> Result<Vec<Arrival>> {
    rows!(
        tx,
        Arrival,
        select_arrivals!(
            "i.session_id IN (SELECT session_id FROM interactions
                WHERE org_id = $1 AND subject = $2 AND interaction_id IN {integers:$3})"
        ),
        org_id,
        user_id,
        Json(ids),
        limit
    )
}

/// Turns by the time, source and agent version of their requests; all where absent.
#[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
pub struct TurnSelection {
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
}

/// People with selected turns, each with the first of them; those of one person when given.
pub async fn first_turns(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    turns: &TurnSelection,
) -> Result<Vec<(UserId, i64)>> {
    rows!(
        tx,
        (UserId, i64),
        "SELECT {user_of:i}, MIN(i.interaction_id)
         FROM requests r JOIN interactions i ON i.org_id = r.org_id AND i.subject = r.subject
              AND i.session_id = r.session_id AND i.request_id = r.request_id
         WHERE r.org_id = $1 AND r.learning <> 'off' AND ($2 IS NULL OR r.subject = $2)
           AND ($3 IS NULL OR r.created_at >= $3) AND ($4 IS NULL OR r.created_at < $4)
           AND ($5 IS NULL OR r.source = $5) AND ($6 IS NULL OR r.agent_version = $6)
         GROUP BY i.org_id, i.subject ORDER BY i.subject",
        org_id,
        user_id,
        turns.from,
        turns.to,
        &turns.source,
        &turns.agent_version
    )
}

/// A turn, as far as it says something of its person.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Said {
    pub interaction_id: i64,
    pub session_id: String,
    pub request_id: String,
    pub role: String,
    pub content: String,
    pub user_action_description: String,
}

/// A person's turns after `after`, in the order of their arrival.
pub async fn said(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    after: i64,
    limit: i64,
) -> Result<Vec<Said>> {
    rows!(
        tx,
        Said,
        "SELECT interaction_id, session_id, request_id, role, content, user_action_description FROM interactions
         WHERE org_id = $1 AND subject = $2 AND interaction_id > $3 ORDER BY interaction_id LIMIT $4 + 0",
        org_id,
        user_id,
        after,
        limit
    )
}

/// Number of a person's turns after `after` that learning reads, and the time at which the last of them was
/// received.
pub async fn count_arrivals(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    after: i64,
) -> Result<(i64, Option<i64>)> {
    let found = row!(
        tx,
        (i64, Option<i64>),
        "SELECT COUNT(*), MAX(r.received_at)
         FROM interactions i JOIN requests r ON r.org_id = i.org_id AND r.subject = i.subject
              AND r.session_id = i.session_id AND r.request_id = i.request_id
         WHERE i.org_id = $1 AND i.subject = $2 AND i.interaction_id > $3 AND r.learning <> 'off'",
        org_id,
        user_id,
        after
    )?;
    Ok(found.unwrap_or((0, None)))
}

/// The user's turns with these ids that are still there, oldest first.
pub async fn interactions_by_ids(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    ids: &[i64],
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions i JOIN subjects u USING (org_id, subject)
              WHERE i.org_id = $1 AND i.subject = $2 AND i.interaction_id IN {integers:$3}
              ORDER BY i.interaction_id"
        ),
        org_id,
        user_id,
        Json(ids)
    )
}

/// Deletes one turn and gives the session it was in.
pub async fn delete_interaction(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    interaction_id: i64,
) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "DELETE FROM interactions WHERE org_id = $1 AND subject = $2 AND interaction_id = $3
         RETURNING session_id",
        org_id,
        user_id,
        interaction_id
    )?;
    Ok(found.map(|(session_id,)| session_id))
}
