//! The job that puts streams back and waits until they are read.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Generation, Rerun};
use crate::app::App;
use crate::learning_loop::extraction;
use crate::learning_loop::sql::streams;
use crate::sessions;
use base::owner::UserId;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, Claim, GoOn, Handler, Outcome};
use storage::subjects::barrier;

/// Streams that are put back in one transaction.
const AT_ONCE: usize = 50;
/// Seconds between two looks at whether everything is read.
const LOOK_AGAIN: i64 = 2;

/// Reads turns again, or only those that wait.
pub struct RerunGeneration {
    pub generation: Generation,
    pub again: bool,
}

impl Handler<App> for RerunGeneration {
    fn kind(&self) -> &'static str {
        self.generation.kind(self.again)
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(rerun(app, job))
    }
}

async fn rerun(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let mut rerun: Rerun = job.payload()?;
    if !rerun.is_put_back {
        put_all_back(app, job, &mut rerun).await?;
        app.db.announce_work().await;
    }
    let input = (job.clone(), rerun, app.clock.now());
    app.db
        .write("learnings.rerun_wait", input, |tx, (job, rerun, now)| {
            Box::pin(async move {
                jobs::lock_held(tx, job).await?;
                let user_id = job.user_id.as_ref();
                if !extraction::is_due(tx, &job.org_id, user_id, *now).await? {
                    jobs::remember(tx, job, rerun).await?;
                    return jobs::finish(tx, job, *now).await;
                }
                let run_at = *now + LOOK_AGAIN;
                let payload = jobs::stored(rerun);
                jobs::go_on(tx, job, &GoOn { run_at, weight: 0, payload, error: None }).await
            })
        })
        .await?;
    Ok(Outcome::Closed)
}

/// Puts streams back to before the first selected turn of each person. After a crash it begins anew: a stream that was
/// read meanwhile is read once more, and gives nothing new.
async fn put_all_back(app: &Arc<App>, job: &Claim, rerun: &mut Rerun) -> Result<()> {
    let input = (job.org_id.clone(), job.user_id.clone(), rerun.turns.clone());
    let people = app
        .db
        .read("learnings.rerun_people", input, |tx, (org_id, user_id, turns)| {
            Box::pin(sessions::first_turns(tx, org_id, user_id.as_ref(), turns))
        })
        .await?;
    (rerun.total_users, rerun.processed_users) = (people.len(), 0);
    for some in people.chunks(AT_ONCE) {
        rerun.processed_users += some.len();
        let input = (app.clone(), job.clone(), some.to_vec(), rerun.clone());
        app.db
            .write("learnings.rerun_put_back", input, |tx, (app, job, people, rerun)| {
                Box::pin(put_back(tx, app, job, people, rerun))
            })
            .await?;
    }
    rerun.is_put_back = true;
    Ok(())
}

async fn put_back(
    tx: &mut Tx,
    app: &App,
    job: &Claim,
    people: &[(UserId, i64)],
    rerun: &Rerun,
) -> Result<()> {
    jobs::hold(tx, job).await?;
    let users: Vec<UserId> = people.iter().map(|(user_id, _)| user_id.clone()).collect();
    let open = barrier::open_known(tx, &job.org_id, &users).await?;
    for (user_id, first_turn) in people {
        let Some(subject) = open.get(user_id) else { continue };
        if rerun.again {
            streams::rewind(tx, subject, *first_turn).await?;
        }
        extraction::flush(tx, app, subject).await?;
    }
    jobs::remember(tx, job, rerun).await
}
