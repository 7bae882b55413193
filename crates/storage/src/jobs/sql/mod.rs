//! SQL of the table `jobs`.

mod children;
mod spread;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sqlx::types::Json;

use super::{
    Claim, DeadJob, Gathering, GoOn, HeldJob, JobCount, JobState, JobView, NewJob, OnDuplicate,
    Planned, StartedJob,
};
use crate::db::{Changes, Tx, Value as Parameter};
use crate::error::{Error, Result};
use crate::{row, rows, run};
use base::owner::{OrgId, UserId};

pub use children::*;

macro_rules! insert {
    ($on_duplicate:expr) => {
        concat!(
            "INSERT INTO jobs
               (job_id, org_id, subject, epoch, kind, parent_id, payload, dedupe_key, state, run_at,
                attempts, max_attempts, moves, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, 0, $10, 0, $11)
             ON CONFLICT (org_id, kind, dedupe_key, subject) WHERE state = 'open' AND dedupe_key IS NOT NULL
             DO UPDATE SET ",
            $on_duplicate
        )
    };
}

// A job that waits starts anew, without its attempts and its last error; one that runs keeps both.
macro_rules! moved {
    () => {
        "run_at = excluded.run_at, payload = excluded.payload, moves = jobs.moves + 1,
         attempts = CASE WHEN jobs.lease_token IS NULL THEN 0 ELSE jobs.attempts END,
         last_error = CASE WHEN jobs.lease_token IS NULL THEN NULL ELSE jobs.last_error END"
    };
}

pub async fn insert(tx: &mut Tx, job_id: &str, now: i64, job: &NewJob<'_>) -> Result<String> {
    let sql = match job.on_duplicate {
        OnDuplicate::Move => concat!(insert!(moved!()), " RETURNING job_id"),
        // Changes nothing; it is there so that the open job's id is returned.
        OnDuplicate::Keep => concat!(insert!("kind = excluded.kind"), " RETURNING job_id"),
    };
    let found = row!(
        tx,
        (String,),
        sql,
        job_id,
        job.org_id,
        tx.owner(job.org_id, job.subject),
        job.subject.map(|s| s.epoch()),
        job.kind,
        job.parent_id,
        Json(&job.payload),
        job.dedupe_key.as_deref(),
        job.run_at,
        job.max_attempts,
        now
    )?;
    found.map(|(id,)| id).ok_or_else(|| Error::Internal("a job was not stored".to_owned()))
}

/// Ends every lease: for storage that nobody else can be working on.
pub const END_LEASES: &str = "UPDATE jobs SET lease_until = NULL, lease_token = NULL
     WHERE state = 'open' AND lease_token IS NOT NULL";

/// A job may be claimed when it is due, not leased (or its lease ended before `lapsed_before`), and its person (if any)
/// is not being erased.
pub async fn any_due(tx: &mut Tx, kinds: &str, now: i64, lapsed_before: i64) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT job_id FROM jobs
         WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $3)
           AND kind IN {texts:$1} LIMIT 1",
        kinds,
        now,
        lapsed_before
    )?;
    Ok(found.is_some())
}

pub async fn claim(
    tx: &mut Tx,
    kinds: &str,
    now: i64,
    lease_until: i64,
    token: &str,
    limit: i64,
    lapsed_before: i64,
) -> Result<Vec<Claim>> {
    if tx.is_spread() {
        return spread::claim(tx, kinds, now, lease_until, token, limit, lapsed_before).await;
    }
    // Chosen once, before anything is updated: a plan that ran the choice again per row would take more than
    // the limit.
    let mut claimed = rows!(
        tx,
        Claim,
        "WITH due AS MATERIALIZED (
             SELECT job_id FROM jobs
             WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $6)
               AND kind IN {texts:$1}
               AND (epoch IS NULL OR EXISTS (
                     SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.subject = jobs.subject
                        AND s.state = 'active' AND s.epoch = jobs.epoch))
             ORDER BY run_at, job_id LIMIT $5 + 0 {lock:UPDATE SKIP LOCKED})
         UPDATE jobs SET lease_until = $3, lease_token = $4, attempts = attempts + 1
         WHERE job_id IN (SELECT job_id FROM due)
         RETURNING job_id, org_id, subject, {user_of:jobs} AS user_id, epoch, kind, parent_id, payload, run_at,
                   attempts, max_attempts, lease_token, moves",
        kinds,
        now,
        lease_until,
        token,
        limit,
        lapsed_before
    )?;
    // RETURNING promises no order.
    claimed.sort_by(|a, b| (a.run_at, &a.job_id).cmp(&(b.run_at, &b.job_id)));
    Ok(claimed)
}

