//! SQL of the tables `sessions`, `requests`, `interactions` and `session_outcomes`.

use sqlx::types::Json;

use super::outcomes::NewOutcome;
use super::publish::{Publish, PublishResponse};
use super::reads::Snapshot;
use super::{Citation, Interaction, ListedSession, Request, SessionOutcome, SessionSummary};
use crate::db::{Changes, Tx, Value};
use crate::error::Result;
use crate::governance::SubjectWrite;
use crate::jobs::Planned;
use crate::{row, rows, run};

// ── publishing ──────────────────────────────────────────────────────────────────────────────────────

/// What is stored with a request id: its digest, and the answer it was given.
pub async fn find_answer(
    tx: &mut Tx,
    org_id: &str,
    request_id: &str,
) -> Result<Option<(String, PublishResponse)>> {
    let found = row!(
        tx,
        (String, String, String, Json<PublishResponse>),
        "SELECT user_id, session_id, content_sha256, answer FROM requests
         WHERE org_id = $1 AND request_id = $2",
        org_id,
        request_id
    )?;
    let Some((user_id, session_id, content_sha256, Json(mut answer))) = found else {
        return Ok(None);
    };
    let turns = rows!(
        tx,
        (i64,),
        "SELECT interaction_id FROM interactions
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND request_id = $4
         ORDER BY interaction_id",
        org_id,
        user_id,
        session_id,
        request_id
    )?;
    answer.interaction_ids = turns.into_iter().map(|(id,)| id).collect();
    Ok(Some((content_sha256, answer)))
}

/// Turns per INSERT: engines limit the number of parameters.
const TURNS_AT_ONCE: usize = 100;

/// Stores a publish: its turns, the request, and what it adds to its session. Gives the ids of the turns, in order.
/// `answer` is what a repeat is answered with; the turns' ids are read from their rows.
pub(super) async fn insert_publish(
    tx: &mut Tx,
    subject: &SubjectWrite,
    publish: &Publish,
    answer: &PublishResponse,
    due: &[Planned],
) -> Result<Vec<i64>> {
    let mut changes = Changes::default();
    for turns in publish.items.chunks(TURNS_AT_ONCE) {
        let mut values = Vec::with_capacity(turns.len() * 18);
        for (item, tokens) in turns {
            values.extend([
                subject.org_id().into(),
                subject.user_id().into(),
                Value::from(&publish.request.session_id),
                subject.epoch().into(),
                Value::from(&publish.request_id),
                item.created_at.unwrap_or(publish.created_at).into(),
                Value::from(&item.role),
                Value::from(&item.content),
                Value::from(&item.shadow_content),
                Value::from(&item.expert_content),
                item.user_action.into(),
                Value::from(&item.user_action_description),
                Value::from(&item.interacted_image_url),
                Value::from(&item.image_encoding),
                Value::json(&item.tools_used)?,
                Value::json(&item.citations)?,
                Value::json(&item.retrieved_learnings)?,
                (*tokens).into(),
            ]);
        }
        changes.add_rows(
            "INSERT INTO interactions
               (org_id, user_id, session_id, epoch, request_id, created_at, role, content, shadow_content,
                expert_content, user_action, user_action_description, interacted_image_url,
                image_encoding, tools_used, citations, retrieved_learnings, token_count)
             VALUES {rows} RETURNING interaction_id",
            18,
            values,
        );
    }
    changes.add(
        "INSERT INTO requests
           (org_id, user_id, session_id, request_id, epoch, created_at, received_at, source,
            agent_version, evaluation_only, retrieval_experiment_id, retrieval_experiment_arm,
            content_sha256, answer)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            Value::from(&publish.request.session_id),
            Value::from(&publish.request_id),
            subject.epoch().into(),
            publish.created_at.into(),
            publish.received_at.into(),
            Value::from(&publish.request.source),
            Value::from(&publish.agent_version),
            publish.request.evaluation_only.into(),
            publish.request.retrieval_experiment_id.as_deref().into(),
            publish.request.retrieval_experiment_arm.into(),
            Value::from(&publish.content_sha256),
            Value::json(answer)?,
        ],
    );
    changes.add(
        GROW_SESSION,
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            Value::from(&publish.request.session_id),
            subject.epoch().into(),
            publish.created_at.into(),
            Value::from(&publish.request_id),
            publish.received_at.into(),
            publish.request.session_finished.then_some(publish.received_at).into(),
            Value::from(&publish.request.source),
            Value::from(&publish.agent_version),
            i64::try_from(publish.items.len()).unwrap_or(i64::MAX).into(),
        ],
    );
    for job in due {
        job.add_to(&mut changes);
    }
    let mut ids = tx.apply(changes).await?;
    ids.sort_unstable();
    Ok(ids)
}

