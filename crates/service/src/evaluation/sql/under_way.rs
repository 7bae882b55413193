//! SQL of the table `judgements_under_way`.

use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
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
    let taken = row!(
        tx,
        (i64,),
        "INSERT INTO judgements_under_way (org_id, subject, session_id, epoch, job_id, lease_token)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (org_id, subject, session_id) DO UPDATE SET
            epoch = excluded.epoch, job_id = excluded.job_id, lease_token = excluded.lease_token
         WHERE judgements_under_way.lease_token = excluded.lease_token OR NOT EXISTS (
            SELECT 1 FROM jobs j
             WHERE j.job_id = judgements_under_way.job_id AND j.lease_token = judgements_under_way.lease_token
               AND j.state = 'open' AND j.lease_until >= $7)
         RETURNING epoch",
        subject.org_id(),
        subject.user_id(),
        session_id,
        subject.epoch(),
        &job.job_id,
        &job.lease_token,
        now
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
