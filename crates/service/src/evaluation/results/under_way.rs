//! One judgement of a session at a time, whoever asks for it: the queue, a grade on demand or a regeneration, on any
//! replica. Whoever comes second waits and finds the verdict of the first. It is for judges that are paid; rules and the
//! learned judge may look twice.

use std::sync::Arc;
use std::time::Duration;

use super::grading::{self, LoadedSession};
use crate::app::App;
use crate::evaluation::{EvaluationResult, sql};
use storage::error::Result;
use storage::jobs::Claim;

/// Pause between two looks at a judgement that is under way.
const PAUSE: Duration = Duration::from_millis(60);

/// A verdict that is there when the turn comes.
pub struct Found {
    pub verdict: EvaluationResult,
    /// Somebody else had the turn before: the verdict is theirs.
    pub waited: bool,
}

/// Waits until nobody else judges the session, and gives the verdict on these very turns that is there then. The turn is
/// the job's until its lease ends or the verdict is written. `epoch` is that of the person.
pub async fn wait_for_turn(
    app: &Arc<App>,
    job: &Claim,
    epoch: Option<i64>,
    material: &LoadedSession,
    agent_version: &str,
) -> Result<Option<Found>> {
    if material.judge.is_offline() {
        return Ok(None);
    }
    let mut waited = false;
    let session = &material.transcript.session;
    let place = app.db.place_of(&job.org_id, &session.user_id).await;
    loop {
        let key = (session.user_id.clone(), session.session_id.clone(), agent_version.to_owned());
        let input = (app.clone(), job.clone(), epoch, key);
        let taken = app
            .db
            .write_at("evaluation.take_turn", place.clone(), input, |tx, (app, job, epoch, key)| {
                Box::pin(async move {
                    let (user_id, session_id, version) = key;
                    let org_id = &job.org_id;
                    let subject = grading::open_subject(tx, app, org_id, user_id, *epoch).await?;
                    let now = app.clock.now();
                    if !sql::take_turn(tx, &subject, session_id, job, now).await? {
                        return Ok(None);
                    }
                    let name = crate::evaluation::AGENT_SUCCESS;
                    let found =
                        sql::find_result(tx, org_id, user_id, session_id, name, version).await?;
                    Ok(Some(found))
                })
            })
            .await?;
        match taken {
            Some(verdict) => {
                let verdict = verdict.filter(|found| found.snapshot() == material.snapshot);
                return Ok(verdict.map(|verdict| Found { verdict, waited }));
            }
            None => {
                waited = true;
                tokio::time::sleep(PAUSE.mul_f64(0.5 + app.ids.fraction())).await;
            }
        }
    }
}
