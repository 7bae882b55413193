//! The job of a session: decide, judge, write, all or nothing.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;

use super::decisions::EvaluationDecision;
use super::grading::{self, LoadedSession, SessionGrade};
use super::schedule::SessionPayload;
use super::{learning_verdicts, rows as results, rule_evaluators, under_way};
use crate::app::App;
use crate::evaluation::gaps::{Gap, GapCause, NewGap};
use crate::evaluation::{AGENT_SUCCESS, EvaluationResult, NewResult, RetrievedLearningStatus, sql};
use crate::judging;
use crate::sessions;
use crate::webhooks;
use judge::JudgeError;
use storage::db::Changes;
use storage::error::Result;
use storage::jobs::{self, Claim, Handler, Outcome};

pub const SESSION: &str = "evaluate_session";
pub const RULES: &str = "evaluate_rules";

/// Times that a judgement is put off because the provider is away, before it is given up: about two days.
const POSTPONEMENTS: i64 = 60;

/// Judges a session that has been quiet, or was finished.
pub struct EvaluateSession;

impl Handler<App> for EvaluateSession {
    fn kind(&self) -> &'static str {
        SESSION
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(evaluate(app, job))
    }
}

/// Looks at a session with the evaluators that are rules only.
pub struct EvaluateRules;

impl Handler<App> for EvaluateRules {
    fn kind(&self) -> &'static str {
        RULES
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let SessionPayload { session_id, .. } = job.payload()?;
            let Some(material) = material(app, job, &session_id).await? else {
                return Ok(Outcome::Done);
            };
            let rules = match triage(&material) {
                Triage::Skip(_) => Vec::new(),
                _ => rule_evaluators::evaluate_all(&material),
            };
            let written = Written { rules, ..Written::default() };
            write(app, job, &session_id, written, Then::Finish).await
        })
    }
}

async fn material(app: &Arc<App>, job: &Claim, session_id: &str) -> Result<Option<LoadedSession>> {
    let user_id = job.user_id.as_ref().unwrap_or_default();
    grading::load(app, &job.org_id, user_id, session_id).await
}

async fn evaluate(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let payload: SessionPayload = job.payload()?;
    let session_id = payload.session_id.clone();
    // Deleted meanwhile: there is nothing to judge and nothing to write a decision about.
    let Some(material) = material(app, job, &session_id).await? else {
        return Ok(Outcome::Done);
    };
    let triage = triage(&material);
    let rules = match triage {
        Triage::Skip(_) => Vec::new(),
        _ => rule_evaluators::evaluate_all(&material),
    };
    // On demand or by a regeneration: the verdict is about these very turns.
    if material.has_judgement && is_judged(app, &material).await? {
        let written = Written { rules, ..Written::default() };
        return write(app, job, &session_id, written, Then::Finish).await;
    }
    let decision = match triage {
        Triage::Skip(reason) => Some((EvaluationDecision::Skipped, reason.to_owned())),
        Triage::SampleOut(rate) => {
            let percent = (rate * 1e6).round() / 1e4;
            Some((EvaluationDecision::SampledOut, format!("not in the sample of {percent} %")))
        }
        Triage::Judge => None,
    };
    if decision.is_some() {
        let written = Written { rules, decision, ..Written::default() };
        return write(app, job, &session_id, written, Then::Finish).await;
    }
    let agent_version = material.transcript.session.agent_version.clone();
    let there = under_way::wait_for_turn(app, job, job.epoch, &material, &agent_version).await?;
    if there.is_some() && is_judged(app, &material).await? {
        let written = Written { rules, ..Written::default() };
        return write(app, job, &session_id, written, Then::Finish).await;
    }
    match grading::judge_all(app, &material, &agent_version).await? {
        Ok(grade) => {
            let decision = Some(grade.ruling.decision(""));
            let written = Written { rules, grade: Some(grade), decision, gap: None };
            write(app, job, &session_id, written, Then::Finish).await
        }
        Err(error) => {
            // Rules cost nothing and wait for nobody.
            if !rules.is_empty() {
                let written = Written { rules, ..Written::default() };
                write(app, job, &session_id, written, Then::GoOn).await?;
            }
            after_failure(app, job, payload, &material, &error).await
        }
    }
}

