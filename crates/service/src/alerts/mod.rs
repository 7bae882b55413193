//! Alerts: rules that watch a metric, and say when it is worse than in the four weeks before, as far as can be known.
//!
//! - Every hour each rule is judged from the sums of the overview ([`stats::alerts`]); how it stands is stored with it.
//! - An alert is raised once, and cleared once, in the transaction that stores the judgement; webhooks that ask for
//!   `alert.raised` and `alert.cleared` are told in the same one.
//! - A rule keeps two times, no numbers of its own: new verdicts on the past and erasures change the next answer.

pub mod http;
mod job;
mod look;
mod rules;
mod sql;

use std::sync::Arc;

use serde::Serialize;
use stats::alerts::{AlertState, Direction, Settings, Smallest, Watch};
use stats::reason::NullReason;
use utoipa::ToSchema;

use crate::app::App;
use crate::evaluation::overview::SessionMetric;
use storage::jobs::Handler;

pub use rules::{NewRule, RuleChange, change, create, list, remove};

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![Arc::new(job::EvaluateAlerts)]
}

/// A stored rule.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Rule {
    pub rule_id: String,
    pub name: String,
    pub metric: SessionMetric,
    pub source: Option<String>,
    pub agent_version: Option<String>,
    /// Points of a rate, or per cent of the mean of a count.
    pub smallest_change: f64,
    pub enabled: bool,
    pub created_at: i64,
    pub state: AlertState,
    pub reason: Option<NullReason>,
    /// The hour until which sums were looked at; 0 before the first look.
    pub looked_until: i64,
    pub evidence: f64,
    armed_from: Option<i64>,
    worse_since: Option<i64>,
    noticed_at: Option<i64>,
}

/// The smallest change that is worth an alert when a rule does not say.
pub fn usual_smallest_change(metric: SessionMetric) -> f64 {
    if is_rate(metric) { 3.0 } else { 10.0 }
}

/// True if the metric is a share of sessions, false if it is a mean of counts.
fn is_rate(metric: SessionMetric) -> bool {
    match metric {
        SessionMetric::SuccessRate
        | SessionMetric::EscalationRate
        | SessionMetric::SystemErrorRate => true,
        SessionMetric::Corrections | SessionMetric::TurnsToResolution => false,
    }
}

impl Rule {
    fn settings(&self) -> Settings {
        let size = self.smallest_change / 100.0;
        Settings {
            direction: match self.metric {
                SessionMetric::SuccessRate => Direction::MoreIsBetter,
                _ => Direction::LessIsBetter,
            },
            smallest: match is_rate(self.metric) {
                true => Smallest::Absolute(size),
                false => Smallest::ShareOfMean(size),
            },
            ..Settings::SUCCESS
        }
    }

    fn watch(&self) -> Watch {
        match (self.worse_since, self.noticed_at) {
            (Some(since), Some(noticed)) => Watch::Worse { since, noticed },
            _ => Watch::Armed { from: self.armed_from.unwrap_or(self.created_at) },
        }
    }

    fn set_watch(&mut self, watch: Watch) {
        let (armed_from, worse_since, noticed_at) = match watch {
            Watch::Armed { from } => (Some(from), None, None),
            Watch::Worse { since, noticed } => (None, Some(since), Some(noticed)),
        };
        self.armed_from = armed_from;
        self.worse_since = worse_since;
        self.noticed_at = noticed_at;
    }

    /// The rule without a past: looks for changes that begin from now on.
    fn arm(&mut self, now: i64) {
        self.state = AlertState::Collecting;
        self.reason = None;
        self.looked_until = 0;
        self.evidence = 0.0;
        self.set_watch(Watch::Armed { from: now });
    }
}

/// An episode: from the look that raised the alert to the one that cleared it.
#[derive(Clone, Debug, Serialize, ToSchema, sqlx_macros::FromRow)]
#[schema(as = AlertEpisode)]
pub struct Episode {
    pub raised_at: i64,
    /// When it got worse, as far as can be told.
    pub worse_since: i64,
    /// null while it goes on.
    pub cleared_at: Option<i64>,
    /// `recovered`, `settled` (four weeks have passed), or `withdrawn` (the rule was changed); null while it goes on.
    pub cleared_as: Option<String>,
    /// The mean to be expected from the four weeks before, and the mean since then, when it was raised.
    pub mean_before: f64,
    pub mean_since: f64,
    pub difference: f64,
    /// 95 % over all looks together.
    pub ci_lower: f64,
    pub ci_upper: f64,
    pub sessions: f64,
}
