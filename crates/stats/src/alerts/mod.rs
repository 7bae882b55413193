//! Is it worse than the four weeks before? A test that may be looked at every hour, for ever.
//!
//! A rule watches the mean of a number per session: success (0 or 1), corrections, turns, a score. Sessions come
//! as sums by hour and by [32 groups of users](crate::grouped). Every day a window begins, and more of them every
//! three hours; each grows with time and is compared with the four weeks before its day, with the same days of
//! the week and hours of the day (`window.rs`). Each has an e-value for "worse by more than a third of the
//! smallest change". Their weighted sum is the statistic of Shiryaev and Roberts made of e-values (Shin, Ramdas
//! and Rinaldo, 2023, "E-detectors"): as the weights of a day add up to 1, the chance that it reaches
//! `60/α` within sixty days is at most `α` as long as nothing got worse.
//!
//! Users are the unit: how much a mean can be relied on is seen from how groups of users differ, and a drop has
//! to be there without any one of the groups too, so that no single user causes an alert.
//!
//! A judgement is a function of the sums and of a [`Watch`] of two times, which says whether an alert is open.

mod baseline;
mod history;
#[cfg(test)]
mod tests;
mod watcher;
mod window;

pub use baseline::{BASELINE_DAYS, SMALLEST_DAYS};
pub use history::{Block, DAY, HOUR};
pub use watcher::Watcher;
pub use window::TOLERATED;

use crate::interval::Interval;
use crate::reason::{Defined, NullReason};

/// The days that the chance of a false alarm is about.
pub const HORIZON_DAYS: f64 = 60.0;
/// How far back a judgement looks: windows of up to four weeks, and the four weeks before them.
pub const HISTORY_DAYS: i64 = 2 * BASELINE_DAYS;

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Success, a score.
    MoreIsBetter,
    /// Corrections, turns, escalations.
    LessIsBetter,
}

impl Direction {
    fn sign(self) -> f64 {
        match self {
            Self::MoreIsBetter => 1.0,
            Self::LessIsBetter => -1.0,
        }
    }
}

/// The smallest change that is worth an alert, above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Smallest {
    /// In the unit of the metric; .03 of a success rate are three points.
    Absolute(f64),
    /// As a share of the mean of the four weeks before, for metrics without a natural scale.
    ShareOfMean(f64),
}

impl Smallest {
    fn of(self, mean: f64) -> f64 {
        match self {
            Self::Absolute(change) => change,
            Self::ShareOfMean(share) => share * mean.abs(),
        }
    }

    fn is_valid(self) -> bool {
        let (Self::Absolute(size) | Self::ShareOfMean(size)) = self;
        size.is_finite() && size > 0.0
    }
}

/// Parameters of a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Which way is worse.
    pub direction: Direction,
    /// Smaller changes raise no alert.
    pub smallest: Smallest,
    /// Hours at the end that are not looked at yet, because verdicts on failures may come sooner than on
    /// successes, or the other way round.
    pub settling_hours: u32,
    /// The chance of a false alarm in sixty days, between 0 and 1.
    pub false_alarms: f64,
}

impl Settings {
    /// Three points of a rate, two hours, 3 %.
    pub const SUCCESS: Self = Self {
        direction: Direction::MoreIsBetter,
        smallest: Smallest::Absolute(0.03),
        settling_hours: 2,
        false_alarms: 0.03,
    };
    /// A tenth more of what should be little, two hours, 3 %.
    pub const EFFORT: Self = Self {
        direction: Direction::LessIsBetter,
        smallest: Smallest::ShareOfMean(0.1),
        ..Self::SUCCESS
    };

    /// The e-value at which a change is called.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        HORIZON_DAYS / self.false_alarms
    }

    /// The hour until which sums are looked at.
    #[must_use]
    pub fn until(&self, now: i64) -> i64 {
        now - now.rem_euclid(HOUR) - i64::from(self.settling_hours) * HOUR
    }

    /// The time from which on sums have to be given.
    #[must_use]
    pub fn from(&self, now: i64) -> i64 {
        let until = self.until(now);
        until - until.rem_euclid(DAY) - (HISTORY_DAYS + 1) * DAY
    }
}

/// State of a rule between two judgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// No alert is open.
    Armed {
        /// Drops that began before are not looked for: when the rule was made, or the last episode ended.
        from: i64,
    },
    /// An alert was raised and is not over.
    Worse {
        /// When the drop began, as far as can be told.
        since: i64,
        /// The hour until which there were sums when it was raised.
        noticed: i64,
    },
}

base::vocabulary! {
    /// How a rule stands.
    pub enum AlertState {
        /// The four weeks before have too few days or users.
        Collecting = "collecting",
        /// Nothing is known to be worse.
        Quiet = "quiet",
        /// It got worse: an episode begins, which is told once.
        Worse = "worse",
        /// The episode goes on.
        StillWorse = "still_worse",
        /// As good as before the episode, which ends.
        Recovered = "recovered",
        /// Four weeks have passed: from now on this is what the four weeks before were like. The episode ends.
        Settled = "settled",
    }
}

/// A change since some time, in the unit and direction of the metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The mean to be expected from the four weeks before, of the same weekdays and hours.
    pub before: f64,
    /// The mean since then.
    pub now: f64,
    /// The mean since then minus what was to be expected.
    pub change: f64,
    /// Its 95 % interval, which holds at all looks at this start together.
    pub interval: Interval,
    /// Sessions since then, in the unit of the sums.
    pub sessions: f64,
}

/// The answer at some hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// How the rule stands.
    pub state: AlertState,
    /// Why it is collecting.
    pub reason: Option<NullReason>,
    /// The hour until which sums were looked at.
    pub until: i64,
    /// When the episode began, as far as can be told; none outside of one.
    pub since: Option<i64>,
    /// The change since then.
    pub change: Option<Change>,
    /// The evidence that it got worse; 0 during an episode.
    pub e_value: f64,
    /// It is called worse when the evidence reaches this.
    pub threshold: f64,
    /// State to keep for the next judgement.
    pub watch: Watch,
}

/// Judges a rule at some time, from sums since [`Settings::from`] in any order and the [`Watch`] that the last
/// judgement left.
///
/// Without an open alert, the windows that began since the rule was armed are looked at; when their evidence
/// reaches the threshold, the state is [`AlertState::Worse`], once. From then on the last days are compared with
/// the four weeks before that episode, until they are as good again, or four weeks have passed.
///
/// Only whole hours count, so that the answer changes once an hour, or when sums of the past do. Null if the
/// settings are out of range.
pub fn judge_change(
    blocks: &[Block],
    now: i64,
    watch: Watch,
    settings: &Settings,
) -> Defined<Judgement> {
    let mut watcher = Watcher::new(*settings)?;
    watcher.add(blocks);
    Ok(watcher.judge(now, watch))
}
