//! How alike the arms were before: the thirty days before each user's first exposure. Shown, never an alarm.

use super::Arms;
use crate::experiments::part::{Pair, pair, pair_points, part, points};
use crate::experiments::sums::UserSums;
use stats::distributions::normal_critical_value;
use stats::pooled::PooledDifference;
use stats::{ALPHA, CiMethod, Comparison, Defined, NullReason, UserSum};

part! {
    /// The arms before first exposure, when nothing could differ but by chance.
    pub struct ExperimentBalance {
        /// Success rate, from 0 to 1; its difference in points.
        pub success_rate: ArmDifference,
        pub sessions_per_user: ArmDifference,
        pub corrections_per_session: ArmDifference,
    }
}

part! {
    /// A number of both arms.
    pub struct ArmDifference {
        pub treatment: Defined<f64>,
        pub holdout: Defined<f64>,
        pub difference: Defined<f64>,
        pub interval_95: Defined<Pair>,
    }
}

pub fn balance(arms: &Arms<'_>) -> ExperimentBalance {
    let both = |of_user: fn(&UserSums) -> UserSum| {
        [&arms.treatment, &arms.holdout]
            .map(|arm| arm.users.iter().map(|user| of_user(user)).collect::<stats::Arm>())
    };
    let [treatment, holdout] = both(|user| user.before);
    let comparison = Comparison::new(&treatment, &holdout);
    let interval = comparison.interval(CiMethod::ClusteredNewcombe);
    let success_rate = ArmDifference {
        treatment: treatment.mean(),
        holdout: holdout.mean(),
        difference: points(comparison.lift()),
        interval_95: pair_points(interval),
    };
    ExperimentBalance {
        success_rate,
        sessions_per_user: difference(both(|user| UserSum {
            sessions: 1,
            total: i64::try_from(user.before.sessions).unwrap_or(i64::MAX),
        })),
        corrections_per_session: difference(both(|user| UserSum {
            sessions: user.before.sessions,
            total: user.before_corrections,
        })),
    }
}

fn difference([treatment, holdout]: [stats::Arm; 2]) -> ArmDifference {
    let comparison = Comparison::new(&treatment, &holdout);
    let pooled = PooledDifference::of(&comparison);
    let interval = pooled.map(|pooled| pooled.interval(normal_critical_value(ALPHA / 2.0)));
    let interval = interval
        .and_then(|ends| if ends.width() > 0.0 { Ok(ends) } else { Err(NullReason::ZeroVariance) });
    ArmDifference {
        treatment: treatment.mean(),
        holdout: holdout.mean(),
        difference: comparison.lift(),
        interval_95: pair(interval),
    }
}
