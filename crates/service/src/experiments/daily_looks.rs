//! The lift as it was seen day by day: the last look of every day while an experiment runs.

use super::analysis::Analysis;
use super::part::{Pair, part};

/// Days that are answered, the newest: more than an experiment takes.
pub const MOST_DAYS: i64 = 400;

const DAY: i64 = 86_400;

/// A look as it is stored, in percentage points.
#[derive(Clone, Copy, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct DailyLook {
    /// The day's begin (UTC).
    pub day: i64,
    pub lift: f64,
    /// The always-valid interval of this look; null with too few users.
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    pub treatment_users: i64,
    pub holdout_users: i64,
}

part! {
    /// The last look of a day at an experiment.
    pub struct ExperimentLook {
        /// The day's begin (UTC).
        pub day: i64,
        pub lift_pp: f64,
        /// The always-valid interval as it was then; null with too few users.
        pub always_valid_interval_pp: Option<Pair>,
        /// Users with a judged session.
        pub treatment_users: i64,
        pub holdout_users: i64,
    }
}

impl DailyLook {
    /// Today's look, if there is a lift to be seen.
    pub fn of(found: &Analysis) -> Option<Self> {
        let interval = found.always_valid.as_ref().ok().and_then(|lift| lift.interval_pp.ok());
        let users = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        Some(DailyLook {
            day: found.analysis.as_of.div_euclid(DAY) * DAY,
            lift: found.success_rate_lift_percentage_points?,
            lower: interval.map(|[lower, _]| lower),
            upper: interval.map(|[_, upper]| upper),
            treatment_users: users(found.treatment.evaluated_user_count),
            holdout_users: users(found.holdout.evaluated_user_count),
        })
    }

    pub fn shown(&self) -> ExperimentLook {
        ExperimentLook {
            day: self.day,
            lift_pp: self.lift,
            always_valid_interval_pp: self.lower.zip(self.upper).map(|(l, u)| [l, u]),
            treatment_users: self.treatment_users,
            holdout_users: self.holdout_users,
        }
    }
}

/// Puts today's look in the place of an earlier one of the same day; true if that changes anything.
pub fn add(history: &mut Vec<DailyLook>, today: DailyLook) -> bool {
    let before = history.last().copied().filter(|last| last.day == today.day);
    if before == Some(today) {
        return false;
    }
    if before.is_some() {
        history.pop();
    }
    history.push(today);
    true
}
