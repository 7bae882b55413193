//! SQL of the tables `experiment_looks` and `experiment_daily_looks`.

use crate::experiments::daily_looks::{DailyLook, MOST_DAYS};
use crate::experiments::looks::Looks;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

pub async fn find_looks(tx: &mut Tx, org_id: &OrgId, experiment_id: &str) -> Result<Option<Looks>> {
    row!(
        tx,
        Looks,
        "SELECT lower, upper, p_value, exposed_p, published_p, evaluated_p, triggered_p, evaluation_rate_p
         FROM experiment_looks
         WHERE org_id = $1 AND experiment_id = $2",
        org_id,
        experiment_id
    )
}

pub async fn put_looks(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    looks: &Looks,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiment_looks
           (org_id, experiment_id, lower, upper, p_value, exposed_p, published_p, evaluated_p, triggered_p,
            evaluation_rate_p)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (org_id, experiment_id) DO UPDATE SET
            lower = excluded.lower, upper = excluded.upper, p_value = excluded.p_value,
            exposed_p = excluded.exposed_p, published_p = excluded.published_p,
            evaluated_p = excluded.evaluated_p, triggered_p = excluded.triggered_p,
            evaluation_rate_p = excluded.evaluation_rate_p",
        org_id,
        experiment_id,
        looks.lower,
        looks.upper,
        looks.p_value,
        looks.exposed_p,
        looks.published_p,
        looks.evaluated_p,
        looks.triggered_p,
        looks.evaluation_rate_p
    )?;
    Ok(())
}

/// The newest looks of days, the oldest of them first.
pub async fn daily_looks(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<Vec<DailyLook>> {
    let mut looks = rows!(
        tx,
        DailyLook,
        "SELECT day, lift, lower, upper, treatment_users, holdout_users FROM experiment_daily_looks
         WHERE org_id = $1 AND experiment_id = $2 ORDER BY day DESC LIMIT $3 + 0",
        org_id,
        experiment_id,
        MOST_DAYS
    )?;
    looks.reverse();
    Ok(looks)
}

pub async fn put_daily_look(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    look: &DailyLook,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO experiment_daily_looks
           (org_id, experiment_id, day, lift, lower, upper, treatment_users, holdout_users)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (org_id, experiment_id, day) DO UPDATE SET
            lift = excluded.lift, lower = excluded.lower, upper = excluded.upper,
            treatment_users = excluded.treatment_users, holdout_users = excluded.holdout_users",
        org_id,
        experiment_id,
        look.day,
        look.lift,
        look.lower,
        look.upper,
        look.treatment_users,
        look.holdout_users
    )?;
    Ok(())
}
