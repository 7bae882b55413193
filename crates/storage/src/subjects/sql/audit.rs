//! SQL of the table `audit_events`.

use sqlx::types::Json;

use crate::db::{Engine, Tx};
use crate::error::Result;
use crate::subjects::audit::AuditEvent;
use crate::{row, rows, run};
use base::owner::OrgId;

/// Appends come one after the other until the transaction ends.
pub async fn take_turns(tx: &mut Tx) -> Result<()> {
    if tx.engine() == Engine::Postgres {
        let _ = row!(tx, (bool,), "SELECT pg_advisory_xact_lock(7229306) IS NULL")?;
    }
    Ok(())
}

/// The sequence number and the hash of the newest event.
pub async fn head(tx: &mut Tx) -> Result<Option<(i64, String)>> {
    row!(
        tx,
        (i64, String),
        "SELECT sequence, hash FROM audit_events ORDER BY sequence DESC LIMIT 1"
    )
}

/// The hash of one event.
pub async fn hash_of(tx: &mut Tx, sequence: i64) -> Result<Option<String>> {
    let found = row!(tx, (String,), "SELECT hash FROM audit_events WHERE sequence = $1", sequence)?;
    Ok(found.map(|(hash,)| hash))
}

pub async fn insert(tx: &mut Tx, event: &AuditEvent) -> Result<()> {
    run!(
        tx,
        "INSERT INTO audit_events
           (sequence, org_id, operation, status, actor_ref, subject_ref, request_ref, counts, created_at,
            previous_hash, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        event.sequence,
        &event.org_id,
        &event.operation,
        &event.status,
        &event.actor_ref,
        event.subject_ref.as_deref(),
        event.request_ref.as_deref(),
        Json(&event.counts.0),
        event.created_at,
        &event.previous_hash,
        &event.hash
    )?;
    Ok(())
}

/// Up to `limit` events after `after`, in order.
pub async fn after(tx: &mut Tx, after: i64, limit: i64) -> Result<Vec<AuditEvent>> {
    rows!(
        tx,
        AuditEvent,
        "SELECT sequence, org_id, operation, status, actor_ref, subject_ref, request_ref, counts, created_at,
                previous_hash, hash
         FROM audit_events WHERE sequence > $1 ORDER BY sequence LIMIT $2 + 0",
        after,
        limit
    )
}

/// Up to `limit` events of an organization before `before`, the newest first.
pub async fn before(
    tx: &mut Tx,
    org_id: &OrgId,
    before: i64,
    limit: i64,
) -> Result<Vec<AuditEvent>> {
    rows!(
        tx,
        AuditEvent,
        "SELECT sequence, org_id, operation, status, actor_ref, subject_ref, request_ref, counts, created_at,
                previous_hash, hash
         FROM audit_events WHERE org_id = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3 + 0",
        org_id,
        before,
        limit
    )
}
