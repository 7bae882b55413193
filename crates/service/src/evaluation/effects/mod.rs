//! Effects of playbooks on trial: success of sessions with a playbook minus success of those from which it was withheld,
//! judged over all playbooks together.

mod compute;
mod detail;
mod export;
pub mod http;
mod list;
mod recent;
mod sql;

use serde::Serialize;
use utoipa::ToSchema;

use stats::NullReason;
use stats::learning_trials::TrialState;

pub use compute::effects;
pub use export::{ExportedEffects, read_rows};
pub use list::{ListedEffect, NamedEffects, list};
pub use recent::{RecentEffects, forget, in_transaction, organizations};
pub use sql::{FailedSession, failed_sessions};

/// Users and sessions of one side of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct TrialSide {
    /// Users for whom it was found.
    pub found_users: u64,
    /// Those of them with a judged session in which it was found.
    pub users: u64,
    /// Judged sessions in which it was found.
    pub sessions: u64,
    /// Percentage of them that succeeded, weighted; null without any.
    pub success_rate: Option<f64>,
}

/// An effect drawn towards zero, as far as all effects together say that it was luck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ShrunkenEffect {
    pub mean: f64,
    /// 90 %.
    pub ci_lower: f64,
    pub ci_upper: f64,
    /// Chance that the true effect has the other sign.
    pub false_sign_rate: f64,
}

/// Success with a playbook minus success without it, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = LearningEffectEstimate)]
pub struct Estimate {
    pub effect: Option<f64>,
    /// 95 %, for one look.
    pub ci_lower: Option<f64>,
    pub ci_upper: Option<f64>,
    /// 95 % over all looks together.
    pub always_valid_lower: Option<f64>,
    pub always_valid_upper: Option<f64>,
    /// Reason why there is no effect yet.
    pub null_reason: Option<NullReason>,
    /// Strength of the evidence for some effect; 0 without one.
    pub e_value: f64,
}

/// The effect of a playbook's present text, judged among those of all playbooks.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = LearningEffect)]
pub struct Effect {
    pub agent_playbook_id: i64,
    pub state: TrialState,
    #[serde(flatten)]
    pub estimate: Estimate,
    pub shrunken: Option<ShrunkenEffect>,
    pub served: TrialSide,
    pub withheld: TrialSide,
    /// Share of users from whom it is withheld now.
    pub share: f64,
    /// True if it was found to help and is withheld from few users since.
    pub is_settled: bool,
    /// Epochs of its present text.
    pub epochs: usize,
    pub started_at: i64,
    /// The smallest effect that could be seen by now.
    pub smallest_visible_effect: Option<f64>,
    /// Days until an effect of five points could be seen, at the present traffic.
    pub days_until_five_points: Option<u64>,
    /// True if the sides have their shares of users; null without users.
    pub sample_ratio_ok: Option<bool>,
}

/// The effects of an organization's playbooks: by their shrunken means, the best first, then those without one.
#[derive(Clone, Debug, Default)]
pub struct AllEffects {
    pub effects: Vec<Effect>,
    pub as_of: i64,
}

impl AllEffects {
    pub fn of(&self, agent_playbook_id: i64) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.agent_playbook_id == agent_playbook_id)
    }
}
