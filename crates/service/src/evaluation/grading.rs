//! From a session to a verdict: what is read, what the judge is told, and how what it says is written.

use std::sync::Arc;

use super::candidates::{self, Candidate};
use super::consent::SubjectConsent;
use super::learning_verdicts::LearningSet;
use super::{AGENT_SUCCESS, NewResult, Origin, learning_verdicts, results, schedule, sql};
use crate::app::App;
use crate::learnings;
use crate::organization::{self, OrganizationConfig};
use crate::sessions::{self, Interaction, Snapshot, Transcript};
use judge::prompts::{self, Kind, Rubric};
use judge::{Consent, Context, JudgeError, Provenance, Tool, ToolCall, Turn};
use storage::db::{Changes, Tx};
use storage::error::{Code, Error, Result};
use storage::subjects::{SubjectWrite, barrier};

/// Everything about a session that judging it needs, read in one snapshot.
pub struct Material {
    pub org_id: String,
    pub transcript: Transcript,
    pub snapshot: Snapshot,
    pub config: OrganizationConfig,
    pub candidates: Vec<Candidate>,
    pub consent: Arc<SubjectConsent>,
}

/// Reads a session; nothing when there is none, or when its user is being erased.
pub async fn load(
    app: &App,
    org_id: &str,
    user_id: &str,
    session_id: &str,
) -> Result<Option<Material>> {
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
                Ok(Some(Material {
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

impl Material {
    /// Of a publish that was for evaluation alone.
    pub fn is_evaluation_only(&self) -> bool {
        self.transcript.requests.iter().all(|request| request.evaluation_only)
    }

    pub fn context(&self) -> Context {
        context(&self.config, Some(self.consent.clone()))
    }

    pub fn turns(&self) -> Vec<Turn> {
        self.transcript.interactions.iter().map(as_turn).collect()
    }

    pub fn user_turns(&self) -> i64 {
        let turns = self.transcript.interactions.iter();
        i64::try_from(turns.filter(|turn| is_user(turn)).count()).unwrap_or(i64::MAX)
    }
}

/// What an organization says about its agent, and whether the person in the transcript may be judged.
pub fn context(config: &OrganizationConfig, consent: Option<Arc<dyn Consent>>) -> Context {
    let tool = |tool: &organization::ToolCanUse| Tool {
        name: tool.tool_name.clone(),
        description: tool.tool_description.clone(),
    };
    Context {
        agent_context: config.agent_context_prompt.clone(),
        tools: config.tool_can_use.iter().map(tool).collect(),
        success_definition: config.agent_success_config.success_definition_prompt.clone(),
        consent,
    }
}

pub fn is_user(turn: &Interaction) -> bool {
    sessions::is_user(&turn.role)
}

/// A turn as judges see it. What was done without words is said in words; the shadow, the expert's answer, the
/// arm and what was retrieved stay out.
pub fn as_turn(turn: &Interaction) -> Turn {
    let mut content = turn.content.clone();
    if turn.user_action != "none" {
        let separator = if content.is_empty() { "" } else { "\n" };
        let done = &turn.user_action_description;
        content.push_str(&format!("{separator}[{}] {done}", turn.user_action));
    }
    let tool = |tool: &sessions::ToolUsed| ToolCall {
        name: tool.tool_name.clone(),
        data: serde_json::Value::Object(tool.tool_data.clone()),
        status: tool.status.clone(),
    };
    Turn {
        id: turn.interaction_id,
        role: turn.role.clone(),
        content,
        tools: turn.tools_used.iter().map(tool).collect(),
    }
}

/// The rubric that is pinned, or the newest.
pub fn rubric(kind: Kind, pinned: Option<&str>) -> Result<&'static Rubric> {
    pinned
        .and_then(|version| prompts::load(kind, version))
        .or_else(|| prompts::newest(kind))
        .ok_or_else(|| Error::Internal(format!("there is no rubric for {}", kind.as_str())))
}

/// The rubric that judges sessions of this organization.
pub fn session_rubric(config: &OrganizationConfig) -> Result<&'static Rubric> {
    rubric(Kind::SessionSuccess, config.judge.session_success_prompt_version.as_deref())
}

/// Asks the judge how the session went.
pub async fn judge_session(
    app: &App,
    material: &Material,
    rubric: &Rubric,
    agent_version: &str,
) -> std::result::Result<NewResult, JudgeError> {
    let graded = app.judge.session(rubric, &material.context(), &material.turns()).await?;
    let verdict = graded.verdict;
    Ok(NewResult {
        evaluation_name: AGENT_SUCCESS.to_owned(),
        agent_version: agent_version.to_owned(),
        is_success: verdict.is_success,
        failure_type: verdict.failure_type.to_owned(),
        failure_reason: verdict.failure_reason,
        corrections: i64::from(verdict.number_of_corrections),
        user_turns_to_resolution: verdict.is_success.then(|| material.user_turns()),
        is_escalated: verdict.is_escalated,
        learning_status: "not_applicable",
        snapshot: material.snapshot,
        origin: graded.provenance.into(),
    })
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
    material: &Material,
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
    org_id: &str,
    user_id: &str,
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
        result.learning_status = "pending";
    }
    results::save(tx, changes, subject, session_id, &result, now).await?;
    if set.rows.as_ref().is_some_and(|rows| !rows.is_empty()) {
        learnings::verdicts_changed(tx, app, subject.org_id()).await?;
    }
    if result.learning_status == "pending" {
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

/// The verdict that a failed judgement is not: what people and callers are told instead.
pub fn judge_error(error: &JudgeError) -> Error {
    let code = if error.is_temporary() { Code::JudgeUnavailable } else { Code::JudgeFailed };
    let retry_after = error
        .is_temporary()
        .then(|| error.after().map_or(30, |after| after.as_secs().clamp(1, 3600)));
    Error::Refused { code, detail: error.to_string(), problems: Vec::new(), retry_after }
}

impl From<Provenance> for Origin {
    fn from(p: Provenance) -> Self {
        let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let flags = p.flags.iter().filter_map(|flag| {
            serde_json::to_value(flag).ok().and_then(|v| v.as_str().map(str::to_owned))
        });
        Origin {
            flags: flags.collect(),
            judge: p.judge,
            prompt_version: p.prompt_version.to_owned(),
            rubric_hash: p.rubric_hash,
            input_tokens: whole(p.input_tokens),
            output_tokens: whole(p.output_tokens),
            cost_usd: p.cost_usd,
            latency_ms: whole(p.latency_ms),
            attempts: i64::from(p.attempts),
        }
    }
}
