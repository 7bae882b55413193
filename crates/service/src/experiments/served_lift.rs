//! Success of the sessions that were served an agent playbook, beside those of the holdout.
//!
//! A description, not the experiment's estimate: users are held out at random, but a playbook is served where it seems
//! to fit, so its sessions are not like all others. The lift of the experiment itself is in `results.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::analysis::Sample;
use super::samples::{self, Samples};
use super::sums::UserSums;
use super::{Arm, refresh, sql};
use crate::app::App;
use base::owner::OrgId;
use stats::{self, CiMethod, Comparison, UserSum};
use storage::error::{Error, Result};

/// Sessions of the treatment that were served an agent playbook against all sessions of the holdout, of the same agent
/// version.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ServedLift {
    pub experiment_id: String,
    /// Success rate of the sessions that were served it minus that of the holdout; null when one of them has none.
    pub percentage_points: Option<f64>,
    /// Its 95 % interval, clustered by user; null with fewer than two users on one side.
    #[schema(value_type = Option<Vec<f64>>, min_items = 2, max_items = 2)]
    pub ci95_percentage_points: Option<(f64, f64)>,
    pub treatment_sessions: u64,
    pub treatment_users: usize,
    pub holdout_sessions: u64,
    pub holdout_users: usize,
}

/// Success by served agent playbook and of the holdout, in an organization's newest experiment.
#[derive(Default)]
pub struct ServedLifts {
    experiment_id: String,
    /// By playbook.
    served: BTreeMap<String, stats::Arm>,
    /// By agent version.
    holdout: BTreeMap<String, stats::Arm>,
}

impl ServedLifts {
    /// The lift of a playbook; nothing when no judged session of the treatment was served it.
    pub fn of(&self, agent_playbook_id: &str, agent_version: &str) -> Option<ServedLift> {
        let served = self.served.get(agent_playbook_id)?;
        let nobody = stats::Arm::default();
        let holdout = self.holdout.get(agent_version).unwrap_or(&nobody);
        let comparison = Comparison::new(served, holdout);
        let interval = comparison.interval(CiMethod::ClusteredNewcombe).ok();
        Some(ServedLift {
            experiment_id: self.experiment_id.clone(),
            percentage_points: comparison.lift().ok().map(|lift| lift * 100.0),
            ci95_percentage_points: interval.map(|i| (i.lower * 100.0, i.upper * 100.0)),
            treatment_sessions: served.session_count(),
            treatment_users: served.user_count(),
            holdout_sessions: holdout.session_count(),
            holdout_users: holdout.user_count(),
        })
    }
}

/// Success by served playbook in the newest experiment; `None` when there was none.
pub async fn served_lifts(app: &Arc<App>, org_id: &OrgId) -> Result<Option<ServedLifts>> {
    let newest = app
        .db
        .lookup("experiments.newest", org_id.to_owned(), |tx, org_id| {
            Box::pin(async move { Ok(sql::list(tx, org_id).await?.into_iter().next()) })
        })
        .await?;
    let Some(experiment) = newest else { return Ok(None) };
    refresh::refresh(app, org_id, &experiment.experiment_id).await?;
    let known = app.state::<Samples>().known(org_id, &experiment.experiment_id);
    let input = (org_id.to_owned(), experiment.experiment_id.clone(), known);
    let (sample, served) = app
        .db
        .read("experiments.served_lifts", input, |tx, (org_id, experiment_id, known)| {
            Box::pin(async move {
                let sample = samples::read(tx, org_id, experiment_id, known).await?;
                Ok((sample, sql::served_sums(tx, org_id, experiment_id).await?))
            })
        })
        .await?;
    let holdout = tokio::task::spawn_blocking(move || {
        sample.parse().map(|known| holdout_by_version(&known.sample()))
    })
    .await
    .map_err(|e| Error::Internal(format!("reading sums failed: {e}")))?
    .ok_or_else(|| Error::Internal("sums of an experiment cannot be read".to_owned()))?;
    let mut by_playbook: BTreeMap<String, Vec<UserSum>> = BTreeMap::new();
    for (playbook, sum) in served {
        by_playbook.entry(playbook).or_default().push(sum);
    }
    let served = by_playbook.into_iter().map(|(id, sums)| (id, stats::Arm::new(sums))).collect();
    Ok(Some(ServedLifts { experiment_id: experiment.experiment_id, served, holdout }))
}

fn holdout_by_version(sample: &Sample) -> BTreeMap<String, stats::Arm> {
    let mut by_version: BTreeMap<&str, Vec<UserSum>> = BTreeMap::new();
    let held_out = |user: &&UserSums| user.arm() == Some(Arm::Holdout);
    for user in sample.users().filter(held_out) {
        let mut of_user: BTreeMap<&str, UserSum> = BTreeMap::new();
        for cell in &user.cells {
            if let Some(stratum) = sample.strata.get(&cell.stratum) {
                let sum = of_user.entry(&stratum.agent_version).or_default();
                *sum = sum.plus(cell.sum);
            }
        }
        for (version, sum) in of_user {
            by_version.entry(version).or_default().push(sum);
        }
    }
    let arm = |(version, sums): (&str, Vec<UserSum>)| (version.to_owned(), stats::Arm::new(sums));
    by_version.into_iter().map(arm).collect()
}
