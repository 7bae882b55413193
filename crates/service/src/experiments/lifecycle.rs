//! Starting, stopping and listing experiments.

use std::sync::Arc;

use super::{Experiment, ExperimentAbout, RetrievalExperimentListResponse, plan, sql};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Code, Error, Result};

/// Planned users when neither the start nor past sessions say.
pub const PLANNED_USERS: i64 = 5000;
pub const MOST_PLANNED_USERS: i64 = 1_000_000_000;
/// The smallest lift that matters, in percentage points, when the start does not say.
pub const MARGIN: f64 = 2.0;

/// Parameters of a new experiment.
#[derive(Clone, Debug)]
pub struct NewExperiment {
    pub experiment_id: String,
    pub holdout_percentage: f64,
    /// As the planner says when absent.
    pub planned_users: Option<i64>,
    pub margin_percentage_points: f64,
    pub about: ExperimentAbout,
}

/// All experiments of an organization.
pub async fn list(app: &App, org_id: &OrgId) -> Result<RetrievalExperimentListResponse> {
    app.db
        .lookup("experiments.list", org_id.to_owned(), |tx, org_id| Box::pin(listed(tx, org_id)))
        .await
}

async fn listed(tx: &mut Tx, org_id: &OrgId) -> Result<RetrievalExperimentListResponse> {
    let experiments = sql::list(tx, org_id).await?;
    let active = experiments.iter().find(|experiment| experiment.ended_at.is_none());
    Ok(RetrievalExperimentListResponse {
        active_experiment: active.map(Experiment::record),
        experiments: experiments.iter().map(Experiment::record).collect(),
    })
}

/// Starts an experiment. Of several starts at once exactly one succeeds: each decides inside its transaction, and
/// unique indexes stand behind it.
pub async fn start(
    app: &Arc<App>,
    org_id: &OrgId,
    new: NewExperiment,
) -> Result<RetrievalExperimentListResponse> {
    let NewExperiment { holdout_percentage, margin_percentage_points, .. } = new;
    let planned_users = match new.planned_users {
        Some(planned) => planned,
        None => {
            plan::users_to_plan_for(app, org_id, holdout_percentage, margin_percentage_points)
                .await?
        }
    };
    let input = (org_id.to_owned(), new, planned_users, app.clock.now());
    app.db
        .write("experiments.start", input, |tx, (org_id, new, planned_users, now)| {
            Box::pin(async move {
                let known = sql::list(tx, org_id).await?;
                let active = known.iter().find(|experiment| experiment.ended_at.is_none());
                if active.is_some_and(|active| active.experiment_id != new.experiment_id) {
                    return Err(Error::refused(
                        Code::ExperimentActive,
                        "Another experiment is active; stop it before you start this one.",
                    ));
                }
                if known.iter().any(|experiment| experiment.experiment_id == new.experiment_id) {
                    return Err(Error::refused(
                        Code::ExperimentIdUsed,
                        "This experiment_id was used before; use a new one.",
                    ));
                }
                let experiment = Experiment {
                    experiment_id: new.experiment_id.clone(),
                    number: known.first().map_or(1, |newest| newest.number + 1),
                    holdout_percentage: new.holdout_percentage,
                    planned_users: *planned_users,
                    margin_percentage_points: new.margin_percentage_points,
                    started_at: *now,
                    ended_at: None,
                    about: new.about.clone(),
                };
                sql::insert(tx, org_id, &experiment).await?;
                // Sessions of this very second may be judged already.
                sql::mark_judged_since(tx, org_id, &experiment.experiment_id, *now).await?;
                listed(tx, org_id).await
            })
        })
        .await
}

/// Stops the active experiment. Nobody is assigned from then on; what was stored stays.
pub async fn stop(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: String,
) -> Result<RetrievalExperimentListResponse> {
    let input = (org_id.to_owned(), experiment_id, app.clock.now());
    app.db
        .write("experiments.stop", input, |tx, (org_id, experiment_id, now)| {
            Box::pin(async move {
                if !sql::end(tx, org_id, experiment_id, *now).await? {
                    return Err(match sql::find(tx, org_id, experiment_id).await? {
                        None => Error::not_found("experiment"),
                        Some(_) => Error::refused(
                            Code::ExperimentNotActive,
                            "This experiment was stopped before.",
                        ),
                    });
                }
                // Should a clock have run ahead: what began after the end is outside the window now.
                sql::mark_judged_since(tx, org_id, experiment_id, *now + 1).await?;
                listed(tx, org_id).await
            })
        })
        .await
}
