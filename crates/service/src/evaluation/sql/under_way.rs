//! SQL of the table `judgements_under_way`.

use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx, Work};
use storage::error::Result;
use storage::jobs::Claim;
use storage::subjects::SubjectWrite;
use storage::{row, run};

/// Takes the turn to judge a session, unless another job that holds its lease has it.
pub async fn take_turn(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    job: &Claim,
    now: i64,
) -> Result<bool> {
    if take_from(tx, subject, session_id, job, "").await? {
        return Ok(true);
    }
    let ended = row!(
        tx,
        (String, String),
        "SELECT job_id, lease_token FROM judgements_under_way
         WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    let Some((other_job, token)) = ended else { return Ok(false) };
    let other = (other_job, token, now);
    // It may be the organization's.
    if tx.read_afar(&other, &holds_lease).await? {
        return Ok(false);
    }
    let (_, token, _) = other;
    take_from(tx, subject, session_id, job, &token).await
}

/// True if a job is still held under a lease.
fn holds_lease<'t>(tx: &'t mut Tx, lease: &'t (String, String, i64)) -> Work<'t, bool> {
    let (job_id, token, now) = lease;
    Box::pin(async move {
        let found = row!(
            tx,
            (String,),
            "SELECT job_id FROM jobs
             WHERE job_id = $1 AND lease_token = $2 AND state = 'open' AND lease_until >= $3",
            job_id,
            token,
            now
        )?;
        Ok(found.is_some())
    })
}

/// Takes a turn that is free, the job's own, or still that of the lease `ended`.
async fn take_from(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    job: &Claim,
    ended: &str,
) -> Result<bool> {
    let taken = row!(
        tx,
        (i64,),
        "INSERT INTO judgements_under_way (org_id, subject, session_id, epoch, job_id, lease_token)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (org_id, subject, session_id) DO UPDATE SET
            epoch = excluded.epoch, job_id = excluded.job_id, lease_token = excluded.lease_token
         WHERE judgements_under_way.lease_token IN (excluded.lease_token, $7)
         RETURNING epoch",
        subject.org_id(),
        subject.user_id(),
        session_id,
        subject.epoch(),
        &job.job_id,
        &job.lease_token,
        ended
    )?;
    Ok(taken.is_some())
}

/// The verdict is being written: the turn ends with it.
pub fn end_turn<'a>(changes: &mut Changes<'a>, subject: &'a SubjectWrite, session_id: &'a str) {
    changes.add(
        "DELETE FROM judgements_under_way WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
}

/// Gives a turn back without a verdict.
pub async fn give_turn_back(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    job: &Claim,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM judgements_under_way
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND lease_token = $4",
        org_id,
        user_id,
        session_id,
        &job.lease_token
    )?;
    Ok(())
}
