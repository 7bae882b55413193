//! SQL of a publish: its turns, its request, and what it adds to its session.

use sqlx::types::Json;

use crate::experiments::{Arm, Attribution};
use crate::sessions::{InteractionData, LearningMode};
use base::owner::OrgId;
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::jobs::Planned;
use storage::subjects::SubjectWrite;
use storage::{row, rows};

/// The stored answer of a request id.
pub struct StoredAnswer {
    pub content_sha256: String,
    /// The answer it was given, without its turns and its attribution.
    pub answer: serde_json::Value,
    pub interaction_ids: Vec<i64>,
    pub experiment: Option<Attribution>,
}

/// A request to be stored.
pub struct NewRequest<'a> {
    pub request_id: &'a str,
    pub session_id: &'a str,
    pub created_at: i64,
    pub received_at: i64,
    pub source: &'a str,
    pub agent_version: &'a str,
    pub evaluation_only: bool,
    pub session_finished: bool,
    /// The attribution that was sent.
    pub experiment: Option<&'a Attribution>,
    pub content_sha256: &'a str,
    /// The answer to a repeat; the turns' ids and the attribution are read from their rows.
    pub answer: serde_json::Value,
    /// Learning mode of the request.
    pub learning: LearningMode,
    /// The turns, with the tokens of their content.
    pub items: &'a [(InteractionData, i64)],
}

/// The answer that was given to a request id, if it was published before.
pub async fn find_answer(
    tx: &mut Tx,
    org_id: &OrgId,
    request_id: &str,
) -> Result<Option<StoredAnswer>> {
    let found = row!(
        tx,
        (String, String, String, Json<serde_json::Value>, Option<String>, Option<Arm>),
        "SELECT user_id, session_id, content_sha256, answer, retrieval_experiment_id, retrieval_experiment_arm
         FROM requests WHERE org_id = $1 AND request_id = $2",
        org_id,
        request_id
    )?;
    let Some((user_id, session_id, content_sha256, Json(answer), experiment_id, arm)) = found
    else {
        return Ok(None);
    };
    let experiment =
        experiment_id.zip(arm).map(|(experiment_id, arm)| Attribution { experiment_id, arm });
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
    let interaction_ids = turns.into_iter().map(|(id,)| id).collect();
    Ok(Some(StoredAnswer { content_sha256, answer, interaction_ids, experiment }))
}

/// The attribution stored with a request.
pub async fn find_attribution(
    tx: &mut Tx,
    org_id: &OrgId,
    request_id: &str,
) -> Result<Option<Attribution>> {
    let found = row!(
        tx,
        (String, Arm),
        "SELECT retrieval_experiment_id, retrieval_experiment_arm FROM requests
         WHERE org_id = $1 AND request_id = $2 AND retrieval_experiment_id IS NOT NULL",
        org_id,
        request_id
    )?;
    Ok(found.map(|(experiment_id, arm)| Attribution { experiment_id, arm }))
}

/// A request that was stored.
pub struct StoredRequest {
    /// In order.
    pub interaction_ids: Vec<i64>,
    /// True if the request carries an attribution: the one that was sent, or that of its session's exposure.
    pub attributed: bool,
}

/// Turns per INSERT: engines limit the number of parameters.
const TURNS_AT_ONCE: usize = 100;

/// Stores a request: its turns, its row, and what it adds to its session, with the work that follows from it.
pub async fn insert_request(
    tx: &mut Tx,
    subject: &SubjectWrite,
    request: &NewRequest<'_>,
    learning: Option<&Planned>,
    due: &[Planned],
) -> Result<StoredRequest> {
    let mut changes = Changes::default();
    // First, because it is where publishes of one person wait for each other: their turns are then numbered in the
    // order in which they become visible.
    if let Some(learning) = learning {
        learning.add_to(&mut changes);
    }
    changes.together();
    for turns in request.items.chunks(TURNS_AT_ONCE) {
        let mut values = Vec::with_capacity(turns.len() * 19);
        for (item, tokens) in turns {
            values.extend([
                subject.org_id().into(),
                subject.user_id().into(),
                request.session_id.into(),
                subject.epoch().into(),
                request.request_id.into(),
                item.created_at.unwrap_or(request.created_at).into(),
                Value::from(&item.role),
                Value::from(&item.content),
                Value::from(&item.shadow_content),
                Value::from(&item.expert_content),
                item.user_action.as_str().into(),
                Value::from(&item.user_action_description),
                Value::from(&item.interacted_image_url),
                Value::from(&item.image_encoding),
                Value::json(&item.tools_used)?,
                Value::json(&item.citations)?,
                Value::json(&item.retrieved_learnings)?,
                (*tokens).into(),
                Value::optional_json(item.usage.as_ref())?,
            ]);
        }
        changes.add_rows(
            "INSERT INTO interactions
               (org_id, user_id, session_id, epoch, request_id, created_at, role, content, shadow_content,
                expert_content, user_action, user_action_description, interacted_image_url,
                image_encoding, tools_used, citations, retrieved_learnings, token_count, usage)
             VALUES {rows} RETURNING interaction_id",
            19,
            values,
        );
    }
    changes.add(
        "INSERT INTO requests
           (org_id, user_id, session_id, request_id, epoch, created_at, received_at, source,
            agent_version, evaluation_only, retrieval_experiment_id, retrieval_experiment_arm,
            content_sha256, answer, learning)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
            COALESCE($11, (SELECT experiment_id FROM experiment_exposures
                           WHERE org_id = $1 AND user_id = $2 AND session_id = $3
                           ORDER BY number DESC LIMIT 1)),
            COALESCE($12, (SELECT arm FROM experiment_exposures
                           WHERE org_id = $1 AND user_id = $2 AND session_id = $3
                           ORDER BY number DESC LIMIT 1)),
            $13, $14, $15)
         RETURNING CAST(CASE WHEN retrieval_experiment_id IS NULL THEN 0 ELSE 1 END AS BIGINT)",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            request.session_id.into(),
            request.request_id.into(),
            subject.epoch().into(),
            request.created_at.into(),
            request.received_at.into(),
            request.source.into(),
            request.agent_version.into(),
            request.evaluation_only.into(),
            request.experiment.map(|sent| sent.experiment_id.as_str()).into(),
            request.experiment.map(|sent| sent.arm.as_str()).into(),
            request.content_sha256.into(),
            Value::json(&request.answer)?,
            request.learning.as_str().into(),
        ],
    );
    changes.add(
        GROW_SESSION,
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            request.session_id.into(),
            subject.epoch().into(),
            request.created_at.into(),
            request.request_id.into(),
            request.received_at.into(),
            request.session_finished.then_some(request.received_at).into(),
            request.source.into(),
            request.agent_version.into(),
            i64::try_from(request.items.len()).unwrap_or(i64::MAX).into(),
        ],
    );
    for job in due {
        job.add_to(&mut changes);
    }
    let mut interaction_ids = tx.apply(changes).await?;
    let attributed = interaction_ids.pop() == Some(1);
    interaction_ids.sort_unstable();
    Ok(StoredRequest { interaction_ids, attributed })
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
