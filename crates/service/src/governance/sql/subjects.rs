//! SQL of the table `subjects`, for those who close and open the barrier.

use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectState;
use storage::{row, run};

/// A person as the barrier knows them.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct SubjectRow {
    pub subject_ref: String,
    pub user_id: Option<UserId>,
    pub state: SubjectState,
    pub epoch: i64,
}

/// The person's row, by their id or one of their references, locked against writers until the transaction ends.
pub async fn hold(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: Option<&UserId>,
    refs: &str,
) -> Result<Option<SubjectRow>> {
    let found = row!(
        tx,
        (String,),
        "SELECT subject_ref FROM subjects
         WHERE org_id = $1 AND (user_id = $2 OR subject_ref IN {texts:$3})
         ORDER BY CASE WHEN user_id IS NULL THEN 1 ELSE 0 END LIMIT 1",
        org_id,
        user_id,
        refs
    )?;
    let Some((subject_ref,)) = found else { return Ok(None) };
    // By its key, which never changes: while this waits, others may change everything else about the row.
    row!(
        tx,
        SubjectRow,
        "SELECT subject_ref, user_id, state, epoch FROM subjects
         WHERE org_id = $1 AND subject_ref = $2 {lock:UPDATE}",
        org_id,
        subject_ref
    )
}

/// Makes a row for a person nobody has seen, with the barrier closed.
pub async fn insert_closed(tx: &mut Tx, org_id: &OrgId, subject_ref: &str, now: i64) -> Result<()> {
    run!(
        tx,
        "INSERT INTO subjects (org_id, subject_ref, user_id, state, epoch, created_at)
         VALUES ($1, $2, NULL, 'erasing', 0, $3) ON CONFLICT DO NOTHING",
        org_id,
        subject_ref,
        now
    )?;
    Ok(())
}

/// Closes the barrier: from here on nothing is written for the person, and what is under way cannot finish.
pub async fn close(
    tx: &mut Tx,
    org_id: &OrgId,
    subject_ref: &str,
    epoch: i64,
    fence_at: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE subjects SET state = 'erasing', user_id = NULL, epoch = $3, fence_at = $4
         WHERE org_id = $1 AND subject_ref = $2",
        org_id,
        subject_ref,
        epoch,
        fence_at
    )?;
    Ok(())
}

/// The end of an erasure, unless another one of the same person is still to be done.
pub async fn set_erased(
    tx: &mut Tx,
    org_id: &OrgId,
    subject_ref: &str,
    return_policy: &str,
) -> Result<()> {
    run!(
        tx,
        "UPDATE subjects SET state = 'erased', return_policy = $3
         WHERE org_id = $1 AND subject_ref = $2 AND state = 'erasing' AND NOT EXISTS (
             SELECT 1 FROM purge_operations p
             WHERE p.org_id = $1 AND p.subject_ref = $2 AND p.status <> 'complete')",
        org_id,
        subject_ref,
        return_policy
    )?;
    Ok(())
}

pub async fn readmit(
    tx: &mut Tx,
    org_id: &OrgId,
    subject_ref: &str,
    user_id: &UserId,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE subjects SET state = 'active', user_id = $3, return_policy = 'readmitted'
         WHERE org_id = $1 AND subject_ref = $2 AND state = 'erased'",
        org_id,
        subject_ref,
        user_id
    )?;
    Ok(touched == 1)
}
