//! Every number of every reference case.
//!
//! A test rebuilds the `expected` part of its file from the library and then walks the file: each
//! leaf of the file must be there, with the same value to the stated tolerance. What the file has
//! and the library deliberately does not give is named where it happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod around;
mod headline;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use stats::agreement::Confusion;
use stats::always_valid::{AlwaysValid, Look, RunningLooks};
use stats::complier::{ComplierEffect, DeliveredUser};
use stats::cuped::{self, Cuped, Moments, UserHistory};
use stats::distributions::{normal_critical_value, student_t_two_sided_p};
use stats::judge_correction::{
    Corrected, JudgedUser, Tuning, prediction_powered_lift, prediction_powered_rate,
    rogan_gladen_lift, rogan_gladen_rate,
};
use stats::missing::{
    DifferentialEvaluation, EvaluationCounts, PublishedUser, evaluated_session_coverage,
    worst_case_bounds,
};
use stats::multiplicity::{benjamini_hochberg, holm};
use stats::power::{Clustering, Planner, intraclass_correlation};
use stats::robustness::{influence, user_weighted};
use stats::sample_ratio::{SampleRatio, SequentialSampleRatio};
use stats::segments::{SegmentLabel, SegmentLift, SegmentedUser, Segments};
use stats::trend::{Slope, WeeklyUser, weekly_lifts};
use stats::{
    Arm, CiMethod, Comparison, Defined, Interval, NullReason, UserSum, Variance, comparison,
};
use std::collections::BTreeMap;

// ---------------------------------------------------------------------------------------------
// Reading and comparing

fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Point 1e-9, standard error 1e-7, degrees of freedom 1e-6, p 1e-9, interval 1e-6.
fn tolerance(path: &str) -> f64 {
    let any = |marks: &[&str]| marks.iter().any(|mark| path.contains(mark));
    if any(&["ci95", "_ci_", "ci_cr2", "ci_delta", "halfwidth", "running_intersection"]) {
        1e-6
    } else if any(&["/se_", "_se_"]) || path.ends_with("/se") {
        1e-7
    } else if any(&["/df", "_df"]) {
        1e-6
    } else {
        1e-9
    }
}

/// Compares every leaf of `expected` and answers how many numbers there were.
fn compare(path: &str, expected: &Value, actual: &Value) -> usize {
    match expected {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| {
                let found = actual.get(key).unwrap_or(&Value::Null);
                compare(&format!("{path}/{key}"), value, found)
            })
            .sum(),
        Value::Array(items) => {
            let found = actual.as_array().unwrap_or_else(|| panic!("{path}: {actual}"));
            assert_eq!(items.len(), found.len(), "{path}");
            let pairs = items.iter().zip(found).enumerate();
            pairs
                .map(|(index, (item, found))| compare(&format!("{path}/{index}"), item, found))
                .sum()
        }
        Value::Number(number) => {
            let expected = number.as_f64().unwrap();
            let actual =
                actual.as_f64().unwrap_or_else(|| panic!("{path}: {actual} is not {expected}"));
            assert!(
                (actual - expected).abs() <= tolerance(path),
                "{path}: {actual} is not {expected}"
            );
            1
        }
        _ => {
            assert_eq!(actual, expected, "{path}");
            0
        }
    }
}

fn number(value: Defined<f64>) -> Value {
    value.map_or(Value::Null, |value| json!(value))
}

fn points(value: Defined<f64>) -> Value {
    number(value.map(|value| value * 100.0))
}

fn pair(interval: Defined<Interval>) -> Value {
    interval.map_or(Value::Null, |ci| json!([ci.lower, ci.upper]))
}

fn pair_points(interval: Defined<Interval>) -> Value {
    pair(interval.map(|interval| interval.percentage_points()))
}

// ---------------------------------------------------------------------------------------------
// The cases of the headline

#[derive(Deserialize)]
struct Case {
    input: Input,
    expected: Value,
}

#[derive(Deserialize)]
struct Input {
    holdout_percentage: f64,
    users: Vec<User>,
    assigned_users: Option<BTreeMap<String, u64>>,
    #[serde(default)]
    unattributed_evaluated_session_count: u64,
}

