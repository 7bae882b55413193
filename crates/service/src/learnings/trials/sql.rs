//! SQL of the tables `trial_epochs` and `trial_exposures`.

use super::Exposure;
use super::epochs::Epoch;
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

/// The newest epoch of each playbook.
pub async fn newest_epochs(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<Epoch>> {
    rows!(
        tx,
        Epoch,
        "SELECT e.agent_playbook_id, e.epoch_no, e.digest, e.share, e.is_settled, e.planned_users, e.started_at
         FROM trial_epochs e
         WHERE e.org_id = $1 AND e.epoch_no = (
               SELECT MAX(l.epoch_no) FROM trial_epochs l
                WHERE l.org_id = e.org_id AND l.agent_playbook_id = e.agent_playbook_id)
         ORDER BY e.agent_playbook_id",
        org_id
    )
}

/// Begins an epoch, unless another replica began it.
pub async fn insert_epoch(tx: &mut Tx, org_id: &OrgId, epoch: &Epoch) -> Result<()> {
    run!(
        tx,
        "INSERT INTO trial_epochs
           (org_id, agent_playbook_id, epoch_no, digest, share, is_settled, planned_users, started_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
        org_id,
        epoch.agent_playbook_id,
        epoch.epoch_no,
        &epoch.digest,
        epoch.share,
        epoch.is_settled,
        epoch.planned_users,
        epoch.started_at
    )?;
    Ok(())
}

/// Number of users for whom a playbook was found since then, and the first time that it was.
pub async fn traffic(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_playbook_id: i64,
    since: i64,
) -> Result<(i64, Option<i64>)> {
    let found = row!(
        tx,
        (i64, Option<i64>),
        "SELECT COUNT(DISTINCT user_id), MIN(found_at) FROM trial_exposures
         WHERE org_id = $1 AND agent_playbook_id = $2 AND found_at >= $3",
        org_id,
        agent_playbook_id,
        since
    )?;
    Ok(found.unwrap_or_default())
}

/// Rows of one statement: SQLite looks at all parameters of a statement for each of them.
const ROWS: usize = 100;

/// Records what was found for people; what is recorded already stays.
pub async fn insert_exposures(tx: &mut Tx, exposures: &[(&SubjectWrite, &Exposure)]) -> Result<()> {
    let mut changes = Changes::default();
    for some in exposures.chunks(ROWS) {
        let mut values = Vec::with_capacity(some.len() * 9);
        for (subject, exposure) in some {
            values.extend([
                Value::from(subject.org_id()),
                subject.user_id().into(),
                Value::from(&exposure.session_id),
                exposure.agent_playbook_id.into(),
                exposure.epoch_no.into(),
                subject.epoch().into(),
                exposure.withheld.into(),
                exposure.rank.into(),
                exposure.found_at.into(),
            ]);
        }
        changes.add_rows(
            "INSERT INTO trial_exposures
               (org_id, user_id, session_id, agent_playbook_id, epoch_no, epoch, withheld, found_rank, found_at)
             VALUES {rows} ON CONFLICT DO NOTHING",
            9,
            values,
        );
    }
    tx.apply(changes).await.map(drop)
}

/// Deletes what was found in a session.
pub async fn delete_exposures(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM trial_exposures WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    Ok(())
}
