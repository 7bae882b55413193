//! Learning status of a published request.

use super::EXTRACT;
use super::failure::STALLED;
use crate::app::App;
use crate::learning_loop::sql::streams;
use crate::organization;
use crate::sessions::{self, LearningMode};
use base::owner::OrgId;
use storage::error::{Error, Result};
use storage::jobs::{self, JobState, JobView};

base::vocabulary! {
    /// Learning status of a published request. A failure is tried again once a day.
    pub enum LearningProgress {
        Pending = "pending",
        Processing = "processing",
        Done = "done",
        Failed = "failed",
    }
}

/// Learning status of a request, and its reason.
pub async fn status(
    app: &App,
    org_id: &OrgId,
    request_id: String,
) -> Result<(LearningProgress, Option<String>)> {
    let input = (org_id.to_owned(), request_id, app.clock.now());
    let found = app
        .db
        .read("learnings.status", input, |tx, (org_id, request_id, now)| {
            Box::pin(async move {
                let request = sessions::request_for_learning(tx, org_id, request_id).await?;
                let Some((user_id, learning, evaluation_only, last_turn)) = request else {
                    return Ok(None);
                };
                if evaluation_only {
                    return Ok(Some(done("evaluation_only: kept out of learning")));
                }
                if learning == LearningMode::Off {
                    return Ok(Some(done("learning was off when it was published")));
                }
                let stream = streams::find(tx, org_id, &user_id).await?.unwrap_or_default();
                if last_turn <= stream.seen {
                    return Ok(Some(done("read")));
                }
                if !organization::config_in(tx, org_id).await?.config.learning.enabled {
                    let reason = "learning is turned off".to_owned();
                    return Ok(Some((LearningProgress::Pending, Some(reason))));
                }
                let dedupe_key = tx.subject(org_id, &user_id).to_string();
                let job = jobs::latest(tx, org_id, &user_id, EXTRACT, &dedupe_key).await?;
                Ok(Some(waiting(job, *now)))
            })
        })
        .await?;
    found.ok_or_else(|| Error::not_found("request"))
}

fn done(why: &str) -> (LearningProgress, Option<String>) {
    (LearningProgress::Done, Some(why.to_owned()))
}

fn waiting(job: Option<JobView>, now: i64) -> (LearningProgress, Option<String>) {
    let Some(job) = job.filter(|job| job.state == JobState::Open) else {
        let reason = "it is read with the next publish of this user".to_owned();
        return (LearningProgress::Pending, Some(reason));
    };
    if job.lease_until.is_some_and(|until| until >= now) {
        return (LearningProgress::Processing, None);
    }
    match job.last_error {
        Some(reason) if reason.starts_with(STALLED) => (LearningProgress::Failed, Some(reason)),
        Some(reason) => (LearningProgress::Pending, Some(format!("to be tried again: {reason}"))),
        None if job.run_at <= now => {
            (LearningProgress::Pending, Some("waiting for a worker".to_owned()))
        }
        None => {
            let reason = "waiting for more interactions, the end of the session or idle time";
            (LearningProgress::Pending, Some(reason.to_owned()))
        }
    }
}
