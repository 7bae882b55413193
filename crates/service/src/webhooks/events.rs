//! The messages: what each event carries, and the sentence that stands for it in a chat or an e-mail.

use serde::Serialize;
use serde_json::json;

use super::{EventType, WebhookFormat};
use base::owner::OrgId;

/// Something that happened. The fields are the `data` of its message: ids and numbers only.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Event {
    SessionFailed {
        session_id: String,
        agent_version: String,
        /// Cause, where the judge named one.
        failure_type: Option<&'static str>,
    },
    RegenerationDone {
        job_id: String,
        status: &'static str,
        total: i64,
        completed: i64,
        failed: i64,
        cost_usd: f64,
    },
    ExperimentDecided {
        experiment_id: String,
        decision: &'static str,
        success_rate_lift_percentage_points: Option<f64>,
    },
    ExperimentUnhealthy {
        experiment_id: String,
        problem_count: usize,
    },
    PlaybookHelps(TrialNews),
    PlaybookHurts(TrialNews),
    JudgePaused {
        reason: &'static str,
    },
    BudgetReached {
        daily_budget_usd: f64,
    },
    AlertRaised(AlertNews),
    AlertCleared(AlertNews),
    Test {
        webhook_id: String,
    },
}

/// The trial of a playbook: success with it minus success without it, in percentage points.
#[derive(Clone, Debug, Serialize)]
pub struct TrialNews {
    pub agent_playbook_id: i64,
    pub effect: Option<f64>,
    pub always_valid_lower: Option<f64>,
    pub always_valid_upper: Option<f64>,
    pub served_users: u64,
    pub withheld_users: u64,
}

/// An episode of an alert's rule. The numbers are those of the look that raised it.
#[derive(Clone, Debug, Serialize)]
pub struct AlertNews {
    pub rule_id: String,
    pub rule_name: String,
    pub metric: &'static str,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// When it got worse, as far as can be told.
    pub worse_since: i64,
    pub mean_before: f64,
    pub mean_since: f64,
    pub difference: f64,
    /// 95 %, over all looks together.
    pub ci_lower: f64,
    pub ci_upper: f64,
    pub sessions: f64,
    /// `recovered` or `settled` when it is over.
    pub cleared_as: Option<&'static str>,
}

impl AlertNews {
    /// The metric and the sessions it is of.
    fn watched(&self) -> String {
        let source = self.source.iter().map(|source| format!(", source {source}"));
        let version = self.agent_version.iter().map(|version| format!(", version {version}"));
        let metric = self.metric.replace('_', " ");
        source.chain(version).fold(metric, |all, part| all + &part)
    }
}

impl Event {
    pub fn kind(&self) -> EventType {
        match self {
            Event::SessionFailed { .. } => EventType::SessionFailed,
            Event::RegenerationDone { .. } => EventType::RegenerationDone,
            Event::ExperimentDecided { .. } => EventType::ExperimentDecided,
            Event::ExperimentUnhealthy { .. } => EventType::ExperimentUnhealthy,
            Event::PlaybookHelps(_) => EventType::PlaybookHelps,
            Event::PlaybookHurts(_) => EventType::PlaybookHurts,
            Event::JudgePaused { .. } => EventType::JudgePaused,
            Event::BudgetReached { .. } => EventType::BudgetReached,
            Event::AlertRaised(_) => EventType::AlertRaised,
            Event::AlertCleared(_) => EventType::AlertCleared,
            Event::Test { .. } => EventType::Test,
        }
    }

    /// The body of its message in a format; of an e-mail, the text.
    pub(super) fn body(&self, format: WebhookFormat, org_id: &OrgId, now: i64) -> String {
        match format {
            WebhookFormat::Standard => {
                let timestamp = jiff::Timestamp::from_second(now).unwrap_or_default();
                json!({"type": self.kind(), "timestamp": timestamp, "data": self}).to_string()
            }
            WebhookFormat::Slack => {
                json!({"text": format!("Evenhand ({org_id}): {}", self.sentence())}).to_string()
            }
            WebhookFormat::Email => self.sentence(),
        }
    }

    /// The event for people.
    fn sentence(&self) -> String {
        match self {
            Event::SessionFailed { session_id, agent_version, failure_type } => {
                let cause = failure_type
                    .map_or_else(String::new, |cause| format!(": {}", cause.replace('_', " ")));
                format!(
                    "Session {session_id} of version {agent_version} was judged a failure{cause}."
                )
            }
            Event::RegenerationDone { status, total, completed, failed, cost_usd, .. } => format!(
                "A regeneration has ended ({status}): {completed} of {total} sessions judged, {failed} failed, \
                 {cost_usd:.2} US dollars."
            ),
            Event::ExperimentDecided {
                experiment_id,
                decision,
                success_rate_lift_percentage_points,
            } => {
                let lift = success_rate_lift_percentage_points
                    .map_or_else(String::new, |lift| format!(", a lift of {lift:+.1} points"));
                format!(
                    "Experiment {experiment_id} has an answer: {}{lift}.",
                    decision.replace('_', " ")
                )
            }
            Event::ExperimentUnhealthy { experiment_id, problem_count } => {
                format!(
                    "Experiment {experiment_id} is unhealthy: {problem_count} problem(s) found."
                )
            }
            Event::PlaybookHelps(news) => {
                format!("Playbook {} helps{}.", news.agent_playbook_id, news.by())
            }
            Event::PlaybookHurts(news) => {
                format!("Playbook {} hurts{}.", news.agent_playbook_id, news.by())
            }
            Event::JudgePaused { reason } => {
                format!("The judge is paused: {}.", reason.replace('_', " "))
            }
            Event::BudgetReached { daily_budget_usd } => format!(
                "The judge's budget of {daily_budget_usd:.2} US dollars a day is spent; it goes on tomorrow (UTC)."
            ),
            Event::AlertRaised(news) => format!(
                "{}: {} is worse than in the four weeks before: {:.3} instead of {:.3} ({:+.3}, 95 % {:+.3} to {:+.3}), \
                 {:.0} sessions.",
                news.rule_name,
                news.watched(),
                news.mean_since,
                news.mean_before,
                news.difference,
                news.ci_lower,
                news.ci_upper,
                news.sessions
            ),
            Event::AlertCleared(news) => {
                format!("{}: {} is no longer worse.", news.rule_name, news.watched())
            }
            Event::Test { .. } => "This is a test of a webhook.".to_owned(),
        }
    }
}

impl TrialNews {
    fn by(&self) -> String {
        self.effect.map_or_else(String::new, |effect| format!(" by {effect:+.1} points of success"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_type_its_time_and_its_data() {
        let event = Event::BudgetReached { daily_budget_usd: 5.0 };
        let org = OrgId::from("default");
        let body = event.body(WebhookFormat::Standard, &org, 1_768_478_400);
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        let data = json!({"daily_budget_usd": 5.0});
        let time = "2026-01-15T12:00:00Z";
        assert_eq!(body, json!({"type": "judge.budget_reached", "timestamp": time, "data": data}));
        let chat = event.body(WebhookFormat::Slack, &org, 0);
        assert!(
            chat.starts_with(r#"{"text":"Evenhand (default): The judge's budget of 5.00"#),
            "{chat}"
        );
    }
}
