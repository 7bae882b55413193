//! Can the numbers be trusted? An unhealthy experiment has no decision, and keeps its numbers.

use super::balance::{ExperimentBalance, balance};
use super::{Arms, Design, Sample};
use crate::experiments::looks::{self, Looks};
use crate::experiments::part::{Pair, pair_points, part, points};
use crate::experiments::rows::Reason;
use crate::experiments::sums::{Stratum, UserSums};
use base::owner::UserId;
use stats::Defined;
use stats::always_valid::AlwaysValid;
use stats::missing::{
    DifferentialEvaluation, EvaluationCounts, PublishedUser, SequentialEvaluationRate,
    worst_case_bounds,
};
use stats::sample_ratio::{SampleRatio, level_of_one_check};

/// Sequential checks of health: sample ratios of exposed, published, evaluated and triggered users, those of evaluated
/// users by source and by agent version, and the evaluation rate. Together they raise a false alarm in 1 % of experiments.
const CHECKS: usize = 7;
/// Share of evaluated sessions with an impossible reason that is still taken for an accident.
const IMPOSSIBLE_SHARE: f64 = 0.005;
/// The smallest share of evaluated sessions that may belong to the experiment, once there are enough to tell.
const SMALLEST_COVERAGE: f64 = 0.8;
const ENOUGH_FOR_COVERAGE: u64 = 20;
const HOW_TO_ATTRIBUTE: &str = "send the session_id with each search, or with each publish the retrieval_experiment_id \
    and retrieval_experiment_arm that the search answered with";

part! {
    /// Health checks of an experiment. An unhealthy experiment has no decision, and keeps its numbers.
    pub struct ExperimentHealth {
        pub healthy: bool,
        /// Problems found, for people.
        pub problems: Vec<String>,
        pub sample_ratio: SampleRatios,
        pub evaluation_rate: EvaluationRates,
        /// The lift if every session that should have been judged and was not had gone the worst way.
        pub worst_case_lift_pp: Defined<Pair>,
        /// Holdout sessions whose turns carried learnings.
        pub contaminated_holdout_session_count: u64,
        /// Some of these sessions.
        pub contaminated_holdout_sessions: Vec<ContaminatedSession>,
        pub attribution: AttributionCounts,
        pub balance: ExperimentBalance,
    }
}

part! {
    /// Sample ratio tests of the users at each stage.
    pub struct SampleRatios {
        pub exposed: SampleRatioTest,
        pub published: SampleRatioTest,
        pub evaluated: SampleRatioTest,
    }
}

part! {
    /// A split of users against the planned share.
    pub struct SampleRatioTest {
        pub treatment_users: u64,
        pub holdout_users: u64,
        pub expected_holdout_share: f64,
        pub observed_holdout_share: Defined<f64>,
        pub chi_square: Defined<f64>,
        /// Of a single look; nothing is concluded from it.
        pub p_value: Defined<f64>,
        /// True if `p_value` is that of the exact binomial test, because few users are expected.
        pub exact: bool,
        /// Over all looks; may be read every day.
        pub sequential_p_value: Defined<f64>,
        pub mismatch: bool,
    }
}

part! {
    /// Evaluation rates of the arms, and a test of their difference.
    pub struct EvaluationRates {
        pub treatment: Defined<f64>,
        pub holdout: Defined<f64>,
        pub difference_pp: Defined<f64>,
        pub standard_error_pp: Defined<f64>,
        /// Of a single look; nothing is concluded from it.
        pub p_value: Defined<f64>,
        /// Over all looks; may be read every day.
        pub sequential_p_value: Defined<f64>,
        /// True if the arms are not judged equally often.
        pub mismatch: bool,
    }
}

part! {
    /// Evaluated sessions by reason, and two kinds of those that count.
    pub struct AttributionCounts {
        /// Sessions that count.
        pub attributed: u64,
        /// None of the session's requests names the experiment.
        pub no_metadata: u64,
        /// The session's requests name both arms.
        pub mixed_arms: u64,
        /// The stored arm is not the user's.
        pub arm_mismatch: u64,
        /// The user has requests in both arms.
        pub user_in_both_arms: u64,
        /// Sessions that count and began before the user's first search.
        pub began_before_exposure: u64,
        /// Sessions that count and ended after the stop.
        pub ended_after_stop: u64,
    }
}