/// Adds a request to its session's summary. The first request is the earliest by (time, id): an import may bring it
/// after later ones.
const GROW_SESSION: &str = "INSERT INTO sessions
       (org_id, user_id, session_id, epoch, first_request_at, first_request_id, last_request_at,
        last_received_at, finished_at, source, agent_version, request_count, interaction_count)
     VALUES ($1, $2, $3, $4, $5, $6, $5, $7, $8, $9, $10, 1, $11)
     ON CONFLICT (org_id, user_id, session_id) DO UPDATE SET
        source = CASE WHEN (excluded.first_request_at, excluded.first_request_id)
                         < (sessions.first_request_at, sessions.first_request_id)
                      THEN excluded.source ELSE sessions.source END,
        first_request_id = CASE WHEN (excluded.first_request_at, excluded.first_request_id)
                         < (sessions.first_request_at, sessions.first_request_id)
                      THEN excluded.first_request_id ELSE sessions.first_request_id END,
        first_request_at = CASE WHEN excluded.first_request_at < sessions.first_request_at
                      THEN excluded.first_request_at ELSE sessions.first_request_at END,
        agent_version = CASE WHEN excluded.last_request_at >= sessions.last_request_at
                      THEN excluded.agent_version ELSE sessions.agent_version END,
        last_request_at = CASE WHEN excluded.last_request_at > sessions.last_request_at
                      THEN excluded.last_request_at ELSE sessions.last_request_at END,
        last_received_at = excluded.last_received_at,
        finished_at = excluded.finished_at,
        request_count = sessions.request_count + 1,
        interaction_count = sessions.interaction_count + excluded.interaction_count";

pub async fn finish_session(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE sessions SET finished_at = $4 WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id,
        now
    )?;
    Ok(())
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────

macro_rules! session_columns {
    () => {
        "s.user_id, s.session_id, s.first_request_at, s.last_request_at, s.finished_at, s.source, \
         s.agent_version, s.request_count, s.interaction_count"
    };
}

macro_rules! request_columns {
    () => {
        "request_id, user_id, created_at, source, agent_version, session_id, evaluation_only, \
         retrieval_experiment_id, retrieval_experiment_arm"
    };
}

macro_rules! interaction_columns {
    () => {
        "interaction_id, user_id, session_id, request_id, created_at, role, content, user_action, \
         user_action_description, interacted_image_url, shadow_content, expert_content, \
         tools_used, retrieved_learnings, citations, token_count"
    };
}

/// The users who have a session of this id; two are enough to know that the id is ambiguous.
pub async fn owners(tx: &mut Tx, org_id: &str, session_id: &str) -> Result<Vec<String>> {
    let found = rows!(
        tx,
        (String,),
        "SELECT user_id FROM sessions WHERE org_id = $1 AND session_id = $2 ORDER BY user_id LIMIT 2",
        org_id,
        session_id
    )?;
    Ok(found.into_iter().map(|(user_id,)| user_id).collect())
}

