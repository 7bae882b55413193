//! The results of an experiment as they are answered.

use std::sync::Arc;

use super::analysis::{Analysis, ContaminatedSession, Design};
use super::daily_looks::{self, DailyLook, ExperimentLook};
use super::looks::Looks;
use super::part::{Flat, part};
use super::samples::{self, Known, Samples};
use super::{Experiment, ExperimentAbout, RetrievalExperimentRecord, refresh, sql};
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
        pub about: ExperimentAbout,
        /// The last look of every day, oldest first: whoever asks looks, and the server once a day while it runs.
        pub looks: Vec<ExperimentLook>,
        pub numbers: Flat<Analysis>,
    }
}

/// An experiment with its sums and looks, read in one snapshot.
struct Snapshot {
    experiment: Experiment,
    sample: samples::Read,
    seen: Seen,
}

/// Looks before this one: all taken together, and the last of every day.
struct Seen {
    together: Option<Looks>,
    by_day: Vec<DailyLook>,
}

/// An experiment with its users as they are now, and its looks. Sums of an older encoding are computed anew.
async fn sample(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: &str,
) -> Result<(Experiment, Known, Seen)> {
    for _ in 0..2 {
        refresh::refresh(app, org_id, experiment_id).await?;
        let Snapshot { experiment, sample, seen } = snapshot(app, org_id, experiment_id).await?;
        if let Some(sample) = computed(move || sample.parse()).await? {
            return Ok((experiment, sample, seen));
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
    let (experiment, mut sample, Seen { together: before, mut by_day }) =
        sample(app, org_id, experiment_id).await?;
    let design = Design::of(&experiment, ci_method);
    let as_of = app.clock.now();
    let (mut found, looks, sample) = computed(move || {
        let (found, looks) = sample.analysed(&design, before.unwrap_or_default(), as_of);
        (found, looks, sample)
    })
    .await?;
    Samples::keep(app, org_id, experiment_id, sample);
    let today = DailyLook::of(&found).filter(|_| experiment.ended_at.is_none());
    let today = today.filter(|today| daily_looks::add(&mut by_day, *today));
    if before != Some(looks) || today.is_some() {
        remember(app, org_id, experiment_id, looks, today).await?;
    }
    if found.health.contaminated_holdout_session_count > 0 {
        found.health.contaminated_holdout_sessions =
            contaminated_sessions(app, org_id, experiment_id).await?;
    }
    Ok(RetrievalExperimentResultsResponse {
        experiment: experiment.record(),
        about: experiment.about,
        looks: by_day.iter().map(DailyLook::shown).collect(),
        numbers: Flat(found),
    })
}

async fn snapshot(app: &Arc<App>, org_id: &OrgId, experiment_id: &str) -> Result<Snapshot> {
    let known = app.state::<Samples>().known(org_id, experiment_id);
    let input = (org_id.to_owned(), experiment_id.to_owned(), known);
    app.db
        .read("experiments.results", input, |tx, (org_id, experiment_id, known)| {
            Box::pin(async move {
                let experiment = sql::find(tx, org_id, experiment_id)
                    .await?
                    .ok_or_else(|| Error::not_found("experiment"))?;
                Ok(Snapshot {
                    experiment,
                    sample: samples::read(tx, org_id, experiment_id, known).await?,
                    seen: Seen {
                        together: sql::find_looks(tx, org_id, experiment_id).await?,
                        by_day: sql::daily_looks(tx, org_id, experiment_id).await?,
                    },
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
async fn remember(
    app: &Arc<App>,
    org_id: &OrgId,
    experiment_id: &str,
    seen: Looks,
    today: Option<DailyLook>,
) -> Result<()> {
    let input = (org_id.to_owned(), experiment_id.to_owned(), seen, today);
    app.db
        .write("experiments.look", input, |tx, (org_id, experiment_id, seen, today)| {
            Box::pin(async move {
                let stored = sql::find_looks(tx, org_id, experiment_id).await?;
                let looks = stored.map_or(*seen, |stored| stored.merged(seen));
                sql::put_looks(tx, org_id, experiment_id, &looks).await?;
                match today {
                    Some(today) => sql::put_daily_look(tx, org_id, experiment_id, today).await,
                    None => Ok(()),
                }
            })
        })
        .await
}