pub async fn claim_one(
    tx: &mut Tx,
    job_id: &str,
    now: i64,
    lease_until: i64,
    token: &str,
) -> Result<Option<Claim>> {
    row!(
        tx,
        Claim,
        "UPDATE jobs SET lease_until = $3, lease_token = $4, attempts = attempts + 1
         WHERE job_id = $1 AND state = 'open' AND run_at <= $2 AND attempts < max_attempts
           AND (lease_until IS NULL OR lease_until < $2)
           AND (epoch IS NULL OR EXISTS (
                 SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.subject = jobs.subject
                    AND s.state = 'active' AND s.epoch = jobs.epoch))
         RETURNING job_id, org_id, subject, {user_of:jobs} AS user_id, epoch, kind, parent_id, payload, run_at,
                   attempts, max_attempts, lease_token, moves",
        job_id,
        now,
        lease_until,
        token
    )
}

/// On PostgreSQL the row stays locked (shared), so that the lease cannot pass on before the commit.
pub async fn is_held(tx: &mut Tx, job: &Claim) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT job_id FROM jobs
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open' {lock:SHARE}",
        &job.job_id,
        job.subject,
        &job.lease_token
    )?;
    Ok(found.is_some())
}

pub async fn find(tx: &mut Tx, job_id: &str) -> Result<Option<JobView>> {
    row!(
        tx,
        JobView,
        "SELECT job_id, state, run_at, attempts, lease_until, last_error, finished_at
         FROM jobs WHERE job_id = $1",
        job_id
    )
}

pub async fn latest(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    kind: &str,
    dedupe_key: &str,
) -> Result<Option<JobView>> {
    row!(
        tx,
        JobView,
        "SELECT job_id, state, run_at, attempts, lease_until, last_error, finished_at
         FROM jobs WHERE org_id = $1 AND subject = $2 AND kind = $3 AND dedupe_key = $4
         ORDER BY CASE WHEN state = 'open' THEN 0 ELSE 1 END, finished_at DESC, job_id DESC LIMIT 1",
        org_id,
        user_id,
        kind,
        dedupe_key
    )
}

pub async fn newest(tx: &mut Tx, org_id: &OrgId, kind: &str) -> Result<Option<StartedJob>> {
    row!(
        tx,
        StartedJob,
        "SELECT state, created_at, finished_at, last_error, payload
         FROM jobs WHERE org_id = $1 AND kind = $2
         ORDER BY CASE WHEN state = 'open' THEN 0 ELSE 1 END, created_at DESC, job_id DESC LIMIT 1",
        org_id,
        kind
    )
}

pub async fn is_due(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    kind: &str,
    now: i64,
) -> Result<bool> {
    let found = row!(
        tx,
        (i64,),
        "SELECT COUNT(*) FROM jobs
         WHERE org_id = $1 AND kind = $2 AND state = 'open' AND run_at <= $3 AND ($4 IS NULL OR subject = $4)",
        org_id,
        kind,
        now,
        user_id
    )?;
    Ok(found.is_some_and(|(count,)| count > 0))
}

pub async fn cancel(tx: &mut Tx, job_id: &str, now: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET state = 'cancelled', finished_at = $2, lease_until = NULL, lease_token = NULL
         WHERE job_id = $1 AND state = 'open'",
        job_id,
        now
    )?;
    Ok(touched == 1)
}

/// Keeps something with a held job; one that was moved has a newer payload.
pub async fn remember(tx: &mut Tx, job: &Claim, payload: &Value) -> Result<()> {
    run!(
        tx,
        "UPDATE jobs SET payload = $5
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND moves = $4 AND state = 'open'",
        &job.job_id,
        job.subject,
        &job.lease_token,
        job.moves,
        Json(payload)
    )?;
    Ok(())
}

