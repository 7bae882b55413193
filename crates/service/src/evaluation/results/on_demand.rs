//! Grading one session now, once, however many ask and on however many replicas.
//!
//! The work is a job with a dedupe key: the request that gets its lease does it, the others wait for its end. A
//! request whose client hung up leaves the job to finish; a process that dies leaves it to whoever looks next.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::grading::{self, Ruling, SessionGrade};
use super::learning_verdicts::LearningSet;
use super::rule_evaluators;
use super::schedule::session_key;
use super::under_way;
use crate::app::App;
use crate::evaluation::{AGENT_SUCCESS, EvaluationResult, RetrievedLearningStatus, sql};
use crate::judging;
use crate::organization;
use crate::sessions::{self, Snapshot};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
use storage::error::{Code, Error, Result};
use storage::jobs::{self, Claim, Handler, JobState, JobView, NewJob, OnDuplicate, Outcome};
use storage::subjects::barrier;

const KIND: &str = "grade_session";
/// A verdict this young is given again.
const CACHE_SECONDS: i64 = 24 * 3600;
/// Attempts count crashes only: a judge that fails ends the job.
const ATTEMPTS: i64 = 3;

pub struct GradeRequest {
    pub session_id: String,
    pub agent_version: String,
    pub evaluation_name: String,
    pub user_id: Option<UserId>,
    /// Grade again, whatever there is.
    pub refresh: bool,
}

/// Payload of the job.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct GradePayload {
    session_id: String,
    agent_version: String,
    evaluation_name: String,
    /// A verdict from then on is as good as a new one.
    #[serde(default)]
    asked_at: i64,
    /// Not the verdict that was there.
    #[serde(default)]
    refresh: bool,
}

impl GradePayload {
    fn of(request: &GradeRequest, asked_at: i64) -> Self {
        GradePayload {
            session_id: request.session_id.clone(),
            agent_version: request.agent_version.clone(),
            evaluation_name: request.evaluation_name.clone(),
            asked_at,
            refresh: request.refresh,
        }
    }
}

