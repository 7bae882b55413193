//! Effects of playbooks on trial: success of sessions with a playbook minus success of those from which it was withheld,
//! judged over all playbooks together.

mod compute;
pub mod http;
mod settling;

use serde::Serialize;
use utoipa::ToSchema;

use super::sql::effects as sql;
use crate::app::App;
use crate::learnings::PlaybookStatus;
use base::owner::OrgId;
use stats::NullReason;
use stats::learning_trials::TrialState;
use storage::error::Result;

pub use compute::{EpochOfTrial, FoundOnDay, SidesOfEpoch, Trial, UsersAlike, effects};
pub use settling::SettleTrials;

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

/// The effect of a playbook's present text, in percentage points.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = LearningEffect)]
pub struct Effect {
    pub agent_playbook_id: i64,
    pub state: TrialState,
    /// Success with it minus success without it.
    pub effect: Option<f64>,
    /// 95 %, for one look.
    pub ci_lower: Option<f64>,
    pub ci_upper: Option<f64>,
    /// 95 % over all looks together.
    pub always_valid_lower: Option<f64>,
    pub always_valid_upper: Option<f64>,
    /// Reason why there is no effect yet.
    pub null_reason: Option<NullReason>,
    pub e_value: f64,
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

/// An effect with the playbook that it is of.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ListedEffect {
    #[serde(flatten)]
    pub effect: Effect,
    pub playbook_name: String,
    pub agent_version: String,
    /// Null if the playbook was deleted.
    pub playbook_status: Option<PlaybookStatus>,
    pub content: String,
}

/// Filter of effects. `None` means any.
#[derive(Clone, Debug, Default)]
pub struct EffectsFilter {
    pub agent_version: Option<String>,
    /// The source of sessions that count.
    pub source: Option<String>,
    pub state: Option<TrialState>,
}

/// Effects of all playbooks that are or were on trial, the best first; those without an effect last.
pub async fn list(app: &App, org_id: &OrgId, filter: EffectsFilter) -> Result<Vec<ListedEffect>> {
    let input = (org_id.to_owned(), filter.source);
    let (trials, mut named) = app
        .db
        .read_standby("trials.effects", input, |tx, (org_id, source)| {
            Box::pin(async move {
                let trials = sql::trials(tx, org_id, source.as_deref()).await?;
                Ok((trials, sql::playbooks(tx, org_id).await?))
            })
        })
        .await?;
    let listed = effects(&trials, app.clock.now()).into_iter().map(|effect| {
        let playbook = named.remove(&effect.agent_playbook_id).unwrap_or_default();
        ListedEffect {
            effect,
            playbook_name: playbook.playbook_name,
            agent_version: playbook.agent_version,
            playbook_status: playbook.playbook_status,
            content: playbook.content,
        }
    });
    let passes = |listed: &ListedEffect| {
        filter.agent_version.as_ref().is_none_or(|version| *version == listed.agent_version)
            && filter.state.is_none_or(|state| state == listed.effect.state)
    };
    Ok(listed.filter(passes).collect())
}