/// True if the session is unchanged since it was judged, decided or not, and its learnings were judged too.
async fn is_judged(app: &App, material: &LoadedSession) -> Result<bool> {
    let (verdict, gap) = judgement(app, material).await?;
    let with_learnings = !material.candidates.is_empty() && learning_verdicts::is_sampled(material);
    if let Some(is_success) = grading::reported(material) {
        return Ok(verdict.is_some_and(|there| {
            let same = there.prompt_version == grading::OUTCOME && there.is_success == is_success;
            same && there.snapshot() == material.snapshot
        }));
    }
    let is_missing = |status: RetrievedLearningStatus| {
        with_learnings && status == RetrievedLearningStatus::NotApplicable
    };
    let verdict = verdict.map(|result| (result.snapshot(), result.retrieved_learning_status));
    let gap = gap.filter(|gap| gap.cause == GapCause::Undecided);
    let judged = verdict.or(gap.map(|gap| (gap.snapshot(), gap.learning_status)));
    Ok(judged
        .is_some_and(|(snapshot, status)| snapshot == material.snapshot && !is_missing(status)))
}

/// The verdict on the session's latest version, or else why there is none. Statements by themselves, not a snapshot: a
/// verdict that changes between them is looked for again when the new one is written.
async fn judgement(
    app: &App,
    material: &LoadedSession,
) -> Result<(Option<EvaluationResult>, Option<Gap>)> {
    let input = (&material.org_id, &material.transcript.session);
    let verdict = app
        .db
        .lookup("evaluation.is_judged", input, |tx, (org_id, session)| {
            let (user, id, version) =
                (&session.user_id, &session.session_id, &session.agent_version);
            Box::pin(sql::find_result(tx, org_id, user, id, AGENT_SUCCESS, version))
        })
        .await?;
    if verdict.is_some() {
        return Ok((verdict, None));
    }
    let gap = app
        .db
        .lookup("evaluation.is_undecided", input, |tx, (org_id, session)| {
            let (user, id, version) =
                (&session.user_id, &session.session_id, &session.agent_version);
            Box::pin(sql::find_gap(tx, org_id, user, id, version))
        })
        .await?;
    Ok((None, gap))
}

