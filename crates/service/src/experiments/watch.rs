//! Looking at active experiments: once a day, so that the lift is known day by day, and once an hour where a webhook
//! wants to know. An answer, and ill health, are told once.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::analysis::Analysis;
use super::{lifecycle, results, sql};
use crate::app::App;
use crate::webhooks::{self, Event, EventType};
use base::owner::OrgId;
use stats::decision::LiftDecision;
use stats::{CiMethod, NullReason};
use storage::error::Result;
use storage::jobs::Recurring;

pub struct WatchExperiments;

impl Recurring<App> for WatchExperiments {
    const KIND: &'static str = "watch_experiments";
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let asked = [EventType::ExperimentDecided, EventType::ExperimentUnhealthy];
            for org_id in webhooks::organizations_asking(app, &asked).await? {
                let active = lifecycle::list(app, &org_id).await?.active_experiment;
                if let Some(experiment) = active {
                    let looked = look(app, &org_id, &experiment.experiment_id).await;
                    go_on(&experiment.experiment_id, looked)?;
                }
            }
            let midnight = app.clock.now().div_euclid(86_400) * 86_400;
            let left = app
                .db
                .read("experiments.not_looked_at", midnight, |tx, midnight| {
                    Box::pin(sql::not_looked_at(tx, *midnight))
                })
                .await?;
            for (org_id, experiment_id) in left {
                let looked = results(app, &org_id, &experiment_id, CiMethod::default()).await;
                go_on(&experiment_id, looked.map(drop))?;
            }
            Ok(())
        })
    }
}

/// An experiment whose results cannot be computed is said in the log, and the others are looked at. Without storage
/// there is no point in going on.
fn go_on(experiment_id: &str, looked: Result<()>) -> Result<()> {
    match looked {
        Err(error) if !error.is_outage() => {
            tracing::error!(experiment_id, %error, "an experiment could not be looked at");
            Ok(())
        }
        looked => looked,
    }
}

async fn look(app: &Arc<App>, org_id: &OrgId, experiment_id: &str) -> Result<()> {
    let found = results(app, org_id, experiment_id, CiMethod::default()).await?;
    for (key, event) in news(experiment_id, &found.numbers.0) {
        let input = (app.clone(), org_id.clone(), key, event);
        app.db
            .write("experiments.tell", input, |tx, (app, org_id, key, event)| {
                Box::pin(webhooks::emit_once(tx, app, org_id, key, event))
            })
            .await?;
    }
    Ok(())
}

/// The news of an experiment as it stands, each with the key under which it is told once.
fn news(experiment_id: &str, found: &Analysis) -> Vec<(String, Event)> {
    let mut news = Vec::new();
    // Problems of an experiment that has hardly begun are no news yet.
    if found.decision.decision == Err(NullReason::Unhealthy) {
        let problem_count = found.health.problems.len();
        let event =
            Event::ExperimentUnhealthy { experiment_id: experiment_id.to_owned(), problem_count };
        news.push((experiment_id.to_owned(), event));
    }
    let answer = found.decision.decision.ok().filter(|decision| match decision {
        LiftDecision::Positive | LiftDecision::Negative | LiftDecision::NoEffectAtPrecision => true,
        LiftDecision::Collecting | LiftDecision::Inconclusive => false,
    });
    if let Some(decision) = answer {
        let event = Event::ExperimentDecided {
            experiment_id: experiment_id.to_owned(),
            decision: decision.as_str(),
            success_rate_lift_percentage_points: found.success_rate_lift_percentage_points,
        };
        news.push((format!("{experiment_id}/{decision}"), event));
    }
    news
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::error::Error;

    #[test]
    fn one_experiment_in_trouble_does_not_end_the_round_and_lost_storage_does() {
        assert!(go_on("exp", Err(Error::Internal("odd sums".to_owned()))).is_ok());
        assert!(go_on("exp", Err(Error::unavailable("away", 1))).is_err());
    }
}
