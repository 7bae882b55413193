//! SQL of the table `experiment_exposures`.

use crate::experiments::{Arm, Experiment, NewExposure};
use base::owner::{OrgId, UserId};
use sqlx::types::Json;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, run};

/// Adds a search to what its session was served, or would have been. A playbook counts as coming from the holdout
/// when a user who was exposed as such is among its sources.
pub async fn put_exposure(
    tx: &mut Tx,
    subject: &SubjectWrite,
    experiment: &Experiment,
    arm: Arm,
    new: &NewExposure,
    now: i64,
) -> Result<()> {
    let found = i64::try_from(new.made_at.len()).unwrap_or(i64::MAX);
    let recent = new.made_at.iter().filter(|made_at| **made_at >= experiment.started_at).count();
    let (served, served_new, playbooks) = match arm {
        Arm::Treatment => {
            (found, i64::try_from(recent).unwrap_or(i64::MAX), &new.agent_playbooks[..])
        }
        Arm::Holdout => (0, 0, &[][..]),
    };
    let from_holdout = match playbooks {
        [] => 0,
        some => from_holdout(tx, subject.org_id(), &experiment.experiment_id, some).await?,
    };
    run!(
        tx,
        "INSERT INTO experiment_exposures
           (org_id, subject, session_id, experiment_id, epoch, number, arm, first_exposed_at,
            last_exposed_at, searches, found, served, served_new, served_from_holdout)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, 1, $9, $10, $11, $12)
         ON CONFLICT (org_id, subject, session_id, experiment_id) DO UPDATE SET
            last_exposed_at = excluded.last_exposed_at,
            searches = experiment_exposures.searches + 1,
            found = experiment_exposures.found + excluded.found,
            served = experiment_exposures.served + excluded.served,
            served_new = experiment_exposures.served_new + excluded.served_new,
            served_from_holdout = experiment_exposures.served_from_holdout + excluded.served_from_holdout",
        subject.org_id(),
        subject.user_id(),
        new.session_id.as_deref().unwrap_or_default(),
        &experiment.experiment_id,
        subject.epoch(),
        experiment.number,
        arm.as_str(),
        now,
        found,
        served,
        served_new,
        from_holdout
    )?;
    Ok(())
}

/// Number of these playbooks with a source who was exposed as one of the holdout.
async fn from_holdout(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    playbooks: &[i64],
) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "SELECT COUNT(DISTINCT s.agent_playbook_id)
           FROM agent_playbook_sources s
           JOIN experiment_exposures x ON x.org_id = s.org_id AND x.subject = s.subject
            AND x.experiment_id = $2 AND x.arm = 'holdout'
          WHERE s.org_id = $1 AND s.agent_playbook_id IN {integers:$3}",
        org_id,
        experiment_id,
        Json(playbooks)
    )?;
    Ok(found.map_or(0, |(count,)| count))
}

pub async fn delete_exposures(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM experiment_exposures WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    Ok(())
}