part! {
    /// A holdout session whose turns carried learnings.
    pub struct ContaminatedSession {
        pub user_id: UserId,
        pub session_id: String,
    }
}

/// Tests a split of users against the planned share.
pub fn sample_ratio(counts: [u64; 2], share: f64, smallest_p: &mut f64) -> SampleRatioTest {
    let [treatment_users, holdout_users] = counts;
    let test = SampleRatio::test(treatment_users, holdout_users, share);
    let sequential = looks::sequential(counts, share, smallest_p);
    SampleRatioTest {
        treatment_users,
        holdout_users,
        expected_holdout_share: share,
        observed_holdout_share: test.map(|test| test.observed_holdout_share),
        chi_square: test.map(|test| test.chi_square),
        p_value: test.map(|test| test.p_value()),
        exact: test.is_ok_and(|test| test.low_expected_count),
        sequential_p_value: sequential,
        mismatch: sequential.is_ok_and(|p| p < level_of_one_check(CHECKS)),
    }
}

/// The health, and whether more is wrong than that nothing is attributed yet, which leaves the decision at `collecting`.
pub fn health(
    sample: &Sample,
    arms: &Arms<'_>,
    design: &Design,
    looks: &mut Looks,
) -> (ExperimentHealth, bool) {
    let mut problems = Vec::new();
    let Arms { treatment, holdout } = arms;
    let evaluated = [&treatment.outcome, &holdout.outcome].map(|arm| arm.user_count() as u64);
    let mut split = |stage: &str, counts: [u64; 2], smallest: &mut f64| {
        let test = sample_ratio(counts, design.holdout_share(), smallest);
        if test.mismatch {
            problems.push(format!("{stage} users are not split as planned"));
        }
        test
    };
    let sample_ratio = SampleRatios {
        exposed: split("exposed", [treatment.exposed, holdout.exposed], &mut looks.exposed_p),
        published: split(
            "published",
            [treatment.assigned, holdout.assigned],
            &mut looks.published_p,
        ),
        evaluated: split("evaluated", evaluated, &mut looks.evaluated_p),
    };
    let found = [treatment.triggered, holdout.triggered];
    split("triggered (their searches found something)", found, &mut looks.triggered_p);
    for (kind, name) in [
        ("source", (|stratum| &stratum.source) as fn(&Stratum) -> &String),
        ("agent version", |stratum| &stratum.agent_version),
    ] {
        problems.extend(uneven_part(sample, arms, design, kind, name));
    }
    let evaluation_rate = evaluation_rate(arms, design, looks, &mut problems);
    let contaminated: u64 = sample.users().map(|user| user.contaminated).sum();
    if contaminated > 0 {
        problems.push(format!("{contaminated} holdout sessions carried learnings"));
    }
    let attribution = attribution(sample, &mut problems);
    let suppresses_decision = !problems.is_empty();
    match sample.reasons() {
        [0, 0, ..] if problems.is_empty() => {
            problems.push("no session of the experiment is evaluated yet".to_owned());
        }
        [0, others, ..] if problems.is_empty() => problems.push(format!(
            "none of the {others} evaluated sessions belongs to the experiment: {HOW_TO_ATTRIBUTE}"
        )),
        _ => {}
    }
    let health = ExperimentHealth {
        healthy: problems.is_empty(),
        problems,
        sample_ratio,
        evaluation_rate,
        worst_case_lift_pp: pair_points(worst_case_bounds(&counts(treatment), &counts(holdout))),
        contaminated_holdout_session_count: contaminated,
        contaminated_holdout_sessions: Vec::new(),
        attribution,
        balance: balance(arms),
    };
    (health, suppresses_decision)
}

fn counts(arm: &super::ArmUsers<'_>) -> EvaluationCounts {
    EvaluationCounts {
        published: arm.published - arm.sampled_out,
        evaluated: arm.outcome.session_count(),
        successes: u64::try_from(arm.outcome.total()).unwrap_or(0),
    }
}

