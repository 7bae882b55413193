//! The cases around the headline: looks, delivery, judges, missing verdicts, trend, power, segments.

use super::*;

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
            assert_eq!(sequence.look(&comparison).is_ok(), c.user_count() >= 30);
            let (lift, standard_error) =
                (comparison.lift().unwrap(), comparison.standard_error(Variance::Cr2).unwrap());
            let users = t.user_count() + c.user_count();
            let look = symmetric_look(&sequence, lift, standard_error, users).unwrap();
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
        "p_value": number(tested.cr2_p_value),
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
    let named = |value: fn(&SegmentLift) -> Value| -> Value {
        let entry = |(label, segment): (&SegmentLabel, &Defined<_>)| match label {
            SegmentLabel::Named(name) => (name.clone(), value(segment.as_ref().unwrap())),
            SegmentLabel::Pooled => panic!("no segment is small"),
        };
        result.segments.iter().map(entry).collect()
    };
    let (interaction, q) = (result.interaction.unwrap(), result.cochran_q.unwrap());
    let of_reference = named(|segment| json!(cr2_p_value(segment)));
    let of_reference: BTreeMap<String, f64> = serde_json::from_value(of_reference).unwrap();
    let p_values: Vec<f64> = of_reference.values().copied().collect();
    let adjusted = of_reference.into_keys().zip(benjamini_hochberg(&p_values));
    let actual = json!({
        "per_segment": named(|segment| json!({
            "lift_pp": points(segment.lift),
            "se_cr2_pp": points(segment.standard_error),
            "df": number(segment.df),
            "p": cr2_p_value(segment),
        })),
        "interaction_wald_chi2": interaction.statistic,
        "interaction_df": interaction.df,
        "interaction_p": interaction.p_value,
        "cochran_Q": q.statistic,
        "cochran_p": q.p_value,
        "bh_p": adjusted.collect::<Value>(),
    });
    compare_results("aux_segments", file, &actual);
}

/// The p-value of the reference, from lift, standard error and degrees of freedom.
fn cr2_p_value(segment: &SegmentLift) -> f64 {
    let t = segment.lift.unwrap() / segment.standard_error.unwrap();
    student_t_two_sided_p(t, segment.df.unwrap())
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
