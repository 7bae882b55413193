//! From a session to a verdict: what is read, what the judge is told, and how what it says is written.

use std::sync::Arc;

use serde_json::json;

use super::candidates::{self, RetrievedAt};
use super::decisions::EvaluationDecision;
use super::learning_verdicts::{self, LearningSet};
use super::{rows as results, sampling, schedule};
use crate::app::App;
use crate::evaluation::gaps::NewGap;
use crate::evaluation::learned::{self, Models};
use crate::evaluation::sql::{self, BeforeJudging, Standing};
use crate::evaluation::{AGENT_SUCCESS, NewResult, RetrievedLearningStatus};
use crate::judging::{self, SubjectConsent};
use crate::organization::{self, OrganizationConfig};
use crate::sessions::{SessionOutcomeKind, Snapshot, Transcript};
use crate::webhooks::{self, Event};
use base::owner::{OrgId, UserId};
use judge::prompts::{Kind, Rubric};
use judge::{Context, Grader, JudgeError, Turn, offline};
use storage::db::{Changes, Db, Place, Tx, Work};
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate};
use storage::subjects::{SubjectWrite, barrier};

/// Everything about a session that judging it needs. Its outcomes and learnings may be newer than its turns.
pub struct LoadedSession {
    pub org_id: OrgId,
    pub transcript: Transcript,
    pub snapshot: Snapshot,
    pub config: Arc<OrganizationConfig>,
    pub candidates: Vec<RetrievedAt>,
    pub consent: Arc<SubjectConsent>,
    /// The judge of the organization's order that is available.
    pub judge: Arc<Grader>,
    /// True if there is a judgement on the latest version of the agent, decided or not.
    pub has_judgement: bool,
}

/// Reads a session; nothing when there is none, or when its user is being erased.
pub async fn load(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<LoadedSession>> {
    let input = (app.db.clone(), org_id.to_owned(), user_id.to_owned(), session_id.to_owned());
    let place = app.db.place_of(org_id, user_id).await;
    let config = organization::recent(app, org_id).await?;
    let read = match &place {
        Some(_) => app.db.read_at("evaluation.load", place.as_ref(), input, read_in).await?,
        // One statement, with a second one for outcomes where there are any.
        None => app.db.lookup_many("evaluation.load", input, read_in).await?,
    };
    let Some((transcript, consent, model, has_judgement)) = read else {
        return Ok(None);
    };
    let snapshot = Snapshot::of(&transcript.interactions);
    let candidates = candidates(app, org_id, place.as_ref(), &transcript).await?;
    let judge = Models::choose(app, org_id, &config, model).await?;
    if let Some(number) = model
        && Models::judge(app, org_id, number).await?.is_none()
    {
        learned::replace(app, org_id).await?;
    }
    let (org_id, consent) = (org_id.clone(), Arc::new(consent));
    Ok(Some(LoadedSession {
        org_id,
        transcript,
        snapshot,
        config,
        candidates,
        consent,
        judge,
        has_judgement,
    }))
}

/// What [`load`] reads first: the transcript, the person's consent, the number of the learned judge, and whether there is a
/// judgement.
type Read = (Transcript, SubjectConsent, Option<i64>, bool);

fn read_in<'t>(
    tx: &'t mut Tx,
    (db, org_id, user_id, session_id): &'t (Db, OrgId, UserId, String),
) -> Work<'t, Option<Read>> {
    Box::pin(async move {
        let found = sql::before_judging(tx, org_id, user_id, session_id).await?;
        let Some(BeforeJudging { published, epoch, has_judgement, model }) = found else {
            return Ok(None);
        };
        let transcript = published.transcript(tx, org_id, user_id).await?;
        let consent = SubjectConsent {
            db: db.clone(),
            org_id: org_id.clone(),
            user_id: user_id.clone(),
            epoch,
        };
        Ok(Some((transcript, consent, model, has_judgement)))
    })
}