base::vocabulary! {
    /// Reason for not grading a session.
    pub enum SkippedReason {
        NoRequests = "NO_REQUESTS",
        NoInteractions = "NO_INTERACTIONS",
        AgentVersionNotInSession = "AGENT_VERSION_NOT_IN_SESSION",
        /// The judge abstained; the session's decision says why.
        Undecided = "UNDECIDED",
    }
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Grade {
    pub session_id: String,
    pub result_id: Option<i64>,
    /// The verdict was there already.
    pub cached: bool,
    pub skipped_reason: Option<SkippedReason>,
    /// null when skipped for another reason than UNDECIDED.
    pub retrieved_learning_status: Option<RetrievedLearningStatus>,
    /// The session grew since it was judged; ask with `refresh` to grade it again.
    pub stale: bool,
}

/// State of a session before grading: not gradable, graded already, or due.
enum Look {
    Skipped(SkippedReason),
    Cached(Grade),
    Due(UserId),
}

/// Grades a session, or gives the stored grade.
pub async fn grade_on_demand(
    app: &Arc<App>,
    org_id: &OrgId,
    request: GradeRequest,
) -> Result<Grade> {
    let request = Arc::new(request);
    let user_id = match look(app, org_id, request.clone()).await? {
        Look::Skipped(reason) => {
            return Ok(Grade {
                session_id: request.session_id.clone(),
                result_id: None,
                cached: false,
                skipped_reason: Some(reason),
                retrieved_learning_status: None,
                stale: false,
            });
        }
        Look::Cached(grade) => return Ok(grade),
        Look::Due(user_id) => user_id,
    };
    let job_id = match enqueue(app, org_id, &user_id, request.clone()).await? {
        Enqueued::Job(job_id) => job_id,
        Enqueued::Cached(grade) => return Ok(grade),
    };
    wait(app, &job_id).await?;
    let input = (org_id.to_owned(), user_id, request);
    app.db
        .read("evaluation.graded", input, |tx, (org_id, user_id, request)| {
            Box::pin(async move {
                match current(tx, org_id, user_id, request).await? {
                    Some(grade) => Ok(Grade { cached: false, ..grade }),
                    // Deleted while it was judged.
                    None => Err(Error::not_found("session")),
                }
            })
        })
        .await
}

async fn look(app: &App, org_id: &OrgId, request: Arc<GradeRequest>) -> Result<Look> {
    let fresh_since = app.clock.now() - CACHE_SECONDS;
    let input = (org_id.to_owned(), request, fresh_since);
    app.db
        .read("evaluation.look_to_grade", input, |tx, (org_id, request, fresh_since)| {
            Box::pin(async move {
                check_name(tx, org_id, &request.evaluation_name).await?;
                let user_id = request.user_id.as_ref();
                let owner = sessions::owner(tx, org_id, &request.session_id, user_id).await;
                let user_id = match owner {
                    Ok(user_id) => user_id,
                    Err(error) if error.code() == Code::NotFound => {
                        return Ok(Look::Skipped(SkippedReason::NoRequests));
                    }
                    Err(error) => return Err(error),
                };
                let found = sessions::transcript_in(tx, org_id, &user_id, &request.session_id);
                let Some(found) = found.await? else {
                    return Ok(Look::Skipped(SkippedReason::NoRequests));
                };
                if found.interactions.is_empty() {
                    return Ok(Look::Skipped(SkippedReason::NoInteractions));
                }
                if !found.requests.iter().any(|r| r.agent_version == request.agent_version) {
                    return Ok(Look::Skipped(SkippedReason::AgentVersionNotInSession));
                }
                if !request.refresh
                    && let Some(result) = find(tx, org_id, &user_id, request).await?
                    && result.evaluated_at > *fresh_since
                {
                    let there = Snapshot::of(&found.interactions);
                    return Ok(Look::Cached(as_grade(&result, there)));
                }
                Ok(Look::Due(user_id))
            })
        })
        .await
}

/// `agent_success`, or an evaluator of the organization.
pub async fn check_name(tx: &mut Tx, org_id: &OrgId, name: &str) -> Result<()> {
    if name == AGENT_SUCCESS {
        return Ok(());
    }
    let config = organization::config_in(tx, org_id).await?.config;
    if config.evaluators.iter().any(|evaluator| evaluator.evaluation_name == name) {
        return Ok(());
    }
    Err(Error::invalid_field(
        Code::InvalidInput,
        "/evaluation_name",
        "There is no such evaluation: agent_success, or one of the configured evaluators.",
    ))
}

async fn find(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    request: &GradeRequest,
) -> Result<Option<EvaluationResult>> {
    let GradeRequest { session_id, agent_version, evaluation_name, .. } = request;
    sql::find_result(tx, org_id, user_id, session_id, evaluation_name, agent_version).await
}

async fn current(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    request: &GradeRequest,
) -> Result<Option<Grade>> {
    let Some(result) = find(tx, org_id, user_id, request).await? else {
        return undecided(tx, org_id, user_id, request).await;
    };
    let there = sessions::snapshot(tx, org_id, user_id, &request.session_id).await?;
    Ok(Some(as_grade(&result, there)))
}

/// The answer where the judge abstained.
async fn undecided(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    request: &GradeRequest,
) -> Result<Option<Grade>> {
    if request.evaluation_name != AGENT_SUCCESS {
        return Ok(None);
    }
    let (id, version) = (&request.session_id, &request.agent_version);
    let gap = sql::find_gap(tx, org_id, user_id, id, version).await?;
    Ok(gap.map(|gap| Grade {
        session_id: request.session_id.clone(),
        result_id: None,
        cached: false,
        skipped_reason: Some(SkippedReason::Undecided),
        retrieved_learning_status: Some(gap.learning_status),
        stale: false,
    }))
}

fn as_grade(result: &EvaluationResult, there: Snapshot) -> Grade {
    Grade {
        session_id: result.session_id.clone(),
        result_id: Some(result.result_id),
        cached: true,
        skipped_reason: None,
        retrieved_learning_status: Some(result.retrieved_learning_status),
        stale: result.snapshot() != there,
    }
}

/// The job that grades, or the verdict that came between the look and the enqueue.
enum Enqueued {
    Job(String),
    Cached(Grade),
}

async fn enqueue(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: &UserId,
    request: Arc<GradeRequest>,
) -> Result<Enqueued> {
    let input = (app.clone(), org_id.to_owned(), user_id.to_owned(), request);
    app.db
        .write("evaluation.enqueue_grade", input, |tx, (app, org_id, user_id, request)| {
            Box::pin(async move {
                let now = app.clock.now();
                let subject = barrier::open(tx, org_id, user_id, now).await?;
                if !request.refresh
                    && let Some(result) = find(tx, org_id, user_id, request).await?
                    && result.evaluated_at > now - CACHE_SECONDS
                {
                    let id = &request.session_id;
                    let there = sessions::snapshot(tx, org_id, user_id, id).await?;
                    return Ok(Enqueued::Cached(as_grade(&result, there)));
                }
                let payload = GradePayload::of(request, now);
                let GradePayload { session_id, agent_version, evaluation_name: name, .. } =
                    &payload;
                let key = session_key(subject.subject(), session_id);
                let job = NewJob {
                    kind: KIND,
                    org_id,
                    subject: Some(&subject),
                    parent_id: None,
                    payload: jobs::stored(&payload),
                    dedupe_key: Some(format!("{}:{name}:{agent_version}:{key}", name.len())),
                    on_duplicate: OnDuplicate::Keep,
                    run_at: now,
                    max_attempts: ATTEMPTS,
                };
                jobs::enqueue(tx, app, job).await.map(Enqueued::Job)
            })
        })
        .await
}

/// Waits for the job's end, and does the job if nobody else does.
async fn wait(app: &Arc<App>, job_id: &str) -> Result<()> {
    let patience = Duration::from_secs(app.settings.server.request_timeout_seconds);
    let deadline = tokio::time::Instant::now() + patience.saturating_sub(Duration::from_secs(2));
    loop {
        let view = app
            .db
            .lookup("evaluation.grade_state", job_id.to_owned(), |tx, job_id| {
                Box::pin(jobs::find(tx, job_id))
            })
            .await?;
        // A job that is gone went with its person.
        let Some(view) = view else { return Err(Error::not_found("session")) };
        match view.state {
            JobState::Done => return Ok(()),
            JobState::Open => {}
            JobState::Dead | JobState::Cancelled => return Err(failure(&view)),
        }
        let is_free = view.lease_until.is_none_or(|until| until < app.clock.now());
        if is_free && let Some(job) = jobs::claim_one(app, job_id).await? {
            // Tracked by the app, so that it ends well when this client hangs up.
            let work = app.clone();
            let driven =
                app.spawn(async move { jobs::drive(&work, Arc::new(GradeSession), job).await });
            let _ = tokio::time::timeout_at(deadline, driven).await;
            continue;
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(Error::Refused {
                code: Code::JudgeUnavailable,
                detail: "The judge is still at work; ask again for its verdict.".to_owned(),
                problems: Default::default(),
                retry_after: Some(5),
            });
        }
        let pause = Duration::from_millis(40).mul_f64(1.0 + app.ids.fraction());
        tokio::time::sleep(pause).await;
    }
}

/// Error of a job that ended without a verdict.
fn failure(view: &JobView) -> Error {
    let reason = view.last_error.clone().unwrap_or_default();
    match reason.strip_prefix("judge_unavailable: ") {
        Some(detail) => Error::Refused {
            code: Code::JudgeUnavailable,
            detail: detail.to_owned(),
            problems: Default::default(),
            retry_after: Some(30),
        },
        None => {
            let detail = reason.strip_prefix("judge_failed: ").unwrap_or(&reason);
            Error::refused(Code::JudgeFailed, detail)
        }
    }
}

/// Does the grading; also when all who asked have gone.
pub struct GradeSession;

impl Handler<App> for GradeSession {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(grade(app, job))
    }
}

