//! The lift, how sure it is, and whether it hangs on a few users.

use super::breakdown::{self, Reassignment};
use super::{Arms, Design};
use crate::experiments::looks::Looks;
use crate::experiments::part::{Pair, pair, pair_points, part, points};
use crate::experiments::sums::UserSums;
use stats::always_valid::{AlwaysValid, Look};
use stats::cuped::{Ancova, UserHistory};
use stats::robustness::{influence, user_weighted};
use stats::user_equal::UserEqual;
use stats::{self, CiMethod, Comparison, Defined, NullReason, Variance};

const ESTIMAND: &str = "The difference in success rate per session between users with retrieval and users held out \
    from it, while both keep publishing and feeding learning: the effect of handing over what was learned, from \
    everybody, to users of treatment.";

part! {
    /// Statistical inference on the lift.
    pub struct ExperimentInference {
        /// The quantity that the lift estimates, for people.
        pub estimand: &'static str,
        /// Of `confidence_interval_95_percentage_points`.
        pub ci_method: CiMethod,
        /// Of `success_rate_lift_percentage_points`.
        pub lift_null_reason: Option<NullReason>,
        /// Of `relative_success_lift`.
        pub relative_lift_null_reason: Option<NullReason>,
        /// Of `confidence_interval_95_percentage_points`.
        pub interval_null_reason: Option<NullReason>,
        pub standard_error_pp: StandardErrors,
        /// After Bell and McCaffrey.
        pub degrees_of_freedom: Defined<f64>,
        pub p_value: Defined<f64>,
        pub cr2_p_value: Defined<f64>,
        pub intervals_95_pp: LiftIntervals,
        pub relative_interval_95: Defined<Pair>,
        pub effective_sample_size: NumberByArm,
        /// Factor by which the clustering of sessions in users raises the number of sessions needed.
        pub design_effect: NumberByArm,
        pub effective_users: NumberByArm,
    }
}

part! {
    /// Standard errors of the lift, by estimator.
    pub struct StandardErrors {
        pub cr0: Defined<f64>,
        pub cr1: Defined<f64>,
        pub cr2: Defined<f64>,
        pub cr3: Defined<f64>,
        pub delta: Defined<f64>,
    }
}

part! {
    /// The interval of the lift by every method.
    pub struct LiftIntervals {
        pub clustered_newcombe_tbm: Defined<Pair>,
        pub cr2_bell_mccaffrey: Defined<Pair>,
        pub cr1_t_clusters_minus_1: Defined<Pair>,
        pub delta_welch: Defined<Pair>,
        pub newcombe_neff: Defined<Pair>,
    }
}

part! {
    /// A number of each arm.
    pub struct NumberByArm {
        pub treatment: Defined<f64>,
        pub holdout: Defined<f64>,
    }
}

part! {
    /// The lift in a way that may be read every day.
    pub struct AlwaysValidLift {
        pub interval_pp: Defined<Pair>,
        pub p_value: f64,
        /// Intersection of the intervals of all looks.
        pub running_interval_pp: Defined<Pair>,
        pub running_p_value: Defined<f64>,
        /// Number of users at which the interval is tightest.
        pub planned_users: u64,
    }
}

part! {
    /// The lift made more precise with what users did before: an analysis of covariance.
    pub struct CupedLift {
        pub lift_pp: Defined<f64>,
        pub standard_error_pp: Defined<f64>,
        pub interval_95_pp: Defined<Pair>,
        pub p_value: f64,
        pub degrees_of_freedom: f64,
        pub theta: f64,
        pub variance_reduction: f64,
        pub share_of_users_with_history: f64,
    }
}

part! {
    /// Robustness of the lift against single users.
    pub struct ExperimentRobustness {
        /// Each user counts once.
        pub user_weighted_lift_pp: Defined<f64>,
        pub user_weighted_interval_95_pp: Defined<Pair>,
        pub user_weighted_p_value: Defined<f64>,
        pub largest_leave_one_user_out_shift_pp: Defined<f64>,
        pub largest_user_share: f64,
        /// Test of no lift that assigns the users anew: it stands on the assignment alone.
        pub reassignment: Defined<Reassignment>,
        /// True if one user has so many sessions of an arm that the headline interval is widened for it.
        pub one_user_dominates: bool,
    }
}