/// The learnings that the session's turns refer to, as they are now.
async fn candidates(
    app: &Arc<App>,
    org_id: &OrgId,
    place: Option<&Place>,
    transcript: &Transcript,
) -> Result<Vec<RetrievedAt>> {
    let turns = &transcript.interactions;
    if turns.iter().all(|turn| turn.retrieved_learnings.is_empty()) {
        return Ok(Vec::new());
    }
    let session = &transcript.session;
    let input = (org_id, session, turns, app.clock.now());
    app.db
        .read_at("evaluation.candidates", place, input, |tx, (org_id, session, turns, now)| {
            Box::pin(candidates::find(tx, org_id, &session.user_id, turns, *now))
        })
        .await
}

impl LoadedSession {
    /// True if all its requests were published for evaluation alone.
    pub fn is_evaluation_only(&self) -> bool {
        self.transcript.requests.iter().all(|request| request.evaluation_only)
    }

    pub fn is_of_enabled_source(&self) -> bool {
        let enabled = &self.config.agent_success_config.request_sources_enabled;
        enabled.as_ref().is_none_or(|on| on.contains(&self.transcript.session.source))
    }

    /// The share of sessions like this one that is judged.
    pub fn sampling_rate(&self) -> f64 {
        let config = &self.config.agent_success_config;
        match config.evaluation_only_sampling_rate {
            _ if !self.is_of_enabled_source() => 0.0,
            Some(rate) if self.is_evaluation_only() => rate,
            _ => config.sampling_rate,
        }
    }

    /// True if the session is in that share.
    pub fn is_drawn(&self) -> bool {
        let session = &self.transcript.session;
        let (org, user) = (&self.org_id, &session.user_id);
        sampling::is_sampled("evaluation", org, user, &session.session_id, self.sampling_rate())
    }

