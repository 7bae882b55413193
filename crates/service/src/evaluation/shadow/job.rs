//! The job of a publish that carries shadow responses: every pair of it is judged and stored, one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::judging;
use crate::app::App;
use crate::evaluation::results::grading::{self, LoadedSession};
use crate::evaluation::results::schedule::{ATTEMPTS, is_zero, session_key};
use crate::evaluation::results::session_job;
use crate::sessions;
use storage::error::Result;
use storage::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome, Planned};
use storage::subjects::SubjectWrite;

const KIND: &str = "compare_shadow";

/// Payload of the job.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct ShadowPayload {
    session_id: String,
    request_id: String,
    /// Times that it was put off because the judge could not be asked.
    #[serde(default, skip_serializing_if = "is_zero")]
    postponed: i64,
}

/// The comparison of a publish's shadow responses, due at once, for the publish's own transaction.
pub fn shadow_published(
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
    request_id: &str,
) -> Planned {
    let payload = ShadowPayload {
        session_id: session_id.to_owned(),
        request_id: request_id.to_owned(),
        postponed: 0,
    };
    let job = NewJob {
        kind: KIND,
        org_id: subject.org_id(),
        subject: Some(subject),
        parent_id: None,
        payload: jobs::stored(&payload),
        dedupe_key: Some(format!("{}:{request_id}", session_key(subject.subject(), session_id))),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now(),
        max_attempts: ATTEMPTS,
    };
    jobs::plan(app, job)
}

pub struct CompareShadow;

impl Handler<App> for CompareShadow {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(compare(app, job))
    }
}

async fn compare(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let payload: ShadowPayload = job.payload()?;
    let ShadowPayload { session_id, request_id, postponed } = &payload;
    let user_id = job.user_id.clone().unwrap_or_default();
    let Some(material) = grading::load(app, &job.org_id, &user_id, session_id).await? else {
        return Ok(Outcome::Done);
    };
    let rubric = judging::rubric(&material)?;
    let judged = judged(app, &material, rubric.version).await?;
    for place in judging::pairs(&material) {
        let turn = &material.transcript.interactions[place];
        if turn.request_id != *request_id || judged.contains(&turn.interaction_id) {
            continue;
        }
        let verdict = match judging::compare(app, &material, rubric, place).await {
            Ok(verdict) => verdict,
            Err(error) => {
                let again = |postponed| ShadowPayload { postponed, ..payload.clone() };
                if session_job::put_off(app, job, &error, *postponed, again).await? {
                    return Ok(Outcome::Closed);
                }
                return Err(crate::judging::judge_error(&error));
            }
        };
        let input = (app.clone(), job.clone(), user_id.clone(), session_id.clone(), verdict);
        app.db
            .write("evaluation.save_shadow", input, |tx, (app, job, user_id, session, verdict)| {
                Box::pin(async move {
                    let epoch = job.epoch;
                    let subject =
                        grading::open_subject(tx, app, &job.org_id, user_id, epoch).await?;
                    jobs::hold(tx, job).await?;
                    if sessions::lock_session(tx, &job.org_id, user_id, session).await? {
                        let one = std::slice::from_ref(verdict);
                        super::write(tx, &subject, session, one, app.clock.now()).await?;
                    }
                    Ok(())
                })
            })
            .await?;
        metrics::counter!("evenhand_shadow_comparisons_total").increment(1);
    }
    Ok(Outcome::Done)
}

/// The turns of the session that this rubric judged already: a job that comes back goes on where it was.
async fn judged(app: &App, material: &LoadedSession, version: &str) -> Result<BTreeSet<i64>> {
    let session = &material.transcript.session;
    let input = (
        material.org_id.clone(),
        session.user_id.clone(),
        session.session_id.clone(),
        version.to_owned(),
    );
    app.db
        .lookup("evaluation.judged_pairs", input, |tx, (org, user, session, version)| {
            Box::pin(super::sql::judged(tx, org, user, session, version))
        })
        .await
}
