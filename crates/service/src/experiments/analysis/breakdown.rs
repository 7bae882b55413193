//! The lift in parts: by source, by agent version, by week; and the outcomes that must not get worse.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::part::Part;
use super::{ArmUsers, Arms, Sample};
use crate::experiments::sums::{Stratum, UserSums};
use stats::always_valid::SMALLEST_ARM;
use stats::guardrails::{Guardrail, HarmfulChange, Verdict, assess};
use stats::heterogeneity::ChiSquareTest;
use stats::segments::{NumberedUser, SegmentLabel, SegmentLift, Segments};
use stats::trend::{Slope, WeeklyUser, weekly_lifts};
use stats::{self, Comparison, Defined};

pub fn segments(sample: &Sample, arms: &Arms<'_>) -> Part {
    Part::new()
        .with("source", segmented(sample, arms, |stratum| &stratum.source))
        .with("agent_version", segmented(sample, arms, |stratum| &stratum.agent_version))
}

fn segmented(sample: &Sample, arms: &Arms<'_>, name: fn(&Stratum) -> &String) -> Part {
    let names: BTreeSet<&str> = sample.strata.values().map(|s| name(s).as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let place =
        |stratum: &Stratum| names.binary_search(&name(stratum).as_str()).unwrap_or(0) as u32;
    let places: BTreeMap<u32, u32> = sample.strata.iter().map(|(n, s)| (*n, place(s))).collect();
    let users = |arm: &ArmUsers<'_>| -> Vec<NumberedUser> {
        let of_user = |user: &&UserSums| {
            let mut segments = NumberedUser::new();
            for cell in &user.cells {
                let Some(place) = places.get(&cell.stratum) else {
                    continue;
                };
                match segments.iter_mut().find(|(known, _)| known == place) {
                    Some((_, sum)) => *sum = sum.plus(cell.sum),
                    None => segments.push((*place, cell.sum)),
                }
            }
            segments
        };
        arm.users.iter().map(of_user).collect()
    };
    let found = Segments::of_numbered(&names, &users(&arms.treatment), &users(&arms.holdout));
    let listed: Vec<Value> =
        found.segments.iter().map(|(label, lift)| segment(label, lift).into()).collect();
    Part::new()
        .with("segments", listed)
        .maybe("interaction", found.interaction.map(test))
        .maybe("cochran_q", found.cochran_q.map(test))
}

fn test(test: ChiSquareTest) -> Part {
    Part::new()
        .with("chi_square", test.statistic)
        .with("degrees_of_freedom", test.df)
        .with("p_value", test.p_value)
}

/// Small segments go together without a name; of fewer than five users nothing is shown.
fn segment(label: &SegmentLabel, lift: &Defined<SegmentLift>) -> Part {
    let name = match label {
        SegmentLabel::Named(name) => Value::from(name.as_str()),
        SegmentLabel::Pooled => Value::Null,
    };
    let users = |index: usize| lift.as_ref().map(|lift| lift.users[index]).map_err(|e| *e);
    let value = |get: fn(&SegmentLift) -> Defined<f64>| lift.as_ref().map_err(|e| *e).and_then(get);
    let interval = lift.as_ref().map_err(|e| *e).and_then(|lift| lift.interval);
    Part::new()
        .with("name", name)
        .with("pooled", *label == SegmentLabel::Pooled)
        .maybe("treatment_users", users(0))
        .maybe("holdout_users", users(1))
        .points("lift_pp", value(|lift| lift.lift))
        .points("standard_error_pp", value(|lift| lift.standard_error))
        .interval_points("interval_95_pp", interval)
        .maybe("p_value", value(|lift| lift.p_value))
        .maybe("adjusted_p_value", value(|lift| lift.adjusted_p_value))
}

pub fn trend(arms: &Arms<'_>) -> Part {
    let weekly = |arm: &ArmUsers<'_>| -> Vec<WeeklyUser> {
        let of_user = |user: &&UserSums| {
            let mut weeks = WeeklyUser::new();
            for cell in &user.cells {
                let sum = weeks.entry(cell.week).or_default();
                *sum = sum.plus(cell.sum);
            }
            weeks
        };
        arm.users.iter().map(of_user).collect()
    };
    let (treatment, holdout) = (weekly(&arms.treatment), weekly(&arms.holdout));
    let slope = Slope::of(&treatment, &holdout);
    let weeks: Vec<Value> = weekly_lifts(&treatment, &holdout)
        .into_iter()
        .map(|week| {
            let part = Part::new().with("week", week.week).points("lift_pp", week.lift);
            part.points("standard_error_pp", week.standard_error).into()
        })
        .collect();
    Part::new()
        .with("weeks", weeks)
        .points("slope_pp_per_week", slope.map(|slope| slope.per_week))
        .points("slope_standard_error_pp", slope.map(|slope| slope.cr2_standard_error))
        .interval_points("slope_interval_95_pp", slope.and_then(|slope| slope.interval))
        .maybe("slope_p_value", slope.and_then(|slope| slope.p_value))
}

/// The guardrails, and whether one of them failed. None is decided before the headline may be.
pub fn guardrails(arms: &Arms<'_>) -> (Vec<Value>, bool) {
    let Arms { treatment, holdout } = arms;
    let is_early =
        [treatment, holdout].into_iter().any(|arm| arm.outcome.user_count() < SMALLEST_ARM);
    let tenth = |arm: &stats::Arm| arm.mean().unwrap_or(0.0) / 10.0;
    let pairs: BTreeMap<&str, (&stats::Arm, &stats::Arm, f64)> = [
        ("corrections", (&treatment.corrections, &holdout.corrections, 0.1)),
        ("turns_to_resolution", (&treatment.turns, &holdout.turns, 0.5)),
        ("escalation_rate", (&treatment.escalations, &holdout.escalations, 0.02)),
        ("output_tokens", (&treatment.tokens, &holdout.tokens, tenth(&holdout.tokens))),
    ]
    .into();
    let guardrails: Vec<Guardrail<'_>> = pairs
        .values()
        .map(|(treatment, holdout, margin)| Guardrail {
            comparison: Comparison::new(treatment, holdout),
            harmful: HarmfulChange::Increase,
            margin: *margin,
        })
        .collect();
    let mut assessed = assess(&guardrails);
    if is_early {
        assessed.iter_mut().for_each(|one| one.verdict = Verdict::Undecided);
    }
    let failed = assessed.iter().any(|one| one.verdict == Verdict::Failed);
    let part = |((name, (.., margin)), found): ((&&str, &(_, _, f64)), &_)| {
        let found: &stats::guardrails::Assessment = found;
        Part::new()
            .with("name", *name)
            .with("margin", *margin)
            .maybe("harm", found.harm)
            .interval("difference_interval_95", found.interval)
            .maybe("non_inferiority_p_value", found.non_inferiority.map(|test| test.adjusted))
            .maybe("deterioration_p_value", found.deterioration.map(|test| test.adjusted))
            .with("verdict", found.verdict.as_str())
            .into()
    };
    (pairs.iter().zip(&assessed).map(part).collect(), failed)
}
