//! The worker of a regeneration. It holds the parent's lease and works on the children itself: their loading and
//! saving overlap with judging, and at most `concurrency_limit` judgements run at a time, whatever else does.
//!
//! A verdict is written and its child closed in one transaction, guarded by the parent's lease: after a crash the
//! next holder goes on with the children that are still open, and only those in flight are judged again.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};

use super::replay as regeneration;
use super::replay::{ChildPayload, Regeneration, RegenerationStatus};
use crate::app::App;
use crate::evaluation::learned::{self, Models};
use crate::evaluation::results::grading::{self, LoadedSession, Ruling};
use crate::evaluation::results::sampling::CERTAIN;
use crate::evaluation::results::{rows as results, rule_evaluators, under_way};
use crate::evaluation::shadow::{self, SHADOW_COMPARISON, judging};
use crate::evaluation::{AGENT_SUCCESS, sql};
use crate::sessions;
use base::owner::{OrgId, UserId};
use judge::prompts::{self, Kind, Rubric};
use judge::{Grader, JudgeError};
use storage::db::{Changes, as_patient};
use storage::error::{Error, Result};
use storage::jobs::{self, Child, Claim, Handler, JobState, Outcome};

pub const PARENT: &str = "regenerate";
pub const CHILD: &str = "regenerate_session";

/// Children read at a time.
const PAGE: i64 = 200;
/// Sessions loaded or being saved for each that is judged, so that the judge never waits for the disk.
const AHEAD: usize = 2;
/// Tries at one session when the provider fails, before the session counts as failed.
const TRIES: u32 = 5;
/// Crashes and failures of the whole before it ends as `error`.
const ATTEMPTS: i64 = 20;

pub struct Regenerate;

impl Handler<App> for Regenerate {
    fn kind(&self) -> &'static str {
        PARENT
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let Some(work) = RegenerationRun::begin(app, job).await? else {
                return Ok(Outcome::Done);
            };
            let work = Arc::new(work);
            if job.attempts > ATTEMPTS {
                return work
                    .end(
                        RegenerationStatus::Error,
                        Some("given up: its worker died or failed every time"),
                    )
                    .await;
            }
            let ended = tokio::select! {
                ended = work.run() => ended,
                () = work.lost() => Err(Error::LeaseLost),
            };
            let ended = match ended {
                Ok(ended) => ended,
                // The storage may be back soon: the runner tries again.
                Err(error @ (Error::Storage(_) | Error::LeaseLost)) => return Err(error),
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => {
                    return work.end(RegenerationStatus::Error, Some(&error.to_string())).await;
                }
            };
            match ended {
                Ended::Waiting(error) => {
                    // The judge is paused: the job is given back, and looks again in a while.
                    let again_at = app.clock.now() + 30;
                    let payload = job.payload.0.clone();
                    jobs::postpone(app, job, again_at, &error.to_string(), payload).await?;
                    Ok(Outcome::Closed)
                }
                Ended::Complete => work.end(RegenerationStatus::Completed, None).await,
                Ended::TooDear => {
                    work.end(RegenerationStatus::Cancelled, Some("max_cost_usd is reached")).await
                }
            }
        })
    }
}

enum Ended {
    Complete,
    TooDear,
    Waiting(JudgeError),
}

struct RegenerationRun {
    app: Arc<App>,
    job: Claim,
    regeneration: Regeneration,
    /// Judgements at a time.
    slots: Semaphore,
    spent: std::sync::Mutex<f64>,
}

/// Result of one child job.
enum ChildEnd {
    Saved,
    /// No verdict can be had now.
    Paused(JudgeError),
    /// Left open: the money is spent.
    Left,
}

