//! SQL of jobs that are parts of another one.

use serde_json::Value;
use sqlx::types::Json;

use crate::db::{Changes, Tx, Value as Parameter};
use crate::error::Result;
use crate::jobs::{Child, JobState, NewChild};
use crate::{row, rows, run};
use base::owner::OrgId;

pub async fn insert_children(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: &'static str,
    parent_id: &str,
    children: &[NewChild<'_>],
    now: i64,
) -> Result<()> {
    let rows: Vec<_> = children
        .iter()
        .map(|child| {
            (&child.job_id, child.subject.subject(), child.subject.epoch(), &child.payload)
        })
        .collect();
    let mut changes = Changes::default();
    changes.add(
        crate::statement!(
            "INSERT INTO jobs
               (job_id, org_id, subject, epoch, kind, parent_id, payload, state, run_at, attempts,
                max_attempts, moves, created_at)
             SELECT value ->> 0, $1, {subject:value ->> 1}, CAST(value ->> 2 AS BIGINT), $2, $3, value -> 3, 'open', $4,
                    0, 1, 0, $4
               FROM {lists:$5} AS child"
        ),
        vec![
            org_id.into(),
            kind.into(),
            parent_id.into(),
            now.into(),
            Parameter::lists(&rows)?,
        ],
    );
    tx.apply(changes).await.map(drop)
}

pub async fn open_children(
    tx: &mut Tx,
    parent_id: &str,
    after: &str,
    limit: i64,
) -> Result<Vec<Child>> {
    rows!(
        tx,
        Child,
        "SELECT job_id, subject, {user_of:jobs} AS user_id, epoch, kind, payload FROM jobs
         WHERE parent_id = $1 AND state = 'open' AND job_id > $2 ORDER BY job_id LIMIT $3 + 0",
        parent_id,
        after,
        limit
    )
}

pub async fn close_child(
    tx: &mut Tx,
    child: &Child,
    error: Option<&str>,
    payload: &Value,
    now: i64,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE jobs SET state = CASE WHEN $2 IS NULL THEN 'done' ELSE 'dead' END, attempts = 1,
                last_error = $2, payload = $3, finished_at = $4
         WHERE job_id = $1 AND subject = $5 AND state = 'open'",
        &child.job_id,
        error,
        Json(payload),
        now,
        child.subject
    )?;
    Ok(touched == 1)
}

pub async fn failed_children(
    tx: &mut Tx,
    parent_id: &str,
    limit: i64,
) -> Result<Vec<(Value, String)>> {
    let found = rows!(
        tx,
        (Json<Value>, Option<String>),
        "SELECT payload, last_error FROM jobs WHERE parent_id = $1 AND state = 'dead'
         ORDER BY finished_at DESC, job_id DESC LIMIT $2 + 0",
        parent_id,
        limit
    )?;
    Ok(found.into_iter().map(|(Json(p), reason)| (p, reason.unwrap_or_default())).collect())
}

pub async fn child_costs(tx: &mut Tx, parent_id: &str) -> Result<f64> {
    let found = row!(
        tx,
        (Option<f64>,),
        "SELECT SUM(CAST(payload ->> 'cost_usd' AS DOUBLE PRECISION)) FROM jobs WHERE parent_id = $1",
        parent_id
    )?;
    Ok(found.and_then(|(sum,)| sum).unwrap_or(0.0))
}

/// Children of people who are being erased are left to the erasure: the wall lets nobody change their rows.
pub async fn cancel_children(tx: &mut Tx, parent_id: &str, now: i64) -> Result<u64> {
    run!(
        tx,
        "UPDATE jobs SET state = 'cancelled', finished_at = $2, lease_until = NULL, lease_token = NULL
         WHERE parent_id = $1 AND state = 'open'
           AND (epoch IS NULL OR EXISTS (
                 SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.subject = jobs.subject
                    AND s.state = 'active' AND s.epoch = jobs.epoch))",
        parent_id,
        now
    )
}

pub async fn count_children(tx: &mut Tx, parent_id: &str) -> Result<Vec<(JobState, i64)>> {
    rows!(
        tx,
        (JobState, i64),
        "SELECT state, COUNT(*) FROM jobs WHERE parent_id = $1 GROUP BY state",
        parent_id
    )
}