pub async fn find_session(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Option<SessionSummary>> {
    row!(
        tx,
        SessionSummary,
        concat!(
            "SELECT ",
            session_columns!(),
            " FROM sessions s WHERE s.org_id = $1 AND s.user_id = $2 AND s.session_id = $3"
        ),
        org_id,
        user_id,
        session_id
    )
}

/// What a list of sessions is narrowed by. `None` means any.
#[derive(Clone, Default)]
pub struct SessionFilter {
    pub user_id: Option<String>,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// By the newest verdict of success: `success`, `failure`, or `none` for sessions without one.
    pub verdict: Option<&'static str>,
    /// Last activity at or after, before.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// A pattern from [`crate::db::like_pattern`] that some turn's content matches.
    pub text: Option<String>,
    /// One of these ids.
    pub session_ids: Option<Vec<String>>,
    /// Only sessions after this one in the list's order.
    pub after: Option<(i64, String, String)>,
}

/// Newest activity first, ties by user and session.
pub async fn list_sessions(
    tx: &mut Tx,
    org_id: &str,
    filter: &SessionFilter,
    limit: i64,
) -> Result<Vec<ListedSession>> {
    macro_rules! list {
        ($of_user:literal) => {
            concat!(
                "SELECT ",
                session_columns!(),
                ", v.is_success, v.failure_type,
                   v.number_of_corrections AS number_of_correction_per_session, v.is_escalated
                 FROM sessions s
                 LEFT JOIN evaluation_results v ON v.org_id = s.org_id AND v.user_id = s.user_id
                   AND v.session_id = s.session_id AND v.is_newest
                 WHERE s.org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR s.source = $3)
                  AND ($4 IS NULL OR s.agent_version = $4)
                  AND ($5 IS NULL OR s.last_request_at >= $5)
                  AND ($6 IS NULL OR s.last_request_at < $6)
                  AND ($8 IS NULL OR (s.last_request_at, s.user_id, s.session_id) < ($8, $9, $10))
                  AND ($7 IS NULL OR EXISTS (
                        SELECT 1 FROM interactions i WHERE i.org_id = s.org_id AND i.user_id = s.user_id
                           AND i.session_id = s.session_id AND i.content {contains:$7}))
                  AND ($12 IS NULL OR ($12 = 'none' AND v.result_id IS NULL)
                       OR ($12 = 'success' AND v.is_success = TRUE)
                       OR ($12 = 'failure' AND v.is_success = FALSE))
                  AND ($13 IS NULL OR s.session_id IN {texts:$13})
                  ORDER BY s.last_request_at DESC, s.user_id DESC, s.session_id DESC {limit:$11}"
            )
        };
    }
    // Two texts, so that each is answered from its index.
    let sql = match filter.user_id {
        Some(_) => list!("s.user_id = $2"),
        None => list!("$2 IS NULL"),
    };
    let (after_time, after_user, after_session) = match &filter.after {
        Some((time, user, session)) => (Some(*time), Some(user.as_str()), Some(session.as_str())),
        None => (None, None, None),
    };
    let session_ids =
        filter.session_ids.as_ref().map(|ids| serde_json::Value::from(ids.clone()).to_string());
    rows!(
        tx,
        ListedSession,
        sql,
        org_id,
        filter.user_id.as_deref(),
        filter.source.as_deref(),
        filter.agent_version.as_deref(),
        filter.from,
        filter.to,
        filter.text.as_deref(),
        after_time,
        after_user,
        after_session,
        limit,
        filter.verdict,
        session_ids
    )
}