#[derive(Deserialize)]
struct User {
    arm: String,
    sessions: Vec<i64>,
    #[serde(default)]
    pre_sessions: Vec<i64>,
}

fn sums(outcomes: &[i64]) -> UserSum {
    UserSum { sessions: outcomes.len() as u64, total: outcomes.iter().sum() }
}

impl Input {
    fn of<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = &'a User> {
        self.users.iter().filter(move |user| user.arm == arm)
    }

    fn arm(&self, arm: &str) -> Arm {
        self.of(arm).map(|user| sums(&user.sessions)).collect()
    }

    fn history(&self, arm: &str) -> Vec<UserHistory> {
        let history = |user: &User| UserHistory {
            during: sums(&user.sessions),
            before: sums(&user.pre_sessions),
        };
        self.of(arm).map(history).collect()
    }

    fn assigned(&self, arm: &str) -> u64 {
        match &self.assigned_users {
            Some(counts) => counts[arm],
            None => self.of(arm).count() as u64,
        }
    }
}

fn arm_metrics(arm: &Arm) -> Value {
    json!({
        "evaluated_user_count": arm.user_count(),
        "evaluated_session_count": arm.session_count(),
        "successes": arm.total(),
        "success_rate": number(arm.mean()),
        "kish_effective_users": number(arm.kish_effective_users()),
    })
}

fn by_arm(arms: [&Arm; 2], value: impl Fn(&Arm) -> Defined<f64>) -> Value {
    let [treatment, holdout] = arms.map(|arm| number(value(arm)));
    json!({ "treatment": treatment, "holdout": holdout })
}

fn sample_ratio(treatment: u64, holdout: u64, share: f64) -> Value {
    let Ok(ratio) = SampleRatio::test(treatment, holdout, share) else {
        return Value::Null;
    };
    json!({
        "expected_holdout_share": ratio.expected_holdout_share,
        "observed_holdout_share": ratio.observed_holdout_share,
        "chi2": ratio.chi_square,
        "p_value": ratio.chi_square_p,
        "exact_binomial_p": ratio.exact_binomial_p,
        "low_expected_count": ratio.low_expected_count,
        "flag_p_below_0_001": ratio.is_mismatch(),
    })
}

/// The form of the reference, `lift ± k·SE`. Nothing is decided by it; it holds the multiplier and the p-value of the
/// sequence to the reference.
fn symmetric_look(
    sequence: &AlwaysValid,
    lift: f64,
    standard_error: f64,
    users: usize,
) -> Defined<Look> {
    if standard_error <= 0.0 {
        return Err(NullReason::ZeroVariance);
    }
    Ok(Look {
        interval: Interval::around(lift, sequence.multiplier(users)? * standard_error),
        p_value: sequence.p_value(lift / standard_error, users)?,
    })
}

fn always_valid(comparison: &Comparison<'_>, planned_users: u64) -> Value {
    let sequence = AlwaysValid::planned_for(planned_users).unwrap();
    let users = comparison.treatment.user_count() + comparison.holdout.user_count();
    let multiplier = sequence.multiplier(users);
    let look = |estimator| {
        let standard_error = comparison.standard_error(estimator)?;
        symmetric_look(&sequence, comparison.lift()?, standard_error, users)
    };
    let (cr2, delta) = (look(Variance::Cr2), look(Variance::Delta));
    json!({
        "n_users": users,
        "n_star": planned_users,
        "alpha": 0.05,
        "multiplier_confseq": number(multiplier),
        "halfwidth_cr2_pp": points(comparison.standard_error(Variance::Cr2).map(|se| se * multiplier.unwrap())),
        "ci_cr2_pp": pair_points(cr2.map(|look| look.interval)),
        "ci_delta_gbstats_pp": pair_points(delta.map(|look| look.interval)),
        "p_value_gbstats": number(delta.map(|look| look.p_value)),
    })
}

