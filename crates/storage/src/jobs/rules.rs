//! Enqueueing, claiming and ending jobs.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::{
    Child, Children, Claim, DeadJob, Gathering, GoOn, HeldJob, JobCount, JobState, JobView, NewJob,
    Planned, StartedJob, sql, stored,
};
use crate::db::{Changes, Tx};
use crate::error::{Code, Error, Result};
use crate::runtime::Runtime;
use crate::subjects::SubjectWrite;
use base::owner::{OrgId, UserId};

/// The longest pause between two attempts.
const LONGEST_PAUSE: i64 = 3600;
/// Longest error text that is kept. Errors name codes and places, never content.
const ERROR_LENGTH: usize = 500;

/// Puts work into the queue as part of `tx` and gives its id (the open job's, if it was a duplicate). Call
/// [`crate::db::Db::announce_work`] after the commit to have it picked up at once.
pub async fn enqueue(tx: &mut Tx, runtime: &Runtime, job: NewJob<'_>) -> Result<String> {
    sql::insert(tx, &runtime.ids.uuid(), runtime.clock.now(), &job).await
}

/// [`enqueue`] for a transaction that hands its statements over together. The job must have a dedupe key, and a
/// duplicate is moved.
pub fn plan(runtime: &Runtime, job: NewJob<'_>) -> Planned {
    Planned {
        job_id: runtime.ids.uuid(),
        org_id: job.org_id.to_owned(),
        subject: match job.subject {
            Some(subject) => subject.subject(),
            None => runtime.subject_keys.subject_hash().organization(job.org_id),
        },
        epoch: job.subject.map(SubjectWrite::epoch),
        kind: job.kind,
        payload: job.payload,
        dedupe_key: job.dedupe_key.unwrap_or_default(),
        run_at: job.run_at,
        max_attempts: job.max_attempts,
        now: runtime.clock.now(),
        weight: 0,
        gathering: None,
    }
}

/// [`plan`] for a job that gathers.
pub fn gather(runtime: &Runtime, job: NewJob<'_>, weight: i64, gathering: Gathering) -> Planned {
    Planned { weight, gathering: Some(gathering), ..plan(runtime, job) }
}

/// Takes up to `limit` due jobs of these kinds for the lease time. Jobs that used up their attempts (a worker
/// that died with them counts) are closed as dead here.
pub async fn claim(runtime: &Runtime, kinds: &[&str], limit: usize) -> Result<Vec<Claim>> {
    match any_due(runtime, kinds).await? {
        true => claim_due(runtime, kinds, limit).await,
        false => Ok(Vec::new()),
    }
}

/// True if there is something to claim. Costs less than to try.
async fn any_due(runtime: &Runtime, kinds: &[&str]) -> Result<bool> {
    let (now, kinds) = (runtime.clock.now(), listed(kinds)?);
    let lapsed_before = lapsed_before(runtime, now);
    runtime
        .db
        .lookup("jobs.any_due", (now, kinds), move |tx, (now, kinds)| {
            Box::pin(sql::any_due(tx, kinds, *now, lapsed_before))
        })
        .await
}

fn listed(kinds: &[&str]) -> Result<String> {
    serde_json::to_string(kinds).map_err(|e| Error::Internal(e.to_string()))
}

/// [`claim`] where there is likely to be something.
pub async fn claim_due(runtime: &Runtime, kinds: &[&str], limit: usize) -> Result<Vec<Claim>> {
    let now = runtime.clock.now();
    let (kinds, lapsed_before) = (listed(kinds)?, lapsed_before(runtime, now));
    let lease_until = now + runtime.jobs.lease_seconds;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let input = (kinds, now, lease_until, runtime.ids.uuid(), limit);
    runtime
        .db
        .write_soon("jobs.claim", input, move |tx, (kinds, now, lease_until, token, limit)| {
            Box::pin(async move {
                let claimed =
                    sql::claim(tx, kinds, *now, *lease_until, token, *limit, lapsed_before).await?;
                let (live, spent): (Vec<_>, Vec<_>) =
                    claimed.into_iter().partition(|job| job.attempts <= job.max_attempts);
                for job in spent {
                    let reason = "gave up: the worker died or lost its lease on every attempt";
                    sql::close(tx, &job, JobState::Dead, Some(reason), *now).await?;
                }
                Ok(live)
            })
        })
        .await
}

