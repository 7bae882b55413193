//! The command line's analysis, fed with the reference cases from end to end.

use std::io::Write;

use serde_json::{Value, json};

use crate::evaluation::{talk, work};
use crate::support::{Backend, Process, TestApp};

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Writes the rows to a file and has the binary analyse it.
fn analyse(percentage: f64, rows: &[Value], more: &[&str]) -> Value {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for row in rows {
        writeln!(file, "{row}").unwrap();
    }
    let (path, percentage) = (file.path().display().to_string(), percentage.to_string());
    let mut args =
        vec!["experiments", "analyse", "--holdout-percentage", &percentage, "--rows", &path];
    args.extend(["--format", "json"]);
    args.extend(more);
    let output = Process::run(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn close(name: &str, actual: &Value, expected: &Value) {
    match (actual, expected) {
        (Value::Array(actual), Value::Array(expected)) => {
            assert_eq!(actual.len(), expected.len(), "{name}");
            for (actual, expected) in actual.iter().zip(expected) {
                close(name, actual, expected);
            }
        }
        (Value::Number(actual), Value::Number(expected)) => {
            let (actual, expected) = (actual.as_f64().unwrap(), expected.as_f64().unwrap());
            let tolerance = 1e-6 * expected.abs().max(1.0);
            assert!((actual - expected).abs() < tolerance, "{name}: {actual} is not {expected}");
        }
        (actual, expected) => assert_eq!(actual, expected, "{name}"),
    }
}

fn rows_of_case(input: &Value) -> Vec<Value> {
    let (mut rows, mut counts) = (Vec::new(), [0u64, 0]);
    for (n, user) in input["users"].as_array().unwrap().iter().enumerate() {
        let (id, arm) = (&user["user_id"], &user["arm"]);
        counts[usize::from(arm == "holdout")] += 1;
        rows.push(json!({"user": id, "arm": arm}));
        for (s, success) in user["sessions"].as_array().unwrap().iter().enumerate() {
            rows.push(
                json!({"user": id, "arm": arm, "session": format!("{n}-{s}"), "success": success}),
            );
        }
        for (s, success) in user["pre_sessions"].as_array().into_iter().flatten().enumerate() {
            rows.push(json!({"user": id, "session": format!("pre-{s}"), "success": success, "pre_period": true}));
        }
    }
    for (index, arm) in ["treatment", "holdout"].iter().enumerate() {
        let assigned = input["assigned_users"][arm].as_u64().unwrap_or(counts[index]);
        rows.extend(
            (counts[index]..assigned).map(|n| json!({"user": format!("{arm}-{n}"), "arm": arm})),
        );
    }
    let unattributed = input["unattributed_evaluated_session_count"].as_u64().unwrap_or(0);
    rows.extend(
        (0..unattributed)
            .map(|n| json!({"user": "stranger", "session": format!("x{n}"), "success": 1})),
    );
    rows
}

fn headline_case(name: &str) {
    let case = golden(name);
    let expected = &case["expected"];
    let percentage = case["input"]["holdout_percentage"].as_f64().unwrap();
    let found = analyse(percentage, &rows_of_case(&case["input"]), &["--planned-users", "200"]);
    for arm in ["treatment", "holdout"] {
        for field in ["evaluated_user_count", "evaluated_session_count", "success_rate"] {
            close(&format!("{name} {arm} {field}"), &found[arm][field], &expected[arm][field]);
        }
    }
    for field in [
        "success_rate_lift_percentage_points",
        "relative_success_lift",
        "evaluated_session_coverage",
        "unattributed_evaluated_session_count",
    ] {
        close(&format!("{name} {field}"), &found[field], &expected[field]);
    }
    let recommended = &expected["recommended"];
    close(
        name,
        &found["confidence_interval_95_percentage_points"],
        &recommended["ci95_pp_clamped"],
    );
    assert_eq!(found["inference"]["interval_null_reason"], recommended["null_reason"], "{name}");
    let ratio = &found["health"]["sample_ratio"]["exposed"];
    if expected["srm"].is_object() {
        close(name, &ratio["chi_square"], &expected["srm"]["chi2"]);
        assert_eq!(ratio["exact"], expected["srm"]["low_expected_count"], "{name}");
        let p = if ratio["exact"] == true { "exact_binomial_p" } else { "p_value" };
        close(name, &ratio["p_value"], &expected["srm"][p]);
        // Flagged by the test that may be read every day, whatever a single look says.
        if ratio["mismatch"] == true {
            assert_eq!(found["decision"]["decision_null_reason"], "unhealthy", "{name}");
            assert!(found["decision"]["sentence"].as_str().unwrap().contains("split"), "{name}");
        }
    }
    if recommended["ci95_pp"].is_array() {
        close(name, &found["inference"]["standard_error_pp"]["cr2"], &expected["se_pp"]["cr2"]);
        close(name, &found["inference"]["degrees_of_freedom"], &expected["df"]["bell_mccaffrey"]);
        close(name, &found["inference"]["cr2_p_value"], &expected["p_value"]["cr2_bell_mccaffrey"]);
        let headline = &recommended["ci95_pp"];
        let excludes_zero =
            headline[0].as_f64().unwrap() > 0.0 || headline[1].as_f64().unwrap() < 0.0;
        let p_value = found["inference"]["p_value"].as_f64().unwrap();
        assert_eq!(p_value < 0.05, excludes_zero, "{name}: {p_value} {headline}");
        close(
            name,
            &found["robustness"]["user_weighted_lift_pp"],
            &expected["user_weighted"]["lift_pp"],
        );
        for method in ["cr2_bell_mccaffrey", "cr1_t_clusters_minus_1", "newcombe_neff"] {
            let (interval, intervals) =
                (&expected["ci95_pp"][method], &found["inference"]["intervals_95_pp"]);
            // An interval of zero width would claim certainty: there is a reason instead.
            if interval[0] == interval[1] {
                assert_eq!(intervals[format!("{method}_null_reason")], "zero_variance", "{name}");
            } else {
                close(name, &intervals[method], interval);
            }
        }
    }
}

#[test]
fn the_headline_cases_come_out_of_the_command_line() {
    let folder = format!("{}/tests/golden", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        .map(|name| name.trim_end_matches(".json").to_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 17, "{names:?}");
    for name in names {
        headline_case(&name);
    }
}

#[test]
fn segments_and_trends_come_out_of_the_command_line() {
    let row = |(n, row): (usize, &Value), field: &str| {
        let arm = if row[1] == 1 || row[1] == "treatment" { "treatment" } else { "holdout" };
        json!({"user": row[0], "arm": arm, "session": n.to_string(), field: row[2], "success": row[3]})
    };
    let case = golden("aux_segments");
    let rows: Vec<Value> =
        case["rows"].as_array().unwrap().iter().enumerate().map(|r| row(r, "source")).collect();
    let found = analyse(50.0, &rows, &[]);
    let source = &found["segments"]["source"];
    let interaction = &source["interaction"];
    assert!((0.0..=1.0).contains(&interaction["p_value"].as_f64().unwrap()), "{interaction}");
    assert_eq!(interaction["repetitions"], 999);
    for segment in source["segments"].as_array().unwrap() {
        let name = segment["name"].as_str().unwrap();
        close(name, &segment["lift_pp"], &case["per_segment"][name]["lift_pp"]);
        close(name, &segment["standard_error_pp"], &case["per_segment"][name]["se_cr2_pp"]);
    }
    let case = golden("aux_novelty_trend");
    let rows: Vec<Value> =
        case["rows"].as_array().unwrap().iter().enumerate().map(|r| row(r, "week")).collect();
    let found = analyse(50.0, &rows, &[]);
    close("slope", &found["trend"]["slope_pp_per_week"], &case["slope_pp_per_week"]);
    close("slope", &found["trend"]["slope_standard_error_pp"], &case["slope_se_cr2_pp"]);
    for week in found["trend"]["weeks"].as_array().unwrap() {
        let expected = &case["weekly"][week["week"].to_string()];
        close("week", &week["lift_pp"], &expected["lift_pp"]);
        close("week", &week["standard_error_pp"], &expected["se_cr2_pp"]);
    }
}

#[test]
fn the_report_is_for_people_and_mistakes_are_named() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    let run = |percentage: &str, more: &[&str]| {
        let mut args =
            vec!["experiments", "analyse", "--rows", &path, "--holdout-percentage", percentage];
        args.extend(more);
        Process::run(&args)
    };
    for n in 0..40 {
        let arm = if n % 2 == 0 { "treatment" } else { "holdout" };
        let row =
            json!({"user": format!("u{n}"), "arm": arm, "session": "s", "success": n % 3 == 0});
        writeln!(file, "{row}").unwrap();
    }
    let output = run("50", &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["treatment", "holdout", "lift ", "percentage points", "decision", "digest"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    for (percentage, more, problem) in [
        ("0", &[][..], "greater than 0"),
        ("100", &[], "less than 100"),
        ("NaN", &[], "greater than 0"),
        ("50", &["--ci-method", "guess"], "cr2_bell_mccaffrey"),
    ] {
        let output = run(percentage, more);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(problem), "{percentage} {more:?}");
    }
    writeln!(file, "{{\"user\": \"u\"}}").unwrap();
    let output = run("50", &[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 41"));
    let missing = Process::run(&[
        "experiments",
        "analyse",
        "--rows",
        "/nowhere",
        "--holdout-percentage",
        "5",
    ]);
    assert_eq!(missing.status.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simulate_tries_assignments_on_the_recorded_users() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    for n in 0..30 {
        let mut body = talk(&format!("user-{n}"), "s", n % 3 != 0);
        body["session_finished"] = json!(true);
        server.publish(&body).await.ok();
    }
    work(&t).await;
    let folder = t.settings().server.data_dir.display().to_string();
    let run = |more: &[&str]| {
        let args = ["experiments", "simulate", "--data-dir", &folder, "--days", "36500"];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        Process::command(&args).env_remove("EVENHAND_GOVERNANCE__KEYS").output().unwrap()
    };
    let output = run(&["--holdout-percentage", "30", "--assignments", "50", "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&found["users"], &found["sessions"], &found["assignments"]),
        (&json!(30), &json!(30), &json!(50))
    );
    assert!(found["intervals"].as_u64().unwrap() > 40, "{found}");
    assert!(found["false_alarm_rate"].as_f64().unwrap() < 0.2, "{found}");
    let report = String::from_utf8(run(&["--assignments", "5"]).stdout).unwrap();
    assert!(report.contains("intervals that exclude zero"), "{report}");
    assert_eq!(run(&["--assignments", "0"]).status.code(), Some(2));
    assert_eq!(run(&["--holdout-percentage", "100"]).status.code(), Some(1));
}

/// Rows of one session per user, in arms of these sizes.
fn arms(sizes: [usize; 2], outcome: impl Fn(&str, usize) -> Value) -> Vec<Value> {
    let of = |arm: &'static str, users: usize| {
        let outcome = &outcome;
        (0..users).map(move |n| {
            let mut row = outcome(arm, n);
            row["user"] = json!(format!("{arm}-{n}"));
            row["session"] = json!("s");
            row["arm"] = json!(arm);
            row
        })
    };
    of("treatment", sizes[0]).chain(of("holdout", sizes[1])).collect()
}

/// One user in six of the treatment escalates. Where nobody of the holdout does, an arm without variance must not
/// decide, however large the difference looks.
#[test]
fn an_arm_without_escalations_decides_no_guardrail() {
    let of_escalations = |holdout: usize, one_in: usize| {
        let rows = arms([600, holdout], |arm, n| {
            let one_in = if arm == "treatment" { 6 } else { one_in };
            let escalated = (n + 1).is_multiple_of(one_in);
            json!({"success": n % 5 != 0, "escalated": escalated, "corrections": 0, "tokens": 40})
        });
        let found = analyse(5.0, &rows, &[]);
        let guardrails = found["guardrails"].as_array().unwrap();
        let one = guardrails.iter().find(|one| one["name"] == "escalation_rate").unwrap();
        (one["verdict"].clone(), found["decision"]["failed_guardrail"].clone())
    };
    let (undecided, failed) = ((json!("undecided"), json!(false)), (json!("failed"), json!(true)));
    assert_eq!(of_escalations(29, 25), undecided, "too few users");
    assert_eq!(of_escalations(34, 1000), undecided, "nobody escalates");
    assert_eq!(of_escalations(34, 25), undecided, "too few to tell for good");
    assert_eq!(of_escalations(300, 100), failed, "few escalate");
}

/// In a holdout of thirty everybody may happen to succeed when 98 % do.
#[test]
fn a_lucky_holdout_is_not_harm() {
    let rows =
        arms([570, 30], |arm, n| json!({"success": arm == "holdout" || !n.is_multiple_of(50)}));
    let found = analyse(5.0, &rows, &["--planned-users", "600"]);
    assert_eq!(found["decision"]["decision"], "inconclusive", "{}", found["decision"]);
    assert_eq!(found["decision"]["sentence"], "Not decided yet: keep it running.");
    let number = |value: &Value| value.as_f64().unwrap();
    for interval in
        [&found["confidence_interval_95_percentage_points"], &found["always_valid"]["interval_pp"]]
    {
        assert!(number(&interval[0]) < 0.0 && number(&interval[1]) > 0.0, "{interval}");
    }
    let inference = &found["inference"];
    assert!(
        number(&inference["p_value"]) > 0.3 && number(&inference["cr2_p_value"]) < 0.01,
        "{inference}"
    );
    let fewer = analyse(5.0, &rows[..599], &["--planned-users", "600"]);
    assert_eq!(
        fewer["decision"]["sentence"],
        "Too early to decide: 29 of 30 evaluated holdout users so far."
    );
    assert_eq!(fewer["always_valid_null_reason"], "fewer_than_30_evaluated_users_in_an_arm");
}
