//! Verdicts hour by hour and by group of users, for those who watch a metric.

use std::collections::BTreeMap;

use super::numbers::{WEIGHT, weight};
use super::sql::{self, HOUR, VerdictLine, place};
use super::windows::{Span, ranges, ranges_of_whole};
use base::owner::OrgId;
use stats::alerts::Block;
use storage::db::Tx;
use storage::error::Result;

base::vocabulary! {
    /// A number that judged sessions have.
    pub enum SessionMetric {
        /// Share of sessions that succeeded.
        SuccessRate = "success_rate",
        /// Corrections per session.
        Corrections = "corrections",
        /// Turns of the user until a session succeeded.
        TurnsToResolution = "turns_to_resolution",
        /// Share of sessions that were handed to a person.
        EscalationRate = "escalation_rate",
        /// Share of sessions that failed by an error of the system.
        SystemErrorRate = "system_error_rate",
    }
}

impl SessionMetric {
    /// Sessions that have the number, and its sum, of the sums of a group.
    fn sums(self, group: &[i64; 7]) -> (i64, i64) {
        match self {
            SessionMetric::SuccessRate => (group[place::N], group[place::SUCCESSES]),
            SessionMetric::Corrections => (group[place::N], group[place::CORRECTIONS]),
            SessionMetric::TurnsToResolution => (group[place::TURNS_N], group[place::TURNS]),
            SessionMetric::EscalationRate => (group[place::N], group[place::ESCALATIONS]),
            SessionMetric::SystemErrorRate => (group[place::N], group[place::SYSTEM_ERRORS]),
        }
    }
}

/// Sessions that began from one whole hour to before another, of one source or version of the agent, or of all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HourQuery {
    pub from: i64,
    pub to: i64,
    pub source: Option<String>,
    pub agent_version: Option<String>,
}

/// Sums of verdicts by hour, each verdict weighted by the inverse of the chance that its session had to be judged.
#[derive(Clone, Debug, Default)]
pub struct Hours {
    weighted: BTreeMap<i64, VerdictLine>,
    only_rules: bool,
}

impl Hours {
    pub async fn read(tx: &mut Tx, org_id: &OrgId, query: &HourQuery) -> Result<Self> {
        const ALL: i64 = 1;
        let window = [(ALL, Span { low: query.from, high: query.to })];
        let ranges = match (&query.source, &query.agent_version) {
            (None, None) => ranges_of_whole(&window, HOUR),
            _ => ranges(&window, HOUR),
        };
        let lines = sql::hours(tx, org_id, &ranges, query.agent_version.as_deref()).await?;
        let (mut weighted, mut verdicts, mut by_rules) = (BTreeMap::new(), 0, 0);
        for (share, line) in lines.of_window(ALL) {
            if query.source.as_ref().is_some_and(|source| *source != line.source) {
                continue;
            }
            verdicts += share * line.n;
            by_rules += share * line.by_rules;
            let hour: &mut VerdictLine = weighted.entry(line.start).or_default();
            hour.add(share * weight(line.chance), line);
        }
        Ok(Hours { weighted, only_rules: verdicts > 0 && by_rules == verdicts })
    }

    /// True if every verdict is one of the rules on their own: they see failures, and hardly a success.
    pub fn only_rules(&self) -> bool {
        self.only_rules
    }

    /// A metric's sums by hour and group.
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    pub fn blocks(&self, metric: SessionMetric) -> Vec<Block> {
        let block = |(start, hour): (&i64, &VerdictLine)| Block {
            time: *start,
            sums: hour.groups.sums(WEIGHT as f64, |group| metric.sums(group)),
        };
        self.weighted.iter().map(block).collect()
    }
}