/// Leases that ended before this may be taken over. Nobody could extend theirs while the storage was away: after an
/// outage whoever holds one has half a lease of time to do so before others take it.
fn lapsed_before(runtime: &Runtime, now: i64) -> i64 {
    let half = Duration::from_secs_f64(runtime.jobs.lease_seconds as f64 / 2.0);
    if runtime.db.was_away_within(half) { 0 } else { now }
}

/// Closes the job as part of the transaction that writes its result. Fails, and with it the whole transaction,
/// when the lease is lost. A job that was moved while it ran opens again instead.
pub async fn finish(tx: &mut Tx, job: &Claim, now: i64) -> Result<()> {
    if sql::close(tx, job, JobState::Done, None, now).await? {
        Ok(())
    } else {
        Err(Error::LeaseLost)
    }
}

/// [`finish`] among the changes that write the result.
pub fn add_finish<'a>(changes: &mut Changes<'a>, job: &'a Claim, now: i64) {
    sql::add_close(changes, job, JobState::Done, now);
}

/// Keeps the lease for another period; false when it is lost.
pub async fn extend(runtime: &Runtime, job: &Claim) -> Result<bool> {
    let until = runtime.clock.now() + runtime.jobs.lease_seconds;
    runtime
        .db
        .write_soon("jobs.extend", (job.clone(), until), |tx, (job, until)| {
            Box::pin(sql::extend(tx, job, *until))
        })
        .await
}

/// Records a failed attempt: again after a growing pause, or dead when the attempts are used up or none can help.
pub async fn fail(runtime: &Runtime, job: &Claim, error: &Error) -> Result<()> {
    let now = runtime.clock.now();
    let reason: String = error.to_string().chars().take(ERROR_LENGTH).collect();
    let pause = pause_after(job.attempts, runtime.ids.fraction());
    let is_last = job.attempts >= job.max_attempts || matches!(error, Error::UnreadablePayload(_));
    let input = (job.clone(), reason, now, now + pause);
    runtime
        .db
        .write("jobs.fail", input, move |tx, (job, reason, now, again_at)| {
            Box::pin(async move {
                if is_last {
                    sql::close(tx, job, JobState::Dead, Some(reason), *now).await?;
                } else {
                    sql::reopen(tx, job, *again_at, Some(reason), false).await?;
                }
                Ok(())
            })
        })
        .await
}

/// Closes the job as dead, with the reason people read, as part of the transaction that writes its result.
pub async fn give_up(tx: &mut Tx, job: &Claim, reason: &str, now: i64) -> Result<()> {
    let reason: String = reason.chars().take(ERROR_LENGTH).collect();
    if sql::close(tx, job, JobState::Dead, Some(&reason), now).await? {
        Ok(())
    } else {
        Err(Error::LeaseLost)
    }
}

/// Gives a job back to run at `again_at`, with the reason and what is to be remembered. The attempt does not
/// count: it was not the job's fault. A job that was moved meanwhile keeps its new time and payload.
pub async fn postpone(
    runtime: &Runtime,
    job: &Claim,
    again_at: i64,
    reason: &str,
    payload: Value,
) -> Result<()> {
    let reason: String = reason.chars().take(ERROR_LENGTH).collect();
    let input = (job.clone(), again_at, reason, payload);
    runtime
        .db
        .write("jobs.postpone", input, |tx, (job, again_at, reason, payload)| {
            Box::pin(async move {
                sql::remember(tx, job, payload).await?;
                sql::reopen(tx, job, *again_at, Some(reason), true).await?;
                Ok(())
            })
        })
        .await
}

/// Takes one job, if it is due and nobody has it.
pub async fn claim_one(runtime: &Runtime, job_id: &str) -> Result<Option<Claim>> {
    let now = runtime.clock.now();
    let lease_until = now + runtime.jobs.lease_seconds;
    let input = (job_id.to_owned(), now, lease_until, runtime.ids.uuid());
    runtime
        .db
        .write("jobs.claim_one", input, |tx, (job_id, now, lease_until, token)| {
            Box::pin(sql::claim_one(tx, job_id, *now, *lease_until, token))
        })
        .await
}

/// Makes sure, as part of a transaction, that the job is still this worker's.
pub async fn hold(tx: &mut Tx, job: &Claim) -> Result<()> {
    if sql::is_held(tx, job).await? { Ok(()) } else { Err(Error::LeaseLost) }
}

