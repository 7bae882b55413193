//! SQL of the table `experiments`.

use crate::experiments::about::AboutChange;
use crate::experiments::{Experiment, ExperimentAbout};
use base::owner::OrgId;
use storage::db::Tx;
use storage::db::citus::Hold;
use storage::error::Result;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        "experiment_id, number, holdout_percentage, planned_users, margin_percentage_points, started_at, ended_at, \
         hypothesis, owner, notes"
    };
}

/// All experiments of an organization, the newest start first.
pub async fn list(tx: &mut Tx, org_id: &OrgId) -> Result<Vec<Experiment>> {
    rows!(
        tx,
        Experiment,
        concat!("SELECT ", columns!(), " FROM experiments WHERE org_id = $1 ORDER BY number DESC"),
        org_id
    )
}

pub async fn find(tx: &mut Tx, org_id: &OrgId, experiment_id: &str) -> Result<Option<Experiment>> {
    row!(
        tx,
        Experiment,
        concat!(
            "SELECT ",
            columns!(),
            " FROM experiments WHERE org_id = $1 AND experiment_id = $2"
        ),
        org_id,
        experiment_id
    )
}

/// For a statement that asks along the way: whether an experiment of the organization is active.
macro_rules! one_runs {
    ($org_id:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM experiments WHERE org_id = ",
            $org_id,
            " AND ended_at IS NULL)"
        )
    };
}
pub(crate) use one_runs;

/// True if an experiment is active.
pub async fn is_active(tx: &mut Tx, org_id: &OrgId) -> Result<bool> {
    let found = row!(tx, (bool,), concat!("SELECT ", one_runs!("$1")), org_id)?;
    Ok(found == Some((true,)))
}

macro_rules! active {
    () => {
        concat!("SELECT ", columns!(), " FROM experiments WHERE org_id = $1 AND ended_at IS NULL")
    };
}

/// The active experiment, which stays active until the transaction ends.
pub async fn hold_active(tx: &mut Tx, org_id: &OrgId) -> Result<Option<Experiment>> {
    if tx.is_spread() {
        tx.hold_copies(&held_as(org_id), Hold::Shared).await?;
        return row!(tx, Experiment, active!(), org_id);
    }
    row!(tx, Experiment, concat!(active!(), " {lock:SHARE}"), org_id)
}

pub async fn insert(tx: &mut Tx, org_id: &OrgId, new: &Experiment) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiments
           (org_id, experiment_id, number, holdout_percentage, planned_users, margin_percentage_points,
            started_at, ended_at, hypothesis, owner, notes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        org_id,
        &new.experiment_id,
        new.number,
        new.holdout_percentage,
        new.planned_users,
        new.margin_percentage_points,
        new.started_at,
        new.ended_at,
        &new.about.hypothesis,
        &new.about.owner,
        &new.about.notes
    )?;
    Ok(())
}

/// Changes hypothesis, owner or notes of an experiment and gives all three; nothing if there is no such experiment.
pub async fn change_about(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    change: &AboutChange,
) -> Result<Option<ExperimentAbout>> {
    row!(
        tx,
        ExperimentAbout,
        "UPDATE experiments SET hypothesis = COALESCE($3, hypothesis), owner = COALESCE($4, owner),
            notes = COALESCE($5, notes)
         WHERE org_id = $1 AND experiment_id = $2 RETURNING hypothesis, owner, notes",
        org_id,
        experiment_id,
        change.hypothesis.as_deref(),
        change.owner.as_deref(),
        change.notes.as_deref()
    )
}

/// Active experiments that nobody looked at since a day began, with their organizations.
pub async fn not_looked_at(tx: &mut Tx, day: i64) -> Result<Vec<(OrgId, String)>> {
    rows!(
        tx,
        (OrgId, String),
        "SELECT e.org_id, e.experiment_id FROM experiments e
         WHERE e.ended_at IS NULL AND NOT EXISTS (
               SELECT 1 FROM experiment_daily_looks l
                WHERE l.org_id = e.org_id AND l.experiment_id = e.experiment_id AND l.day >= $1)
         ORDER BY e.org_id",
        day
    )
}

/// The name under which the active experiment of an organization is held on Citus.
fn held_as(org_id: &OrgId) -> String {
    format!("experiments {org_id}")
}

/// Ends an experiment; false if it is not active.
pub async fn end(tx: &mut Tx, org_id: &OrgId, experiment_id: &str, now: i64) -> Result<bool> {
    if tx.is_spread() {
        tx.hold_copies(&held_as(org_id), Hold::Alone).await?;
    }
    let ended = run!(
        tx,
        "UPDATE experiments SET ended_at = $3
         WHERE org_id = $1 AND experiment_id = $2 AND ended_at IS NULL",
        org_id,
        experiment_id,
        now
    )?;
    Ok(ended > 0)
}

/// Marks the users whose judged sessions began at or after a moment.
pub async fn mark_judged_since(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    since: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
         SELECT DISTINCT s.org_id, CAST($2 AS TEXT), s.subject, s.epoch, 1
           FROM evaluation_results r
           JOIN subjects s ON s.org_id = r.org_id AND s.subject = r.subject AND s.state = 'active'
          WHERE r.org_id = $1 AND r.created_at >= $3
         ON CONFLICT DO NOTHING",
        org_id,
        experiment_id,
        since
    )?;
    Ok(())
}