/// Result of judging one session.
enum Judgement {
    Found(NewVerdicts),
    /// No verdict is possible, for this reason.
    Nothing(&'static str),
    Failed(JudgeError),
    TooDear,
}

/// New verdicts on one session.
enum NewVerdicts {
    Session(Box<Ruling>),
    Shadow(Vec<shadow::NewComparison>),
    /// Somebody else judged it since the regeneration began, by the same rubric: that counts.
    Kept,
}

impl NewVerdicts {
    /// Nothing if the model is unpriced.
    fn cost_usd(&self) -> Option<f64> {
        match self {
            NewVerdicts::Session(ruling) => ruling.cost_usd(),
            NewVerdicts::Kept => Some(0.0),
            NewVerdicts::Shadow(verdicts) => verdicts.iter().map(|new| new.origin.cost_usd).sum(),
        }
    }
}

/// The candidate of a judge diff.
pub enum DiffCandidate {
    Rubric(&'static Rubric),
    /// A model of the learned judge.
    Model(Arc<Grader>),
}

/// The candidate, for a judge diff.
pub async fn candidate(
    app: &App,
    org_id: &OrgId,
    regeneration: &Regeneration,
) -> Result<Option<DiffCandidate>> {
    let Some(version) = &regeneration.candidate_version else { return Ok(None) };
    if let Some(number) = learned::number_of(version) {
        let judge = Models::judge(app, org_id, number).await?;
        let gone = || Error::Internal(format!("the model {version} is gone"));
        return judge.map(|judge| Some(DiffCandidate::Model(judge))).ok_or_else(gone);
    }
    let found = prompts::load(Kind::SessionSuccess, version);
    let rubric = found.ok_or_else(|| Error::Internal(format!("there is no rubric {version} here")));
    rubric.map(|rubric| Some(DiffCandidate::Rubric(rubric)))
}

impl RegenerationRun {
    async fn begin(app: &Arc<App>, job: &Claim) -> Result<Option<Self>> {
        let input = (job.org_id.clone(), job.job_id.clone());
        let (regeneration, spent) = app
            .db
            .read("evaluation.begin_regeneration", input, |tx, (org_id, job_id)| {
                Box::pin(async move {
                    let found = sql::find_regeneration(tx, org_id, job_id).await?;
                    Ok((found, jobs::child_costs(tx, job_id).await?))
                })
            })
            .await?;
        let Some(regeneration) = regeneration.filter(|r| r.status == RegenerationStatus::Running)
        else {
            return Ok(None);
        };
        let limit = usize::try_from(regeneration.concurrency_limit).unwrap_or(1).max(1);
        Ok(Some(RegenerationRun {
            app: app.clone(),
            job: job.clone(),
            slots: Semaphore::new(limit),
            spent: std::sync::Mutex::new(spent),
            regeneration,
        }))
    }

    async fn run(self: &Arc<Self>) -> Result<Ended> {
        let limit = usize::try_from(self.regeneration.concurrency_limit).unwrap_or(1).max(1);
        // Tasks of their own, so that every core has its share; they end with the set.
        let mut in_flight = JoinSet::new();
        let mut page = self.page(String::new()).await?.into_iter();
        // The next page is read while children are worked on, never instead of it: they may hold the very
        // connections that reading waits for.
        let mut fetching: Option<BoxFuture<'_, Result<Vec<Child>>>> = None;
        let (mut after, mut more, mut paused) = (String::new(), true, None);
        loop {
            let goes_on = paused.is_none() && !self.is_too_dear();
            while goes_on && in_flight.len() < limit * (1 + AHEAD) {
                let Some(child) = page.next() else { break };
                after.clone_from(&child.job_id);
                in_flight.spawn(as_patient(self.clone().child(child)));
            }
            if goes_on && more && fetching.is_none() && page.len() == 0 {
                fetching = Some(Box::pin(self.page(after.clone())));
            }
            tokio::select! {
                Some(done) = in_flight.join_next() => match done.map_err(died)?? {
                    ChildEnd::Saved | ChildEnd::Left => {}
                    ChildEnd::Paused(error) => paused = Some(error),
                },
                fetched = next(&mut fetching), if fetching.is_some() => {
                    fetching = None;
                    let children = fetched?;
                    more = !children.is_empty();
                    page = children.into_iter();
                }
                else => break,
            }
        }
        Ok(match paused {
            _ if self.is_too_dear() && !self.page(String::new()).await?.is_empty() => {
                Ended::TooDear
            }
            Some(error) => Ended::Waiting(error),
            None => Ended::Complete,
        })
    }

    /// Open children after `after`.
    async fn page(&self, after: String) -> Result<Vec<Child>> {
        let input = (self.job.job_id.clone(), after);
        self.app
            .db
            .lookup("evaluation.open_children", input, |tx, (parent, after)| {
                Box::pin(jobs::open_children(tx, parent, after, PAGE))
            })
            .await
    }

