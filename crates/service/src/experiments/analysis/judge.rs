//! Judges of the sessions, and the lift corrected for the judge's errors.

use super::{ArmUsers, Arms, Sample};
use crate::experiments::part::{Pair, pair_points, part, points};
use crate::experiments::sums::{Stratum, UserSums};
use stats::agreement::Confusion;
use stats::judge_correction::{
    PredictionPowered, ReviewedUser, WeightedConfusion, rogan_gladen_lift,
};
use stats::{self, Comparison, Defined, UserSum};

part! {
    /// Judges of the sessions, and the lift corrected for the judge's errors.
    pub struct ExperimentJudges {
        /// True if there are several epochs: compare with care.
        pub mixed: bool,
        pub epochs: Vec<JudgeEpoch>,
        pub labelled_sessions: u64,
        pub prediction_powered_lift_pp: Defined<f64>,
        pub prediction_powered_interval_95_pp: Defined<Pair>,
        pub corrected_lift_pp: Defined<f64>,
        pub corrected_interval_95_pp: Defined<Pair>,
    }
}

part! {
    /// Judge and rubric, with the lift of each: numbers of two rubrics are never pooled in silence.
    pub struct JudgeEpoch {
        pub judge: String,
        pub prompt_version: String,
        pub treatment_sessions: u64,
        pub holdout_sessions: u64,
        pub lift_pp: Defined<f64>,
    }
}

pub fn judge(sample: &Sample, arms: &Arms<'_>) -> ExperimentJudges {
    let epochs = epochs(sample, arms);
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(reviewed);
    let powered = PredictionPowered::of(&treatment, &holdout);
    let [labels_t, labels_c] = [&arms.treatment, &arms.holdout].map(labels);
    let corrected =
        rogan_gladen_lift((&arms.treatment.outcome, &labels_t), (&arms.holdout.outcome, &labels_c));
    ExperimentJudges {
        mixed: epochs.len() > 1,
        epochs,
        labelled_sessions: labels_t.total() + labels_c.total(),
        prediction_powered_lift_pp: points(powered.map(|lift| lift.lift)),
        prediction_powered_interval_95_pp: pair_points(powered.map(|lift| lift.interval)),
        corrected_lift_pp: points(corrected.map(|lift| lift.estimate)),
        corrected_interval_95_pp: pair_points(corrected.map(|lift| lift.interval)),
    }
}

fn epochs(sample: &Sample, arms: &Arms<'_>) -> Vec<JudgeEpoch> {
    fn epoch(stratum: &Stratum) -> (&str, &str) {
        (&stratum.judge, &stratum.prompt_version)
    }
    let names = sample.grouped(epoch);
    let mut found: Vec<[Vec<UserSum>; 2]> = vec![[Vec::new(), Vec::new()]; names.values.len()];
    let mut of_user = vec![UserSum::default(); names.values.len()];
    for arm in [&arms.treatment, &arms.holdout] {
        for user in &arm.users {
            of_user.fill(UserSum::default());
            for cell in &user.cells {
                let place = names.place(cell.stratum);
                if let Some(sum) = place.and_then(|place| of_user.get_mut(place)) {
                    *sum = sum.plus(cell.sum);
                }
            }
            for (sums, sum) in found.iter_mut().zip(&of_user).filter(|(_, sum)| sum.sessions > 0) {
                sums[arm.arm.index()].push(*sum);
            }
        }
    }
    let shown = |((judge, prompt_version), arms): ((&str, &str), [Vec<UserSum>; 2])| {
        let [treatment, holdout] = arms.map(stats::Arm::new);
        JudgeEpoch {
            judge: judge.to_owned(),
            prompt_version: prompt_version.to_owned(),
            treatment_sessions: treatment.session_count(),
            holdout_sessions: holdout.session_count(),
            lift_pp: points(Comparison::new(&treatment, &holdout).lift()),
        }
    };
    let judged = names.values.into_iter().zip(found);
    judged
        .filter(|(_, [treatment, holdout])| !treatment.is_empty() || !holdout.is_empty())
        .map(shown)
        .collect()
}

/// The judged sessions of users, with the labels of people on some of them. Labels weigh the same: nothing is known of
/// the chance that a session had to be labelled.
#[allow(clippy::cast_precision_loss)] // numbers of sessions
fn reviewed(arm: &ArmUsers<'_>) -> Vec<ReviewedUser> {
    let of_user = |user: &&UserSums| {
        let Confusion { true_passes, false_passes, false_failures, true_failures } = user.labelled;
        ReviewedUser {
            judged: user.outcome().sessions,
            passes: u64::try_from(user.successes).unwrap_or(0),
            labelled: WeightedConfusion {
                true_passes: true_passes as f64,
                false_passes: false_passes as f64,
                false_failures: false_failures as f64,
                true_failures: true_failures as f64,
            },
            labels: user.labelled.total(),
        }
    };
    arm.users.iter().map(of_user).collect()
}

fn labels(arm: &ArmUsers<'_>) -> Confusion {
    arm.users.iter().fold(Confusion::default(), |all, user| all.plus(&user.labelled))
}
