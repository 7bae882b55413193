//! A verdict on a session: as a judgement gives it, as it is stored, answered and exported. To add a field, add it to
//! the lists here and to the table.

use serde::Serialize;
use sqlx::types::Json;
use utoipa::ToSchema;

use super::results::grading::{LoadedSession, OUTCOME};
use super::results::sampling::CERTAIN;
use super::{AGENT_SUCCESS, ShadowPreference};
use crate::judging::Origin;
use crate::organization::Evaluator;
use crate::sessions::Snapshot;
use base::owner::UserId;
use judge::verdicts::SessionVerdict;
use judge::{FailureType, Graded, VerdictFlag};
use storage::db::Value;
use storage::error::Result;

base::vocabulary! {
    /// Completeness of the verdicts on a session's retrieved learnings.
    #[derive(Default)]
    pub enum RetrievedLearningStatus {
        Complete = "complete",
        /// Some have no verdict on their relevance or their impact.
        Degraded = "degraded",
        /// No learning has a verdict.
        Failed = "failed",
        /// The judge could not be asked yet.
        Pending = "pending",
        /// Nothing was retrieved, or the session is not in the sample.
        #[default]
        NotApplicable = "not_applicable",
    }
}

/// A verdict on a session.
#[derive(Clone, Debug, Default, Serialize, ToSchema, sqlx_macros::FromRow)]
#[schema(as = AgentSuccessEvaluationResult)]
pub struct EvaluationResult {
    /// null without shadow comparisons.
    pub regular_vs_shadow: Option<ShadowPreference>,
    pub result_id: i64,
    pub user_id: UserId,
    pub agent_version: String,
    pub session_id: String,
    pub is_success: bool,
    /// Empty on success.
    pub failure_type: FailureType,
    pub failure_reason: String,
    pub evaluation_name: String,
    /// Time of the session's first request: a regrade keeps its place on every chart.
    pub created_at: i64,
    #[sqlx(rename = "number_of_corrections")]
    pub number_of_correction_per_session: i64,
    /// The user's turns, on success only.
    pub user_turns_to_resolution: Option<i64>,
    pub is_escalated: bool,
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Option<Json<Vec<String>>>,
    pub evaluated_at: i64,
    #[sqlx(rename = "learning_status")]
    pub retrieved_learning_status: RetrievedLearningStatus,
    /// `rules`, `rule` (an evaluator), `learned/<number>`, or provider/model as reported.
    pub judge: String,
    pub prompt_version: String,
    pub rubric_hash: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// US dollars; null if the model is unpriced.
    pub cost_usd: Option<f64>,
    pub latency_ms: i64,
    /// Calls made for this verdict.
    pub attempts: i64,
    /// The learned judge's calibrated probability of success; null of other judges.
    pub probability: Option<f64>,
    /// Manipulation attempts found in the transcript, and its truncation.
    #[schema(value_type = Vec<VerdictFlag>)]
    pub flags: Json<Vec<VerdictFlag>>,
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub interaction_count: i64,
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub last_interaction_id: i64,
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub source: String,
}

/// The columns of `evaluation_results r` that [`EvaluationResult`] reads, besides the preference of the session. The user
/// id is given as SQL.
macro_rules! verdict_columns {
    ($user:literal) => {
        concat!(
            "r.result_id, ",
            $user,
            ", r.agent_version, r.session_id, r.is_success, r.failure_type, r.failure_reason, \
             r.evaluation_name, r.created_at, r.number_of_corrections, r.user_turns_to_resolution, \
             r.is_escalated, r.tags, r.evaluated_at, r.learning_status, r.judge, r.prompt_version, \
             r.rubric_hash, r.input_tokens, r.output_tokens, r.cost_usd, r.latency_ms, r.attempts, \
             r.probability, r.flags, r.interaction_count, r.last_interaction_id, r.source"
        )
    };
}
pub(crate) use verdict_columns;

impl EvaluationResult {
    /// The turns it is about.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            interaction_count: self.interaction_count,
            last_interaction_id: self.last_interaction_id,
        }
    }

    /// The columns of an export, by the names of the API.
    pub fn exported(&self) -> [(&'static str, Cell<'_>); 24] {
        use Cell::{Flag, Integer, Number, Text, Words};
        [
            ("result_id", Integer(Some(self.result_id))),
            ("user_id", Text(Some(&self.user_id))),
            ("session_id", Text(Some(&self.session_id))),
            ("agent_version", Text(Some(&self.agent_version))),
            ("source", Text(Some(&self.source))),
            ("created_at", Integer(Some(self.created_at))),
            ("evaluated_at", Integer(Some(self.evaluated_at))),
            ("is_success", Flag(self.is_success)),
            ("failure_type", Text(Some(self.failure_type.as_str()))),
            ("failure_reason", Text(Some(&self.failure_reason))),
            (
                "number_of_correction_per_session",
                Integer(Some(self.number_of_correction_per_session)),
            ),
            ("user_turns_to_resolution", Integer(self.user_turns_to_resolution)),
            ("is_escalated", Flag(self.is_escalated)),
            ("regular_vs_shadow", Text(self.regular_vs_shadow.map(ShadowPreference::as_str))),
            ("judge", Text(Some(&self.judge))),
            ("prompt_version", Text(Some(&self.prompt_version))),
            ("rubric_hash", Text(Some(&self.rubric_hash))),
            ("input_tokens", Integer(Some(self.input_tokens))),
            ("output_tokens", Integer(Some(self.output_tokens))),
            ("cost_usd", Number(self.cost_usd)),
            ("latency_ms", Integer(Some(self.latency_ms))),
            ("attempts", Integer(Some(self.attempts))),
            ("probability", Number(self.probability)),
            ("flags", Words(&self.flags)),
        ]
    }
}

