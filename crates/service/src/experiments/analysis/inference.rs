//! The lift, how sure it is, and whether it hangs on a few users.

use serde_json::{Value, json};

use super::part::Part;
use super::{Arms, Design};
use crate::experiments::looks::Looks;
use crate::experiments::sums::UserSums;
use stats::always_valid::{AlwaysValid, Look};
use stats::cuped::{Cuped, UserHistory};
use stats::robustness::{influence, user_weighted};
use stats::{self, CiMethod, Comparison, Defined, Variance};

const ESTIMAND: &str = "The difference in success rate per session between users with retrieval and users held out \
    from it, while both keep publishing and feeding learning: the effect of handing over what was learned, from \
    everybody, to users of treatment.";

/// Everything beside the headline.
pub fn inference(comparison: &Comparison<'_>, method: CiMethod) -> Part {
    let errors = [
        ("cr0", Variance::Cr0),
        ("cr1", Variance::Cr1),
        ("cr2", Variance::Cr2),
        ("cr3", Variance::Cr3),
        ("delta", Variance::Delta),
    ];
    let errors = errors.into_iter().fold(Part::new(), |part, (name, estimator)| {
        part.points(name, comparison.standard_error(estimator))
    });
    let intervals = CiMethod::ALL.into_iter().fold(Part::new(), |part, method| {
        part.interval_points(method.as_str(), comparison.interval(method))
    });
    let reason = |value: Option<stats::NullReason>| value.map(stats::NullReason::as_str);
    Part::new()
        .with("estimand", ESTIMAND)
        .with("ci_method", method.as_str())
        .with("lift_null_reason", reason(comparison.lift().err()))
        .with("relative_lift_null_reason", reason(comparison.relative_lift().err()))
        .with("interval_null_reason", reason(comparison.interval(method).err()))
        .with("standard_error_pp", errors)
        .maybe("degrees_of_freedom", comparison.bell_mccaffrey_df())
        .maybe("p_value", comparison.p_value())
        .maybe("cr2_p_value", comparison.cr2_p_value())
        .with("intervals_95_pp", intervals)
        .interval("relative_interval_95", comparison.relative_interval())
        .with("effective_sample_size", by_arm(comparison, stats::Arm::effective_sample_size))
        .with("design_effect", by_arm(comparison, stats::Arm::design_effect))
        .with("effective_users", by_arm(comparison, stats::Arm::kish_effective_users))
}

fn by_arm(comparison: &Comparison<'_>, value: fn(&stats::Arm) -> Defined<f64>) -> Part {
    Part::new()
        .maybe("treatment", value(comparison.treatment))
        .maybe("holdout", value(comparison.holdout))
}

/// Looks at the experiment in a way that may be repeated every day.
pub fn look(comparison: &Comparison<'_>, design: &Design, looks: &mut Looks) -> Defined<Look> {
    let look = AlwaysValid::planned_for(design.planned_users)?.look(comparison)?;
    looks.absorb(&look);
    Ok(look)
}

pub fn always_valid(look: &Look, looks: &Looks, design: &Design) -> Part {
    Part::new()
        .interval_points("interval_pp", Ok(look.interval))
        .with("p_value", look.p_value)
        .interval_points("running_interval_pp", looks.interval())
        .maybe("running_p_value", looks.p_value())
        .with("planned_users", design.planned_users)
}

/// The lift made more precise with what users did before.
pub fn cuped(arms: &Arms<'_>) -> Defined<Part> {
    let history = |user: &&UserSums| UserHistory { during: user.outcome(), before: user.before };
    let [treatment, holdout] = [&arms.treatment, &arms.holdout]
        .map(|arm| arm.users.iter().map(history).collect::<Vec<_>>());
    let found = Cuped::of(&treatment, &holdout)?;
    Ok(Part::new()
        .points("lift_pp", Ok(found.adjusted.estimate))
        .points("standard_error_pp", Ok(found.adjusted.standard_error))
        .interval_points("interval_95_pp", Ok(found.adjusted.interval))
        .with("degrees_of_freedom", found.adjusted.df)
        .with("theta", found.adjusted.theta)
        .with("variance_reduction", found.variance_reduction)
        .with("share_of_users_with_history", found.share_with_history))
}

pub fn robustness(comparison: &Comparison<'_>) -> Defined<Part> {
    let (weighted, influence) = (user_weighted(comparison)?, influence(comparison)?);
    let test = weighted.test;
    Ok(Part::new()
        .points("user_weighted_lift_pp", Ok(weighted.lift))
        .interval_points("user_weighted_interval_95_pp", test.map(|test| test.interval))
        .maybe("user_weighted_p_value", test.map(|test| test.p_value))
        .points(
            "largest_leave_one_user_out_shift_pp",
            Ok(influence.largest_leave_one_user_out_shift),
        )
        .with("largest_user_share", influence.largest_user_share))
}

/// A pair as it is documented.
pub fn pair(interval: Defined<stats::Interval>) -> Option<Value> {
    let interval = interval.ok()?.percentage_points();
    Some(json!([interval.lower, interval.upper]))
}
