//! SQL of the tables `trial_epochs` and `trial_exposures`.

use serde_json::json;

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
        "SELECT COUNT(DISTINCT subject), MIN(found_at) FROM trial_exposures
         WHERE org_id = $1 AND agent_playbook_id = $2 AND found_at >= $3",
        org_id,
        agent_playbook_id,
        since
    )?;
    Ok(found.unwrap_or_default())
}

/// Records what was found for people; what is recorded already stays.
pub async fn insert_exposures(tx: &mut Tx, exposures: &[(&SubjectWrite, &Exposure)]) -> Result<()> {
    let row = |(subject, found): &(&'_ SubjectWrite, &'_ Exposure)| {
        json!([
            subject.org_id(),
            subject.subject(),
            found.session_id,
            found.agent_playbook_id,
            found.epoch_no,
            subject.epoch(),
            found.withheld,
            found.rank,
            found.found_at,
        ])
    };
    let rows: Vec<serde_json::Value> = exposures.iter().map(row).collect();
    let mut changes = Changes::default();
    changes.add(
        storage::statement!(
            "INSERT INTO trial_exposures
               (org_id, subject, session_id, agent_playbook_id, epoch_no, epoch, withheld, found_rank, found_at)
             SELECT value ->> 0, {subject:value ->> 1}, value ->> 2, CAST(value ->> 3 AS BIGINT),
                    CAST(value ->> 4 AS BIGINT), CAST(value ->> 5 AS BIGINT), CAST(value ->> 6 AS BOOLEAN),
                    CAST(value ->> 7 AS BIGINT), CAST(value ->> 8 AS BIGINT)
               FROM {lists:$1} AS found WHERE TRUE
             ON CONFLICT DO NOTHING"
        ),
        vec![Value::lists(&rows)?],
    );
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
        "DELETE FROM trial_exposures WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )?;
    Ok(())
}