/// A value of an exported column; `None` is null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Text(Option<&'a str>),
    Integer(Option<i64>),
    Number(Option<f64>),
    Flag(bool),
    /// Several, none or one.
    Words(&'a [VerdictFlag]),
}

impl Cell<'_> {
    /// Several words with blanks between them; empty for other cells.
    pub fn joined(&self) -> String {
        let Cell::Words(words) = self else { return String::new() };
        words.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// A verdict to be written.
#[derive(Clone, Debug)]
pub struct NewResult {
    pub evaluation_name: String,
    pub agent_version: String,
    pub is_success: bool,
    pub failure_type: FailureType,
    pub failure_reason: String,
    pub corrections: i64,
    pub user_turns_to_resolution: Option<i64>,
    pub is_escalated: bool,
    pub probability: Option<f64>,
    /// The chance that the session had to be judged; 0 if it was not drawn.
    pub chance: i64,
    pub learning_status: RetrievedLearningStatus,
    pub snapshot: Snapshot,
    pub origin: Origin,
}

impl NewResult {
    /// Verdict of the judge.
    pub fn judged(
        agent_version: &str,
        material: &LoadedSession,
        graded: Graded<SessionVerdict>,
        is_success: bool,
    ) -> Self {
        let verdict = graded.verdict;
        NewResult {
            evaluation_name: AGENT_SUCCESS.to_owned(),
            agent_version: agent_version.to_owned(),
            is_success,
            failure_type: verdict.failure_type,
            failure_reason: verdict.failure_reason,
            corrections: i64::from(verdict.number_of_corrections),
            user_turns_to_resolution: is_success.then(|| material.user_turns()),
            is_escalated: verdict.is_escalated,
            probability: verdict.probability,
            chance: material.chance(),
            learning_status: RetrievedLearningStatus::default(),
            snapshot: material.snapshot,
            origin: graded.provenance.into(),
        }
    }

    /// The outcome that was reported, with what the rules count.
    pub fn reported(
        agent_version: &str,
        material: &LoadedSession,
        graded: Graded<SessionVerdict>,
        is_success: bool,
    ) -> Self {
        let agrees = graded.verdict.is_success() == Some(is_success);
        let mut result = Self::judged(agent_version, material, graded, is_success);
        if is_success {
            result.failure_type = FailureType::None;
            result.failure_reason = String::new();
        } else if !agrees {
            result.failure_type = FailureType::WrongAnswer;
            result.failure_reason = "The customer reported a failure.".to_owned();
        }
        result.origin.prompt_version = OUTCOME.to_owned();
        result
    }

    /// Verdict of an evaluator: success, failure type and reason.
    pub fn ruled(
        evaluator: &Evaluator,
        material: &LoadedSession,
        (is_success, failure_type, failure_reason): (bool, FailureType, String),
        origin: Origin,
    ) -> Self {
        NewResult {
            evaluation_name: evaluator.evaluation_name.clone(),
            agent_version: material.transcript.session.agent_version.clone(),
            is_success,
            failure_type: if is_success { FailureType::None } else { failure_type },
            failure_reason: if is_success { String::new() } else { failure_reason },
            corrections: 0,
            user_turns_to_resolution: is_success.then(|| material.user_turns()),
            is_escalated: false,
            probability: None,
            chance: CERTAIN,
            learning_status: RetrievedLearningStatus::default(),
            snapshot: material.snapshot,
            origin,
        }
    }

    /// The columns that a verdict writes, besides its key, its times and its source.
    pub fn columns(&self) -> Result<Vec<(&'static str, Value<'_>)>> {
        let mut columns = vec![
            ("is_success", self.is_success.into()),
            ("failure_type", self.failure_type.as_str().into()),
            ("failure_reason", (&self.failure_reason).into()),
            ("number_of_corrections", self.corrections.into()),
            ("user_turns_to_resolution", self.user_turns_to_resolution.into()),
            ("is_escalated", self.is_escalated.into()),
            ("probability", self.probability.into()),
            ("chance", self.chance.into()),
            ("learning_status", self.learning_status.as_str().into()),
            ("interaction_count", self.snapshot.interaction_count.into()),
            ("last_interaction_id", self.snapshot.last_interaction_id.into()),
        ];
        columns.extend(self.origin.columns());
        columns.push(("flags", Value::json(&self.origin.flags)?));
        Ok(columns)
    }
}