async fn grade(app: &Arc<App>, job: &Claim) -> Result<Outcome> {
    let GradePayload { session_id, agent_version, evaluation_name: name, asked_at, refresh } =
        job.payload()?;
    let user_id = job.user_id.clone().unwrap_or_default();
    let Some(material) = grading::load(app, &job.org_id, &user_id, &session_id).await? else {
        return Ok(Outcome::Done);
    };
    let graded = if name == AGENT_SUCCESS {
        let there =
            under_way::wait_for_turn(app, job, job.epoch, &material, &agent_version).await?;
        let is_new = |there: &under_way::Found| {
            there.verdict.evaluated_at >= asked_at && (there.waited || !refresh)
        };
        if there.is_some_and(|there| is_new(&there)) {
            return Ok(Outcome::Done);
        }
        grading::judge_all(app, &material, &agent_version).await?
    } else {
        let evaluators = material.config.evaluators.iter();
        let rule = evaluators
            .filter(|e| e.evaluation_name == name)
            .find_map(|evaluator| rule_evaluators::evaluate(evaluator, &material));
        let status = RetrievedLearningStatus::NotApplicable;
        let learnings = LearningSet { status, rows: None, snapshot: material.snapshot };
        match rule {
            Some(mut result) => {
                result.agent_version = agent_version;
                Ok(SessionGrade { ruling: Ruling::Decided(result), learnings })
            }
            None => return give_up(app, job, "judge_failed: the rule has no opinion yet").await,
        }
    };
    match graded {
        Ok(grade) => save(app, job, user_id, session_id, grade).await,
        Err(error) => {
            let code = judging::judge_error(&error).code().as_str();
            give_up(app, job, &format!("{code}: {error}")).await
        }
    }
}

