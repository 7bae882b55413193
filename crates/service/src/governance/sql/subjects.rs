//! SQL of the table `subjects`, for those who close and open the barrier.

use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::{Subject, SubjectState};
use storage::{row, run};

/// A person as the barrier knows them.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct SubjectRow {
    pub subject: Subject,
    pub user_id: Option<UserId>,
    pub state: SubjectState,
    pub epoch: i64,
}

/// The person's row, locked against writers until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &OrgId, subject: Subject) -> Result<Option<SubjectRow>> {
    row!(
        tx,
        SubjectRow,
        "SELECT subject, user_id, state, epoch FROM subjects
         WHERE org_id = $1 AND subject = $2 {lock:UPDATE}",
        org_id,
        subject
    )
}

/// Makes a row for a person nobody has seen, with the barrier closed.
pub async fn insert_closed(tx: &mut Tx, org_id: &OrgId, subject: Subject, now: i64) -> Result<()> {
    run!(
        tx,
        "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
         VALUES ($1, $2, NULL, 'erasing', 0, $3) ON CONFLICT DO NOTHING",
        org_id,
        subject,
        now
    )?;
    Ok(())
}

/// Closes the barrier: from here on nothing is written for the person, and what is under way cannot finish.
pub async fn close(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Subject,
    epoch: i64,
    fence_at: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE subjects SET state = 'erasing', epoch = $3, fence_at = $4
         WHERE org_id = $1 AND subject = $2",
        org_id,
        subject,
        epoch,
        fence_at
    )?;
    Ok(())
}

/// Forgets who it was, unless they came back.
pub async fn forget_name(tx: &mut Tx, org_id: &OrgId, subject: Subject) -> Result<()> {
    run!(
        tx,
        "UPDATE subjects SET user_id = NULL
         WHERE org_id = $1 AND subject = $2 AND state = 'erasing' AND user_id IS NOT NULL",
        org_id,
        subject
    )?;
    Ok(())
}

/// The end of an erasure, unless another one of the same person is still to be done.
pub async fn set_erased(
    tx: &mut Tx,
    org_id: &OrgId,
    subject: Subject,
    return_policy: &str,
) -> Result<()> {
    run!(
        tx,
        "UPDATE subjects SET state = 'erased', return_policy = $3
         WHERE org_id = $1 AND subject = $2 AND state = 'erasing' AND NOT EXISTS (
             SELECT 1 FROM purge_operations p
             WHERE p.org_id = $1 AND p.subject = $2 AND p.status <> 'complete')",
        org_id,
        subject,
        return_policy
    )?;
    Ok(())
}

pub async fn readmit(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE subjects SET state = 'active', user_id = $3, return_policy = 'readmitted'
         WHERE org_id = $1 AND subject = $2 AND state = 'erased'",
        org_id,
        user_id,
        user_id.as_str()
    )?;
    Ok(touched == 1)
}