/// [`hold`] against everybody: nothing is added to the job until the transaction ends.
pub async fn lock_held(tx: &mut Tx, job: &Claim) -> Result<HeldJob> {
    sql::lock_held(tx, job).await?.ok_or(Error::LeaseLost)
}

/// Gives a job back with what it has left to do, whether or not it was moved: lock it first and count that in.
pub async fn go_on(tx: &mut Tx, job: &Claim, next: &GoOn<'_>) -> Result<()> {
    if sql::go_on(tx, job, next).await? { Ok(()) } else { Err(Error::LeaseLost) }
}

/// [`finish`] for a locked job of which nothing is left, whether or not it was moved.
pub async fn finish_anyway(tx: &mut Tx, job: &Claim, now: i64) -> Result<()> {
    if sql::close_anyway(tx, job, now).await? { Ok(()) } else { Err(Error::LeaseLost) }
}

pub async fn find(tx: &mut Tx, job_id: &str) -> Result<Option<JobView>> {
    sql::find(tx, job_id).await
}

/// The newest job of this kind and dedupe key for a person, whatever became of it.
pub async fn latest(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    kind: &str,
    dedupe_key: &str,
) -> Result<Option<JobView>> {
    sql::latest(tx, org_id, user_id, kind, dedupe_key).await
}

/// The newest job of this kind, of the organization or of one of its people.
pub async fn newest(tx: &mut Tx, org_id: &OrgId, kind: &str) -> Result<Option<StartedJob>> {
    sql::newest(tx, org_id, kind).await
}

/// True if a job of this kind is to run now, or runs; of one person, or of anybody.
pub async fn is_due(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    kind: &str,
    now: i64,
) -> Result<bool> {
    sql::is_due(tx, org_id, user_id, kind, now).await
}

/// Notes how far a held job came, for those who ask and for the next attempt.
pub async fn remember<T: Serialize>(tx: &mut Tx, job: &Claim, payload: &T) -> Result<()> {
    sql::remember(tx, job, &stored(payload)).await
}

/// Ends one open job, whoever has it; false when it had ended already.
pub async fn cancel(tx: &mut Tx, job_id: &str, now: i64) -> Result<bool> {
    sql::cancel(tx, job_id, now).await
}

/// A child to be enqueued.
pub struct NewChild<'a> {
    pub job_id: String,
    pub subject: &'a SubjectWrite,
    pub payload: Value,
}

