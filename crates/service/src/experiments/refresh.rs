//! Bringing the users' sums up to date.
//!
//! Triggers mark a user when anything that an experiment counts of them changes. A marked user is summed up anew from
//! the stored rows, never changed by a difference, so a sum cannot drift.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::classify::{StoredUser, rows_of};
use super::sql;
use super::sums::{Stratum, UserSums};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::barrier;

/// Users per transaction: it holds the writer for some milliseconds.
const AT_ONCE: i64 = 400;

/// Sums up everyone who is marked. Those that another replica is summing up, or whose data is being written right
/// now, are left to it.
pub async fn refresh(app: &Arc<App>, org_id: &OrgId, experiment_id: &str) -> Result<()> {
    loop {
        let input = (org_id.to_owned(), experiment_id.to_owned());
        let stale = app
            .db
            .lookup("experiments.stale", input.clone(), |tx, (org_id, experiment_id)| {
                Box::pin(sql::stale_users(tx, org_id, experiment_id, AT_ONCE))
            })
            .await?;
        if stale.is_empty() {
            return Ok(());
        }
        let (org_id, experiment_id) = input;
        let summed = app
            .db
            .write(
                "experiments.refresh",
                (org_id, experiment_id, stale),
                |tx, (org_id, experiment_id, users)| {
                    Box::pin(sum_up(tx, org_id, experiment_id, users))
                },
            )
            .await?;
        if summed == 0 {
            return Ok(());
        }
    }
}

/// Marks every user who has sums, so that the next [`refresh`] computes them anew.
pub async fn mark_all(app: &App, org_id: &OrgId, experiment_id: &str) -> Result<()> {
    let input = (org_id.to_owned(), experiment_id.to_owned());
    app.db
        .write("experiments.mark_all", input, |tx, (org_id, experiment_id)| {
            Box::pin(sql::mark_summed(tx, org_id, experiment_id))
        })
        .await
}

async fn sum_up(
    tx: &mut Tx,
    org_id: &OrgId,
    experiment_id: &str,
    users: &[UserId],
) -> Result<usize> {
    let Some(experiment) = sql::find(tx, org_id, experiment_id).await? else {
        return Ok(0);
    };
    // The barrier first, as everyone who writes for a user does: two locks in one order.
    let subjects = barrier::open_known(tx, org_id, users).await?;
    let held = sql::hold_marks(tx, org_id, experiment_id, subjects.keys()).await?;
    if held.is_empty() {
        return Ok(0);
    }
    let list = tx.subjects_json(org_id, held.iter())?;
    let stored = sql::stored(tx, org_id, &experiment, &list).await?;
    let mut strata: BTreeMap<Stratum, u32> =
        sql::strata(tx, org_id, experiment_id).await?.into_iter().map(|(n, s)| (s, n)).collect();
    // Not their number: those that an erasure took away leave gaps.
    let mut next = strata.values().max().map_or(0, |last| last + 1);
    let known = next;
    let mut sums = Vec::with_capacity(held.len());
    let nothing = StoredUser::default();
    for user_id in &held {
        let Some(subject) = subjects.get(user_id) else { continue };
        let of_user = stored.get(&subject.subject()).unwrap_or(&nothing);
        let rows = rows_of(org_id, user_id, &experiment, of_user);
        let of_user = UserSums::of(&rows, |stratum| {
            *strata.entry(stratum).or_insert_with(|| {
                next += 1;
                next - 1
            })
        });
        if !of_user.is_empty() {
            sums.push((subject, of_user));
        }
    }
    for (stratum, number) in strata.iter().filter(|(_, number)| **number >= known) {
        sql::insert_stratum(tx, org_id, experiment_id, *number, stratum).await?;
    }
    sql::replace_sums(tx, org_id, experiment_id, &list, &sums).await?;
    Ok(held.len())
}