    /// The chance that the session had to be judged; 0 if it was not drawn.
    pub fn chance(&self) -> i64 {
        if self.is_drawn() { sampling::chance(self.sampling_rate()) } else { 0 }
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

/// A judgement on a session.
#[derive(Clone, Debug)]
pub enum Ruling {
    Decided(NewResult),
    /// The judge abstained: there is no verdict, and an earlier one is withdrawn.
    Undecided(NewGap),
}

impl Ruling {
    pub fn agent_version(&self) -> &str {
        match self {
            Ruling::Decided(result) => &result.agent_version,
            Ruling::Undecided(gap) => &gap.agent_version,
        }
    }

    pub fn evaluation_name(&self) -> &str {
        match self {
            Ruling::Decided(result) => &result.evaluation_name,
            Ruling::Undecided(_) => AGENT_SUCCESS,
        }
    }

    /// The verdict of a rule, which is about something else than success.
    pub fn of_rule(&self) -> Option<&NewResult> {
        match self {
            Ruling::Decided(result) if result.evaluation_name != AGENT_SUCCESS => Some(result),
            _ => None,
        }
    }

    fn snapshot(&self) -> Snapshot {
        match self {
            Ruling::Decided(result) => result.snapshot,
            Ruling::Undecided(gap) => gap.snapshot,
        }
    }

    /// Nothing if the model is unpriced.
    pub fn cost_usd(&self) -> Option<f64> {
        match self {
            Ruling::Decided(result) => result.origin.cost_usd,
            Ruling::Undecided(gap) => gap.origin.cost_usd,
        }
    }

    /// Sets the chance that the session had to be judged.
    pub fn set_chance(&mut self, chance: i64) {
        match self {
            Ruling::Decided(result) => result.chance = chance,
            Ruling::Undecided(gap) => gap.chance = chance,
        }
    }

    pub fn learning_status(&self) -> RetrievedLearningStatus {
        match self {
            Ruling::Decided(result) => result.learning_status,
            Ruling::Undecided(gap) => gap.learning_status,
        }
    }

    pub fn set_learning_status(&mut self, status: RetrievedLearningStatus) {
        match self {
            Ruling::Decided(result) => result.learning_status = status,
            Ruling::Undecided(gap) => gap.learning_status = status,
        }
    }

    /// The decision on the session, and its reason in words; `how` is put before the judge's name.
    pub fn decision(&self, how: &str) -> (EvaluationDecision, String) {
        match self {
            Ruling::Decided(result) => {
                (EvaluationDecision::Judged, format!("{how}by {}", result.origin.judge))
            }
            Ruling::Undecided(gap) => (EvaluationDecision::Undecided, gap.in_words()),
        }
    }
}

/// The version that a verdict names when it repeats the outcome that was reported.
pub const OUTCOME: &str = "outcome";

/// The reported outcome of the session, while rules are the judge: it is the best evidence that they can have.
pub fn reported(material: &LoadedSession) -> Option<bool> {
    if !offline::is_rules(material.judge.label()) {
        return None;
    }
    match material.transcript.outcomes.last()?.outcome {
        SessionOutcomeKind::Success => Some(true),
        SessionOutcomeKind::Failure => Some(false),
        SessionOutcomeKind::Unknown => None,
    }
}

/// Asks the judge how the session went.
pub async fn judge_session(
    judge: &Grader,
    material: &LoadedSession,
    rubric: &Rubric,
    agent_version: &str,
) -> std::result::Result<Ruling, JudgeError> {
    let graded = judge.session(rubric, &material.context(), &material.turns()).await?;
    if let Some(is_success) = reported(material) {
        return Ok(Ruling::Decided(NewResult::reported(
            agent_version,
            material,
            graded,
            is_success,
        )));
    }
    Ok(match graded.verdict.is_success() {
        Some(is_success) => {
            Ruling::Decided(NewResult::judged(agent_version, material, graded, is_success))
        }
        None => Ruling::Undecided(NewGap::undecided(agent_version, material, graded)),
    })
}

/// The kind of the job that follows new verdicts on an organization's learnings; who handles it is wired.
pub const LEARNING_VERDICTS_CHANGED: &str = "tune_learnings";
/// Verdicts that come within this time are looked at together.
const GATHER_SECONDS: i64 = 60;

/// Announces new verdicts on an organization's learnings, in the transaction that writes them; at a person's place
/// [`announce_ahead`] has done it.
pub async fn announce_learning_verdicts(tx: &mut Tx, app: &App, org_id: &OrgId) -> Result<()> {
    if tx.is_at_place() {
        return Ok(());
    }
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

/// Announces verdicts on learnings that are about to be written at a person's place, where the organization's job cannot
/// be. It gathers for a minute, far longer than they can take.
pub async fn announce_ahead(app: &Arc<App>, org_id: &OrgId) -> Result<()> {
    let input = (app.clone(), org_id.clone());
    app.db
        .write("evaluation.announce_ahead", input, |tx, (app, org_id)| {
            Box::pin(announce_learning_verdicts(tx, app, org_id))
        })
        .await
}

/// The place where a grade is written: that of the person. What the organization has to know is written before.
pub async fn place_of_grade(
    app: &Arc<App>,
    org_id: &OrgId,
    user_id: &UserId,
    grade: Option<&SessionGrade>,
) -> Result<Option<Place>> {
    let place = app.db.place_of(org_id, user_id).await;
    if place.is_some() && grade.is_some_and(SessionGrade::has_learning_verdicts) {
        announce_ahead(app, org_id).await?;
    }
    Ok(place)
}

/// The judgement on a session with the verdicts on its learnings.
pub struct SessionGrade {
    pub ruling: Ruling,
    pub learnings: LearningSet,
}

impl SessionGrade {
    fn has_learning_verdicts(&self) -> bool {
        self.learnings.rows.as_ref().is_some_and(|rows| !rows.is_empty())
    }
}

/// Judges the session and what was retrieved for it. Learnings that cannot be judged right now do not hold the
/// session's verdict up: their status says so, and a job of their own follows.
pub async fn judge_all(
    app: &App,
    material: &LoadedSession,
    agent_version: &str,
) -> Result<std::result::Result<SessionGrade, JudgeError>> {
    let rubric = session_rubric(&material.config)?;
    let mut ruling = match judge_session(&material.judge, material, rubric, agent_version).await {
        Ok(ruling) => ruling,
        Err(error) => return Ok(Err(error)),
    };
    let learnings = learning_verdicts::judge(app, material, agent_version).await?;
    ruling.set_learning_status(learnings.status);
    Ok(Ok(SessionGrade { ruling, learnings }))
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
    barrier::open_again(tx, org_id, user_id, epoch, now).await
}

/// Writes the grade of a session that is held, after `before`.
pub async fn write_grade(
    tx: &mut Tx,
    app: &App,
    before: Changes<'_>,
    (subject, session_id): (&SubjectWrite, &str),
    grade: &SessionGrade,
) -> Result<()> {
    let now = app.clock.now();
    let mut ruling = grade.ruling.clone();
    let there = sql::standing(tx, subject, session_id, ruling.agent_version()).await?;
    if is_overtaken(tx, subject, session_id, &ruling, there.turns).await? {
        return tx.apply(before).await.map(drop);
    }
    let mut changes = before;
    if let Some(rule) = ruling.of_rule() {
        return results::save_rule(tx, changes, subject, session_id, rule, now).await;
    }
    tell_failure(tx, app, subject, session_id, (&ruling, &there)).await?;
    let set = &grade.learnings;
    let found = (there.turns, there.has_learning_verdicts);
    let to = (subject, session_id);
    if !learning_verdicts::replace(tx, &mut changes, to, set, found, now).await? {
        // The session changed under the judge: the old set stands until the new session is judged.
        ruling.set_learning_status(RetrievedLearningStatus::Pending);
    }
    results::save_ruling(tx, changes, subject, session_id, (&ruling, &there), now).await?;
    if grade.has_learning_verdicts() {
        announce_learning_verdicts(tx, app, subject.org_id()).await?;
    }
    if ruling.learning_status() == RetrievedLearningStatus::Pending {
        let kind = super::learning_job::LEARNINGS;
        schedule::enqueue(tx, app, subject, kind, session_id, 30).await?;
    }
    Ok(())
}

/// Tells webhooks of a session that is judged a failure and was none before.
async fn tell_failure(
    tx: &mut Tx,
    app: &App,
    subject: &SubjectWrite,
    session_id: &str,
    (ruling, there): (&Ruling, &Standing),
) -> Result<()> {
    let Ruling::Decided(result) = ruling else { return Ok(()) };
    if result.is_success || there.is_success == Some(false) {
        return Ok(());
    }
    let event = Event::SessionFailed {
        session_id: session_id.to_owned(),
        agent_version: result.agent_version.clone(),
        failure_type: Some(result.failure_type.as_str()).filter(|cause| !cause.is_empty()),
    };
    webhooks::emit(tx, app, subject.org_id(), Some(subject), &event).await
}

/// True if a judgement is there that is about the session as it is now, and the new one is not: another worker was
/// quicker, and an older look at the session must not take its place.
pub async fn is_overtaken(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    new: &Ruling,
    now_there: Snapshot,
) -> Result<bool> {
    if new.snapshot() == now_there {
        return Ok(false);
    }
    let (org_id, user_id) = (subject.org_id(), subject.user_id());
    let (name, version) = (new.evaluation_name(), new.agent_version());
    let there = sql::find_result(tx, org_id, user_id, session_id, name, version).await?;
    if let Some(there) = there {
        return Ok(there.snapshot() == now_there);
    }
    let gap = sql::find_gap(tx, org_id, user_id, session_id, version).await?;
    Ok(name == AGENT_SUCCESS && gap.is_some_and(|gap| gap.snapshot() == now_there))
}
