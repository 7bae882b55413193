//! Who judged, and the lift with the judge's errors taken out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::part::Part;
use super::{ArmUsers, Arms, Sample};
use crate::experiments::sums::{Stratum, UserSums};
use stats::agreement::Confusion;
use stats::judge_correction::{JudgedUser, Tuning, prediction_powered_lift, rogan_gladen_lift};
use stats::{self, Comparison, UserSum};

pub fn judge(sample: &Sample, arms: &Arms<'_>) -> Part {
    let epochs = epochs(sample, arms);
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(judged);
    let powered = prediction_powered_lift(&treatment, &holdout, Tuning::Optimal);
    let [labels_t, labels_c] = [&treatment, &holdout].map(|users| labels(users));
    let corrected =
        rogan_gladen_lift((&arms.treatment.outcome, &labels_t), (&arms.holdout.outcome, &labels_c));
    Part::new()
        .with("mixed", epochs.len() > 1)
        .with("epochs", epochs)
        .with("labelled_sessions", labels_t.total() + labels_c.total())
        .points("prediction_powered_lift_pp", powered.map(|lift| lift.estimate))
        .interval_points(
            "prediction_powered_interval_95_pp",
            powered.and_then(|lift| lift.interval),
        )
        .points("corrected_lift_pp", corrected.map(|lift| lift.estimate))
        .interval_points("corrected_interval_95_pp", corrected.map(|lift| lift.interval))
}

/// Judge and rubric, with the lift of each: numbers of two rubrics are never pooled in silence.
fn epochs(sample: &Sample, arms: &Arms<'_>) -> Vec<Value> {
    fn epoch(stratum: &Stratum) -> (&str, &str) {
        (&stratum.judge, &stratum.prompt_version)
    }
    let names: BTreeSet<(&str, &str)> = sample.strata.values().map(epoch).collect();
    let names: Vec<(&str, &str)> = names.into_iter().collect();
    let place = |stratum: &Stratum| names.binary_search(&epoch(stratum)).unwrap_or(0);
    let places: BTreeMap<u32, usize> = sample.strata.iter().map(|(n, s)| (*n, place(s))).collect();
    let mut found: Vec<[Vec<UserSum>; 2]> = vec![[Vec::new(), Vec::new()]; names.len()];
    let mut of_user = vec![UserSum::default(); names.len()];
    for arm in [&arms.treatment, &arms.holdout] {
        for user in &arm.users {
            of_user.fill(UserSum::default());
            for cell in &user.cells {
                if let Some(sum) = places.get(&cell.stratum).and_then(|n| of_user.get_mut(*n)) {
                    *sum = sum.plus(cell.sum);
                }
            }
            for (sums, sum) in found.iter_mut().zip(&of_user).filter(|(_, sum)| sum.sessions > 0) {
                sums[arm.arm.index()].push(*sum);
            }
        }
    }
    let part = |((judge, prompt_version), arms): ((&str, &str), [Vec<UserSum>; 2])| -> Value {
        let [treatment, holdout] = arms.map(stats::Arm::new);
        Part::new()
            .with("judge", judge)
            .with("prompt_version", prompt_version)
            .with("treatment_sessions", treatment.session_count())
            .with("holdout_sessions", holdout.session_count())
            .points("lift_pp", Comparison::new(&treatment, &holdout).lift())
            .into()
    };
    let judged = names.into_iter().zip(found);
    judged
        .filter(|(_, [treatment, holdout])| !treatment.is_empty() || !holdout.is_empty())
        .map(part)
        .collect()
}

fn judged(arm: &ArmUsers<'_>) -> Vec<JudgedUser> {
    let of_user = |user: &&UserSums| {
        let passes = u64::try_from(user.successes).unwrap_or(0);
        JudgedUser {
            unlabelled: user.outcome().sessions.saturating_sub(user.labelled.total()),
            unlabelled_passes: passes.saturating_sub(user.labelled.judged_success()),
            labelled: user.labelled,
        }
    };
    arm.users.iter().map(of_user).collect()
}

fn labels(users: &[JudgedUser]) -> Confusion {
    users.iter().fold(Confusion::default(), |all, user| all.plus(&user.labelled))
}
