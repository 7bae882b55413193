//! SQL of the table `purge_operations`.

use sqlx::types::Json;

use crate::governance::purge::{Counts, Purge, PurgeErrorCode, PurgeStatus};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::Subject;
use storage::{row, rows, run};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT purge_id, org_id, subject, subject_ref, request_ref, actor_ref, status, sealed_user, epoch,
                    job_id, attempts, deleted_counts, error_code, error_detail, fence_at, physical_at, audit_sequence,
                    audit_hash, created_at, updated_at, completed_at
             FROM purge_operations ",
            $rest
        )
    };
}

pub async fn find(tx: &mut Tx, purge_id: &str) -> Result<Option<Purge>> {
    row!(tx, Purge, select!("WHERE purge_id = $1"), purge_id)
}

/// An organization's erasures, the newest first.
pub async fn newest(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<Vec<Purge>> {
    rows!(
        tx,
        Purge,
        select!("WHERE org_id = $1 ORDER BY created_at DESC, purge_id DESC LIMIT $2 + 0"),
        org_id,
        limit
    )
}

/// The erasure that a pair of person and request asked for, under whatever key.
pub async fn find_pair(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Subject,
    request_refs: &str,
) -> Result<Option<Purge>> {
    row!(
        tx,
        Purge,
        select!(
            "WHERE org_id = $1 AND subject = $2 AND request_ref IN {texts:$3}
             ORDER BY created_at LIMIT 1"
        ),
        org_id,
        subject,
        request_refs
    )
}

/// Unfinished erasures of one person, the oldest first.
pub async fn unfinished_of(tx: &mut Tx, org_id: &OrgId, subject: Subject) -> Result<Vec<Purge>> {
    rows!(
        tx,
        Purge,
        select!(
            "WHERE org_id = $1 AND subject = $2 AND status <> 'complete'
             ORDER BY epoch, purge_id"
        ),
        org_id,
        subject
    )
}

pub async fn unfinished(tx: &mut Tx) -> Result<Vec<Purge>> {
    rows!(
        tx,
        Purge,
        select!("WHERE status <> 'complete' ORDER BY created_at, purge_id LIMIT 10000")
    )
}

/// The erasures that are complete, in order.
pub async fn completed(tx: &mut Tx) -> Result<Vec<Purge>> {
    rows!(tx, Purge, select!("WHERE status = 'complete' ORDER BY completed_at, purge_id"))
}

pub async fn insert(tx: &mut Tx, purge: &Purge) -> Result<()> {
    run!(
        tx,
        "INSERT INTO purge_operations
           (purge_id, org_id, subject, subject_ref, request_ref, actor_ref, status, sealed_user, epoch, job_id,
            attempts, deleted_counts, fence_at, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'pending', $7, $8, $9, 0, $10, $11, $12, $12)",
        &purge.purge_id,
        &purge.org_id,
        purge.subject,
        &purge.subject_ref,
        &purge.request_ref,
        &purge.actor_ref,
        purge.sealed_user.as_deref(),
        purge.epoch,
        &purge.job_id,
        Json(&purge.deleted_counts.0),
        purge.fence_at,
        purge.created_at
    )?;
    Ok(())
}

pub async fn set_job(tx: &mut Tx, purge_id: &str, job_id: &str) -> Result<()> {
    run!(
        tx,
        "UPDATE purge_operations SET job_id = $2 WHERE purge_id = $1 AND job_id <> $2",
        purge_id,
        job_id
    )?;
    Ok(())
}

pub async fn set_running(tx: &mut Tx, purge_id: &str, now: i64) -> Result<()> {
    run!(
        tx,
        "UPDATE purge_operations
         SET status = 'running', attempts = attempts + 1, error_code = NULL, error_detail = NULL, updated_at = $2
         WHERE purge_id = $1 AND status <> 'complete'",
        purge_id,
        now
    )?;
    Ok(())
}

pub async fn set_failed(
    tx: &mut Tx,
    purge_id: &str,
    code: PurgeErrorCode,
    detail: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE purge_operations SET status = 'failed', error_code = $2, error_detail = $3, updated_at = $4
         WHERE purge_id = $1 AND status <> 'complete'",
        purge_id,
        code,
        detail,
        now
    )?;
    Ok(())
}

pub async fn set_counts(tx: &mut Tx, purge_id: &str, counts: &Counts, now: i64) -> Result<()> {
    run!(
        tx,
        "UPDATE purge_operations SET deleted_counts = $2, updated_at = $3 WHERE purge_id = $1",
        purge_id,
        Json(counts),
        now
    )?;
    Ok(())
}

/// False when it was complete already.
pub async fn set_complete(
    tx: &mut Tx,
    purge_id: &str,
    physical_at: Option<i64>,
    audit: &(i64, String),
    now: i64,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE purge_operations
         SET status = 'complete', sealed_user = NULL, error_code = NULL, error_detail = NULL, physical_at = $2,
             audit_sequence = $3, audit_hash = $4, updated_at = $5, completed_at = $5
         WHERE purge_id = $1 AND status <> 'complete'",
        purge_id,
        physical_at,
        audit.0,
        &audit.1,
        now
    )?;
    Ok(touched == 1)
}

/// Raises the erasures that were complete before `before` to the physical level.
pub async fn set_physical(tx: &mut Tx, before: i64, now: i64) -> Result<u64> {
    run!(
        tx,
        "UPDATE purge_operations SET physical_at = $2
         WHERE physical_at IS NULL AND completed_at < $1",
        before,
        now
    )
}

/// When the oldest of the complete erasures whose remains are still in the files was completed.
pub async fn oldest_unscrubbed(tx: &mut Tx) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(completed_at) FROM purge_operations WHERE physical_at IS NULL"
    )?;
    Ok(found.and_then(|(completed_at,)| completed_at))
}

/// `(status, how many, when the oldest began)`.
pub async fn summary(tx: &mut Tx) -> Result<Vec<(PurgeStatus, i64, i64)>> {
    rows!(
        tx,
        (PurgeStatus, i64, i64),
        "SELECT status, COUNT(*), MIN(created_at) FROM purge_operations GROUP BY status"
    )
}
