//! Training: when there is enough ground truth, when it grew by a fifth, or after a week. A new model takes the place of
//! the one in use only if it is no worse on sessions that neither was trained on; else the old one stays, with the
//! comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::truth::{self, Lesson};
use super::{Models, sql};
use crate::app::App;
use base::owner::{OrgId, UserId};
use judge::learned::{FEWEST_LABELS, FEWEST_OF_A_KIND, Labelled, Model, Trained, train};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::{self, Claim, Handler, NewJob, OnDuplicate, Outcome};
use storage::subjects::barrier;

pub const KIND: &str = "train_judge";
/// Ground truth that comes within this time is learned together.
const GATHER_SECONDS: i64 = 60;
const WEEK: i64 = 7 * 86_400;
/// Sessions new to the model in use that a comparison needs.
const FEWEST_COMPARED: usize = 20;
const ATTEMPTS: i64 = 12;

/// Comparison of a candidate with the model in use, on sessions that neither was trained on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, ToSchema)]
pub struct Comparison {
    /// Mean squared errors of the probabilities; the smaller is the better.
    pub candidate_brier: f64,
    pub current_brier: f64,
    pub sessions: usize,
    /// The candidate took the place of the model in use.
    pub replaced: bool,
}

/// Ground truth was added or changed: the organization's model is looked at again, in the same transaction.
pub async fn ground_truth_grew(tx: &mut Tx, app: &App, org_id: &OrgId) -> Result<()> {
    enqueue(tx, app, org_id, GATHER_SECONDS).await
}

/// A model that cannot judge is in use: another is trained.
pub async fn replace(app: &Arc<App>, org_id: &OrgId) -> Result<()> {
    let input = (app.clone(), org_id.clone());
    app.db
        .write("evaluation.replace_model", input, |tx, (app, org_id)| {
            Box::pin(enqueue(tx, app, org_id, 0))
        })
        .await
}

async fn enqueue(tx: &mut Tx, app: &App, org_id: &OrgId, wait: i64) -> Result<()> {
    let job = NewJob {
        kind: KIND,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!({}),
        dedupe_key: Some("organization".to_owned()),
        on_duplicate: OnDuplicate::Keep,
        run_at: app.clock.now() + wait,
        max_attempts: ATTEMPTS,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}

/// Trains an organization's judge if that is due.
pub struct TrainJudge;

impl Handler<App> for TrainJudge {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            retrain(app, &job.org_id).await?;
            Ok(Outcome::Done)
        })
    }
}

/// Trains the organization's model if that is due; the number of the new one.
pub async fn retrain(app: &Arc<App>, org_id: &OrgId) -> Result<Option<i64>> {
    let (current, known) = app
        .db
        .read("evaluation.model_in_use", org_id.clone(), |tx, org_id| {
            Box::pin(async move {
                Ok((sql::current(tx, org_id).await?, truth::known(tx, org_id).await?))
            })
        })
        .await?;
    let successes = known.iter().filter(|(truth, _)| truth.is_success).count();
    let rarer = successes.min(known.len() - successes);
    if known.len() < FEWEST_LABELS || rarer < FEWEST_OF_A_KIND {
        return Ok(None);
    }
    let labels = i64::try_from(known.len()).unwrap_or(i64::MAX);
    // A model that cannot judge, because it is of another form or embedder, is replaced without being compared.
    let can_judge = match &current {
        Some(current) => Models::judge(app, org_id, current.number).await?.is_some(),
        None => false,
    };
    if let Some(current) = current.as_ref().filter(|_| can_judge) {
        let grew = labels * 5 >= current.compared_labels * 6;
        let is_old = app.clock.now() - current.compared_at >= WEEK;
        let is_due = grew || is_old && labels != current.compared_labels;
        if !is_due {
            return Ok(None);
        }
    }
    let lessons = truth::lessons(app, org_id).await?;
    let Some((lessons, trained)) = work(lessons).await? else { return Ok(None) };
    let comparison = match &current {
        Some(current) if can_judge => {
            compare(app, org_id, current.number, &lessons, &trained).await?
        }
        _ => None,
    };
    let stored = TrainedModel {
        app: app.clone(),
        org_id: org_id.clone(),
        text: trained.model.encode(),
        lessons,
        out_of_fold: trained.out_of_fold,
        labels,
        replaces: current.map(|current| current.number),
        comparison,
    };
    let number = app
        .db
        .write("evaluation.store_model", stored, |tx, stored| Box::pin(stored.store(tx)))
        .await?;
    if number.is_some() {
        app.state::<Models>().forget(org_id);
        metrics::counter!("evenhand_judge_trainings_total").increment(1);
    }
    Ok(number)
}

