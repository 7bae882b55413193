//! Delivery of learnings to treatment, and interference from the holdout.

use super::health::{SampleRatioTest, sample_ratio};
use super::{ArmUsers, Arms, Design};
use crate::experiments::looks::Looks;
use crate::experiments::part::{Pair, pair_points, part, points};
use stats::complier::{ComplierEffect, DeliveredUser, share_of_served};
use stats::{CiMethod, Comparison, Defined};

part! {
    /// Share of sessions that got a learning, the effect on them, and the lift where there was something to find.
    pub struct ExperimentDelivery {
        pub treatment_share: f64,
        pub holdout_share: f64,
        pub complier_effect_pp: Defined<f64>,
        pub complier_standard_error_pp: Defined<f64>,
        pub complier_interval_95_pp: Defined<Pair>,
        pub triggered: TriggeredLift,
    }
}

part! {
    /// Only sessions whose searches found something, in both arms.
    pub struct TriggeredLift {
        pub treatment_sessions: u64,
        pub holdout_sessions: u64,
        pub lift_pp: Defined<f64>,
        pub interval_95_pp: Defined<Pair>,
        pub p_value: Defined<f64>,
        pub sample_ratio: SampleRatioTest,
    }
}

part! {
    /// Shares of the learnings served to treatment that come from holdout users, or were made after the
    /// start.
    pub struct ExperimentInterference {
        pub served_learnings: u64,
        pub share_from_playbooks_with_holdout_sources: f64,
        pub share_made_after_start: f64,
        pub estimand: &'static str,
    }
}

pub fn delivery(
    arms: &Arms<'_>,
    design: &Design,
    looks: &mut Looks,
) -> Defined<ExperimentDelivery> {
    let of = |arm: &ArmUsers<'_>| -> Vec<DeliveredUser> {
        let delivered = arm.users.iter();
        delivered
            .map(|user| DeliveredUser { outcome: user.outcome(), delivered: user.delivered })
            .collect()
    };
    let effect = ComplierEffect::of(&of(&arms.treatment), &of(&arms.holdout))?;
    Ok(ExperimentDelivery {
        treatment_share: effect.treatment_delivery,
        holdout_share: effect.holdout_delivery,
        complier_effect_pp: points(effect.effect),
        complier_standard_error_pp: points(effect.standard_error),
        complier_interval_95_pp: pair_points(effect.interval),
        triggered: triggered(arms, design, looks),
    })
}

fn triggered(arms: &Arms<'_>, design: &Design, looks: &mut Looks) -> TriggeredLift {
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(ArmUsers::found_something);
    let comparison = Comparison::new(&treatment, &holdout);
    let users = [arms.treatment.triggered, arms.holdout.triggered];
    TriggeredLift {
        treatment_sessions: treatment.session_count(),
        holdout_sessions: holdout.session_count(),
        lift_pp: points(comparison.lift()),
        interval_95_pp: pair_points(comparison.interval(CiMethod::default())),
        p_value: comparison.p_value(),
        sample_ratio: sample_ratio(users, design.holdout_share(), &mut looks.triggered_p),
    }
}

pub fn interference(arms: &Arms<'_>) -> Defined<ExperimentInterference> {
    let total = |count: fn(&crate::experiments::sums::UserSums) -> u64| -> u64 {
        arms.treatment.users.iter().map(|user| count(user)).sum()
    };
    let served = total(|user| user.served);
    let from_holdout = share_of_served(total(|user| user.served_from_holdout), served)?;
    let made_after_start = share_of_served(total(|user| user.served_new), served)?;
    Ok(ExperimentInterference {
        served_learnings: served,
        share_from_playbooks_with_holdout_sources: from_holdout,
        share_made_after_start: made_after_start,
        estimand: "Holdout users keep feeding learning: the lift is that of receiving what everybody taught, not of \
            learning as such.",
    })
}
