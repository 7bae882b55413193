//! Judging a session's learnings later, when the judge could not be asked with the session itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::schedule::SessionPayload;
use super::{grading, learning_verdicts};
use crate::app::App;
use crate::evaluation::{AGENT_SUCCESS, RetrievedLearningStatus, sql};
use crate::judging;
use crate::sessions;
use storage::db::Changes;
use storage::error::{Code, Error, Result};
use storage::jobs::{self, Claim, Handler, Outcome};

pub const LEARNINGS: &str = "evaluate_learnings";

pub struct EvaluateLearnings;

impl Handler<App> for EvaluateLearnings {
    fn kind(&self) -> &'static str {
        LEARNINGS
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(evaluate(app, job))
    }
}

async fn evaluate(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let user_id = job.user_id.clone().unwrap_or_default();
    let SessionPayload { session_id, postponed } = job.payload()?;
    let Some(material) = grading::load(app, &job.org_id, &user_id, &session_id).await? else {
        return Ok(Outcome::Done);
    };
    let agent_version = material.transcript.session.agent_version.clone();
    let set = learning_verdicts::judge(app, &material, &agent_version).await?;
    if set.status == RetrievedLearningStatus::Pending {
        let postponed = postponed + 1;
        let again_at = app.clock.now() + judging::pause(postponed, app.ids.fraction());
        let payload = jobs::stored(&SessionPayload { session_id, postponed });
        jobs::postpone(app, job, again_at, "the judge cannot be asked right now", payload).await?;
        return Ok(Outcome::Closed);
    }
    if set.status == RetrievedLearningStatus::Failed && job.attempts < job.max_attempts {
        return Err(Error::refused(Code::JudgeFailed, "neither half was judged"));
    }
    let input = (app.clone(), job.clone(), user_id, session_id, set, agent_version);
    app.db
        .write("evaluation.save_learnings", input, |tx, (app, job, user, session, set, version)| {
            Box::pin(async move {
                let subject = grading::open_subject(tx, app, &job.org_id, user, job.epoch).await?;
                let now = app.clock.now();
                if sessions::lock_session(tx, &job.org_id, user, session).await? {
                    let there = sessions::snapshot(tx, &job.org_id, user, session).await?;
                    let mut changes = Changes::default();
                    let replaced = learning_verdicts::replace(
                        tx,
                        &mut changes,
                        (&subject, session),
                        set,
                        (there, true),
                        now,
                    )
                    .await?;
                    tx.apply(changes).await?;
                    if set.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
                        grading::announce_learning_verdicts(tx, app, &job.org_id).await?;
                    }
                    // A session that changed has a job of its own coming.
                    let status =
                        if replaced { set.status } else { RetrievedLearningStatus::Pending };
                    sql::set_learning_status(tx, &subject, session, AGENT_SUCCESS, version, status)
                        .await?;
                    sql::set_gap_learning_status(tx, &subject, session, version, status).await?;
                }
                jobs::finish(tx, job, now).await
            })
        })
        .await?;
    Ok(Outcome::Closed)
}
