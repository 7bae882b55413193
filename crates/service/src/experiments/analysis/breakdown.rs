//! The lift in parts: by source, by agent version, by week; and the outcomes that must not get worse.

use super::{ArmUsers, Arms, Design, Sample};
use crate::experiments::part::{Pair, pair, pair_points, part, points, shown_by_name};
use crate::experiments::sums::{Stratum, UserSums};
use stats::always_valid::{AlwaysValid, SMALLEST_ARM};
use stats::guardrails::{
    Assessment, Guardrail, GuardrailVerdict, HarmfulChange, assess_always_valid,
};
use stats::randomisation::{self, REPETITIONS, RandomisationTest};
use stats::reassignments::Reassignments;
use stats::segments::{NumberedUser, SegmentFamily, SegmentLabel, SegmentLift};
use stats::trend::{Slope, WeeklyUser, weekly_lifts};
use stats::{self, Comparison, Defined};

part! {
    /// The lift by what sessions have in common.
    pub struct ExperimentSegments {
        pub source: Segmentation,
        pub agent_version: Segmentation,
    }
}

part! {
    /// The lift of each segment, and whether they differ.
    pub struct Segmentation {
        pub segments: Vec<LiftSegment>,
        /// Test that the lift is the same everywhere.
        pub interaction: Defined<Reassignment>,
    }
}

part! {
    /// A test that assigns the users anew, again and again, and counts how often chance gives as much.
    pub struct Reassignment {
        pub statistic: f64,
        pub p_value: f64,
        pub repetitions: u32,
    }
}

part! {
    /// The lift within one segment. Small segments go together without a name; of fewer than five users nothing is
    /// shown.
    pub struct LiftSegment {
        /// null for the small ones together.
        pub name: Option<String>,
        pub pooled: bool,
        pub treatment_users: Defined<u64>,
        pub holdout_users: Defined<u64>,
        pub lift_pp: Defined<f64>,
        pub standard_error_pp: Defined<f64>,
        pub interval_95_pp: Defined<Pair>,
        pub p_value: Defined<f64>,
        /// Adjusted over all segments: the larger of that after Benjamini and Hochberg and that after Westfall and Young.
        pub adjusted_p_value: Defined<f64>,
    }
}

/// Seed of the assignments: the same numbers for the same input.
const SEED: u64 = 0x5eed;

pub fn segments(sample: &Sample, arms: &Arms<'_>, design: &Design) -> ExperimentSegments {
    ExperimentSegments {
        source: segmented(sample, arms, design, |stratum| &stratum.source),
        agent_version: segmented(sample, arms, design, |stratum| &stratum.agent_version),
    }
}

fn segmented(
    sample: &Sample,
    arms: &Arms<'_>,
    design: &Design,
    name: fn(&Stratum) -> &String,
) -> Segmentation {
    let names = sample.grouped(|stratum| name(stratum).as_str());
    let users = |arm: &ArmUsers<'_>| -> Vec<NumberedUser> {
        let of_user = |user: &&UserSums| {
            let mut segments = NumberedUser::new();
            for cell in &user.cells {
                let place = names.place(cell.stratum).and_then(|place| u32::try_from(place).ok());
                let Some(place) = place else { continue };
                match segments.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, sum)) => *sum = sum.plus(cell.sum),
                    None => segments.push((place, cell.sum)),
                }
            }
            segments.sort_unstable();
            segments
        };
        arm.users.iter().map(of_user).collect()
    };
    let (treatment, holdout) = (users(&arms.treatment), users(&arms.holdout));
    let found =
        SegmentFamily::of_numbered(&names.values, &treatment, &holdout, reassignments(design));
    Segmentation {
        segments: found.segments.iter().map(|(label, lift)| segment(label, lift)).collect(),
        interaction: found.interaction.map(reassignment),
    }
}

fn reassignments(design: &Design) -> Reassignments {
    Reassignments { seed: SEED, holdout_share: design.holdout_share(), repetitions: REPETITIONS }
}

/// The test of no lift by assigning all users anew.
pub fn lift_by_reassignment(arms: &Arms<'_>, design: &Design) -> Defined<Reassignment> {
    let (treatment, holdout) = (&arms.treatment.outcome, &arms.holdout.outcome);
    randomisation::lift_by_reassignment(treatment, holdout, reassignments(design)).map(reassignment)
}

fn reassignment(test: RandomisationTest) -> Reassignment {
    let RandomisationTest { statistic, p_value, repetitions } = test;
    Reassignment { statistic, p_value, repetitions }
}

fn segment(label: &SegmentLabel, lift: &Defined<SegmentLift>) -> LiftSegment {
    let name = match label {
        SegmentLabel::Named(name) => Some(name.clone()),
        SegmentLabel::Pooled => None,
    };
    let users = |index: usize| lift.map(|lift| lift.users[index] as u64);
    LiftSegment {
        name,
        pooled: *label == SegmentLabel::Pooled,
        treatment_users: users(0),
        holdout_users: users(1),
        lift_pp: points(lift.and_then(|lift| lift.lift)),
        standard_error_pp: points(lift.and_then(|lift| lift.standard_error)),
        interval_95_pp: pair_points(lift.and_then(|lift| lift.interval)),
        p_value: lift.and_then(|lift| lift.p_value),
        adjusted_p_value: lift.and_then(|lift| lift.adjusted_p_value),
    }
}

