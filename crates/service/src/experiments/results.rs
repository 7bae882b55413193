//! The results of an experiment as they are answered.

use std::sync::Arc;

use super::analysis::{self, Analysis, ContaminatedSession, Design, Sample};
use super::looks::Looks;
use super::part::{Flat, part};
use super::{Experiment, RetrievalExperimentRecord, refresh, sql};
use crate::app::App;
use base::owner::OrgId;
use stats::CiMethod;
use storage::error::{Error, Result};

/// Contaminated sessions that are listed.
const LISTED: i64 = 50;

part! {
    /// Results of an experiment so far. A part that cannot be given is null beside its `…_null_reason`.
    pub struct RetrievalExperimentResultsResponse {
        pub experiment: RetrievalExperimentRecord,
        pub numbers: Flat<Analysis>,
    }
}

/// An experiment with its sums and looks, read in one snapshot.
struct Snapshot {
    experiment: Experiment,
    lines: String,
    strata: std::collections::BTreeMap<u32, super::sums::Stratum>,
    looks: Option<Looks>,
}

/// An experiment with its users as they are now, and its looks. Sums of an older encoding are computed anew.
async fn sample(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<(Experiment, Sample, Option<Looks>)> {
    for _ in 0..2 {
        refresh::refresh(app, org_id, experiment_id).await?;
        let Snapshot { experiment, lines, strata, looks } =
            snapshot(app, org_id, experiment_id).await?;
        if let Some(sample) = computed(move || Sample::parse(&lines, strata)).await? {
            return Ok((experiment, sample, looks));
        }
        refresh::mark_all(app, org_id, experiment_id).await?;
    }
    Err(Error::Internal("sums of an experiment cannot be read".to_owned()))
}

/// Computes on a thread of its own: numbers of a hundred thousand users take longer than a thread that answers
/// requests may be held.
async fn computed<T: Send + 'static>(compute: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let computed = tokio::task::spawn_blocking(compute).await;
    computed.map_err(|e| Error::Internal(format!("an analysis failed: {e}")))
}

/// The results of an experiment so far, with a given method for the documented interval.
pub async fn results(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: &str,
    ci_method: CiMethod,
) -> Result<RetrievalExperimentResultsResponse> {
    let (experiment, sample, before) = sample(app, org_id, experiment_id).await?;
    let design = Design::of(&experiment, ci_method);
    let as_of = app.clock.now();
    let (mut found, looks) = computed(move || {
        let mut looks = before.unwrap_or_default();
        let found = analysis::analyse(&sample, &design, as_of, &mut looks);
        (found, looks)
    })
    .await?;
    if before != Some(looks) {
        remember(app, org_id, experiment_id, looks).await?;
    }
    if found.health.contaminated_holdout_session_count > 0 {
        found.health.contaminated_holdout_sessions =
            contaminated_sessions(app, org_id, experiment_id).await?;
    }
    Ok(RetrievalExperimentResultsResponse { experiment: experiment.record(), numbers: Flat(found) })
}

async fn snapshot(app: &Arc<App>, org_id: &OrgId, experiment_id: &str) -> Result<Snapshot> {
    let input = (org_id.to_owned(), experiment_id.to_owned());
    app.db
        .read("experiments.results", input, |tx, (org_id, experiment_id)| {
            Box::pin(async move {
                let experiment = sql::find(tx, org_id, experiment_id)
                    .await?
                    .ok_or_else(|| Error::not_found("experiment"))?;
                Ok(Snapshot {
                    experiment,
                    lines: sql::lines(tx, org_id, experiment_id).await?,
                    strata: sql::strata(tx, org_id, experiment_id).await?,
                    looks: sql::find_looks(tx, org_id, experiment_id).await?,
                })
            })
        })
        .await
}

/// Examples of what should not be, read only when there is any.
async fn contaminated_sessions(
    app: &App,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<Vec<ContaminatedSession>> {
    let input = (org_id.to_owned(), experiment_id.to_owned());
    let found = app
        .db
        .lookup("experiments.contaminated", input, |tx, (org_id, experiment_id)| {
            Box::pin(sql::contaminated_sessions(tx, org_id, experiment_id, LISTED))
        })
        .await?;
    let session = |(user_id, session_id)| ContaminatedSession { user_id, session_id };
    Ok(found.into_iter().map(session).collect())
}

/// Keeps what was seen, together with what others saw meanwhile.
async fn remember(app: &Arc<App>, org_id: &OrgId, experiment_id: &str, seen: Looks) -> Result<()> {
    let input = (org_id.to_owned(), experiment_id.to_owned(), seen);
    app.db
        .write("experiments.look", input, |tx, (org_id, experiment_id, seen)| {
            Box::pin(async move {
                let stored = sql::find_looks(tx, org_id, experiment_id).await?;
                let looks = stored.map_or(*seen, |stored| stored.merged(seen));
                sql::put_looks(tx, org_id, experiment_id, &looks).await
            })
        })
        .await
}
