//! Evaluation decisions: the reason for every session's verdict, or for its absence.

use serde::Serialize;
use utoipa::ToSchema;

use super::schedule::session_key;
use super::session_job;
use crate::app::App;
use crate::evaluation::sql;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, JobState, JobView};

base::vocabulary! {
    /// Evaluation state of a session.
    pub enum EvaluationDecision {
        /// It may still grow.
        NotYetQuiet = "not_yet_quiet",
        Queued = "queued",
        SampledOut = "sampled_out",
        Skipped = "skipped",
        Failed = "failed",
        /// The judge abstained; the reason says why.
        Undecided = "undecided",
        Judged = "judged",
    }
}

/// Evaluation decision on a session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Decision {
    pub user_id: UserId,
    pub session_id: String,
    pub decision: EvaluationDecision,
    /// In words; empty where the decision says it all.
    pub reason: String,
    /// Due time, while it waits.
    pub due_at: Option<i64>,
    pub decided_at: Option<i64>,
}

/// Filter of the sessions.
pub struct DecisionQuery {
    pub user_id: Option<UserId>,
    pub session_id: Option<String>,
    pub limit: i64,
}

/// The decisions of a session (of every user who has one of this id) or of a user's newest sessions.
pub async fn decisions(app: &App, org_id: &OrgId, query: DecisionQuery) -> Result<Vec<Decision>> {
    let input = (org_id.to_owned(), query, app.clock.now());
    let found = app
        .db
        .read_standby("evaluation.decisions", input, |tx, (org_id, query, now)| {
            Box::pin(async move {
                let mut found = Vec::new();
                for (user_id, session_id) in sql::sessions_to_explain(tx, org_id, query).await? {
                    found.push(explain(tx, org_id, user_id, session_id, *now).await?);
                }
                Ok(found)
            })
        })
        .await?;
    if found.is_empty() { Err(Error::not_found("session")) } else { Ok(found) }
}

async fn explain(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: UserId,
    session_id: String,
    now: i64,
) -> Result<Decision> {
    let key = session_key(tx.subject(org_id, &user_id), &session_id);
    let job = jobs::latest(tx, org_id, &user_id, session_job::SESSION, &key).await?;
    let stored = sql::find_decision(tx, org_id, &user_id, &session_id).await?;
    let (decision, reason, due_at, decided_at) = match (job, stored) {
        (Some(job), _) if job.state == JobState::Open => waiting(job, now),
        // A worker that died on every attempt could write no decision.
        (Some(job), stored)
            if job.state == JobState::Dead
                && stored.as_ref().is_none_or(|(.., at)| Some(*at) < job.finished_at) =>
        {
            (EvaluationDecision::Failed, job.last_error.unwrap_or_default(), None, job.finished_at)
        }
        (_, Some((decision, reason, at))) => (decision, reason, None, Some(at)),
        (_, None) => {
            let reason = "it was never queued; publish to it or grade it on demand".to_owned();
            (EvaluationDecision::Skipped, reason, None, None)
        }
    };
    Ok(Decision { user_id, session_id, decision, reason, due_at, decided_at })
}

type Standing = (EvaluationDecision, String, Option<i64>, Option<i64>);

fn waiting(job: JobView, now: i64) -> Standing {
    use EvaluationDecision::{NotYetQuiet, Queued};
    let due_at = Some(job.run_at);
    let is_running = job.lease_until.is_some_and(|until| until >= now);
    match (&job.last_error, is_running) {
        (_, true) => (Queued, "being judged".to_owned(), due_at, None),
        (Some(error), false) => (Queued, format!("to be tried again: {error}"), due_at, None),
        (None, false) if job.run_at > now => (NotYetQuiet, String::new(), due_at, None),
        (None, false) => (Queued, "waiting for a worker".to_owned(), due_at, None),
    }
}
