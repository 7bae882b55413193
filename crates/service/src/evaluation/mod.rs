//! Evaluation: every finished session is judged once, durably, or says why not.
//!
//! - A publish enqueues the session's job in its own transaction and each later publish moves it, so a session is
//!   judged when it has been quiet, or at once when it was finished; one that grows is judged again.
//! - A verdict is written, the job closed and the decision recorded in one transaction, guarded by the job's lease
//!   and by the subject barrier. One row per (user, session, evaluation, agent version): a regrade replaces it
//!   after the new verdict is there and keeps its id.
//! - [`overview`] counts them all; `shadow` compares responses with those published beside them.
//! - A failed judgement is absent, never a zero. It is tried again, and [`fn@decisions`] says where it stands.
//! - What was judged is known exactly ([`crate::sessions::Snapshot`]); what is deleted takes its verdicts along.

pub mod effects;
mod export;
mod gaps;
pub mod learned;
pub mod overview;
pub mod regeneration;
pub mod results;
pub mod review;
pub mod scores;
mod shadow;
mod sql;
mod verdict;
mod window;

use std::sync::Arc;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use storage::jobs::Handler;

pub use results::decisions::{Decision, DecisionQuery, decisions};
pub use results::grading::LEARNING_VERDICTS_CHANGED;
pub use results::learning_verdicts::{LearningVerdict, VerdictOnLearning, learning_digest};
pub use results::on_demand::{Grade, GradeRequest, grade_on_demand};
pub use results::rows::{
    ResultQuery, SessionVerdicts, list as list_results, of_session, session_shrank,
};
pub use results::schedule::{outcome_reported, record_gauges, session_changed, session_grows};
pub use shadow::ShadowPreference;
pub use shadow::job::shadow_published;
pub use sql::{forget_session, spent_by_day, spent_since, verdicts_on_learnings};
pub use verdict::{EvaluationResult, NewResult, RetrievedLearningStatus};

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
        Arc::new(learned::TrainJudge),
        Arc::new(regeneration::driver::Regenerate),
        Arc::new(regeneration::prune::ForgetRegenerations),
        Arc::new(overview::FoldSums),
    ]
}

/// The endpoints of this area.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(results::http::routes())
        .merge(regeneration::http::routes())
        .merge(regeneration::diff_http::routes())
        .merge(learned::http::routes())
        .merge(review::http::routes())
        .merge(shadow::http::routes())
        .merge(overview::http::routes())
        .merge(effects::http::routes())
        .merge(export::http::routes())
        .merge(scores::http::routes())
}
