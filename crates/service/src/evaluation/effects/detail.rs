//! The effect of one playbook in detail: by text, by epoch and over time.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::compute::{DAY, EpochOfTrial, FoundUser, SidesOfEpoch, Trial, has_its_shares, side};
use super::sql::{self, FoundRow};
use super::{Estimate, ListedEffect, NamedEffects, TrialSide};
use crate::app::App;
use base::owner::{OrgId, UserId};
use storage::error::{Error, Result};

/// Points of a series.
const POINTS: i64 = 26;

/// One playbook's effect, with its texts and its course.
#[derive(Serialize, ToSchema)]
pub struct LearningEffectDetail {
    #[serde(flatten)]
    pub listed: ListedEffect,
    /// The texts that were on trial, the oldest first. Numbers of an old text stay with it.
    pub revisions: Vec<TrialRevision>,
    /// The effect of the present text as it was known at these times.
    pub series: Vec<EffectAtTime>,
}

/// The trial of one text of a playbook.
#[derive(Serialize, ToSchema)]
pub struct TrialRevision {
    /// Digest of the text.
    pub digest: String,
    pub is_present: bool,
    pub started_at: i64,
    #[serde(flatten)]
    pub estimate: Estimate,
    pub served: TrialSide,
    pub withheld: TrialSide,
    pub epochs: Vec<TrialEpoch>,
}

/// A time in which neither the text nor the share changed.
#[derive(Serialize, ToSchema)]
pub struct TrialEpoch {
    pub epoch_no: i64,
    /// Share of users from whom it was withheld.
    pub share: f64,
    pub is_settled: bool,
    /// Users at which its evidence is sharpest.
    pub planned_users: u64,
    pub started_at: i64,
    pub served: TrialSide,
    pub withheld: TrialSide,
    /// True if the sides have their shares of users; null without users.
    pub sample_ratio_ok: Option<bool>,
}

/// An effect by sessions in which the playbook was found until a time.
#[derive(Serialize, ToSchema)]
pub struct EffectAtTime {
    pub until: i64,
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Users with a judged session.
    pub served_users: u64,
    pub withheld_users: u64,
}

/// A playbook's effect in detail; unknown if it never was on trial.
pub async fn detail(
    app: &Arc<App>,
    org_id: &OrgId,
    agent_playbook_id: i64,
) -> Result<LearningEffectDetail> {
    let input = (app.clone(), org_id.to_owned(), agent_playbook_id);
    let (all, epochs, found) = app
        .db
        .read_standby("trials.effect", input, |tx, (app, org_id, id)| {
            Box::pin(async move {
                let all = NamedEffects::read(app, tx, org_id, None).await?;
                let epochs = sql::epochs(tx, org_id, Some(*id)).await?;
                Ok((all, epochs, sql::found_by_day(tx, org_id, *id).await?))
            })
        })
        .await?;
    let listed = all.of(agent_playbook_id);
    let listed = listed.ok_or_else(|| Error::not_found("playbook on trial"))?;
    let epochs: Vec<EpochOfTrial> = epochs.into_iter().map(|(_, epoch)| epoch).collect();
    let trials = Trial::by_text(agent_playbook_id, with_users(&epochs, &found, i64::MAX));
    let newest = epochs.last().map(|epoch| epoch.digest.clone()).unwrap_or_default();
    let checks = epochs.len();
    let revisions = trials.iter().map(|trial| revision(trial, &newest, checks)).collect();
    let present: Vec<EpochOfTrial> =
        epochs.into_iter().filter(|epoch| epoch.digest == newest).collect();
    let series = series(&present, &found, app.clock.now());
    Ok(LearningEffectDetail { listed, revisions, series })
}

fn revision(trial: &Trial, newest: &str, checks: usize) -> TrialRevision {
    let epoch = |epoch: &EpochOfTrial| {
        let alone = std::slice::from_ref(epoch);
        TrialEpoch {
            epoch_no: epoch.epoch_no,
            share: epoch.share,
            is_settled: epoch.is_settled,
            planned_users: epoch.planned_users,
            started_at: epoch.started_at,
            served: side(alone, 0),
            withheld: side(alone, 1),
            sample_ratio_ok: has_its_shares(alone, checks),
        }
    };
    let digest = trial.epochs[0].digest.clone();
    TrialRevision {
        is_present: digest == newest,
        digest,
        started_at: trial.epochs[0].started_at,
        estimate: Estimate::of_trial(&trial.epochs),
        served: side(&trial.epochs, 0),
        withheld: side(&trial.epochs, 1),
        epochs: trial.epochs.iter().map(epoch).collect(),
    }
}

/// The epochs with the users for whom the playbook was found before a day.
fn with_users(epochs: &[EpochOfTrial], found: &[FoundRow], before: i64) -> Vec<EpochOfTrial> {
    let mut users: HashMap<i64, BTreeMap<(bool, &UserId), FoundUser>> = HashMap::new();
    for row in found.iter().filter(|row| row.day < before) {
        let epoch = users.entry(row.epoch_no).or_default();
        let user = epoch.entry((row.withheld, &row.user_id)).or_insert(FoundUser {
            withheld: row.withheld,
            first_day: row.day,
            sums: Default::default(),
        });
        user.first_day = user.first_day.min(row.day);
        let sums = row.sums();
        user.sums.sessions += sums.sessions;
        user.sums.weight += sums.weight;
        user.sums.successes += sums.successes;
    }
    let of = |epoch: &EpochOfTrial| {
        let users: Vec<FoundUser> = users
            .get(&epoch.epoch_no)
            .into_iter()
            .flat_map(|users| users.values())
            .copied()
            .collect();
        EpochOfTrial { sides: SidesOfEpoch::of_users(&users), ..epoch.clone() }
    };
    epochs.iter().map(of).collect()
}

/// The course of the effect, in steps of whole days.
fn series(epochs: &[EpochOfTrial], found: &[FoundRow], now: i64) -> Vec<EffectAtTime> {
    let Some(first) = epochs.first().map(|epoch| epoch.started_at / DAY) else { return Vec::new() };
    // The last point holds today.
    let end = now / DAY + 1;
    let step = ((end - first) / POINTS + 1).max(1);
    let mut days: Vec<i64> =
        (first + step..end).step_by(usize::try_from(step).unwrap_or(1)).collect();
    days.push(end);
    let point = |before: i64| {
        let epochs = with_users(epochs, found, before);
        EffectAtTime {
            until: (before * DAY).min(now),
            estimate: Estimate::of_trial(&epochs),
            served_users: side(&epochs, 0).users,
            withheld_users: side(&epochs, 1).users,
        }
    };
    days.into_iter().map(point).collect()
}