/// Everything beside the headline.
pub fn inference(comparison: &Comparison<'_>, ci_method: CiMethod) -> ExperimentInference {
    let error = |estimator| points(comparison.standard_error(estimator));
    let interval = |method| pair_points(comparison.interval(method));
    ExperimentInference {
        estimand: ESTIMAND,
        ci_method,
        lift_null_reason: comparison.lift().err(),
        relative_lift_null_reason: comparison.relative_lift().err(),
        interval_null_reason: comparison.interval(ci_method).err(),
        standard_error_pp: StandardErrors {
            cr0: error(Variance::Cr0),
            cr1: error(Variance::Cr1),
            cr2: error(Variance::Cr2),
            cr3: error(Variance::Cr3),
            delta: error(Variance::Delta),
        },
        degrees_of_freedom: comparison.bell_mccaffrey_df(),
        p_value: comparison.p_value(),
        cr2_p_value: comparison.cr2_p_value(),
        intervals_95_pp: LiftIntervals {
            clustered_newcombe_tbm: interval(CiMethod::ClusteredNewcombe),
            cr2_bell_mccaffrey: interval(CiMethod::Cr2BellMcCaffrey),
            cr1_t_clusters_minus_1: interval(CiMethod::Cr1),
            delta_welch: interval(CiMethod::DeltaWelch),
            newcombe_neff: interval(CiMethod::NewcombeNormal),
        },
        relative_interval_95: pair(comparison.relative_interval()),
        effective_sample_size: by_arm(comparison, stats::Arm::effective_sample_size),
        design_effect: by_arm(comparison, stats::Arm::design_effect),
        effective_users: by_arm(comparison, stats::Arm::kish_effective_users),
    }
}

fn by_arm(comparison: &Comparison<'_>, value: fn(&stats::Arm) -> Defined<f64>) -> NumberByArm {
    NumberByArm { treatment: value(comparison.treatment), holdout: value(comparison.holdout) }
}

/// Looks at the experiment in a way that may be repeated every day.
pub fn look(comparison: &Comparison<'_>, design: &Design, looks: &mut Looks) -> Defined<Look> {
    let look = AlwaysValid::planned_for(design.planned_users)?.look(comparison)?;
    looks.absorb(&look);
    Ok(look)
}

pub fn always_valid(look: &Look, looks: &Looks, design: &Design) -> AlwaysValidLift {
    AlwaysValidLift {
        interval_pp: pair_points(Ok(look.interval)),
        p_value: look.p_value,
        running_interval_pp: pair_points(looks.interval()),
        running_p_value: looks.p_value(),
        planned_users: design.planned_users,
    }
}

pub fn cuped(arms: &Arms<'_>) -> Defined<CupedLift> {
    let history = |user: &&UserSums| UserHistory { during: user.outcome(), before: user.before };
    let [treatment, holdout] = [&arms.treatment, &arms.holdout]
        .map(|arm| arm.users.iter().map(history).collect::<Vec<_>>());
    let found = Ancova::of(&treatment, &holdout)?;
    Ok(CupedLift {
        lift_pp: points(Ok(found.lift)),
        standard_error_pp: points(Ok(found.standard_error)),
        interval_95_pp: pair_points(Ok(found.interval)),
        p_value: found.p_value,
        degrees_of_freedom: found.df,
        theta: found.theta,
        variance_reduction: found.variance_reduction,
        share_of_users_with_history: found.share_with_history,
    })
}

pub fn robustness(
    comparison: &Comparison<'_>,
    arms: &Arms<'_>,
    design: &Design,
) -> Defined<ExperimentRobustness> {
    let (weighted, influence) = (user_weighted(comparison)?, influence(comparison)?);
    let user_equal = UserEqual::of(comparison);
    let shift = influence.largest_leave_one_user_out_shift;
    Ok(ExperimentRobustness {
        user_weighted_lift_pp: points(Ok(weighted.lift)),
        user_weighted_interval_95_pp: pair_points(user_equal.map(|lift| lift.interval)),
        user_weighted_p_value: user_equal.map(|lift| lift.p_value),
        largest_leave_one_user_out_shift_pp: points(Ok(shift)),
        largest_user_share: influence.largest_user_share,
        reassignment: breakdown::lift_by_reassignment(arms, design),
        one_user_dominates: comparison.one_user_dominates(),
    })
}