    /// Works on one session, unless its user is being erased: the child goes with them, and is counted by its absence.
    async fn child(self: Arc<Self>, child: Child) -> Result<ChildEnd> {
        let user_id = child.user_id.as_ref().unwrap_or_default();
        let Ok(work) = self.app.in_flight.enter(&self.job.org_id, user_id) else {
            return Ok(ChildEnd::Saved);
        };
        tokio::select! {
            done = self.judge_and_save(child) => done,
            () = work.cancelled() => Ok(ChildEnd::Saved),
        }
    }

    /// Loads, judges and saves one session.
    async fn judge_and_save(&self, child: Child) -> Result<ChildEnd> {
        let ChildPayload { session_id, chance, .. } = match child.payload() {
            Ok(payload) => payload,
            // Nobody can work on it, whichever session it is about.
            Err(error) => return self.save(child, String::new(), Err(error.to_string())).await,
        };
        let user_id = child.user_id.clone().unwrap_or_default();
        let material = grading::load(&self.app, &self.job.org_id, &user_id, &session_id).await?;
        let Some(material) = material else {
            return self.save(child, session_id, Err("the session was deleted".to_owned())).await;
        };
        let judged = self.judge(&material, child.epoch, chance).await?;
        if !matches!(judged, Judgement::Found(_)) {
            self.give_turn_back(&user_id, &session_id).await?;
        }
        let result = match judged {
            Judgement::Found(found) => Ok(found),
            Judgement::Nothing(reason) => Err(reason.to_owned()),
            Judgement::Failed(error) if error.is_pause() => {
                return Ok(ChildEnd::Paused(error));
            }
            Judgement::Failed(error) => Err(error.to_string()),
            Judgement::TooDear => return Ok(ChildEnd::Left),
        };
        self.save(child, session_id, result).await
    }

    /// Lets others judge the session.
    async fn give_turn_back(&self, user_id: &UserId, session_id: &str) -> Result<()> {
        let input = (self.job.clone(), user_id.clone(), session_id.to_owned());
        self.app
            .db
            .write("evaluation.give_turn_back", input, |tx, (job, user_id, session_id)| {
                Box::pin(sql::give_turn_back(tx, &job.org_id, user_id, session_id, job))
            })
            .await
    }

    async fn judge(
        &self,
        material: &LoadedSession,
        epoch: Option<i64>,
        chance: i64,
    ) -> Result<Judgement> {
        let name = &self.regeneration.evaluation_name;
        if name == SHADOW_COMPARISON {
            return self.compare(material).await;
        }
        if name != AGENT_SUCCESS {
            let evaluators = material.config.evaluators.iter();
            let rule = evaluators
                .filter(|evaluator| evaluator.evaluation_name == *name)
                .find_map(|evaluator| rule_evaluators::evaluate(evaluator, material));
            let nothing = Judgement::Nothing("the rule has no opinion on this session");
            return Ok(rule.map_or(nothing, |rule| {
                Judgement::Found(NewVerdicts::Session(Box::new(Ruling::Decided(rule))))
            }));
        }
        if material.transcript.interactions.is_empty() {
            return Ok(Judgement::Nothing("it has no interactions"));
        }
        let live = grading::session_rubric(&material.config)?;
        let (judge, rubric) =
            match candidate(&self.app, &self.job.org_id, &self.regeneration).await? {
                Some(DiffCandidate::Rubric(rubric)) => (material.judge.clone(), rubric),
                Some(DiffCandidate::Model(model)) => (model, live),
                None => (material.judge.clone(), live),
            };
        let version = &material.transcript.session.agent_version;
        if self.regeneration.candidate_version.is_none() {
            let there =
                under_way::wait_for_turn(&self.app, &self.job, epoch, material, version).await?;
            let started_at = self.regeneration.started_at;
            let is_new = |there: &under_way::Found| {
                let at = there.verdict.evaluated_at;
                (at > started_at || there.waited && at == started_at)
                    && there.verdict.prompt_version == rubric.version
            };
            if there.is_some_and(|there| is_new(&there)) {
                let (user, session) =
                    (&material.transcript.session.user_id, &material.transcript.session.session_id);
                self.give_turn_back(user, session).await?;
                return Ok(Judgement::Found(NewVerdicts::Kept));
            }
        }
        let judged = self
            .until_judged(
                || grading::judge_session(&judge, material, rubric, version),
                Ruling::cost_usd,
            )
            .await;
        Ok(judged.map_or_else(
            |ended| ended,
            |mut ruling| {
                // While others of its stratum are sampled anyway, they stand for themselves, and so does this one.
                let stands_for_itself = material.sampling_rate() > 0.0;
                ruling.set_chance(if stands_for_itself { CERTAIN } else { chance });
                Judgement::Found(NewVerdicts::Session(Box::new(ruling)))
            },
        ))
    }