/// Trains on a thread of its own: it takes seconds.
async fn work(lessons: Vec<Lesson>) -> Result<Option<(Vec<Lesson>, Trained)>> {
    let work = tokio::task::spawn_blocking(move || {
        let labelled: Vec<Labelled> =
            lessons.iter().map(|lesson| lesson.labelled.clone()).collect();
        train(&labelled).ok().map(|trained| (lessons, trained))
    });
    work.await.map_err(|error| Error::Internal(format!("the training died: {error}")))
}

/// How both do on the sessions that the model in use was not trained on: it without having seen them, the candidate out
/// of fold. Nothing if these are too few to tell, or the model in use cannot be read.
async fn compare(
    app: &App,
    org_id: &OrgId,
    number: i64,
    lessons: &[Lesson],
    candidate: &Trained,
) -> Result<Option<Comparison>> {
    let input = (org_id.clone(), number);
    let (text, seen) = app
        .db
        .read("evaluation.compared_model", input, |tx, (org_id, number)| {
            Box::pin(async move {
                let text = sql::model_text(tx, org_id, *number).await?;
                Ok((text, sql::trained_on(tx, org_id, *number).await?))
            })
        })
        .await?;
    let Some(current) = text.as_deref().and_then(Model::decode) else { return Ok(None) };
    let seen: BTreeSet<(UserId, String)> = seen.into_iter().collect();
    let (mut sessions, mut of_candidate, mut of_current) = (0, 0.0, 0.0);
    for (lesson, out_of_fold) in lessons.iter().zip(&candidate.out_of_fold) {
        let key = (lesson.truth.user_id.clone(), lesson.truth.session_id.clone());
        if seen.contains(&key) {
            continue;
        }
        let truth = f64::from(u8::from(lesson.truth.is_success));
        let said = current.predict(&lesson.labelled.sketch).probability;
        sessions += 1;
        of_candidate += (out_of_fold - truth).powi(2);
        of_current += (said - truth).powi(2);
    }
    if sessions < FEWEST_COMPARED {
        return Ok(None);
    }
    #[allow(clippy::cast_precision_loss)] // a number of sessions
    let mean = |sum: f64| sum / sessions as f64;
    let (candidate_brier, current_brier) = (mean(of_candidate), mean(of_current));
    let replaced = candidate_brier <= current_brier;
    Ok(Some(Comparison { candidate_brier, current_brier, sessions, replaced }))
}

struct TrainedModel {
    app: Arc<App>,
    org_id: OrgId,
    text: String,
    lessons: Vec<Lesson>,
    /// Predictions for each of them by models that have not seen its user.
    out_of_fold: Vec<f64>,
    labels: i64,
    replaces: Option<i64>,
    comparison: Option<Comparison>,
}

impl TrainedModel {
    /// Puts the model into use, unless the one in use is better. Whoever it learned from must still be there: else it
    /// is trained again without them.
    async fn store(&self, tx: &mut Tx) -> Result<Option<i64>> {
        let (org_id, now) = (&self.org_id, self.app.clock.now());
        let comparison = self.comparison.as_ref().map(|one| json!(one).to_string());
        if sql::current_number(tx, org_id).await? != self.replaces {
            return Err(Error::Internal("another model came into use meanwhile".to_owned()));
        }
        if let (Some(number), Some(Comparison { replaced: false, .. })) =
            (self.replaces, &self.comparison)
        {
            let comparison = comparison.unwrap_or_default();
            sql::put_comparison(tx, org_id, number, self.labels, &comparison, now).await?;
            return Ok(None);
        }
        let users: BTreeSet<&UserId> = self.lessons.iter().map(|l| &l.truth.user_id).collect();
        let users: Vec<UserId> = users.into_iter().cloned().collect();
        let open: BTreeMap<UserId, _> = barrier::open_known(tx, org_id, &users).await?;
        if open.len() < users.len() {
            return Err(Error::Internal("somebody in the training set is being erased".to_owned()));
        }
        sql::empty_models(tx, org_id).await?;
        let number = sql::next_number(tx, org_id).await?;
        let (text, labels) = (&self.text, self.labels);
        sql::insert_model(tx, org_id, number, text, labels, comparison.as_deref(), now).await?;
        let rows: Vec<_> = self
            .lessons
            .iter()
            .zip(&self.out_of_fold)
            .filter_map(|(lesson, said)| Some((open.get(&lesson.truth.user_id)?, lesson, *said)))
            .collect();
        sql::insert_training(tx, number, &rows).await?;
        Ok(Some(number))
    }
}

/// Before a person's rows go: if a model learned from them, all that it knows is deleted in this transaction, and a job
/// that trains another is there in any case. True if there was such a model.
pub async fn forget(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: i64,
) -> Result<bool> {
    if !sql::learned_from(tx, org_id, user_id, epoch).await? {
        return Ok(false);
    }
    sql::empty_models(tx, org_id).await?;
    enqueue(tx, app, org_id, 0).await?;
    app.state::<Models>().forget(org_id);
    Ok(true)
}
