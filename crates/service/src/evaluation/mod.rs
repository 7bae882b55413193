//! Evaluation: every finished session is judged once, durably, or says why not.
//!
//! - A publish enqueues the session's job in its own transaction and each later publish moves it, so a session is
//!   judged when it has been quiet, or at once when it was finished; one that grows is judged again.
//! - A verdict is written, the job closed and the decision recorded in one transaction, guarded by the job's lease
//!   and by the subject barrier. One row per (user, session, evaluation, agent version): a regrade replaces it
//!   after the new verdict is there and keeps its id.
//! - [`overview`] counts them all; `shadow` compares responses with those published beside them.
//! - A failed judgement is absent, never a zero. It is tried again, and [`fn@decisions`] says where it stands.
//! - What was judged is known exactly ([`Snapshot`]); what is deleted takes its verdicts along.

mod export;
pub mod overview;
pub mod regeneration;
pub mod results;
pub mod review;
pub mod scores;
mod shadow;
mod sql;
mod window;

use base::owner::UserId;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::judging::Origin;
use crate::sessions::Snapshot;
use judge::{FailureType, VerdictFlag};
use storage::jobs::Handler;

pub use results::decisions::{Decision, DecisionQuery, decisions};
pub use results::grading::LEARNING_VERDICTS_CHANGED;
pub use results::learning_verdicts::{LearningVerdict, VerdictOnLearning, learning_digest};
pub use results::on_demand::{Grade, GradeRequest, grade_on_demand};
pub use results::rows::{
    ResultQuery, SessionVerdicts, list as list_results, of_session, session_shrank, success_rate,
};
pub use results::schedule::{outcome_reported, record_gauges, session_changed, session_grows};
pub use shadow::ShadowPreference;
pub use shadow::job::shadow_published;
pub use sql::{forget_session, spent_since, verdicts_on_learnings};

/// The evaluation that the judge of success writes.
pub const AGENT_SUCCESS: &str = "agent_success";

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![
        Arc::new(results::session_job::EvaluateSession),
        Arc::new(results::session_job::EvaluateRules),
        Arc::new(results::learning_job::EvaluateLearnings),
        Arc::new(results::on_demand::GradeSession),
        Arc::new(shadow::job::CompareShadow),
        Arc::new(regeneration::driver::Regenerate),
        Arc::new(regeneration::prune::ForgetRegenerations),
    ]
}

/// The endpoints of this area.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(results::http::routes())
        .merge(regeneration::http::routes())
        .merge(regeneration::diff_http::routes())
        .merge(review::http::routes())
        .merge(shadow::http::routes())
        .merge(overview::http::routes())
        .merge(export::http::routes())
        .merge(scores::http::routes())
}

base::vocabulary! {
    /// Completeness of the verdicts on a session's retrieved learnings.
    pub enum RetrievedLearningStatus {
        Complete = "complete",
        /// Some have no verdict on their relevance or their impact.
        Degraded = "degraded",
        /// No learning has a verdict.
        Failed = "failed",
        /// The judge could not be asked yet.
        Pending = "pending",
        /// Nothing was retrieved, or the session is not in the sample.
        NotApplicable = "not_applicable",
    }
}

/// A verdict on a session.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[schema(as = AgentSuccessEvaluationResult)]
pub struct EvaluationResult {
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
    /// null without shadow comparisons.
    pub regular_vs_shadow: Option<ShadowPreference>,
    pub number_of_correction_per_session: i64,
    /// The user's turns, on success only.
    pub user_turns_to_resolution: Option<i64>,
    pub is_escalated: bool,
    #[schema(value_type = Option<Vec<String>>)]
    pub tags: Option<Json<Vec<String>>>,
    pub evaluated_at: i64,
    pub retrieved_learning_status: RetrievedLearningStatus,
    /// `offline` or `rule`: no model; else provider/model as reported.
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
    /// Manipulation attempts found in the transcript, and its truncation.
    #[schema(value_type = Vec<VerdictFlag>)]
    pub flags: Json<Vec<VerdictFlag>>,
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub interaction_count: i64,
    #[serde(skip_serializing)]
    #[schema(ignore)]
    pub last_interaction_id: i64,
}

impl EvaluationResult {
    /// The turns it is about.
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            interaction_count: self.interaction_count,
            last_interaction_id: self.last_interaction_id,
        }
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
    pub learning_status: RetrievedLearningStatus,
    pub snapshot: Snapshot,
    pub origin: Origin,
}