/// The source or agent version whose evaluated users are split least as planned, if that is more than chance: the
/// smallest sequential p-value of them, times their number.
fn uneven_part(
    sample: &Sample,
    arms: &Arms<'_>,
    design: &Design,
    kind: &str,
    name: fn(&Stratum) -> &String,
) -> Option<String> {
    let parts = sample.grouped(name);
    let mut users = vec![[0u64; 2]; parts.values.len()];
    // The user that each part was counted for last.
    let mut counted: Vec<Option<&UserSums>> = vec![None; users.len()];
    for (arm, of_arm) in [&arms.treatment, &arms.holdout].into_iter().enumerate() {
        for user in &of_arm.users {
            for place in user.cells.iter().filter_map(|cell| parts.place(cell.stratum)) {
                if !counted[place].is_some_and(|last| std::ptr::eq(last, *user)) {
                    counted[place] = Some(user);
                    users[place][arm] += 1;
                }
            }
        }
    }
    let found = parts.values.iter().zip(users).filter(|(_, counts)| *counts != [0, 0]);
    let number = found.clone().count() as f64;
    let p_value = |counts: [u64; 2]| {
        let p_value = looks::sequential(counts, design.holdout_share(), &mut 1.0);
        p_value.map_or(1.0, |p| p * number)
    };
    let (part, p_value) = found
        .map(|(part, counts)| (part, p_value(counts)))
        .min_by(|one, other| one.1.total_cmp(&other.1))?;
    (p_value < level_of_one_check(CHECKS))
        .then(|| format!("users of the {kind} \"{part}\" are not split as planned"))
}

/// A user's sessions that should have been judged.
fn asked(user: &UserSums, arm: usize) -> u64 {
    user.published[arm].saturating_sub(user.sampled_out[arm])
}

/// Tests the evaluation rates of the arms for a difference.
fn evaluation_rate(
    arms: &Arms<'_>,
    design: &Design,
    looks: &mut Looks,
    problems: &mut Vec<String>,
) -> EvaluationRates {
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(|arm| {
        let index = arm.arm.index();
        let of_user = move |user: &&UserSums| PublishedUser {
            published: asked(user, index),
            evaluated: user.outcome().sessions.min(asked(user, index)),
        };
        arm.users.iter().map(of_user).collect::<Vec<_>>()
    });
    let sequential = AlwaysValid::planned_for(design.planned_users).map(|sequence| {
        let mut rates = SequentialEvaluationRate::resumed(sequence, looks.evaluation_rate_p);
        rates.look(treatment.iter().copied(), holdout.iter().copied())
    });
    if let Ok(p_value) = sequential {
        looks.evaluation_rate_p = p_value;
    }
    let mismatch = sequential.is_ok_and(|p_value| p_value < level_of_one_check(CHECKS));
    if mismatch {
        problems.push("the arms are not judged equally often".to_owned());
    }
    let test = DifferentialEvaluation::of(treatment, holdout);
    EvaluationRates {
        treatment: test.map(|test| test.treatment_rate),
        holdout: test.map(|test| test.holdout_rate),
        difference_pp: points(test.map(|test| test.difference)),
        standard_error_pp: points(test.and_then(|test| test.standard_error)),
        p_value: test.and_then(|test| test.p_value),
        sequential_p_value: sequential,
        mismatch,
    }
}

#[allow(clippy::cast_precision_loss)] // numbers of sessions
fn attribution(sample: &Sample, problems: &mut Vec<String>) -> AttributionCounts {
    let counts = sample.reasons();
    let (all, attributed) = (counts.iter().sum::<u64>(), counts[Reason::Attributed as usize]);
    for reason in Reason::IMPOSSIBLE {
        let count = counts[reason as usize];
        if count as f64 > IMPOSSIBLE_SHARE * all as f64 {
            problems.push(format!("{count} evaluated sessions: {reason}"));
        }
    }
    if all >= ENOUGH_FOR_COVERAGE && (attributed as f64) < SMALLEST_COVERAGE * all as f64 {
        problems.push(format!(
            "only {attributed} of {all} evaluated sessions belong to the experiment: {HOW_TO_ATTRIBUTE}"
        ));
    }
    let total = |count: fn(&UserSums) -> u64| sample.users().map(count).sum::<u64>();
    let [attributed, no_metadata, mixed_arms, arm_mismatch, user_in_both_arms] = counts;
    AttributionCounts {
        attributed,
        no_metadata,
        mixed_arms,
        arm_mismatch,
        user_in_both_arms,
        began_before_exposure: total(|user| user.began_before_exposure),
        ended_after_stop: total(|user| user.ended_after_stop),
    }
}