/// Everything that needs two evaluated users in each arm.
fn inference(comparison: &Comparison<'_>) -> Map<String, Value> {
    let se = |estimator| points(comparison.standard_error(estimator));
    let ci = |method| pair_points(comparison.interval(method));
    let arms = [comparison.treatment, comparison.holdout];
    let relative = comparison.relative_interval();
    let weighted = user_weighted(comparison).unwrap();
    let influence = influence(comparison).unwrap();
    let mut fields = json!({
        "se_pp": {
            "cr0": se(Variance::Cr0),
            "cr1": se(Variance::Cr1),
            "delta_per_arm": se(Variance::Delta),
            "cr2": se(Variance::Cr2),
            "cr3": se(Variance::Cr3),
        },
        "df": {
            "clusters_minus_1": number(comparison.clusters_minus_one()),
            "bell_mccaffrey": number(comparison.bell_mccaffrey_df()),
            "welch_gbstats": number(comparison.welch_df()),
        },
        "ci95_pp": {
            "cr1_t_clusters_minus_1": ci(CiMethod::Cr1),
            "cr2_bell_mccaffrey": ci(CiMethod::Cr2BellMcCaffrey),
            "delta_welch_gbstats": ci(CiMethod::DeltaWelch),
            "newcombe_neff": ci(CiMethod::NewcombeNormal),
            "clustered_newcombe_tbm": ci(CiMethod::ClusteredNewcombe),
        },
        "p_value": { "cr2_bell_mccaffrey": number(comparison.cr2_p_value()) },
        "user_weighted": {
            "lift_pp": points(Ok(weighted.lift)),
            "df": number(weighted.test.map(|test| test.df)),
            "p_value": number(weighted.test.map(|test| test.p_value)),
            "ci95_pp": pair_points(weighted.test.map(|test| test.interval)),
        },
        "influence": {
            "max_leave_one_user_out_shift_pp": influence.largest_leave_one_user_out_shift * 100.0,
            "max_user_session_share": influence.largest_user_share,
        },
        "always_valid": {
            "n_star_200": always_valid(comparison, 200),
            "n_star_5000": always_valid(comparison, 5000),
        },
        "design_effect": by_arm(arms, Arm::design_effect),
        "effective_sample_size": by_arm(arms, Arm::effective_sample_size),
        "icc_anova": by_arm(arms, intraclass_correlation),
        "degenerate_variance_arm": arms.iter().any(|arm| arm.has_zero_variance()),
        "gbstats_error": Value::Null,
    });
    if comparison.relative_lift().is_ok() {
        fields["relative_ci95"] = json!({
            "fieller_cr2": pair(relative),
            "unbounded": relative == Err(NullReason::UnboundedInterval),
        });
    }
    fields.as_object().unwrap().clone()
}

fn results(input: &Input) -> Value {
    let (treatment, holdout) = (input.arm("treatment"), input.arm("holdout"));
    let comparison = Comparison::new(&treatment, &holdout);
    let unattributed = input.unattributed_evaluated_session_count;
    let headline = comparison.interval(CiMethod::default());
    let mut fields = json!({
        "treatment": arm_metrics(&treatment),
        "holdout": arm_metrics(&holdout),
        "unattributed_evaluated_session_count": unattributed,
        "evaluated_session_coverage": number(evaluated_session_coverage(
            treatment.session_count() + holdout.session_count(),
            unattributed,
        )),
        "srm": sample_ratio(
            input.assigned("treatment"),
            input.assigned("holdout"),
            input.holdout_percentage / 100.0,
        ),
        "success_rate_lift_percentage_points": points(comparison.lift()),
        "relative_success_lift": number(comparison.relative_lift()),
        "recommended": {
            "ci_method": headline.ok().map(|_| CiMethod::default().as_str()),
            "ci95_pp": pair_points(headline),
            "ci95_pp_clamped": pair_points(headline),
            "null_reason": headline.err().map(NullReason::as_str),
        },
    });
    if headline.is_ok() {
        fields.as_object_mut().unwrap().extend(inference(&comparison));
    }
    fields
}

fn matches(name: &str, expected: &Value, actual: &Value) {
    let count = compare(name, expected, actual);
    assert!(count > 0, "{name} has no numbers");
}

fn headline_case(name: &str) {
    let case: Case = read(name);
    matches(name, &case.expected, &results(&case.input));
}