/// Which requests `get_requests` is asked for.
#[derive(Clone, Default)]
pub struct RequestFilter {
    pub user_id: Option<String>,
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
    org_id: &str,
    filter: &RequestFilter,
    limit: i64,
    offset: i64,
) -> Result<Vec<(String, String)>> {
    macro_rules! page {
        ($of_user:literal) => {
            concat!(
                "SELECT s.user_id, s.session_id FROM sessions s WHERE s.org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR s.session_id = $3) AND EXISTS (
                    SELECT 1 FROM requests r WHERE r.org_id = s.org_id AND r.user_id = s.user_id
                       AND r.session_id = s.session_id",
                matching_requests!(),
                ") ORDER BY s.last_request_at DESC, s.user_id DESC, s.session_id DESC {limit:$9} OFFSET $10"
            )
        };
    }
    let sql = match filter.user_id {
        Some(_) => page!("s.user_id = $2"),
        None => page!("$2 IS NULL"),
    };
    rows!(
        tx,
        (String, String),
        sql,
        org_id,
        filter.user_id.as_deref(),
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
    org_id: &str,
    user_id: &str,
    session_id: &str,
    filter: &RequestFilter,
) -> Result<Vec<Request>> {
    rows!(
        tx,
        Request,
        concat!(
            "SELECT ",
            request_columns!(),
            " FROM requests r WHERE r.org_id = $1 AND r.user_id = $2 AND r.session_id = $9",
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

/// The turns of one session, oldest first.
pub async fn interactions_of_session(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Vec<Interaction>> {
    rows!(
        tx,
        Interaction,
        concat!(
            "SELECT ",
            interaction_columns!(),
            " FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3
              ORDER BY created_at, interaction_id"
        ),
        org_id,
        user_id,
        session_id
    )
}

/// The newest turns of a user within a time range, newest first.
pub async fn newest_interactions(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
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
            " FROM interactions WHERE org_id = $1 AND user_id = $2
              AND ($3 IS NULL OR created_at >= $3) AND ($4 IS NULL OR created_at < $4)
              ORDER BY created_at DESC, interaction_id DESC {limit:$5}"
        ),
        org_id,
        user_id,
        from,
        to,
        limit
    )
}

/// Where a request belongs: its user and session.
pub async fn locate_request(
    tx: &mut Tx,
    org_id: &str,
    request_id: &str,
) -> Result<Option<(String, String)>> {
    row!(
        tx,
        (String, String),
        "SELECT user_id, session_id FROM requests WHERE org_id = $1 AND request_id = $2",
        org_id,
        request_id
    )
}

// ── deleting ────────────────────────────────────────────────────────────────────────────────────────

/// Holds a session's row until the transaction ends. A publish that grows the session waits, so what is deleted
/// and what is counted afterwards are the same rows. False when there is no such session.
pub async fn lock_session(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT session_id FROM sessions
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 {for_update}",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.is_some())
}

pub async fn snapshot(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Snapshot> {
    let found = row!(
        tx,
        Snapshot,
        "SELECT COUNT(*) AS interaction_count, COALESCE(MAX(interaction_id), 0) AS last_interaction_id
         FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    found.ok_or_else(|| crate::error::Error::Internal("a count has a row".to_owned()))
}

/// A session in a time window, as samples are drawn from.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct SessionInWindow {
    pub user_id: String,
    pub session_id: String,
    pub first_request_at: i64,
    pub source: String,
}

/// The sessions whose first request is in the window, both ends included.
pub async fn in_window(
    tx: &mut Tx,
    org_id: &str,
    from: i64,
    to: i64,
) -> Result<Vec<SessionInWindow>> {
    rows!(
        tx,
        SessionInWindow,
        "SELECT user_id, session_id, first_request_at, source FROM sessions
         WHERE org_id = $1 AND first_request_at >= $2 AND first_request_at <= $3
         ORDER BY user_id, session_id",
        org_id,
        from,
        to
    )
}

/// [`in_window`], of these only the sessions that have a shadow response.
pub async fn with_shadow_in_window(
    tx: &mut Tx,
    org_id: &str,
    from: i64,
    to: i64,
) -> Result<Vec<SessionInWindow>> {
    rows!(
        tx,
        SessionInWindow,
        "SELECT s.user_id, s.session_id, s.first_request_at, s.source FROM sessions s
         WHERE s.org_id = $1 AND s.first_request_at >= $2 AND s.first_request_at <= $3 AND EXISTS (
             SELECT 1 FROM interactions i WHERE i.org_id = s.org_id AND i.user_id = s.user_id
                AND i.session_id = s.session_id AND i.shadow_content <> '')
         ORDER BY s.user_id, s.session_id",
        org_id,
        from,
        to
    )
}

/// What the turns of a session cite, oldest turn first.
pub async fn citations(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Vec<Citation>> {
    let found = rows!(
        tx,
        (Json<Vec<Citation>>,),
        "SELECT citations FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3
         ORDER BY created_at, interaction_id",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.into_iter().flat_map(|(Json(citations),)| citations).collect())
}

/// Deletes one turn and gives the session it was in.
pub async fn delete_interaction(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    interaction_id: i64,
) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "DELETE FROM interactions WHERE org_id = $1 AND user_id = $2 AND interaction_id = $3
         RETURNING session_id",
        org_id,
        user_id,
        interaction_id
    )?;
    Ok(found.map(|(session_id,)| session_id))
}

pub async fn delete_request(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
    request_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM interactions
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND request_id = $4",
        org_id,
        user_id,
        session_id,
        request_id
    )?;
    run!(
        tx,
        "DELETE FROM requests
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND request_id = $4",
        org_id,
        user_id,
        session_id,
        request_id
    )?;
    Ok(())
}

/// Deletes a session with everything in it; gives how many requests it had. Lock it first.
pub async fn delete_session(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<u64> {
    let mut requests = 0;
    for (table, sql) in [
        (
            "session_outcomes",
            "DELETE FROM session_outcomes WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        ),
        (
            "interactions",
            "DELETE FROM interactions WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        ),
        ("requests", "DELETE FROM requests WHERE org_id = $1 AND user_id = $2 AND session_id = $3"),
        ("sessions", "DELETE FROM sessions WHERE org_id = $1 AND user_id = $2 AND session_id = $3"),
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
                WHERE r.org_id = $1 AND r.user_id = $2 AND r.session_id = $3
                ORDER BY created_at, request_id LIMIT 1),
            (last_request_at, agent_version) = (
                SELECT created_at, agent_version FROM requests r
                WHERE r.org_id = $1 AND r.user_id = $2 AND r.session_id = $3
                ORDER BY created_at DESC, received_at DESC, request_id DESC LIMIT 1),
            request_count = (SELECT COUNT(*) FROM requests r
                WHERE r.org_id = $1 AND r.user_id = $2 AND r.session_id = $3),
            interaction_count = (SELECT COUNT(*) FROM interactions i
                WHERE i.org_id = $1 AND i.user_id = $2 AND i.session_id = $3)
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(())
}

/// Whether the session has any request left.
pub async fn has_requests(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT request_id FROM requests WHERE org_id = $1 AND user_id = $2 AND session_id = $3 LIMIT 1",
        org_id,
        user_id,
        session_id
    )?;
    Ok(found.is_some())
}

// ── outcomes ────────────────────────────────────────────────────────────────────────────────────────

macro_rules! outcome_columns {
    () => {
        "o.user_id, o.session_id, o.revision, o.outcome, o.occurred_at, o.label, o.value, o.metadata, \
         o.recorded_at"
    };
}

pub async fn newest_outcome(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<Option<SessionOutcome>> {
    row!(
        tx,
        SessionOutcome,
        concat!(
            "SELECT ",
            outcome_columns!(),
            " FROM session_outcomes o WHERE o.org_id = $1 AND o.user_id = $2 AND o.session_id = $3
              ORDER BY o.revision DESC LIMIT 1"
        ),
        subject.org_id(),
        subject.user_id(),
        session_id
    )
}

pub async fn insert_outcome(
    tx: &mut Tx,
    subject: &SubjectWrite,
    outcome: &NewOutcome,
    revision: i64,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO session_outcomes
           (org_id, user_id, session_id, revision, epoch, outcome, occurred_at, label, value, metadata,
            recorded_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        subject.org_id(),
        subject.user_id(),
        &outcome.session_id,
        revision,
        subject.epoch(),
        outcome.outcome,
        outcome.occurred_at,
        outcome.label.as_deref(),
        outcome.value,
        outcome.metadata.as_ref().map(Json),
        now
    )?;
    Ok(())
}

/// The current outcome of each of these sessions; of every user who has such a session.
pub async fn current_outcomes(
    tx: &mut Tx,
    org_id: &str,
    session_ids: &str,
    user_id: Option<&str>,
) -> Result<Vec<SessionOutcome>> {
    rows!(
        tx,
        SessionOutcome,
        concat!(
            "SELECT ",
            outcome_columns!(),
            " FROM sessions s JOIN session_outcomes o
                ON o.org_id = s.org_id AND o.user_id = s.user_id AND o.session_id = s.session_id
              WHERE s.org_id = $1 AND s.session_id IN {texts:$2} AND ($3 IS NULL OR s.user_id = $3)
                AND o.revision = (SELECT MAX(revision) FROM session_outcomes n
                    WHERE n.org_id = o.org_id AND n.user_id = o.user_id AND n.session_id = o.session_id)
              ORDER BY o.session_id, o.user_id"
        ),
        org_id,
        session_ids,
        user_id
    )
}

/// All revisions of one session's outcome, oldest first.
pub async fn outcome_history(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Vec<SessionOutcome>> {
    rows!(
        tx,
        SessionOutcome,
        concat!(
            "SELECT ",
            outcome_columns!(),
            " FROM session_outcomes o WHERE o.org_id = $1 AND o.user_id = $2 AND o.session_id = $3
              ORDER BY o.revision"
        ),
        org_id,
        user_id,
        session_id
    )
}

// ── checking ────────────────────────────────────────────────────────────────────────────────────────

/// Sessions whose summary does not agree with their rows, and requests without a session: always 0.
pub async fn recount_mismatches(tx: &mut Tx) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "SELECT (SELECT COUNT(*) FROM sessions s WHERE
                 s.request_count <> (SELECT COUNT(*) FROM requests r WHERE r.org_id = s.org_id
                     AND r.user_id = s.user_id AND r.session_id = s.session_id)
              OR s.interaction_count <> (SELECT COUNT(*) FROM interactions i WHERE i.org_id = s.org_id
                     AND i.user_id = s.user_id AND i.session_id = s.session_id)
              OR s.first_request_at <> (SELECT MIN(created_at) FROM requests r WHERE r.org_id = s.org_id
                     AND r.user_id = s.user_id AND r.session_id = s.session_id)
              OR s.last_request_at <> (SELECT MAX(created_at) FROM requests r WHERE r.org_id = s.org_id
                     AND r.user_id = s.user_id AND r.session_id = s.session_id))
              + (SELECT COUNT(*) FROM requests r WHERE NOT EXISTS (SELECT 1 FROM sessions s
                     WHERE r.org_id = s.org_id AND r.user_id = s.user_id AND r.session_id = s.session_id))"
    )?;
    Ok(found.map_or(0, |(count,)| count))
}