/// Puts the children of a parent into the queue. They carry a kind that no handler has: their parent works on
/// them itself, so that its limit on concurrency holds whatever else runs.
pub async fn enqueue_children(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: &'static str,
    parent_id: &str,
    children: &[NewChild<'_>],
    now: i64,
) -> Result<()> {
    sql::insert_children(tx, org_id, kind, parent_id, children, now).await
}

/// Open children of a parent after the job `after`, in the order of their ids.
pub async fn open_children(
    tx: &mut Tx,
    parent_id: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<Child>> {
    sql::open_children(tx, parent_id, after, limit).await
}

/// Ends an open child as part of the transaction that writes its result: with an error it is dead, without one
/// done. Guarded by the parent's lease; false when the child had ended already.
pub async fn close_child(
    tx: &mut Tx,
    parent: &Claim,
    child: &Child,
    error: Option<&str>,
    payload: &Value,
    now: i64,
) -> Result<bool> {
    hold(tx, parent).await?;
    let error: Option<String> = error.map(|e| e.chars().take(ERROR_LENGTH).collect());
    sql::close_child(tx, child, error.as_deref(), payload, now).await
}

/// The newest dead children of a parent with their reasons, newest first.
pub async fn failed_children(
    tx: &mut Tx,
    parent_id: &str,
    limit: i64,
) -> Result<Vec<(Value, String)>> {
    sql::failed_children(tx, parent_id, limit).await
}

/// The sum of `cost_usd` over the payloads of a parent's children.
pub async fn child_costs(tx: &mut Tx, parent_id: &str) -> Result<f64> {
    sql::child_costs(tx, parent_id).await
}

/// Gives a job back untouched, as a graceful stop does: the attempt does not count.
pub async fn release(runtime: &Runtime, job: &Claim) -> Result<()> {
    let input = (job.clone(), runtime.clock.now());
    runtime
        .db
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

/// Counts a parent's children by state.
pub async fn children(tx: &mut Tx, parent_id: &str) -> Result<Children> {
    let mut counted = Children::default();
    for (state, count) in sql::count_children(tx, parent_id).await? {
        match state {
            JobState::Open => counted.open = count,
            JobState::Done => counted.done = count,
            JobState::Dead => counted.dead = count,
            JobState::Cancelled => counted.cancelled = count,
        }
    }
    Ok(counted)
}

/// Counts by kind and state, and how long the oldest due job has been waiting: of one organization, or of all.
pub async fn summary(runtime: &Runtime, org_id: Option<&OrgId>) -> Result<(Vec<JobCount>, i64)> {
    let input = (org_id.cloned(), runtime.clock.now());
    runtime
        .db
        .read("jobs.summary", input, |tx, (org_id, now)| {
            Box::pin(async move {
                let counts = sql::counts(tx, org_id.as_ref(), *now).await?;
                let oldest = sql::oldest_due(tx, org_id.as_ref(), *now).await?;
                Ok((counts, oldest.map_or(0, |run_at| (now - run_at).max(0))))
            })
        })
        .await
}

/// Jobs of an organization that gave up, the newest first, after the one that gave up at a time with an id. Children
/// are not among them: their parent tells of them.
pub async fn dead(
    runtime: &Runtime,
    org_id: &OrgId,
    after: Option<(i64, String)>,
    limit: i64,
) -> Result<Vec<DeadJob>> {
    let (before, before_id) = after.unwrap_or_else(|| (i64::MAX, String::new()));
    runtime
        .db
        .read("jobs.dead", (org_id.clone(), before, before_id), move |tx, (org_id, at, id)| {
            Box::pin(sql::dead(tx, org_id, *at, id, limit))
        })
        .await
}

/// Opens a job that gave up again, due now and with all its attempts.
pub async fn retry(runtime: &Runtime, org_id: &OrgId, job_id: &str) -> Result<()> {
    let input = (org_id.clone(), job_id.to_owned(), runtime.clock.now());
    runtime
        .db
        .write("jobs.retry", input, |tx, (org_id, job_id, now)| {
            Box::pin(async move {
                if sql::retry(tx, org_id, job_id, *now).await? {
                    return Ok(());
                }
                match sql::state_of(tx, org_id, job_id).await? {
                    None => Err(Error::not_found("job")),
                    Some(JobState::Dead) => Err(Error::refused(
                        Code::JobNotDead,
                        "The same work is in the queue again already; there is nothing to retry.",
                    )),
                    Some(state) => Err(Error::refused(
                        Code::JobNotDead,
                        format!("This job is {state}; only one that gave up can be retried."),
                    )),
                }
            })
        })
        .await?;
    runtime.db.announce_work().await;
    Ok(())
}

/// Seconds the oldest due job of any organization has been waiting; 0 when nothing is late.
pub async fn oldest_due_age(runtime: &Runtime) -> Result<i64> {
    let now = runtime.clock.now();
    let oldest = runtime
        .db
        .lookup("jobs.oldest_due", now, |tx, now| Box::pin(sql::oldest_due(tx, None, *now)))
        .await?;
    Ok(oldest.map_or(0, |run_at| (now - run_at).max(0)))
}

/// Seconds the oldest due job of one kind has been waiting; 0 when none is late.
pub async fn oldest_due_age_of(runtime: &Runtime, kind: &'static str) -> Result<i64> {
    let now = runtime.clock.now();
    let oldest = runtime
        .db
        .lookup("jobs.oldest_due_of", now, move |tx, now| {
            Box::pin(sql::oldest_due_of(tx, kind, *now))
        })
        .await?;
    Ok(oldest.map_or(0, |run_at| (now - run_at).max(0)))
}

/// Puts the queue's state into the metrics.
pub async fn record_gauges(runtime: &Runtime) {
    if runtime.db.engine().is_none() {
        return;
    }
    match summary(runtime, None).await {
        Ok((counts, oldest)) => {
            metrics::gauge!("evenhand_jobs_oldest_due_age_seconds").set(oldest as f64);
            for JobCount { kind, state, count } in counts {
                metrics::gauge!("evenhand_jobs", "kind" => kind, "state" => state.as_str())
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