// Planned jobs from a list; whatever is done with those that are there already.
macro_rules! insert_planned {
    ($rows:literal, $on_duplicate:expr) => {
        crate::statement!(concat!(
            "INSERT INTO jobs
               (job_id, org_id, subject, epoch, kind, payload, dedupe_key, state, run_at, attempts,
                max_attempts, moves, created_at, weight)
             SELECT value ->> 'job_id', value ->> 'org_id', {subject:value ->> 'subject'},
                    CAST(value ->> 'epoch' AS BIGINT), value ->> 'kind', value -> 'payload',
                    value ->> 'dedupe_key', 'open', CAST(value ->> 'run_at' AS BIGINT), 0,
                    CAST(value ->> 'max_attempts' AS BIGINT), 0, CAST(value ->> 'now' AS BIGINT),
                    CAST(value ->> 'weight' AS BIGINT)
               FROM {lists:",
            $rows,
            "} AS planned WHERE TRUE
             ON CONFLICT (org_id, kind, dedupe_key, subject) WHERE state = 'open' AND dedupe_key IS NOT NULL
             DO UPDATE SET ",
            $on_duplicate
        ))
    };
}

/// The statement of enqueueings that move. No two of them have the same key.
pub fn add_moves(changes: &mut Changes<'_>, planned: &[&Planned]) -> Result<()> {
    changes.add(insert_planned!("$1", moved!()), vec![Parameter::lists(planned)?]);
    Ok(())
}

/// The statement of enqueueings that gather. No two of them have the same key. A job that is due keeps its place, one
/// that failed its time.
pub fn add_gathers(
    changes: &mut Changes<'_>,
    planned: &[&Planned],
    gathering: Gathering,
) -> Result<()> {
    changes.add(gather_statement(gathering), vec![Parameter::lists(planned)?]);
    Ok(())
}

/// One text for each way of gathering, of which there are few: Citus takes no parameters after ON CONFLICT where rows
/// come from a list.
fn gather_statement(gathering: Gathering) -> &'static str {
    static KNOWN: Mutex<BTreeMap<Gathering, &'static str>> = Mutex::new(BTreeMap::new());
    const TEXT: &str = insert_planned!(
        "$1",
        "weight = jobs.weight + excluded.weight, moves = jobs.moves + 1,
         payload = CASE WHEN #speaks THEN excluded.payload ELSE jobs.payload END,
         last_error = CASE WHEN #insists THEN NULL ELSE jobs.last_error END,
         attempts = CASE WHEN #insists AND jobs.lease_token IS NULL THEN 0 ELSE jobs.attempts END,
         run_at = CASE WHEN #insists THEN excluded.created_at
                       WHEN jobs.last_error IS NOT NULL OR jobs.run_at <= excluded.created_at
                       THEN jobs.run_at
                       WHEN jobs.weight + excluded.weight >= #enough THEN excluded.created_at
                       ELSE excluded.run_at END"
    );
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(gathering).or_insert_with(|| {
        let flag = |is_so: bool| if is_so { "TRUE" } else { "FALSE" };
        TEXT.replace("#speaks", flag(gathering.speaks))
            .replace("#insists", flag(gathering.insists))
            .replace("#enough", &gathering.enough.to_string())
            .leak()
    })
}

pub async fn lock_held(tx: &mut Tx, job: &Claim) -> Result<Option<HeldJob>> {
    row!(
        tx,
        HeldJob,
        "SELECT payload, weight, moves FROM jobs
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open' {lock:UPDATE}",
        &job.job_id,
        job.subject,
        &job.lease_token
    )
}

pub async fn go_on(tx: &mut Tx, job: &Claim, next: &GoOn<'_>) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET run_at = $4, weight = $5, payload = $6, last_error = $7, attempts = 0,
                lease_until = NULL, lease_token = NULL
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open'",
        &job.job_id,
        job.subject,
        &job.lease_token,
        next.run_at,
        next.weight,
        Json(&next.payload),
        next.error
    )?;
    Ok(touched == 1)
}

pub async fn close_anyway(tx: &mut Tx, job: &Claim, now: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET state = 'done', finished_at = $4, lease_until = NULL, lease_token = NULL
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open'",
        &job.job_id,
        job.subject,
        &job.lease_token,
        now
    )?;
    Ok(touched == 1)
}

/// The statement of [`close`].
const CLOSE: &str = "UPDATE jobs SET
         state = CASE WHEN moves = $4 THEN $5 ELSE 'open' END,
         finished_at = CASE WHEN moves = $4 THEN $7 ELSE NULL END,
         attempts = CASE WHEN moves = $4 THEN attempts ELSE 0 END,
         last_error = CASE WHEN moves = $4 THEN COALESCE($6, last_error) ELSE NULL END,
         lease_until = NULL, lease_token = NULL
     WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open'";

/// Adds [`close`] to changes, which are applied only if the job is held.
pub fn add_close<'a>(changes: &mut Changes<'a>, job: &'a Claim, state: JobState, now: i64) {
    let values = vec![
        (&job.job_id).into(),
        job.subject.into(),
        (&job.lease_token).into(),
        job.moves.into(),
        state.as_str().into(),
        None::<&str>.into(),
        now.into(),
    ];
    changes.add_needed(CLOSE, values, || Error::LeaseLost);
}

/// Ends a held job; one that was moved meanwhile opens again at its new time. False when it is not held.
pub async fn close(
    tx: &mut Tx,
    job: &Claim,
    state: JobState,
    error: Option<&str>,
    now: i64,
) -> Result<bool> {
    let touched =
        run!(tx, CLOSE, &job.job_id, job.subject, &job.lease_token, job.moves, state, error, now)?;
    Ok(touched == 1)
}