part! {
    /// Change of the lift from week to week.
    pub struct ExperimentTrend {
        pub weeks: Vec<WeeklyLift>,
        pub slope_pp_per_week: Defined<f64>,
        pub slope_standard_error_pp: Defined<f64>,
        pub slope_interval_95_pp: Defined<Pair>,
        pub slope_p_value: Defined<f64>,
    }
}

part! {
    /// The lift of one week since the start.
    pub struct WeeklyLift {
        pub week: u32,
        pub lift_pp: Defined<f64>,
        pub standard_error_pp: Defined<f64>,
    }
}

pub fn trend(arms: &Arms<'_>) -> ExperimentTrend {
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
    let weeks = weekly_lifts(&treatment, &holdout).into_iter().map(|week| WeeklyLift {
        week: week.week,
        lift_pp: points(week.lift),
        standard_error_pp: points(week.standard_error),
    });
    ExperimentTrend {
        weeks: weeks.collect(),
        slope_pp_per_week: points(slope.map(|slope| slope.per_week)),
        slope_standard_error_pp: points(slope.map(|slope| slope.cr2_standard_error)),
        slope_interval_95_pp: pair_points(slope.and_then(|slope| slope.interval)),
        slope_p_value: slope.and_then(|slope| slope.p_value),
    }
}

base::vocabulary! {
    /// An outcome that must not get worse.
    pub enum GuardrailName {
        Corrections = "corrections",
        EscalationRate = "escalation_rate",
        OutputTokens = "output_tokens",
        TurnsToResolution = "turns_to_resolution",
    }
}

shown_by_name!(GuardrailName);

part! {
    /// An outcome that must not get worse, and whether it did.
    pub struct ExperimentGuardrail {
        pub name: GuardrailName,
        /// Tolerable harm, in the unit of the outcome.
        pub margin: f64,
        /// Treatment minus holdout; positive is worse.
        pub harm: Defined<f64>,
        /// Always valid: it may be read every day.
        pub difference_interval_95: Defined<Pair>,
        /// Small means passed; adjusted over all guardrails after Holm.
        pub non_inferiority_p_value: Defined<f64>,
        /// Small means worse; adjusted over all guardrails after Holm.
        pub deterioration_p_value: Defined<f64>,
        pub verdict: GuardrailVerdict,
    }
}

/// The guardrails, and whether one of them failed. None is decided before the headline may be.
pub fn guardrails(arms: &Arms<'_>, design: &Design) -> (Vec<ExperimentGuardrail>, bool) {
    let Arms { treatment, holdout } = arms;
    let is_early =
        [treatment, holdout].into_iter().any(|arm| arm.outcome.user_count() < SMALLEST_ARM);
    let tenth = |arm: &stats::Arm| arm.mean().unwrap_or(0.0) / 10.0;
    let outcomes: [(GuardrailName, &stats::Arm, &stats::Arm, f64); 4] = [
        (GuardrailName::Corrections, &treatment.corrections, &holdout.corrections, 0.1),
        (GuardrailName::EscalationRate, &treatment.escalations, &holdout.escalations, 0.02),
        (GuardrailName::OutputTokens, &treatment.tokens, &holdout.tokens, tenth(&holdout.tokens)),
        (GuardrailName::TurnsToResolution, &treatment.turns, &holdout.turns, 0.5),
    ];
    let guardrails: Vec<Guardrail<'_>> = outcomes
        .iter()
        .map(|(_, treatment, holdout, margin)| Guardrail {
            comparison: Comparison::new(treatment, holdout),
            harmful: HarmfulChange::Increase,
            margin: *margin,
        })
        .collect();
    // At least one user is planned for: there always is a sequence.
    let Ok(sequence) = AlwaysValid::planned_for(design.planned_users) else {
        return (Vec::new(), false);
    };
    let mut assessed = assess_always_valid(&guardrails, &sequence);
    if is_early {
        assessed.iter_mut().for_each(|one| one.verdict = GuardrailVerdict::Undecided);
    }
    let failed = assessed.iter().any(|one| one.verdict == GuardrailVerdict::Failed);
    let shown = |((name, .., margin), found): (&(GuardrailName, _, _, f64), &Assessment)| {
        ExperimentGuardrail {
            name: *name,
            margin: *margin,
            harm: found.harm,
            difference_interval_95: pair(found.interval),
            non_inferiority_p_value: found.non_inferiority.map(|test| test.adjusted),
            deterioration_p_value: found.deterioration.map(|test| test.adjusted),
            verdict: found.verdict,
        }
    };
    (outcomes.iter().zip(&assessed).map(shown).collect(), failed)
}
