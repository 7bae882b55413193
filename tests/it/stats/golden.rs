//! Every number of every reference case.
//!
//! A test rebuilds the `expected` part of its file from the library and then walks the file: each
//! leaf of the file must be there, with the same value to the stated tolerance. What the file has
//! and the library deliberately does not give is named where it happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use evenhand::stats::agreement::Confusion;
use evenhand::stats::always_valid::{AlwaysValid, RunningLooks};
use evenhand::stats::complier::{ComplierEffect, DeliveredUser};
use evenhand::stats::cuped::{self, Cuped, Moments, UserHistory};
use evenhand::stats::distributions::{normal_critical_value, student_t_two_sided_p};
use evenhand::stats::judge_correction::{
    Corrected, JudgedUser, Tuning, prediction_powered_lift, prediction_powered_rate,
    rogan_gladen_lift, rogan_gladen_rate,
};
use evenhand::stats::missing::{
    DifferentialEvaluation, EvaluationCounts, PublishedUser, evaluated_session_coverage,
    worst_case_bounds,
};
use evenhand::stats::multiplicity::{benjamini_hochberg, holm};
use evenhand::stats::power::{Clustering, Planner, intraclass_correlation};
use evenhand::stats::robustness::{influence, user_weighted};
use evenhand::stats::sample_ratio::{SampleRatio, SequentialSampleRatio};
use evenhand::stats::segments::{SegmentLabel, SegmentedUser, Segments};
use evenhand::stats::trend::{Slope, WeeklyUser, weekly_lifts};
use evenhand::stats::{
    Arm, CiMethod, Comparison, Defined, Interval, NullReason, UserSum, Variance, comparison,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
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

fn always_valid(comparison: &Comparison<'_>, planned_users: u64) -> Value {
    let sequence = AlwaysValid::planned_for(planned_users).unwrap();
    let users = comparison.treatment.user_count() + comparison.holdout.user_count();
    let multiplier = sequence.multiplier(users);
    let look = |estimator| {
        let standard_error = comparison.standard_error(estimator)?;
        sequence.at(comparison.lift()?, standard_error, users)
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
        "p_value": { "cr2_bell_mccaffrey": number(comparison.p_value()) },
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

#[test]
fn case_01_balanced_equal_clusters() {
    headline_case("01_balanced_equal_clusters");
}

#[test]
fn case_02_unequal_clusters() {
    headline_case("02_unequal_clusters");
}

#[test]
fn case_04_one_user_per_arm() {
    headline_case("04_one_user_per_arm");
}

/// The file records what a regression package prints although the variance of the holdout is not
/// identified. The library refuses; the numbers are rebuilt here from its parts.
#[test]
fn case_05_single_holdout_user() {
    let case: Case = read("05_single_holdout_user");
    let (treatment, holdout) = (case.input.arm("treatment"), case.input.arm("holdout"));
    let comparison = Comparison::new(&treatment, &holdout);
    for estimator in [Variance::Cr0, Variance::Cr1, Variance::Cr2] {
        assert_eq!(
            comparison.standard_error(estimator),
            Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm)
        );
    }
    let variance =
        treatment.variance(Variance::Cr0).unwrap() + holdout.variance(Variance::Cr0).unwrap();
    let cr1 = (variance * comparison.cr1_factor()).sqrt();
    let df = (treatment.user_count() + holdout.user_count() - 1) as f64;
    let interval = comparison::t_interval(comparison.lift().unwrap(), cr1, df);
    let mut actual = results(&case.input);
    actual["se_pp"] = json!({ "cr0": variance.sqrt() * 100.0, "cr1": cr1 * 100.0 });
    actual["df"] = json!({ "clusters_minus_1": df });
    actual["ci95_pp"] = json!({ "cr1_t_clusters_minus_1": pair_points(Ok(interval)) });
    matches("05", &case.expected, &actual);
}

/// The file records intervals of zero width. The library never gives one: they are null.
#[test]
fn case_07_all_vs_none() {
    let case: Case = read("07_all_vs_none");
    let mut actual = results(&case.input);
    let lift = actual["success_rate_lift_percentage_points"].clone();
    for path in [
        "/ci95_pp/cr1_t_clusters_minus_1",
        "/ci95_pp/cr2_bell_mccaffrey",
        "/always_valid/n_star_200/ci_cr2_pp",
        "/always_valid/n_star_5000/ci_cr2_pp",
    ] {
        let null = actual.pointer_mut(path).unwrap();
        assert_eq!(*null, Value::Null, "{path}");
        *null = json!([lift, lift]);
    }
    actual["gbstats_error"] = case.expected["gbstats_error"].clone();
    matches("07", &case.expected, &actual);
}

#[test]
fn case_08_holdout_not_evaluated() {
    headline_case("08_holdout_not_evaluated");
}

#[test]
fn case_09_empty() {
    headline_case("09_empty");
}

/// Another package refuses this case; its error is no number of ours.
#[test]
fn case_10_zero_baseline() {
    let case: Case = read("10_zero_baseline");
    let mut actual = results(&case.input);
    actual["gbstats_error"] = case.expected["gbstats_error"].clone();
    matches("10", &case.expected, &actual);
}

#[test]
fn case_12_srm_present() {
    headline_case("12_srm_present");
}

#[test]
fn case_13_srm_small_expected() {
    headline_case("13_srm_small_expected");
}

/// Ours is `optimal_theta_closed_form`. The other two packages choose the coefficient in their own
/// ways; given their coefficient the rest has to agree.
#[test]
fn case_15_cuped_full_pre() {
    let case: Case = read("15_cuped_full_pre");
    let histories = ["treatment", "holdout"].map(|arm| case.input.history(arm));
    let [t, c] = [0, 1].map(|arm| Moments::of(&histories[arm]).unwrap());
    let pooled = Moments::of(&histories.concat()).unwrap();
    let cuped = Cuped::of(&histories[0], &histories[1]).unwrap();
    let unweighted = (t.covariance + c.covariance) / (t.variance_before + c.variance_before);
    let gbstats = cuped::adjust(&t, &c, unweighted).unwrap();
    let tea = cuped::adjust(&t, &c, pooled.covariance / pooled.variance_before).unwrap();
    let [before_t, before_c] = [0, 1].map(|arm| cuped::before(&histories[arm]));
    let balance = Comparison::new(&before_t, &before_c);
    let mut actual = results(&case.input);
    actual["cuped"] = json!({
        "gbstats_reverted_to_unadjusted": false,
        "gbstats": {
            "theta": gbstats.theta,
            "estimate_pp": gbstats.estimate * 100.0,
            "se_pp": gbstats.standard_error * 100.0,
            "ci95_pp": pair_points(Ok(gbstats.interval)),
        },
        "optimal_theta_closed_form": {
            "theta": cuped.adjusted.theta,
            "estimate_pp": cuped.adjusted.estimate * 100.0,
            "se_pp": cuped.adjusted.standard_error * 100.0,
        },
        "variance_reduction_optimal": cuped.variance_reduction,
        "tea_tasting": {
            "estimate_pp": tea.estimate * 100.0,
            "ci95_pp": pair_points(Ok(tea.interval)),
            "p_value": student_t_two_sided_p(tea.estimate / tea.standard_error, tea.df),
        },
        "pre_period_balance": {
            "difference_pp": points(balance.lift()),
            "se_cr2_pp": points(balance.standard_error(Variance::Cr2)),
            "df": number(balance.bell_mccaffrey_df()),
            "p_value": number(balance.p_value()),
        },
    });
    matches("15", &case.expected, &actual);
}

/// Nothing to adjust with: the other packages fall back to the plain lift, the library says why.
#[test]
fn case_17_cuped_constant_pre() {
    let case: Case = read("17_cuped_constant_pre");
    let [treatment, holdout] = ["treatment", "holdout"].map(|arm| case.input.history(arm));
    let [t, c] = [&treatment, &holdout].map(|users| Moments::of(users).unwrap());
    assert_eq!(cuped::optimal_theta(&t, &c), Err(NullReason::ConstantPrePeriod));
    assert_eq!(Cuped::of(&treatment, &holdout), Err(NullReason::FewerThanHundredUsers));
    let plain = cuped::adjust(&t, &c, 0.0).unwrap();
    let mut actual = results(&case.input);
    actual["cuped"] = json!({
        "gbstats_reverted_to_unadjusted": true,
        "gbstats": {
            "estimate_pp": plain.estimate * 100.0,
            "se_pp": plain.standard_error * 100.0,
            "ci95_pp": pair_points(Ok(plain.interval)),
        },
        "tea_tasting": {
            "estimate_pp": plain.estimate * 100.0,
            "ci95_pp": pair_points(Ok(plain.interval)),
            "p_value": student_t_two_sided_p(plain.estimate / plain.standard_error, plain.df),
        },
    });
    matches("17", &case.expected, &actual);
}

#[test]
fn case_18_icc_one() {
    headline_case("18_icc_one");
}

#[test]
fn case_19_singletons_equal_welch() {
    headline_case("19_singletons_equal_welch");
}

#[test]
fn case_20_two_users_per_arm() {
    headline_case("20_two_users_per_arm");
}

#[test]
fn case_22_attribution_gap() {
    headline_case("22_attribution_gap");
}

#[test]
fn case_23_users_without_sessions() {
    headline_case("23_users_without_sessions");
}

// ---------------------------------------------------------------------------------------------
// The cases around it

#[test]
fn aux_always_valid_looks() {
    let file: Value = read("aux_always_valid_looks");
    let users = |arm: &str| -> Vec<UserSum> {
        let pairs: Vec<(i64, u64)> = serde_json::from_value(file[arm].clone()).unwrap();
        let sum = |(total, sessions)| UserSum { sessions, total };
        pairs.into_iter().map(sum).collect()
    };
    let (treatment, holdout) = (users("treatment_users"), users("holdout_users"));
    let per_look = |arm: &str| file["users_per_look"][arm].as_u64().unwrap() as usize;
    let sequence = AlwaysValid::planned_for(200).unwrap();
    let mut running = RunningLooks::default();
    let looks: Vec<Value> = (1..=file["looks"].as_array().unwrap().len())
        .map(|day| {
            let so_far = |users: &[UserSum], arm: &str| {
                Arm::new(users[..day * per_look(arm)].iter().copied())
            };
            let (t, c) = (so_far(&treatment, "treatment"), so_far(&holdout, "holdout"));
            let comparison = Comparison::new(&t, &c);
            let gated = sequence.look(&comparison);
            assert_eq!(gated.is_ok(), c.user_count() >= 30);
            let look = sequence
                .at(
                    comparison.lift().unwrap(),
                    comparison.standard_error(Variance::Cr2).unwrap(),
                    t.user_count() + c.user_count(),
                )
                .unwrap();
            assert!(gated.is_err() || gated == Ok(look));
            running.absorb(&look);
            let counts = |arm: &Arm| json!([arm.total(), arm.session_count(), arm.user_count()]);
            json!({
                "day": day,
                "treatment": counts(&t),
                "holdout": counts(&c),
                "lift_pp": points(comparison.lift()),
                "fixed_ci_pp": pair_points(comparison.interval(CiMethod::DeltaWelch)),
                "always_valid_ci_pp": pair_points(Ok(look.interval)),
                "always_valid_p": look.p_value,
                "running_intersection_pp": pair_points(running.interval()),
            })
        })
        .collect();
    matches("aux_always_valid_looks", &file["looks"], &Value::Array(looks));
}

/// Rows of (user, arm, …), gathered by user within holdout (0) and treatment (1).
fn gather<Row, U: Default + Clone>(
    rows: Vec<Row>,
    key: impl Fn(&Row) -> (String, usize),
    add: impl Fn(&mut U, Row),
) -> [Vec<U>; 2] {
    let mut arms: [BTreeMap<String, U>; 2] = Default::default();
    for row in rows {
        let (user, arm) = key(&row);
        add(arms[arm].entry(user).or_default(), row);
    }
    arms.map(|users| users.into_values().collect())
}

fn rows<T: DeserializeOwned>(file: &Value) -> Vec<T> {
    serde_json::from_value(file["rows"].clone()).unwrap()
}

fn add_session(sums: &mut UserSum, outcome: i64) {
    sums.sessions += 1;
    sums.total += outcome;
}

#[test]
fn aux_complier_effect() {
    let file: Value = read("aux_complier_effect");
    let [holdout, treatment] = gather(
        rows::<(String, usize, u64, i64)>(&file),
        |row| (row.0.clone(), row.1),
        |user: &mut DeliveredUser, (_, _, delivered, outcome)| {
            add_session(&mut user.outcome, outcome);
            user.delivered += delivered;
        },
    );
    let effect = ComplierEffect::of(&treatment, &holdout).unwrap();
    let actual = json!({
        "itt_pp": effect.lift * 100.0,
        "first_stage": effect.treatment_delivery - effect.holdout_delivery,
        "treatment_exposure_rate": effect.treatment_delivery,
        "holdout_contamination_rate": effect.holdout_delivery,
        "late_pp": points(effect.effect),
        "late_se_pp": points(effect.standard_error),
    });
    compare_results("aux_complier_effect", file, &actual);
    assert!(effect.interval.unwrap().contains(effect.effect.unwrap()));
}

/// Compares everything in the file but its inputs and its descriptions.
fn compare_results(name: &str, mut file: Value, actual: &Value) {
    for input in ["id", "provenance", "rows"] {
        file.as_object_mut().unwrap().remove(input);
    }
    matches(name, &file, actual);
}

#[test]
fn aux_differential_evaluation() {
    let file: Value = read("aux_differential_evaluation");
    let [holdout, treatment] = gather(
        rows::<(String, usize, u64)>(&file),
        |row| (row.0.clone(), row.1),
        |user: &mut PublishedUser, (_, _, evaluated)| {
            user.published += 1;
            user.evaluated += evaluated;
        },
    );
    let tested = DifferentialEvaluation::of(treatment, holdout).unwrap();
    let actual = json!({
        "evaluation_rate": { "treatment": tested.treatment_rate, "holdout": tested.holdout_rate },
        "difference_pp": tested.difference * 100.0,
        "se_cr2_pp": points(tested.standard_error),
        "df": number(tested.df),
        "p_value": number(tested.p_value),
    });
    compare_results("aux_differential_evaluation", file, &actual);
}

#[test]
fn aux_judge_correction() {
    let file: Value = read("aux_judge_correction");
    // Every session is a user of its own, as in the reference.
    let arm = |name: &str| {
        let case = &file["arms"][name];
        let labelled: Vec<(u8, u8)> = serde_json::from_value(case["labelled"].clone()).unwrap();
        let passes = case["unlabelled_judge_successes"].as_u64().unwrap();
        let unlabelled = case["unlabelled_n"].as_u64().unwrap();
        let mut users: Vec<_> = (0..unlabelled)
            .map(|session| JudgedUser {
                unlabelled: 1,
                unlabelled_passes: u64::from(session < passes),
                ..JudgedUser::default()
            })
            .collect();
        let mut table = Confusion::default();
        for (person, judge) in labelled {
            let mut one = Confusion::default();
            one.count(judge == 1, person == 1);
            table = table.plus(&one);
            users.push(JudgedUser { labelled: one, ..JudgedUser::default() });
        }
        let judged: Arm = (0..unlabelled)
            .map(|session| UserSum { sessions: 1, total: i64::from(session < passes) })
            .collect();
        (users, judged, table)
    };
    let (treatment, holdout) = (arm("treatment"), arm("holdout"));
    let corrected = |rate: Defined<Corrected>| {
        let rate = rate.unwrap();
        json!({
            "estimate": rate.estimate,
            "se": rate.standard_error,
            "ci95": pair(rate.interval),
        })
    };
    let arms: BTreeMap<_, _> = [("treatment", &treatment), ("holdout", &holdout)]
        .into_iter()
        .map(|(name, (users, judged, table))| {
            let people = table.labelled_success() as f64 / table.total() as f64;
            let fields = json!({
                "labelled": file["arms"][name]["labelled"],
                "unlabelled_judge_successes": judged.total(),
                "unlabelled_n": judged.session_count(),
                "judge_rate": number(judged.mean()),
                "human_rate_labelled": people,
                "sensitivity": number(table.sensitivity().map(|rate| rate.estimate)),
                "specificity": number(table.specificity().map(|rate| rate.estimate)),
                "ppi_lam1": corrected(prediction_powered_rate(users, Tuning::Full)),
                "ppi_plusplus": corrected(prediction_powered_rate(users, Tuning::Optimal)),
                "rogan_gladen": number(rogan_gladen_rate(judged, table).map(|rate| rate.estimate)),
            });
            (name, fields)
        })
        .collect();
    let raw = Comparison::new(&treatment.1, &holdout.1).lift();
    let powered = prediction_powered_lift(&treatment.0, &holdout.0, Tuning::Full).unwrap();
    let inverted =
        rogan_gladen_lift((&treatment.1, &treatment.2), (&holdout.1, &holdout.2)).unwrap();
    assert!(inverted.interval.contains(inverted.estimate));
    let actual = json!({
        "arms": arms,
        "naive_lift_pp": points(raw),
        "ppi_lift_pp": powered.estimate * 100.0,
        "ppi_lift_se_pp": powered.standard_error * 100.0,
        "ppi_lift_ci95_pp": pair_points(powered.interval),
        "rogan_gladen_lift_pp": inverted.estimate * 100.0,
    });
    compare_results("aux_judge_correction", file, &actual);
}

#[test]
fn aux_missing_evaluation_bounds() {
    let file: Value = read("aux_missing_evaluation_bounds");
    for case in file["cases"].as_array().unwrap() {
        let counts = |arm: &str| {
            let count = |field: &str| case[arm][field].as_u64().unwrap();
            EvaluationCounts {
                published: count("published"),
                evaluated: count("evaluated"),
                successes: count("successes"),
            }
        };
        let (treatment, holdout) = (counts("treatment"), counts("holdout"));
        let actual = json!({
            "treatment": case["treatment"],
            "holdout": case["holdout"],
            "lift_bounds_pp": pair_points(worst_case_bounds(&treatment, &holdout)),
            "evaluation_rates": [
                number(treatment.evaluation_rate()),
                number(holdout.evaluation_rate()),
            ],
        });
        matches("aux_missing_evaluation_bounds", case, &actual);
    }
}

#[test]
fn aux_multiple_metrics() {
    let file: Value = read("aux_multiple_metrics");
    let p: BTreeMap<String, f64> = serde_json::from_value(file["p"].clone()).unwrap();
    let p_values: Vec<_> = p.values().copied().collect();
    let named = |values: Vec<f64>| -> BTreeMap<_, _> { p.keys().zip(values).collect() };
    let actual = json!({
        "p": p,
        "holm": named(holm(&p_values)),
        "bh": named(benjamini_hochberg(&p_values)),
    });
    compare_results("aux_multiple_metrics", file, &actual);
}

#[test]
fn aux_novelty_trend() {
    let file: Value = read("aux_novelty_trend");
    let [holdout, treatment] = gather(
        rows::<(String, usize, u32, i64)>(&file),
        |row| (row.0.clone(), row.1),
        |user: &mut WeeklyUser, (_, _, week, outcome)| {
            add_session(user.entry(week).or_default(), outcome);
        },
    );
    let slope = Slope::of(&treatment, &holdout).unwrap();
    let weekly: BTreeMap<_, _> = weekly_lifts(&treatment, &holdout)
        .into_iter()
        .map(|week| {
            let fields = json!({
                "lift_pp": points(week.lift),
                "se_cr2_pp": points(week.standard_error),
                "df": number(week.df),
            });
            (week.week.to_string(), fields)
        })
        .collect();
    let actual = json!({
        "slope_pp_per_week": slope.per_week * 100.0,
        "slope_se_cr1_pp": slope.cr1_standard_error * 100.0,
        "slope_se_cr2_pp": slope.cr2_standard_error * 100.0,
        "slope_df_bm": slope.df,
        "weekly": weekly,
    });
    compare_results("aux_novelty_trend", file, &actual);
}

/// `mde_pp` comes from an iterative solver that stops at a relative 1e-5; it is compared at that
/// precision, by its power and with the closed form, which itself is compared to 1e-9.
#[test]
fn aux_power() {
    let file: Value = read("aux_power");
    for case in file["cases"].as_array().unwrap() {
        let field = |name: &str| case[name].as_f64().unwrap();
        let planner = Planner {
            baseline: field("baseline"),
            clustering: Clustering {
                mean_sessions: field("mean_sessions"),
                squared_variation: field("cv2_sessions"),
                intraclass_correlation: field("icc"),
            },
            power: field("power"),
        };
        let users = ["treatment_users", "holdout_users"].map(|arm| case[arm].as_u64().unwrap());
        let [treatment, holdout] = users;
        let effect = planner.smallest_detectable_effect(treatment, holdout);
        let solved = field("mde_pp") / 100.0;
        let power = planner.power_at(solved, treatment, holdout).unwrap();
        assert!((power - planner.power).abs() < 5e-6, "{power}");
        assert!((solved / effect.unwrap() - 1.0).abs() < 1e-5);
        let expected = json!({
            "design_effect": case["design_effect"],
            "mde_closed_form_pp": case["mde_closed_form_pp"],
        });
        let actual = json!({
            "design_effect": planner.clustering.design_effect(),
            "mde_closed_form_pp": points(effect),
        });
        matches("aux_power", &expected, &actual);
    }
}

#[test]
fn aux_segments() {
    let file: Value = read("aux_segments");
    let [holdout, treatment] = gather(
        rows::<(String, usize, String, i64)>(&file),
        |row| (row.0.clone(), row.1),
        |user: &mut SegmentedUser, (_, _, segment, outcome)| {
            add_session(user.entry(segment).or_default(), outcome);
        },
    );
    let result = Segments::of(&treatment, &holdout);
    let named = |value: fn(&evenhand::stats::segments::SegmentLift) -> Value| -> Value {
        let entry = |(label, segment): (&SegmentLabel, &Defined<_>)| match label {
            SegmentLabel::Named(name) => (name.clone(), value(segment.as_ref().unwrap())),
            SegmentLabel::Pooled => panic!("no segment is small"),
        };
        result.segments.iter().map(entry).collect()
    };
    let (interaction, q) = (result.interaction.unwrap(), result.cochran_q.unwrap());
    let actual = json!({
        "per_segment": named(|segment| json!({
            "lift_pp": points(segment.lift),
            "se_cr2_pp": points(segment.standard_error),
            "df": number(segment.df),
            "p": number(segment.p_value),
        })),
        "interaction_wald_chi2": interaction.statistic,
        "interaction_df": interaction.df,
        "interaction_p": interaction.p_value,
        "cochran_Q": q.statistic,
        "cochran_p": q.p_value,
        "bh_p": named(|segment| number(segment.adjusted_p_value)),
    });
    compare_results("aux_segments", file, &actual);
}

#[test]
fn aux_sequential_srm() {
    let file: Value = read("aux_sequential_srm");
    for case in file["cases"].as_array().unwrap() {
        let share = case["holdout_share"].as_f64().unwrap();
        let increments: Vec<(u64, u64)> =
            serde_json::from_value(case["increments_treatment_holdout"].clone()).unwrap();
        let so_far: Vec<_> = increments
            .iter()
            .scan((0, 0), |total, (treatment, holdout)| {
                *total = (total.0 + treatment, total.1 + holdout);
                Some(*total)
            })
            .collect();
        let sequential = |mut test: SequentialSampleRatio| -> Vec<f64> {
            so_far.iter().map(|(t, c)| test.look(*t, *c)).collect()
        };
        let flat = SequentialSampleRatio::with_concentration(share, 10_000.0).unwrap();
        let ours = SequentialSampleRatio::new(share).unwrap();
        let fixed: Vec<_> = so_far
            .iter()
            .map(|(t, c)| SampleRatio::test(*t, *c, share).unwrap().chi_square_p)
            .collect();
        let actual = json!({
            "name": case["name"],
            "holdout_share": share,
            "increments_treatment_holdout": case["increments_treatment_holdout"],
            "sequential_p_concentration_10000": sequential(flat),
            "sequential_p_concentration_100_closed_form": sequential(ours),
            "chi2_p_each_day": fixed,
        });
        matches("aux_sequential_srm", case, &actual);
    }
}

#[test]
fn the_normal_quantile_of_the_reference() {
    assert!((normal_critical_value(0.025) - 1.959_963_984_540_054).abs() < 1e-14);
}