/// Decision on a session before anything is paid for.
#[derive(Debug, PartialEq)]
enum Triage {
    Judge,
    Skip(&'static str),
    SampleOut(f64),
}

fn triage(material: &LoadedSession) -> Triage {
    if material.transcript.interactions.is_empty() {
        return Triage::Skip("it has no interactions");
    }
    if !material.is_of_enabled_source() {
        return Triage::Skip("its source is not in request_sources_enabled");
    }
    if material.is_drawn() { Triage::Judge } else { Triage::SampleOut(material.sampling_rate()) }
}

#[derive(Default)]
struct Written {
    rules: Vec<NewResult>,
    grade: Option<SessionGrade>,
    /// The judge failed for good.
    gap: Option<NewGap>,
    decision: Option<(EvaluationDecision, String)>,
}

/// Next state of the job.
enum Then {
    Finish,
    /// Dead, with the reason.
    GiveUp(String),
    /// Still this worker's.
    GoOn,
}

/// Writes the results and the job's next state in one transaction.
async fn write(
    app: &Arc<App>,
    job: &Claim,
    session_id: &str,
    written: Written,
    then: Then,
) -> Result<Outcome> {
    let outcome = written.decision.as_ref().map_or("rules", |(decision, _)| decision.as_str());
    let user_id = job.user_id.as_ref().unwrap_or_default();
    let place = grading::place_of_grade(app, &job.org_id, user_id, written.grade.as_ref()).await?;
    let input = (app.clone(), job.clone(), session_id.to_owned(), written, then);
    app.db
        .write_at("evaluation.save", place, input, |tx, (app, job, session_id, written, then)| {
            Box::pin(async move {
                let user_id = job.user_id.as_ref().unwrap_or_default();
                let now = app.clock.now();
                let subject =
                    grading::open_subject(tx, app, &job.org_id, user_id, job.epoch).await?;
                let is_there = sessions::lock_session(tx, &job.org_id, user_id, session_id).await?;
                let mut changes = Changes::default();
                if let Then::Finish = then {
                    jobs::add_finish(&mut changes, job, now);
                }
                if is_there {
                    for rule in &written.rules {
                        let before = Changes::default();
                        results::save_rule(tx, before, &subject, session_id, rule, now).await?;
                    }
                    if let Some((decision, reason)) = &written.decision {
                        let put = sql::put_decision;
                        put(&mut changes, &subject, session_id, *decision, reason, now);
                    }
                    if let Some(gap) = &written.gap {
                        results::save_failure(tx, &subject, session_id, gap, now).await?;
                    }
                }
                match &written.grade {
                    Some(grade) if is_there => {
                        let to = (&subject, session_id.as_str());
                        grading::write_grade(tx, app, changes, to, grade).await?;
                    }
                    _ => drop(tx.apply(changes).await?),
                }
                match then {
                    Then::Finish => Ok(()),
                    Then::GiveUp(reason) => jobs::give_up(tx, job, reason, now).await,
                    Then::GoOn => jobs::hold(tx, job).await,
                }
            })
        })
        .await?;
    metrics::counter!("evenhand_evaluations_total", "outcome" => outcome).increment(1);
    Ok(Outcome::Closed)
}

/// No verdict. A judge that is away or paused is asked again later and costs the session no attempt; an answer
/// that is of no use costs one, and the last one ends with a decision that says why.
async fn after_failure(
    app: &Arc<App>,
    job: &Claim,
    payload: SessionPayload,
    material: &LoadedSession,
    error: &JudgeError,
) -> Result<Outcome> {
    let SessionPayload { session_id, postponed } = &payload;
    let again = |postponed| SessionPayload { postponed, ..payload.clone() };
    if put_off(app, job, error, *postponed, again).await? {
        return Ok(Outcome::Closed);
    }
    if !error.is_temporary() && job.attempts < job.max_attempts {
        return Err(judging::judge_error(error));
    }
    let decision = Some((EvaluationDecision::Failed, error.to_string()));
    let agent_version = &material.transcript.session.agent_version;
    let gap = Some(NewGap::failed(agent_version, material, error));
    let written = Written { decision, gap, ..Written::default() };
    write(app, job, session_id, written, Then::GiveUp(error.to_string())).await
}

/// Puts a job off, at no attempt's cost, when its judge is away or paused; false when waiting is of no use. It was put
/// off `tried` times before; `payload` is what it carries from now on, with the new number of times.
pub async fn put_off<P: Serialize>(
    app: &Arc<App>,
    job: &Claim,
    error: &JudgeError,
    tried: i64,
    payload: impl FnOnce(i64) -> P,
) -> Result<bool> {
    metrics::counter!("evenhand_evaluation_failures_total", "code" => error.code()).increment(1);
    let is_paused = error.is_pause();
    if !error.is_temporary() || (!is_paused && tried >= POSTPONEMENTS) {
        return Ok(false);
    }
    if let JudgeError::Blocked { reason } = error {
        webhooks::judge_paused(app, &job.org_id, *reason).await?;
    }
    let asked = error.after().map_or(0, |after| i64::try_from(after.as_secs()).unwrap_or(3600));
    let wait = match error {
        // Somebody has to set a model up.
        JudgeError::NeedsModel => 3600,
        // Until one call looks again whether the cause is gone.
        _ if is_paused => i64::try_from(app.settings.judge.probe_seconds.min(60)).unwrap_or(60),
        _ => judging::pause(tried + 1, app.ids.fraction()).max(asked + 1),
    };
    let payload = jobs::stored(&payload(if is_paused { tried } else { tried + 1 }));
    let again_at = app.clock.now() + wait;
    jobs::postpone(app, job, again_at, &error.to_string(), payload).await?;
    Ok(true)
}
