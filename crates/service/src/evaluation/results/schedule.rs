//! Scheduling of evaluations: publishing, finishing, reporting an outcome and deleting set a session's due
//! time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::session_job;
use crate::app::App;
use crate::evaluation::learned;
use judge::JudgeState;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate, Planned};
use storage::subjects::{Subject, SubjectWrite};

/// Attempts at one judgement that fail for its own sake (a malformed answer, a refusal) before it is given up.
pub const ATTEMPTS: i64 = 5;

/// Payload of a session's jobs.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SessionPayload {
    pub session_id: String,
    /// Times that it was put off because the judge could not be asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub postponed: i64,
}

pub fn is_zero(times: &i64) -> bool {
    *times == 0
}

/// The key that keeps one session's work together; users and sessions cannot run into each other.
pub fn session_key(subject: Subject, session_id: &str) -> String {
    format!("{subject}:{session_id}")
}

/// A session grew, shrank or ended: it is due after its quiet period, or at once when it was finished. One
/// statement, in the transaction that changed the session.
pub async fn session_changed(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
    finished: bool,
) -> Result<()> {
    let quiet = if finished { 0 } else { app.settings.evaluation.quiet_seconds };
    enqueue(tx, app, subject, session_job::SESSION, session_id, quiet).await
}

/// The customer said what became of a session: evaluators that are rules look at it again, and so do the rules where
/// they are the judge.
pub async fn outcome_reported(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<()> {
    learned::ground_truth_grew(tx, app, subject.org_id()).await?;
    if app.judge.is_offline() {
        enqueue(tx, app, subject, session_job::SESSION, session_id, 0).await?;
    }
    enqueue(tx, app, subject, session_job::RULES, session_id, 0).await
}

/// [`session_changed`] for a publish, whose statements go together.
pub fn session_grows(
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
    finished: bool,
) -> Planned {
    let quiet = if finished { 0 } else { app.settings.evaluation.quiet_seconds };
    jobs::plan(app, new_job(app, subject, session_job::SESSION, session_id, quiet))
}

pub async fn enqueue(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    kind: &'static str,
    session_id: &str,
    wait: i64,
) -> Result<()> {
    jobs::enqueue(tx, app, new_job(app, subject, kind, session_id, wait)).await.map(drop)
}

fn new_job<'a>(
    app: &App,
    subject: &'a SubjectWrite,
    kind: &'static str,
    session_id: &str,
    wait: i64,
) -> NewJob<'a> {
    NewJob {
        kind,
        org_id: subject.org_id(),
        subject: Some(subject),
        parent_id: None,
        payload: jobs::stored(&SessionPayload { session_id: session_id.to_owned(), postponed: 0 }),
        dedupe_key: Some(session_key(subject.subject(), session_id)),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now() + wait,
        max_attempts: ATTEMPTS,
    }
}

/// Puts the state of evaluation into the metrics.
pub async fn record_gauges(app: &Arc<App>) {
    if app.db.engine().is_none() {
        return;
    }
    let paused = matches!(app.judge.state(), JudgeState::Paused { .. });
    metrics::gauge!("evenhand_judge_paused").set(if paused { 1.0 } else { 0.0 });
    metrics::gauge!("evenhand_judge_calls_in_use").set(app.judge.in_use() as f64);
    metrics::gauge!("evenhand_judge_spent_today_usd").set(app.judge.spent_today());
    match jobs::oldest_due_age_of(app, session_job::SESSION).await {
        Ok(age) => metrics::gauge!("evenhand_evaluation_queue_age_seconds").set(age as f64),
        Err(error) => tracing::warn!(%error, "the evaluation queue could not be measured"),
    }
}