/// Gives a held job back, to run at `again_at` or where it was moved to.
pub async fn reopen(
    tx: &mut Tx,
    job: &Claim,
    again_at: i64,
    error: Option<&str>,
    uncounted: bool,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET
             run_at = CASE WHEN moves = $4 THEN $5 ELSE run_at END,
             attempts = attempts - $7,
             lease_until = NULL, lease_token = NULL, last_error = COALESCE($6, last_error)
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open'",
        &job.job_id,
        job.subject,
        &job.lease_token,
        job.moves,
        again_at,
        error,
        i64::from(uncounted)
    )?;
    Ok(touched == 1)
}

pub async fn extend(tx: &mut Tx, job: &Claim, until: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET lease_until = $4
         WHERE job_id = $1 AND subject = $2 AND lease_token = $3 AND state = 'open'",
        &job.job_id,
        job.subject,
        &job.lease_token,
        until
    )?;
    Ok(touched == 1)
}

pub async fn dead(
    tx: &mut Tx,
    org_id: &OrgId,
    before: i64,
    before_id: &str,
    limit: i64,
) -> Result<Vec<DeadJob>> {
    rows!(
        tx,
        DeadJob,
        "SELECT job_id, kind, attempts, last_error, created_at, finished_at FROM jobs
         WHERE org_id = $1 AND state = 'dead' AND parent_id IS NULL
           AND (finished_at < $2 OR (finished_at = $2 AND job_id < $3))
         ORDER BY finished_at DESC, job_id DESC LIMIT $4 + 0",
        org_id,
        before,
        before_id,
        limit
    )
}

/// False unless the job is dead, no child, and not in the queue again under its dedupe key.
pub async fn retry(tx: &mut Tx, org_id: &OrgId, job_id: &str, now: i64) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET state = 'open', run_at = $3, attempts = 0, finished_at = NULL, last_error = NULL
         WHERE job_id = $2 AND org_id = $1 AND state = 'dead' AND parent_id IS NULL
           AND NOT EXISTS (
                 SELECT 1 FROM jobs other WHERE other.org_id = jobs.org_id AND other.kind = jobs.kind
                    AND other.dedupe_key = jobs.dedupe_key AND other.subject = jobs.subject AND other.state = 'open')",
        org_id,
        job_id,
        now
    )?;
    Ok(touched == 1)
}

/// The state of a job that is no child.
pub async fn state_of(tx: &mut Tx, org_id: &OrgId, job_id: &str) -> Result<Option<JobState>> {
    let found = row!(
        tx,
        (JobState,),
        "SELECT state FROM jobs WHERE org_id = $1 AND job_id = $2 AND parent_id IS NULL",
        org_id,
        job_id
    )?;
    Ok(found.map(|(state,)| state))
}

pub async fn counts(tx: &mut Tx, org_id: Option<&OrgId>, now: i64) -> Result<Vec<JobCount>> {
    rows!(
        tx,
        JobCount,
        "SELECT kind,
                CASE WHEN state <> 'open' THEN state
                     WHEN lease_until >= $2 THEN 'running'
                     WHEN run_at <= $2 THEN 'due'
                     ELSE 'waiting' END AS state,
                COUNT(*) AS count
         FROM jobs WHERE $1 IS NULL OR org_id = $1 GROUP BY 1, 2 ORDER BY 1, 2",
        org_id,
        now
    )
}

pub async fn oldest_due(tx: &mut Tx, org_id: Option<&OrgId>, now: i64) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(run_at) FROM jobs
         WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $2)
           AND ($1 IS NULL OR org_id = $1)",
        org_id,
        now
    )?;
    Ok(found.and_then(|(run_at,)| run_at))
}

pub async fn oldest_due_of(tx: &mut Tx, kind: &str, now: i64) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(run_at) FROM jobs
         WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $2) AND kind = $1",
        kind,
        now
    )?;
    Ok(found.and_then(|(run_at,)| run_at))
}

/// Children stay as long as their parent: its failures are read from them.
pub async fn delete_finished_before(tx: &mut Tx, before: i64, limit: i64) -> Result<u64> {
    let parents = rows!(
        tx,
        (String,),
        "SELECT job_id FROM jobs WHERE (finished_at IS NULL OR finished_at >= $1)
           AND job_id IN (SELECT DISTINCT parent_id FROM jobs WHERE parent_id IS NOT NULL)",
        before
    )?;
    let parents: Vec<String> = parents.into_iter().map(|(job_id,)| job_id).collect();
    run!(
        tx,
        "DELETE FROM jobs WHERE job_id IN (
             SELECT j.job_id FROM jobs j
             WHERE j.finished_at < $1 AND (j.parent_id IS NULL OR j.parent_id NOT IN {texts:$3})
             LIMIT $2 + 0)",
        before,
        limit,
        Json(&parents)
    )
}
