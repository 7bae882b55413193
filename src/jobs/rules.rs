//! Enqueueing, claiming and ending jobs.

use super::{Children, Claim, JobCount, NewJob, sql};
use crate::app::App;
use crate::db::Tx;
use crate::error::{Error, Result};

/// The longest pause between two attempts.
const LONGEST_PAUSE: i64 = 3600;
/// How much of an error is kept. Errors name codes and places, never content.
const ERROR_LENGTH: usize = 500;

/// Puts work into the queue as part of `tx` and gives its id (the open job's, if it was a duplicate). Call
/// [`crate::db::Db::announce_work`] after the commit to have it picked up at once.
pub async fn enqueue(tx: &mut Tx, app: &App, job: NewJob<'_>) -> Result<String> {
    sql::insert(tx, &app.ids.uuid(), app.clock.now(), &job).await
}

/// Takes up to `limit` due jobs of these kinds for the lease time. Jobs that used up their attempts (a worker
/// that died with them counts) are closed as dead here.
pub async fn claim(app: &App, kinds: &[&str], limit: usize) -> Result<Vec<Claim>> {
    let now = app.clock.now();
    let kinds = serde_json::to_string(kinds).map_err(|e| Error::Internal(e.to_string()))?;
    if !app
        .db
        .read("jobs.any_due", (now, kinds.clone()), |tx, (now, kinds)| {
            Box::pin(sql::any_due(tx, kinds, *now))
        })
        .await?
    {
        return Ok(Vec::new());
    }
    let lease_until = now + app.settings.jobs.lease_seconds;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let input = (kinds, now, lease_until, app.ids.uuid(), limit);
    app.db
        .write("jobs.claim", input, |tx, (kinds, now, lease_until, token, limit)| {
            Box::pin(async move {
                let claimed = sql::claim(tx, kinds, *now, *lease_until, token, *limit).await?;
                let (live, spent): (Vec<_>, Vec<_>) =
                    claimed.into_iter().partition(|job| job.attempts <= job.max_attempts);
                for job in spent {
                    let reason = "gave up: the worker died or lost its lease on every attempt";
                    sql::close(tx, &job, "dead", Some(reason), *now).await?;
                }
                Ok(live)
            })
        })
        .await
}

/// Closes the job as part of the transaction that writes its result. Fails, and with it the whole transaction,
/// when the lease is lost. A job that was moved while it ran opens again instead.
pub async fn finish(tx: &mut Tx, job: &Claim, now: i64) -> Result<()> {
    if sql::close(tx, job, "done", None, now).await? { Ok(()) } else { Err(Error::LeaseLost) }
}

/// Keeps the lease for another period; false when it is lost.
pub async fn extend(app: &App, job: &Claim) -> Result<bool> {
    let until = app.clock.now() + app.settings.jobs.lease_seconds;
    app.db
        .write("jobs.extend", (job.clone(), until), |tx, (job, until)| {
            Box::pin(sql::extend(tx, job, *until))
        })
        .await
}

/// Records a failed attempt: again after a growing pause, or dead when the attempts are used up.
pub async fn fail(app: &App, job: &Claim, error: &Error) -> Result<()> {
    let now = app.clock.now();
    let reason: String = error.to_string().chars().take(ERROR_LENGTH).collect();
    let pause = pause_after(job.attempts, app.ids.fraction());
    let input = (job.clone(), reason, now, now + pause);
    app.db
        .write("jobs.fail", input, |tx, (job, reason, now, again_at)| {
            Box::pin(async move {
                if job.attempts >= job.max_attempts {
                    sql::close(tx, job, "dead", Some(reason), *now).await?;
                } else {
                    sql::reopen(tx, job, *again_at, Some(reason), false).await?;
                }
                Ok(())
            })
        })
        .await
}

/// Gives a job back untouched, as a graceful stop does: the attempt does not count.
pub async fn release(app: &App, job: &Claim) -> Result<()> {
    let input = (job.clone(), app.clock.now());
    app.db
        .write("jobs.release", input, |tx, (job, now)| {
            Box::pin(async move {
                sql::reopen(tx, job, *now, None, true).await?;
                Ok(())
            })
        })
        .await
}

/// Ends all open children of a parent; a worker that has one can no longer finish it.
pub async fn cancel_children(tx: &mut Tx, parent_id: &str, now: i64) -> Result<u64> {
    sql::cancel_children(tx, parent_id, now).await
}

/// How far a parent's children are.
pub async fn children(tx: &mut Tx, parent_id: &str) -> Result<Children> {
    let mut counted = Children::default();
    for (state, count) in sql::count_children(tx, parent_id).await? {
        match state.as_str() {
            "open" => counted.open = count,
            "done" => counted.done = count,
            "dead" => counted.dead = count,
            _ => counted.cancelled = count,
        }
    }
    Ok(counted)
}

/// Counts by kind and state, and how long the oldest due job has been waiting: of one organization, or of all.
pub async fn summary(app: &App, org_id: Option<&str>) -> Result<(Vec<JobCount>, i64)> {
    let input = (org_id.map(str::to_owned), app.clock.now());
    app.db
        .read("jobs.summary", input, |tx, (org_id, now)| {
            Box::pin(async move {
                let counts = sql::counts(tx, org_id.as_deref(), *now).await?;
                let oldest = sql::oldest_due(tx, org_id.as_deref(), *now).await?;
                Ok((counts, oldest.map_or(0, |run_at| (now - run_at).max(0))))
            })
        })
        .await
}

/// Seconds the oldest due job of any organization has been waiting; 0 when nothing is late.
pub async fn oldest_due_age(app: &App) -> Result<i64> {
    let now = app.clock.now();
    let oldest = app
        .db
        .read("jobs.oldest_due", now, |tx, now| Box::pin(sql::oldest_due(tx, None, *now)))
        .await?;
    Ok(oldest.map_or(0, |run_at| (now - run_at).max(0)))
}

/// Puts the queue's state into the metrics.
pub async fn record_gauges(app: &App) {
    if app.db.engine().is_none() {
        return;
    }
    match summary(app, None).await {
        Ok((counts, oldest)) => {
            metrics::gauge!("evenhand_jobs_oldest_due_age_seconds").set(oldest as f64);
            for JobCount { kind, state, count } in counts {
                metrics::gauge!("evenhand_jobs", "kind" => kind, "state" => state)
                    .set(count as f64);
            }
        }
        Err(error) => tracing::warn!(%error, "the queue could not be measured"),
    }
}

/// 2, 4, 8 … seconds, at most an hour, give or take a quarter.
fn pause_after(attempts: i64, random: f64) -> i64 {
    let seconds = 1i64.checked_shl(u32::try_from(attempts.clamp(0, 20)).unwrap_or(20));
    let seconds = seconds.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE);
    #[allow(clippy::cast_possible_truncation)] // at most an hour and a quarter
    let jittered = (seconds as f64 * (0.75 + random / 2.0)).round() as i64;
    jittered.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        assert_eq!(pause_after(1, 0.5), 2);
        assert_eq!(pause_after(3, 0.5), 8);
        assert!(pause_after(60, 0.999) <= LONGEST_PAUSE * 5 / 4);
        assert!(pause_after(1, 0.0) >= 1);
    }
}