async fn save(
    app: &Arc<App>,
    job: &Claim,
    user_id: UserId,
    session_id: String,
    grade: SessionGrade,
) -> Result<Outcome> {
    let place = grading::place_of_grade(app, &job.org_id, &user_id, Some(&grade)).await?;
    let input = (app.clone(), job.clone(), user_id, session_id, grade);
    app.db
        .write_at(
            "evaluation.save_grade",
            place,
            input,
            |tx, (app, job, user, session_id, grade)| {
                let user_id = user;
                Box::pin(async move {
                    let subject =
                        grading::open_subject(tx, app, &job.org_id, user_id, job.epoch).await?;
                    let now = app.clock.now();
                    // Deleted meanwhile: there is nothing to write about.
                    let mut changes = Changes::default();
                    jobs::add_finish(&mut changes, job, now);
                    if sessions::lock_session(tx, &job.org_id, user_id, session_id).await? {
                        let (decision, why) = grade.ruling.decision("on demand, ");
                        if grade.ruling.evaluation_name() == AGENT_SUCCESS {
                            sql::put_decision(
                                &mut changes,
                                &subject,
                                session_id,
                                decision,
                                &why,
                                now,
                            );
                        }
                        let to = (&subject, session_id.as_str());
                        return grading::write_grade(tx, app, changes, to, grade).await;
                    }
                    tx.apply(changes).await.map(drop)
                })
            },
        )
        .await?;
    Ok(Outcome::Closed)
}

async fn give_up(app: &Arc<App>, job: &Claim, reason: &str) -> Result<Outcome> {
    let input = (job.clone(), reason.to_owned(), app.clock.now());
    app.db
        .write("evaluation.give_grade_up", input, |tx, (job, reason, now)| {
            Box::pin(jobs::give_up(tx, job, reason, *now))
        })
        .await?;
    Ok(Outcome::Closed)
}