    /// Compares every pair of the session again.
    async fn compare(&self, material: &LoadedSession) -> Result<Judgement> {
        let rubric = judging::rubric(material)?;
        let mut verdicts = Vec::new();
        for place in judging::pairs(material) {
            let judged = self
                .until_judged(
                    || judging::compare(&self.app, material, rubric, place),
                    |verdict| verdict.origin.cost_usd,
                )
                .await;
            match judged {
                Ok(verdict) => verdicts.push(verdict),
                Err(ended) => return Ok(ended),
            }
        }
        Ok(Judgement::Found(NewVerdicts::Shadow(verdicts)))
    }

    /// Asks until there is a verdict or no use in going on. No slot is held while it waits.
    async fn until_judged<T, F>(
        &self,
        ask: impl Fn() -> F,
        cost_usd: fn(&T) -> Option<f64>,
    ) -> std::result::Result<T, Judgement>
    where
        F: Future<Output = std::result::Result<T, JudgeError>>,
    {
        let mut tries = 0;
        loop {
            let slot = self.slots.acquire().await;
            if self.is_too_dear() {
                return Err(Judgement::TooDear);
            }
            let judged = ask().await;
            // Counted before the next one may begin.
            self.spend(judged.as_ref().ok().and_then(cost_usd));
            drop(slot);
            tries += 1;
            match judged {
                Ok(found) => return Ok(found),
                Err(error) if tries >= TRIES || error.is_pause() => {
                    return Err(Judgement::Failed(error));
                }
                Err(error) if error.is_temporary() => {
                    let backoff = Duration::from_secs(1 << tries.min(6));
                    let wait = error.after().unwrap_or_default().max(backoff);
                    tokio::time::sleep(wait.mul_f64(0.75 + self.app.ids.fraction() / 2.0)).await;
                }
                // A malformed answer may be better the second time; a refusal is not.
                Err(JudgeError::Invalid) if tries < 2 => {}
                Err(error) => return Err(Judgement::Failed(error)),
            }
        }
    }

    /// Writes the verdict, or the reason why there is none, and closes the child.
    async fn save(
        &self,
        child: Child,
        session_id: String,
        result: std::result::Result<NewVerdicts, String>,
    ) -> Result<ChildEnd> {
        let input = Saved {
            app: self.app.clone(),
            parent: self.job.clone(),
            child,
            session_id,
            is_diff: self.regeneration.candidate_version.is_some(),
            result,
        };
        self.app.db.write("evaluation.save_child", input, |tx, s| Box::pin(s.save(tx))).await?;
        Ok(ChildEnd::Saved)
    }

    fn spend(&self, dollars: Option<f64>) -> f64 {
        let mut spent = self.spent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *spent += dollars.unwrap_or(0.0);
        *spent
    }

    fn is_too_dear(&self) -> bool {
        let spent = self.spend(None);
        self.regeneration.max_cost_usd.is_some_and(|most| spent >= most && most >= 0.0)
    }

    /// Returns when the job was cancelled or is somebody else's.
    async fn lost(&self) {
        loop {
            tokio::time::sleep(Duration::from_millis(700)).await;
            let held = self
                .app
                .db
                .lookup("evaluation.regeneration_held", self.job.job_id.clone(), |tx, job_id| {
                    Box::pin(jobs::find(tx, job_id))
                })
                .await;
            if let Ok(view) = held
                && view.is_none_or(|view| view.state != JobState::Open)
            {
                return;
            }
        }
    }

