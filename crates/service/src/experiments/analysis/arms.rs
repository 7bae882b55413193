//! The users of an experiment by arm, and the documented numbers of an arm.

use serde::Serialize;
use utoipa::ToSchema;

use super::Sample;
use crate::experiments::Arm;
use crate::experiments::part::shown_by_name;
use crate::experiments::sums::UserSums;
use stats::{self, UserSum};

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RetrievalExperimentArmMetrics {
    pub arm: Arm,
    /// Users with requests stored under this arm.
    pub assigned_user_count: u64,
    /// Sessions with requests stored under this arm.
    pub published_session_count: u64,
    pub evaluated_user_count: u64,
    pub evaluated_session_count: u64,
    /// From 0 to 1.
    pub success_rate: Option<f64>,
    pub average_corrections: Option<f64>,
    pub average_turns_to_resolution: Option<f64>,
    /// From 0 to 1.
    pub escalation_rate: Option<f64>,
    /// Per published session with complete token counts.
    pub average_output_tokens: Option<f64>,
    pub output_token_session_count: u64,
    /// Of the sessions that were due, the share with a verdict, from 0 to 1; null if none was due.
    pub judged_share: Option<f64>,
}

shown_by_name!(RetrievalExperimentArmMetrics);

/// The users of one arm.
pub struct ArmUsers<'a> {
    pub arm: Arm,
    /// Users who belong to this arm and no other.
    pub users: Vec<&'a UserSums>,
    /// Users who were exposed, whose searches found something, who published.
    pub exposed: u64,
    pub triggered: u64,
    pub assigned: u64,
    pub published: u64,
    /// Published sessions that sampling left out.
    pub sampled_out: u64,
    /// Published sessions that were due and have no verdict.
    pub without_verdict: u64,
    pub tokens: stats::Arm,
    /// Sessions that count, by success and by the other outcomes.
    pub outcome: stats::Arm,
    pub corrections: stats::Arm,
    pub turns: stats::Arm,
    pub escalations: stats::Arm,
}

impl<'a> ArmUsers<'a> {
    pub fn of(sample: &'a Sample, arm: Arm) -> Self {
        let i = arm.index();
        let count = |has: fn(&UserSums, usize) -> bool| {
            sample.users().filter(|user| has(user, i)).count() as u64
        };
        let total =
            |number: fn(&UserSums, usize) -> u64| sample.users().map(|user| number(user, i)).sum();
        let users: Vec<&UserSums> = sample.users().filter(|user| user.arm() == Some(arm)).collect();
        Self {
            arm,
            exposed: count(|user, i| user.exposed[i] > 0),
            triggered: count(|user, i| user.triggered_user[i] > 0),
            assigned: count(|user, i| user.published[i] > 0),
            published: total(|user, i| user.published[i]),
            sampled_out: total(|user, i| user.sampled_out[i]),
            without_verdict: total(|user, i| user.without_verdict[i]),
            tokens: sample
                .users()
                .map(|user| UserSum { sessions: user.token_sessions[i], total: user.tokens[i] })
                .collect(),
            outcome: by(&users, UserSums::outcome),
            corrections: by(&users, |user| UserSum { total: user.corrections, ..user.outcome() }),
            turns: by(&users, |user| UserSum { sessions: user.turn_sessions, total: user.turns }),
            escalations: by(&users, |user| UserSum { total: user.escalations, ..user.outcome() }),
            users,
        }
    }

    /// The sessions whose searches found something, by success.
    pub fn found_something(&self) -> stats::Arm {
        by(&self.users, |user| user.triggered)
    }

    #[allow(clippy::cast_precision_loss)] // numbers of sessions
    fn judged_share(&self) -> Option<f64> {
        let judged = self.outcome.session_count();
        let due = judged + self.without_verdict;
        (due > 0).then(|| judged as f64 / due as f64)
    }

    pub fn metrics(&self) -> RetrievalExperimentArmMetrics {
        RetrievalExperimentArmMetrics {
            arm: self.arm,
            assigned_user_count: self.assigned,
            published_session_count: self.published,
            evaluated_user_count: self.outcome.user_count() as u64,
            evaluated_session_count: self.outcome.session_count(),
            success_rate: self.outcome.mean().ok(),
            average_corrections: self.corrections.mean().ok(),
            average_turns_to_resolution: self.turns.mean().ok(),
            escalation_rate: self.escalations.mean().ok(),
            average_output_tokens: self.tokens.mean().ok(),
            output_token_session_count: self.tokens.session_count(),
            judged_share: self.judged_share(),
        }
    }
}

/// Sessions by an outcome.
fn by(users: &[&UserSums], outcome: fn(&UserSums) -> UserSum) -> stats::Arm {
    users.iter().map(|user| outcome(user)).collect()
}
