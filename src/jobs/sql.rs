//! SQL of the table `jobs`.

use sqlx::types::Json;

use super::{Claim, JobCount, NewJob, OnDuplicate};
use crate::db::Tx;
use crate::error::{Error, Result};
use crate::{row, rows, run};

pub async fn insert(tx: &mut Tx, job_id: &str, now: i64, job: &NewJob<'_>) -> Result<String> {
    macro_rules! insert {
        ($on_duplicate:literal) => {
            concat!(
                "INSERT INTO jobs
                   (job_id, org_id, user_id, epoch, kind, parent_id, payload, dedupe_key, state, run_at,
                    attempts, max_attempts, moves, created_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'open', $9, 0, $10, 0, $11)
                 ON CONFLICT (org_id, kind, dedupe_key) WHERE state = 'open' AND dedupe_key IS NOT NULL
                 DO UPDATE SET ",
                $on_duplicate,
                " RETURNING job_id"
            )
        };
    }
    let sql = match job.on_duplicate {
        // A job that waits starts counting its attempts anew; one that runs keeps its count.
        OnDuplicate::Move => insert!(
            "run_at = excluded.run_at, payload = excluded.payload, moves = jobs.moves + 1,
             attempts = CASE WHEN jobs.lease_token IS NULL THEN 0 ELSE jobs.attempts END"
        ),
        // Changes nothing; it is there so that the open job's id is returned.
        OnDuplicate::Keep => insert!("kind = excluded.kind"),
    };
    let found = row!(
        tx,
        (String,),
        sql,
        job_id,
        job.org_id,
        job.subject.map(|s| s.user_id()),
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

/// A job may be claimed when it is due, not leased, and its person (if any) is not being erased.
pub async fn any_due(tx: &mut Tx, kinds: &str, now: i64) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT job_id FROM jobs
         WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $2)
           AND kind IN {texts:$1} LIMIT 1",
        kinds,
        now
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
) -> Result<Vec<Claim>> {
    rows!(
        tx,
        Claim,
        "UPDATE jobs SET lease_until = $3, lease_token = $4, attempts = attempts + 1
         WHERE job_id IN (
             SELECT job_id FROM jobs
             WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $2)
               AND kind IN {texts:$1}
               AND (user_id IS NULL OR EXISTS (
                     SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.user_id = jobs.user_id
                        AND s.state = 'active' AND s.epoch = jobs.epoch))
             ORDER BY run_at, job_id LIMIT $5 {skip_locked})
         RETURNING job_id, org_id, user_id, epoch, kind, parent_id, payload, attempts, max_attempts,
                   lease_token, moves",
        kinds,
        now,
        lease_until,
        token,
        limit
    )
}

/// Ends a held job; one that was moved meanwhile opens again at its new time. False when it is not held.
pub async fn close(
    tx: &mut Tx,
    job: &Claim,
    state: &str,
    error: Option<&str>,
    now: i64,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET
             state = CASE WHEN moves = $3 THEN $4 ELSE 'open' END,
             finished_at = CASE WHEN moves = $3 THEN $6 ELSE NULL END,
             attempts = CASE WHEN moves = $3 THEN attempts ELSE 0 END,
             lease_until = NULL, lease_token = NULL, last_error = COALESCE($5, last_error)
         WHERE job_id = $1 AND lease_token = $2 AND state = 'open'",
        &job.job_id,
        &job.lease_token,
        job.moves,
        state,
        error,
        now
    )?;
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
             run_at = CASE WHEN moves = $3 THEN $4 ELSE run_at END,
             attempts = attempts - $6,
             lease_until = NULL, lease_token = NULL, last_error = COALESCE($5, last_error)
         WHERE job_id = $1 AND lease_token = $2 AND state = 'open'",
        &job.job_id,
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
        "UPDATE jobs SET lease_until = $3 WHERE job_id = $1 AND lease_token = $2 AND state = 'open'",
        &job.job_id,
        &job.lease_token,
        until
    )?;
    Ok(touched == 1)
}

pub async fn cancel_children(tx: &mut Tx, parent_id: &str, now: i64) -> Result<u64> {
    run!(
        tx,
        "UPDATE jobs SET state = 'cancelled', finished_at = $2, lease_until = NULL, lease_token = NULL
         WHERE parent_id = $1 AND state = 'open'",
        parent_id,
        now
    )
}

pub async fn count_children(tx: &mut Tx, parent_id: &str) -> Result<Vec<(String, i64)>> {
    rows!(
        tx,
        (String, i64),
        "SELECT state, COUNT(*) FROM jobs WHERE parent_id = $1 GROUP BY state",
        parent_id
    )
}

pub async fn counts(tx: &mut Tx, org_id: Option<&str>, now: i64) -> Result<Vec<JobCount>> {
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

pub async fn oldest_due(tx: &mut Tx, org_id: Option<&str>, now: i64) -> Result<Option<i64>> {
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

pub async fn delete_finished_before(tx: &mut Tx, before: i64, limit: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM jobs WHERE job_id IN (
             SELECT job_id FROM jobs WHERE finished_at < $1 LIMIT $2)",
        before,
        limit
    )
}