    /// Freezes the counts and closes the parent.
    async fn end(&self, status: RegenerationStatus, reason: Option<&str>) -> Result<Outcome> {
        let reason = reason.map(str::to_owned);
        let app = self.app.clone();
        let input = (app, self.job.clone(), self.regeneration.clone(), reason);
        self.app
            .db
            .write(
                "evaluation.end_regeneration",
                input,
                move |tx, (app, job, regeneration, reason)| {
                    Box::pin(async move {
                        let now = app.clock.now();
                        let (completed, mut failed, cost, _) =
                            regeneration::counts(tx, regeneration).await?;
                        if status == RegenerationStatus::Completed {
                            // Children that are open still are of people being erased: nobody may touch them.
                            failed = regeneration.total - completed;
                        } else {
                            jobs::cancel_children(tx, &job.job_id, now).await?;
                        }
                        let (ended, reason) = ((completed, failed, cost), reason.as_deref());
                        sql::end_regeneration(tx, &job.job_id, status, reason, ended, now).await?;
                        regeneration::tell_end(tx, app, job, status, regeneration.total, ended)
                            .await?;
                        jobs::finish(tx, job, now).await
                    })
                },
            )
            .await?;
        Ok(Outcome::Closed)
    }
}

fn died(error: JoinError) -> Error {
    Error::Internal(format!("the work on a session died: {error}"))
}

/// Awaits the batch being fetched; pending for ever without one.
async fn next(fetching: &mut Option<BoxFuture<'_, Result<Vec<Child>>>>) -> Result<Vec<Child>> {
    match fetching {
        Some(fetching) => fetching.await,
        None => std::future::pending().await,
    }
}

struct Saved {
    app: Arc<App>,
    parent: Claim,
    child: Child,
    session_id: String,
    is_diff: bool,
    result: std::result::Result<NewVerdicts, String>,
}

impl Saved {
    async fn save(&self, tx: &mut storage::db::Tx) -> Result<()> {
        let (app, child, org_id) = (&self.app, &self.child, &self.parent.org_id);
        let now = app.clock.now();
        let user_id = child.user_id.as_ref().unwrap_or_default();
        let session_id = &self.session_id;
        let chance = child.payload().map_or(CERTAIN, |ChildPayload { chance, .. }| chance);
        let mut payload = ChildPayload { session_id: session_id.clone(), chance, cost_usd: None };
        let subject = match grading::open_subject(tx, app, org_id, user_id, child.epoch).await {
            Ok(subject) => subject,
            // Erased meanwhile: the child goes with them, and is counted by its absence.
            Err(Error::Refused { .. } | Error::LeaseLost) => {
                return jobs::hold(tx, &self.parent).await;
            }
            Err(error) => return Err(error),
        };
        let mut failure = self.result.as_ref().err().cloned();
        let mut is_overtaken = false;
        if let Ok(found) = &self.result {
            payload.cost_usd = found.cost_usd();
            let is_there = sessions::lock_session(tx, org_id, user_id, session_id).await?;
            match found {
                _ if !is_there => failure = Some("the session was deleted".to_owned()),
                NewVerdicts::Session(ruling) => {
                    let there = sessions::snapshot(tx, org_id, user_id, session_id).await?;
                    let newer = grading::is_overtaken(tx, &subject, session_id, ruling, there);
                    is_overtaken = !self.is_diff && newer.await?;
                }
                NewVerdicts::Shadow(_) | NewVerdicts::Kept => {}
            }
        }
        let (parent, payload) = (&self.parent, jobs::stored(&payload));
        let closed =
            jobs::close_child(tx, parent, child, failure.as_deref(), &payload, now).await?;
        if !closed || failure.is_some() || is_overtaken {
            return Ok(());
        }
        let ruling = match &self.result {
            Ok(NewVerdicts::Session(ruling)) => ruling,
            Ok(NewVerdicts::Kept) => return Ok(()),
            Ok(NewVerdicts::Shadow(verdicts)) => {
                return shadow::write(tx, &subject, session_id, verdicts, now).await;
            }
            Err(_) => return Ok(()),
        };
        if self.is_diff {
            let job_id = &parent.job_id;
            return match &**ruling {
                Ruling::Decided(result) => {
                    sql::put_candidate_verdict(tx, &subject, session_id, job_id, result, now).await
                }
                // There is nothing to compare; the child that completed says that it was judged.
                Ruling::Undecided(_) => Ok(()),
            };
        }
        if let Some(rule) = ruling.of_rule() {
            let changes = Changes::default();
            return results::save_rule(tx, changes, &subject, session_id, rule, now).await;
        }
        let there = sql::standing(tx, &subject, session_id, ruling.agent_version()).await?;
        let mut ruling = Ruling::clone(ruling);
        // The verdicts on its learnings stay as they are.
        ruling.set_learning_status(there.learning_status.unwrap_or_default());
        let mut changes = Changes::default();
        let (decision, why) = ruling.decision("by a regeneration, ");
        sql::put_decision(&mut changes, &subject, session_id, decision, &why, now);
        let saved = (&ruling, &there);
        results::save_ruling(tx, changes, &subject, session_id, saved, now).await
    }
}
