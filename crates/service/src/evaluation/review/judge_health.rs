//! Health of the judge: its model, pauses, recent decisions and failure reasons.

use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::learned::{self, Models};
use crate::evaluation::results::decisions::EvaluationDecision;
use crate::evaluation::sql;
use crate::organization;
use base::owner::OrgId;
use judge::JudgeState;
use storage::error::Result;

/// Length of the window of recent decisions.
const WINDOW_SECONDS: i64 = 7 * 86_400;
/// Failure reasons that are listed.
const REASONS: i64 = 10;

base::vocabulary! {
    /// Running state of the judge.
    pub enum JudgeActivity {
        Running = "running",
        Paused = "paused",
    }
}

/// The judge at a glance.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JudgeHealth {
    /// The judge of the next session: `rules`, `learned/` and the number of the learned judge, or provider/model.
    pub judge: String,
    /// No model of a provider is configured.
    pub offline: bool,
    pub state: JudgeActivity,
    /// Reason for the pause, in words.
    pub paused_reason: Option<String>,
    pub paused_since: Option<i64>,
    /// Calls under way in this process.
    pub calls_under_way: usize,
    /// US dollars this process spent today (UTC).
    pub spent_today_usd: f64,
    /// 0 means no limit.
    pub daily_budget_usd: f64,
    /// The newest decision of every session decided in the last seven days, by kind.
    pub decisions: Vec<DecisionCount>,
    /// Reasons for missing verdicts in these seven days, most frequent first.
    pub reasons: Vec<ReasonCount>,
}

#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct DecisionCount {
    pub decision: EvaluationDecision,
    pub count: i64,
}

#[derive(Clone, Debug, Serialize, sqlx_macros::FromRow, ToSchema)]
pub struct ReasonCount {
    pub decision: EvaluationDecision,
    pub reason: String,
    pub count: i64,
}

pub async fn judge_health(app: &App, org_id: &OrgId) -> Result<JudgeHealth> {
    let input = (org_id.to_owned(), app.clock.now() - WINDOW_SECONDS);
    let (decisions, reasons, config, model) = app
        .db
        .read("evaluation.judge_health", input, |tx, (org_id, since)| {
            Box::pin(async move {
                let decisions = sql::decision_counts(tx, org_id, *since).await?;
                let reasons = sql::undecided_reasons(tx, org_id, *since, REASONS).await?;
                let config = organization::config_in(tx, org_id).await?.config;
                let model = learned::sql::current_number(tx, org_id).await?;
                Ok((decisions, reasons, config, model))
            })
        })
        .await?;
    let (state, paused_reason, paused_since) = match app.judge.state() {
        JudgeState::Running => (JudgeActivity::Running, None, None),
        JudgeState::Paused { reason, since } => {
            (JudgeActivity::Paused, Some(reason.to_string()), Some(since))
        }
    };
    Ok(JudgeHealth {
        judge: Models::choose(app, org_id, &config, model).await?.label().to_owned(),
        offline: app.judge.is_offline(),
        state,
        paused_reason,
        paused_since,
        calls_under_way: app.judge.in_use(),
        spent_today_usd: app.judge.spent_today(),
        daily_budget_usd: app.settings.judge.daily_budget_usd,
        decisions,
        reasons,
    })
}
