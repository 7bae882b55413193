//! Can the numbers be trusted? An unhealthy experiment has no decision, and keeps its numbers.

use serde_json::{Value, json};

use super::part::Part;
use super::{Arms, Design, Sample};
use crate::experiments::looks::{self, Looks};
use crate::experiments::rows::Reason;
use crate::experiments::sums::UserSums;
use stats::missing::{DifferentialEvaluation, EvaluationCounts, PublishedUser, worst_case_bounds};
use stats::sample_ratio::{MISMATCH_P, SEQUENTIAL_MISMATCH_P, SampleRatio};

/// Share of evaluated sessions with an impossible reason that is still taken for an accident.
const IMPOSSIBLE_SHARE: f64 = 0.005;
/// The smallest share of evaluated sessions that may belong to the experiment, once there are enough to tell.
const SMALLEST_COVERAGE: f64 = 0.8;
const ENOUGH_FOR_COVERAGE: u64 = 20;
const HOW_TO_ATTRIBUTE: &str = "send the session_id with each search, or with each publish the retrieval_experiment_id \
    and retrieval_experiment_arm that the search answered with";

pub struct Health {
    pub part: Part,
    /// What is wrong, in words; empty when all is well.
    pub problems: Vec<String>,
    /// Whether more is wrong than that nothing is attributed yet, which leaves the decision at `collecting`.
    pub suppresses_decision: bool,
}

/// Tests a split of users against the planned share.
pub fn sample_ratio(counts: [u64; 2], share: f64, smallest_p: &mut f64) -> (Part, bool) {
    let [treatment, holdout] = counts;
    let test = SampleRatio::test(treatment, holdout, share);
    let sequential = looks::sequential(counts, share, smallest_p);
    let mismatch = test.is_ok_and(|test| test.is_mismatch())
        || sequential.is_ok_and(|p| p < SEQUENTIAL_MISMATCH_P);
    let part = Part::new()
        .with("treatment_users", treatment)
        .with("holdout_users", holdout)
        .with("expected_holdout_share", share)
        .maybe("observed_holdout_share", test.map(|test| test.observed_holdout_share))
        .maybe("chi_square", test.map(|test| test.chi_square))
        .maybe("p_value", test.map(|test| test.p_value()))
        .with("exact", test.is_ok_and(|test| test.low_expected_count))
        .maybe("sequential_p_value", sequential)
        .with("mismatch", mismatch);
    (part, mismatch)
}

pub fn health(sample: &Sample, arms: &Arms<'_>, design: &Design, looks: &mut Looks) -> Health {
    let mut problems = Vec::new();
    let Arms { treatment, holdout } = arms;
    let evaluated = [&treatment.outcome, &holdout.outcome].map(|arm| arm.user_count() as u64);
    let mut stages = Part::new();
    for (stage, counts, smallest) in [
        ("exposed", [treatment.exposed, holdout.exposed], &mut looks.exposed_p),
        ("published", [treatment.assigned, holdout.assigned], &mut looks.published_p),
        ("evaluated", evaluated, &mut looks.evaluated_p),
    ] {
        let (part, mismatch) = sample_ratio(counts, design.holdout_share(), smallest);
        if mismatch {
            problems.push(format!("{stage} users are not split as planned"));
        }
        stages = stages.with(stage, part);
    }
    let evaluation = evaluation_rate(arms, &mut problems);
    let contaminated: u64 = sample.users.iter().map(|user| user.contaminated).sum();
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
    let part = Part::new()
        .with("healthy", problems.is_empty())
        .with("problems", problems.clone())
        .with("sample_ratio", stages)
        .with("evaluation_rate", evaluation)
        .interval_points(
            "worst_case_lift_pp",
            worst_case_bounds(&counts(treatment), &counts(holdout)),
        )
        .with("contaminated_holdout_session_count", contaminated)
        .with("contaminated_holdout_sessions", json!([]))
        .with("attribution", attribution);
    Health { part, problems, suppresses_decision }
}

fn counts(arm: &super::ArmUsers<'_>) -> EvaluationCounts {
    EvaluationCounts {
        published: arm.published,
        evaluated: arm.outcome.session_count(),
        successes: u64::try_from(arm.outcome.total()).unwrap_or(0),
    }
}

/// Whether the arms are judged equally often.
fn evaluation_rate(arms: &Arms<'_>, problems: &mut Vec<String>) -> Value {
    let [treatment, holdout] = [&arms.treatment, &arms.holdout].map(|arm| {
        let index = arm.arm.index();
        let of_user = move |user: &&UserSums| PublishedUser {
            published: user.published[index],
            evaluated: user.outcome().sessions.min(user.published[index]),
        };
        arm.users.iter().map(of_user).collect::<Vec<_>>()
    });
    let test = DifferentialEvaluation::of(treatment, holdout);
    if test.is_ok_and(|test| test.p_value.is_ok_and(|p| p < MISMATCH_P)) {
        problems.push("the arms are not judged equally often".to_owned());
    }
    Part::new()
        .maybe("treatment", test.map(|test| test.treatment_rate))
        .maybe("holdout", test.map(|test| test.holdout_rate))
        .points("difference_pp", test.map(|test| test.difference))
        .points("standard_error_pp", test.and_then(|test| test.standard_error))
        .maybe("p_value", test.and_then(|test| test.p_value))
        .into()
}

/// Evaluated sessions by reason, and two kinds of those that count.
#[allow(clippy::cast_precision_loss)] // numbers of sessions
fn attribution(sample: &Sample, problems: &mut Vec<String>) -> Part {
    let counts = sample.reasons();
    let (all, attributed) = (counts.iter().sum::<u64>(), counts[Reason::Attributed as usize]);
    for reason in Reason::IMPOSSIBLE {
        let count = counts[reason as usize];
        if count as f64 > IMPOSSIBLE_SHARE * all as f64 {
            problems.push(format!("{count} evaluated sessions: {}", reason.as_str()));
        }
    }
    if all >= ENOUGH_FOR_COVERAGE && (attributed as f64) < SMALLEST_COVERAGE * all as f64 {
        problems.push(format!(
            "only {attributed} of {all} evaluated sessions belong to the experiment: {HOW_TO_ATTRIBUTE}"
        ));
    }
    let total = |count: fn(&UserSums) -> u64| sample.users.iter().map(count).sum::<u64>();
    Reason::ALL
        .into_iter()
        .fold(Part::new(), |part, reason| part.with(reason.as_str(), counts[reason as usize]))
        .with("began_before_exposure", total(|user| user.began_before_exposure))
        .with("ended_after_stop", total(|user| user.ended_after_stop))
}
