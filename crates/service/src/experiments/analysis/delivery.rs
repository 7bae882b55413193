//! What treatment really got, and what of the holdout's reached it.

use super::part::Part;
use super::{ArmUsers, Arms, Design, health};
use crate::experiments::looks::Looks;
use stats::complier::{ComplierEffect, DeliveredUser, share_of_served};
use stats::{CiMethod, Comparison, Defined};

/// Share of sessions that got a learning, the effect on them, and the lift where there was something to find.
pub fn delivery(arms: &Arms<'_>, design: &Design, looks: &mut Looks) -> Defined<Part> {
    let of = |arm: &ArmUsers<'_>| -> Vec<DeliveredUser> {
        let delivered = arm.users.iter();
        delivered
            .map(|user| DeliveredUser { outcome: user.outcome(), delivered: user.delivered })
            .collect()
    };
    let effect = ComplierEffect::of(&of(&arms.treatment), &of(&arms.holdout))?;
    Ok(Part::new()
        .with("treatment_share", effect.treatment_delivery)
        .with("holdout_share", effect.holdout_delivery)
        .points("complier_effect_pp", effect.effect)
        .points("complier_standard_error_pp", effect.standard_error)
        .interval_points("complier_interval_95_pp", effect.interval)
        .with("triggered", triggered(arms, design, looks)))
}

/// Only sessions whose searches found something, in both arms.
fn triggered(arms: &Arms<'_>, design: &Design, looks: &mut Looks) -> Part {
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(ArmUsers::found_something);
    let comparison = Comparison::new(&treatment, &holdout);
    let users = [arms.treatment.triggered, arms.holdout.triggered];
    let (ratio, _) = health::sample_ratio(users, design.holdout_share(), &mut looks.triggered_p);
    Part::new()
        .with("treatment_sessions", treatment.session_count())
        .with("holdout_sessions", holdout.session_count())
        .points("lift_pp", comparison.lift())
        .interval_points("interval_95_pp", comparison.interval(CiMethod::default()))
        .maybe("p_value", comparison.p_value())
        .with("sample_ratio", ratio)
}

/// How much of what treatment got comes from holdout users, or was made after the start.
pub fn interference(arms: &Arms<'_>) -> Defined<Part> {
    let total = |count: fn(&crate::experiments::sums::UserSums) -> u64| -> u64 {
        arms.treatment.users.iter().map(|user| count(user)).sum()
    };
    let served = total(|user| user.served);
    let from_holdout = share_of_served(total(|user| user.served_from_holdout), served)?;
    let made_after_start = share_of_served(total(|user| user.served_new), served)?;
    Ok(Part::new()
        .with("served_learnings", served)
        .with("share_from_playbooks_with_holdout_sources", from_holdout)
        .with("share_made_after_start", made_after_start)
        .with(
            "estimand",
            "Holdout users keep feeding learning: the lift is that of receiving what everybody taught, not of \
             learning as such.",
        ))
}
