//! From a session to a verdict: what is read, what the judge is told, and how what it says is written.

use std::sync::Arc;

use serde_json::json;

use super::candidates::{self, RetrievedAt};
use super::learning_verdicts::{self, LearningSet};
use super::{rows as results, schedule};
use crate::app::App;
use crate::evaluation::{NewResult, RetrievedLearningStatus, sql};
use crate::judging::{self, SubjectConsent};
use crate::organization::{self, OrganizationConfig};
use crate::sessions::{self, Snapshot, Transcript};
use base::owner::{OrgId, UserId};
use judge::prompts::{Kind, Rubric};
use judge::{Context, JudgeError, Turn};
use storage::db::{Changes, Tx};
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate};
use storage::subjects::{SubjectWrite, barrier};

/// Everything about a session that judging it needs, read in one snapshot.
pub struct LoadedSession {
    pub org_id: OrgId,
    pub transcript: Transcript,
    pub snapshot: Snapshot,
    pub config: OrganizationConfig,
    pub candidates: Vec<RetrievedAt>,
    pub consent: Arc<SubjectConsent>,
}

/// Reads a session; nothing when there is none, or when its user is being erased.
pub async fn load(
    app: &App,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<LoadedSession>> {
    let person = (app.db.clone(), org_id.to_owned(), user_id.to_owned());
    let input = (person, session_id.to_owned(), app.clock.now());
    app.db
        .read("evaluation.load", input, |tx, ((db, org_id, user_id), session_id, now)| {
            Box::pin(async move {
                let found = sessions::transcript_in(tx, org_id, user_id, session_id).await?;
                let Some(transcript) = found else { return Ok(None) };
                let epoch = barrier::open_epoch(tx, org_id, user_id).await?;
                let Some(epoch) = epoch else { return Ok(None) };
                let consent = SubjectConsent {
                    db: db.clone(),
                    org_id: org_id.clone(),
                    user_id: user_id.clone(),
                    epoch,
                };
                let config = organization::config_in(tx, org_id).await?.config;
                let turns = &transcript.interactions;
                let candidates = candidates::find(tx, org_id, user_id, turns, *now).await?;
                Ok(Some(LoadedSession {
                    org_id: org_id.clone(),
                    snapshot: Snapshot::of(turns),
                    transcript,
                    config,
                    candidates,
                    consent: Arc::new(consent),
                }))
            })
        })
        .await
}

impl LoadedSession {
    /// True if all its requests were published for evaluation alone.
    pub fn is_evaluation_only(&self) -> bool {
        self.transcript.requests.iter().all(|request| request.evaluation_only)
    }

    pub fn context(&self) -> Context {
        judging::context(&self.config, Some(self.consent.clone()))
    }

    pub fn turns(&self) -> Vec<Turn> {
        self.transcript.interactions.iter().map(judging::as_turn).collect()
    }

    pub fn user_turns(&self) -> i64 {
        let turns = self.transcript.interactions.iter();
        i64::try_from(turns.filter(|turn| turn.is_user()).count()).unwrap_or(i64::MAX)
    }
}

/// The rubric that judges sessions of this organization.
pub fn session_rubric(config: &OrganizationConfig) -> Result<&'static Rubric> {
    judging::rubric(Kind::SessionSuccess, config.judge.session_success_prompt_version.as_deref())
}

/// Asks the judge how the session went.
pub async fn judge_session(
    app: &App,
    material: &LoadedSession,
    rubric: &Rubric,
    agent_version: &str,
) -> std::result::Result<NewResult, JudgeError> {
    let graded = app.judge.session(rubric, &material.context(), &material.turns()).await?;
    Ok(NewResult::judged(agent_version, material, graded))
}

/// The kind of the job that follows new verdicts on an organization's learnings; who handles it is wired.
pub const LEARNING_VERDICTS_CHANGED: &str = "tune_learnings";
/// Verdicts that come within this time are looked at together.
const GATHER_SECONDS: i64 = 60;

/// Announces new verdicts on an organization's learnings, in the transaction that writes them.
pub async fn announce_learning_verdicts(tx: &mut Tx, app: &App, org_id: &OrgId) -> Result<()> {
    let job = NewJob {
        kind: LEARNING_VERDICTS_CHANGED,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!({}),
        dedupe_key: Some("organization".to_owned()),
        on_duplicate: OnDuplicate::Keep,
        run_at: app.clock.now() + GATHER_SECONDS,
        max_attempts: 12,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}

/// A session's verdict with the verdicts on its learnings.
pub struct SessionGrade {
    pub result: NewResult,
    pub learnings: LearningSet,
}

/// Judges the session and what was retrieved for it. Learnings that cannot be judged right now do not hold the
/// session's verdict up: their status says so, and a job of their own follows.
pub async fn judge_all(
    app: &App,
    material: &LoadedSession,
    agent_version: &str,
) -> Result<std::result::Result<SessionGrade, JudgeError>> {
    let rubric = session_rubric(&material.config)?;
    let mut result = match judge_session(app, material, rubric, agent_version).await {
        Ok(result) => result,
        Err(error) => return Ok(Err(error)),
    };
    let learnings = learning_verdicts::judge(app, material, agent_version).await?;
    result.learning_status = learnings.status;
    Ok(Ok(SessionGrade { result, learnings }))
}

/// Opens the subject's barrier and makes sure that it is still the person the job was made for.
pub async fn open_subject(
    tx: &mut Tx,
    app: &App,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: Option<i64>,
) -> Result<SubjectWrite> {
    let now = app.clock.now();
    barrier::open_again(tx, &app.subject_keys, org_id, user_id, epoch, now).await
}

/// Writes the grade of a session that is held, with what was there when it was.
pub async fn write_grade(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
    grade: &SessionGrade,
    now_there: Snapshot,
) -> Result<()> {
    let now = app.clock.now();
    let mut result = grade.result.clone();
    if overtaken_by(tx, subject, session_id, &result, now_there).await?.is_some() {
        return Ok(());
    }
    let mut changes = Changes::default();
    let set = &grade.learnings;
    if !learning_verdicts::replace(&mut changes, subject, session_id, set, now_there, now)? {
        // The session changed under the judge: the old set stands until the new session is judged.
        result.learning_status = RetrievedLearningStatus::Pending;
    }
    results::save(tx, changes, subject, session_id, &result, now).await?;
    if set.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
        announce_learning_verdicts(tx, app, subject.org_id()).await?;
    }
    if result.learning_status == RetrievedLearningStatus::Pending {
        let kind = super::learning_job::LEARNINGS;
        schedule::enqueue(tx, app, subject, kind, session_id, 30).await?;
    }
    Ok(())
}

/// The verdict that is there, if it is about the session as it is now and the new one is not: another worker was
/// quicker, and an older look at the session must not take its place.
pub async fn overtaken_by(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    new: &NewResult,
    now_there: Snapshot,
) -> Result<Option<i64>> {
    if new.snapshot == now_there {
        return Ok(None);
    }
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let (name, version) = (&new.evaluation_name, &new.agent_version);
    let there = sql::find_result(tx, org_id, user_id, session_id, name, version).await?;
    Ok(there.filter(|there| there.snapshot() == now_there).map(|there| there.result_id))
}
