//! Results: the stored rows against a plain count of them, and everything that changes them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use service::experiments::{Arm, assign};

use super::{PATH, start, stop, users};
use crate::evaluation::{talk, work};
use crate::support::{NOW, Process, Server, TestApp, apply, both_backends};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

const STARTED: i64 = NOW - 20_000;
const USERS: u64 = 40;

/// Rows of every kind, past every rule: among them those that cannot come about.
async fn fill(t: &TestApp, dice: &mut Dice, sessions: std::ops::Range<u64>) {
    let (mut statements, t_or_f) = (Vec::new(), |b: bool| if b { "TRUE" } else { "FALSE" });
    for n in sessions {
        let (user, session) = (format!("user-{}", dice.below(USERS)), format!("s{n}"));
        let subject = t.subject(&user);
        let began = NOW - i64::try_from(dice.below(30_000)).unwrap();
        let one_arm = dice.below(4) > 0;
        let hashed = assign(&"org".into(), "exp", &user.as_str().into(), 40.0);
        let other = if hashed == Arm::Holdout { Arm::Treatment } else { Arm::Holdout };
        let named = dice.below(10);
        for r in 0..=dice.below(3) {
            let at = began + 700 * i64::try_from(r).unwrap();
            let attribution = match named {
                0..=5 if dice.one_in(4) => "NULL, NULL".to_owned(),
                0..=5 if !one_arm && dice.one_in(12) => format!("'exp', '{}'", other.as_str()),
                0..=5 => format!("'exp', '{}'", hashed.as_str()),
                6 => "'old', 'treatment'".to_owned(),
                _ => "NULL, NULL".to_owned(),
            };
            for _ in 0..=dice.below(2) {
                let role = ["User", "Assistant", "tool"][dice.below(3) as usize];
                let tokens =
                    if dice.one_in(25) { "NULL".to_owned() } else { dice.below(90).to_string() };
                let learnings = if dice.one_in(15) { "[1]" } else { "[]" };
                statements.push(format!("INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
                    shadow_content, expert_content, user_action, user_action_description, interacted_image_url, image_encoding,
                    tools_used, citations, retrieved_learnings, token_count) VALUES ('org', {subject}, '{session}', 1, '{session}-{r}', {at},
                    '{role}', 'x', '', '', 'none', '', '', '', '[]', '[]', '{learnings}', {tokens})"));
            }
            statements.push(format!("INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
                agent_version, evaluation_only, retrieval_experiment_id, retrieval_experiment_arm, content_sha256, answer)
                VALUES ('org', {subject}, '{session}', '{session}-{r}', 1, {at}, {at}, '', 'v', FALSE, {attribution}, '', '[]')"));
        }
        if dice.below(4) > 0 {
            for version in 0..=dice.below(2) {
                let turns =
                    if dice.one_in(2) { "NULL".to_owned() } else { dice.below(9).to_string() };
                statements.push(format!("INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch,
                    is_success, failure_type, failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
                    created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens,
                    output_tokens, latency_ms, attempts, flags) VALUES ('org', {subject}, '{session}', 'agent_success', 'v{version}', 1, {}, '', '', {},
                    {turns}, {}, 'complete', {began}, {}, 1, 1, 'offline', 'v1', '', 0, 0, 0, 1, '[]')",
                    t_or_f(dice.one_in(2)), dice.below(4), t_or_f(dice.one_in(5)), began + i64::try_from(dice.below(3)).unwrap()));
            }
        }
        if dice.one_in(2) {
            let at = STARTED + i64::try_from(dice.below(20_000)).unwrap();
            statements.push(format!("INSERT INTO experiment_exposures (org_id, subject, session_id, experiment_id, epoch, number, arm, first_exposed_at,
                last_exposed_at, searches, found, served, served_new, served_from_holdout) VALUES ('org', {subject}, '{session}', 'exp', 1, 2,
                '{}', {at}, {at}, 1, 2, 1, 0, 0)", hashed.as_str()));
        }
    }
    for statement in statements {
        t.sql(&statement).await.unwrap();
    }
}

async fn prepare(t: &TestApp) {
    for n in 0..USERS {
        t.sql(&format!(
            "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
                        VALUES ('org', {}, 'user-{n}', 'active', 1, 1)",
            t.subject(&format!("user-{n}"))
        ))
        .await
        .unwrap();
    }
    t.sql(&format!(
        "INSERT INTO experiments (org_id, experiment_id, number, holdout_percentage, planned_users,
         margin_percentage_points, started_at, ended_at) VALUES ('org', 'old', 1, 40, 5000, 2, {}, {})",
        NOW - 90_000,
        NOW - 80_000
    ))
    .await
    .unwrap();
    t.sql(&format!(
        "INSERT INTO experiments (org_id, experiment_id, number, holdout_percentage, planned_users,
         margin_percentage_points, started_at, ended_at) VALUES ('org', 'exp', 2, 40, 5000, 2, {STARTED}, {})",
        NOW - 2000
    ))
    .await
    .unwrap();
}

type Verdict = (String, String, i64, bool, i64, Option<i64>, bool, i64, i64);

/// Section by section what is documented, read row by row.
async fn brute_force(t: &TestApp) -> Value {
    let (verdicts, requests, all_requests, turns, exposures) = t.app.db.read("test.rows", (), |tx, ()| Box::pin(async move {
        let verdicts: Vec<Verdict> = storage::rows!(tx, Verdict, "SELECT u.user_id, session_id, r.created_at, is_success, number_of_corrections,
            user_turns_to_resolution, is_escalated, evaluated_at, result_id
            FROM evaluation_results r JOIN subjects u USING (org_id, subject) WHERE evaluation_name = 'agent_success'")?;
        let requests = storage::rows!(tx, (String, String, String, String), "SELECT u.user_id, session_id, request_id, retrieval_experiment_arm
            FROM requests JOIN subjects u USING (org_id, subject) WHERE retrieval_experiment_id = 'exp'")?;
        let all_requests = storage::rows!(tx, (String, String, String, i64), "SELECT u.user_id, session_id, request_id, r.created_at
            FROM requests r JOIN subjects u USING (org_id, subject)")?;
        let turns = storage::rows!(tx, (String, String, Option<i64>), "SELECT request_id, role, token_count FROM interactions")?;
        let exposures = storage::rows!(tx, (String, i64), "SELECT u.user_id, first_exposed_at
            FROM experiment_exposures JOIN subjects u USING (org_id, subject) WHERE experiment_id = 'exp'")?;
        Ok((verdicts, requests, all_requests, turns, exposures))
    })).await.unwrap();

    let mut newest: BTreeMap<(String, String), Verdict> = BTreeMap::new();
    for verdict in verdicts {
        let key = (verdict.0.clone(), verdict.1.clone());
        let newer = newest.get(&key).is_none_or(|old| (verdict.7, verdict.8) > (old.7, old.8));
        if newer {
            newest.insert(key, verdict);
        }
    }
    let arms_of_session = |user: &str, session: &str| -> BTreeSet<&str> {
        requests.iter().filter(|r| r.0 == user && r.1 == session).map(|r| r.3.as_str()).collect()
    };
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let mut counted: BTreeMap<&str, Vec<&Verdict>> = BTreeMap::new();
    for ((user, session), verdict) in &newest {
        let arms = arms_of_session(user, session);
        let in_window = verdict.2 >= STARTED && verdict.2 <= NOW - 2000;
        if arms.is_empty() && !in_window {
            continue;
        }
        let hashed = assign(&"org".into(), "exp", &user.as_str().into(), 40.0).as_str();
        let of_user: BTreeSet<&str> =
            requests.iter().filter(|r| r.0 == *user).map(|r| r.3.as_str()).collect();
        let first = exposures.iter().filter(|e| e.0 == *user).map(|e| e.1).min();
        let reason = if arms.is_empty() {
            "no_metadata"
        } else if arms.len() == 2 {
            "mixed_arms"
        } else if !arms.contains(hashed) {
            "arm_mismatch"
        } else if of_user.len() == 2 {
            "user_in_both_arms"
        } else {
            let of_session = all_requests.iter().filter(|r| r.0 == *user && r.1 == *session);
            let last = of_session.map(|r| r.3).max();
            let began_before = first.is_some_and(|first| verdict.2 < first);
            *reasons.entry("began_before_exposure").or_default() += u64::from(began_before);
            *reasons.entry("ended_after_stop").or_default() += u64::from(last > Some(NOW - 2000));
            counted.entry(hashed).or_default().push(verdict);
            "attributed"
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let mut expected = json!({"reasons": reasons});
    for arm in ["treatment", "holdout"] {
        let verdicts = counted.get(arm).cloned().unwrap_or_default();
        let n = verdicts.len() as f64;
        let mean = |values: Vec<f64>| -> Value {
            if values.is_empty() {
                Value::Null
            } else {
                json!(values.iter().sum::<f64>() / values.len() as f64)
            }
        };
        let sessions: BTreeSet<(&str, &str)> =
            requests.iter().filter(|r| r.3 == arm).map(|r| (r.0.as_str(), r.1.as_str())).collect();
        let tokens: Vec<f64> = sessions
            .iter()
            .filter_map(|(user, session)| {
                let ids: BTreeSet<&str> = all_requests
                    .iter()
                    .filter(|r| r.0 == *user && r.1 == *session)
                    .map(|r| r.2.as_str())
                    .collect();
                let spoken =
                    turns.iter().filter(|turn| ids.contains(turn.0.as_str()) && turn.1 != "User");
                spoken.map(|turn| turn.2).sum::<Option<i64>>().map(|tokens| tokens as f64)
            })
            .collect();
        expected[arm] = json!({
            "arm": arm,
            "assigned_user_count": sessions.iter().map(|s| s.0).collect::<BTreeSet<_>>().len(),
            "published_session_count": sessions.len(),
            "evaluated_user_count": verdicts.iter().map(|v| &v.0).collect::<BTreeSet<_>>().len(),
            "evaluated_session_count": n as u64,
            "success_rate": mean(verdicts.iter().map(|v| f64::from(u8::from(v.3))).collect()),
            "average_corrections": mean(verdicts.iter().map(|v| v.4 as f64).collect()),
            "average_turns_to_resolution": mean(verdicts.iter().filter_map(|v| v.5).map(|t| t as f64).collect()),
            "escalation_rate": mean(verdicts.iter().map(|v| f64::from(u8::from(v.6))).collect()),
            "average_output_tokens": mean(tokens.clone()),
            "output_token_session_count": tokens.len(),
        });
    }
    expected
}

async fn compare(t: &TestApp, server: &Server, when: &str) {
    let expected = brute_force(t).await;
    let found = server.get(&format!("{PATH}/exp/results")).await.ok();
    for arm in ["treatment", "holdout"] {
        for (field, value) in expected[arm].as_object().unwrap() {
            let actual = &found[arm][field];
            match (actual.as_f64(), value.as_f64()) {
                (Some(actual), Some(value)) => {
                    assert!((actual - value).abs() < 1e-9, "{when} {arm} {field}: {actual} {value}")
                }
                _ => assert_eq!(actual, value, "{when} {arm} {field}"),
            }
        }
    }
    let reasons = found["health"]["attribution"].as_object().unwrap();
    assert_eq!(reasons.len(), 7);
    for (reason, count) in reasons {
        assert_eq!(
            count.as_u64().unwrap(),
            expected["reasons"][reason].as_u64().unwrap_or(0),
            "{when} {reason}"
        );
    }
    let count = |reason: &str| reasons[reason].as_u64().unwrap();
    let impossible = count("mixed_arms") + count("arm_mismatch") + count("user_in_both_arms");
    let (attributed, all) =
        (count("attributed"), count("attributed") + count("no_metadata") + impossible);
    assert!(count("began_before_exposure") > 0 && count("ended_after_stop") > 0, "{when}");
    assert_eq!(found["unattributed_evaluated_session_count"], all - attributed, "{when}");
    let coverage = found["evaluated_session_coverage"].as_f64().unwrap();
    assert!((coverage - attributed as f64 / all as f64).abs() < 1e-12, "{when}");
}

#[apply(both_backends)]
async fn results_are_what_a_plain_count_gives(t: TestApp) {
    let mut dice = Dice(11);
    prepare(&t).await;
    let server = t.serve().await;
    let dashboard = server.with_token(&t.key("org", service::credentials::Role::Dashboard).await);
    fill(&t, &mut dice, 0..220).await;
    compare(&t, &dashboard, "at first").await;
    compare(&t, &dashboard, "again").await;
    fill(&t, &mut dice, 220..300).await;
    compare(&t, &dashboard, "after more").await;
    // A turn without attribution, of a session that has some.
    let sessions = "SELECT subject, session_id FROM requests WHERE retrieval_experiment_id = 'exp' AND request_id LIKE '%-0'";
    t.sql(&format!("INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content, shadow_content,
            expert_content, user_action, user_action_description, interacted_image_url, image_encoding, tools_used, citations, retrieved_learnings,
            token_count) SELECT 'org', s.subject, s.session_id, 1, s.session_id || '-late', {NOW}, 'Assistant', 'x', '', '', 'none', '', '', '', '[]', '[]',
            '[]', 1000 FROM ({sessions}) s")).await.unwrap();
    t.sql(&format!("INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source, agent_version,
            evaluation_only, content_sha256, answer) SELECT 'org', s.subject, s.session_id, s.session_id || '-late', 1, {NOW}, {NOW}, '', 'v', FALSE, '', '[]'
            FROM ({sessions}) s")).await.unwrap();
    compare(&t, &dashboard, "after late turns").await;
    for n in 0..40 {
        let session = format!("s{}", dice.below(300));
        let change = match n % 5 {
            0 => format!("DELETE FROM evaluation_results WHERE session_id = '{session}'"),
            1 => format!(
                "UPDATE evaluation_results SET is_success = NOT is_success, evaluated_at = evaluated_at + 5 WHERE session_id = '{session}'"
            ),
            2 => format!("DELETE FROM requests WHERE session_id = '{session}'"),
            3 => format!("DELETE FROM interactions WHERE session_id = '{session}'"),
            _ => format!("DELETE FROM experiment_exposures WHERE session_id = '{session}'"),
        };
        t.sql(&change).await.unwrap();
    }
    compare(&t, &dashboard, "after changes").await;
    let third = t.subject("user-3");
    for table in [
        "experiment_exposures",
        "evaluation_results",
        "requests",
        "experiment_stale_users",
        "experiment_user_sums",
    ] {
        t.sql(&format!("DELETE FROM {table} WHERE subject = {third}")).await.unwrap();
    }
    compare(&t, &dashboard, "without one").await;
    // Everything that an incremental sum says, a fresh one says too; also when the numbers of the strata have gaps, which
    // erasures leave.
    let before = dashboard.get(&format!("{PATH}/exp/results")).await.ok();
    for forgotten in ["experiment_user_sums", "experiment_strata WHERE stratum = 0"] {
        t.sql(&format!("DELETE FROM {forgotten}")).await.unwrap();
        t.sql(
            "INSERT INTO experiment_stale_users (org_id, experiment_id, subject, epoch, marks)
                   SELECT org_id, 'exp', subject, 1, 1 FROM subjects",
        )
        .await
        .unwrap();
        let after = dashboard.get(&format!("{PATH}/exp/results")).await.ok();
        assert_eq!(before["analysis"]["input_digest"], after["analysis"]["input_digest"]);
        assert_eq!(before, after);
    }
    // Sums that a program with another encoding has left are computed anew.
    t.sql("UPDATE experiment_user_sums SET sums = '9' || sums, sums_hash = sums_hash + 1")
        .await
        .unwrap();
    assert_eq!(dashboard.get(&format!("{PATH}/exp/results")).await.ok(), before);
    assert_eq!(t.number("SELECT COUNT(*) FROM experiment_user_sums WHERE sums LIKE '9%'").await, 0);
}

#[apply(both_backends)]
async fn the_lift_is_kept_day_by_day_while_it_runs(t: TestApp) {
    const DAY: i64 = 86_400;
    prepare(&t).await;
    t.sql("UPDATE experiments SET ended_at = NULL WHERE experiment_id = 'exp'").await.unwrap();
    let server = t.serve().await;
    let dashboard = server.with_token(&t.key("org", service::credentials::Role::Dashboard).await);
    let results = async || dashboard.get(&format!("{PATH}/exp/results")).await.ok();
    assert_eq!(results().await["looks"], json!([]), "there is nothing to be seen yet");
    let mut dice = Dice(11);
    fill(&t, &mut dice, 0..150).await;
    let first = results().await;
    let lift = &first["success_rate_lift_percentage_points"];
    let look = &first["looks"][0];
    assert_eq!(look["day"], NOW / DAY * DAY);
    assert_eq!(&look["lift_pp"], lift);
    assert_eq!(look["holdout_users"], first["holdout"]["evaluated_user_count"]);
    assert_eq!(look["always_valid_interval_pp"], Value::Null, "fewer than 30 users in an arm");
    // Another look of the same day takes its place.
    fill(&t, &mut dice, 150..220).await;
    let again = results().await;
    assert_eq!(again["looks"].as_array().unwrap().len(), 1);
    assert_eq!(again["looks"][0]["lift_pp"], again["success_rate_lift_percentage_points"]);
    assert_ne!(again["looks"], first["looks"]);
    // Nobody asks on the next days: the server looks by itself, once a day.
    crate::support::schedule(&t.app, "watch_experiments").await;
    for _ in 0..2 {
        t.clock().advance(DAY);
        work(&t).await;
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM experiment_daily_looks").await, 3);
    let looks = results().await["looks"].clone();
    let days: Vec<i64> =
        looks.as_array().unwrap().iter().map(|look| look["day"].as_i64().unwrap()).collect();
    assert_eq!(days, [0, 1, 2].map(|n| NOW / DAY * DAY + n * DAY));
    stop(&dashboard, "exp").await;
    t.clock().advance(DAY);
    assert_eq!(results().await["looks"], looks, "what is seen after its end is its result");
}

#[apply(both_backends)]
async fn the_answer_has_its_documented_shape(t: TestApp) {
    let server = t.serve().await;
    for id in ["none", "%20", &"x".repeat(129), "a%0Ab", "%ff"] {
        server.get(&format!("{PATH}/{id}/results")).await.problem(404, "not_found");
        server.get(&format!("{PATH}/{id}/export")).await.problem(404, "not_found");
    }
    start(&server, "an experiment", 10.0).await;
    let empty = server.get(&format!("{PATH}/%20an%20experiment/results")).await.ok();
    assert_eq!(empty["experiment"].as_object().unwrap().len(), 4);
    let arm = json!({"arm": "holdout", "assigned_user_count": 0, "published_session_count": 0, "evaluated_user_count": 0,
        "evaluated_session_count": 0, "success_rate": null, "average_corrections": null, "average_turns_to_resolution": null,
        "escalation_rate": null, "average_output_tokens": null, "output_token_session_count": 0,
        "judged_share": null});
    assert_eq!(empty["holdout"], arm);
    for null in [
        "success_rate_lift_percentage_points",
        "relative_success_lift",
        "confidence_interval_95_percentage_points",
        "evaluated_session_coverage",
        "always_valid",
        "delivery",
        "interference",
        "cuped",
        "robustness",
    ] {
        assert!(empty.as_object().unwrap().contains_key(null), "{null}");
        assert_eq!(empty[null], Value::Null, "{null}");
    }
    for key in
        ["inference", "decision", "health", "judge", "segments", "guardrails", "trend", "analysis"]
    {
        assert!(!empty[key].is_null(), "{key}");
    }
    assert_eq!(empty["cuped_null_reason"], "arm_without_evaluated_sessions");
    assert_eq!(empty["interference_null_reason"], "nothing_served");
    assert_eq!(empty["decision"]["decision"], "collecting");
    assert_eq!(empty["unattributed_evaluated_session_count"], 0);
    let path = format!("{PATH}/an%20experiment/results?ci_method=guess");
    assert_eq!(
        server.get(&path).await.input_problems(),
        [("/ci_method".to_owned(), "not_allowed".to_owned())]
    );
}

#[apply(both_backends)]
async fn from_search_to_a_number_anyone_can_compute_again(t: TestApp) {
    let server = t.serve().await;
    crate::learnings::add_agent_playbook(&server, json!({"content": "Parcels arrive on Tuesday"}))
        .await;
    start(&server, "exp", 50.0).await;
    t.clock().advance(10);
    let everyone: Vec<(String, Arm)> = Arm::BOTH
        .into_iter()
        .flat_map(|arm| {
            users("default", "exp", 50.0, arm, 12).into_iter().map(move |user| (user, arm))
        })
        .collect();
    for (n, (user, arm)) in everyone.iter().enumerate() {
        for s in 0..3 {
            let session = format!("s{s}");
            let asked = json!({"user_id": user, "session_id": session, "query": "parcel"});
            server.post("/api/search", &asked).await.ok();
            let good = (n + s) % 4 != 0 || *arm == Arm::Treatment && s == 0;
            let mut body = talk(user, &session, good);
            body["session_finished"] = json!(true);
            body["source"] = json!(if s == 0 { "web" } else { "app" });
            assert_eq!(server.publish(&body).await.ok()["experiment"]["arm"], arm.as_str());
        }
    }
    work(&t).await;
    let found = server.get(&format!("{PATH}/exp/results")).await.ok();
    assert_eq!(found["treatment"]["evaluated_session_count"], 36);
    assert_eq!(found["holdout"]["published_session_count"], 36);
    assert_eq!(found["health"]["healthy"], true, "{}", found["health"]["problems"]);
    assert_eq!(found["delivery"]["treatment_share"], 1.0);
    assert_eq!(found["delivery"]["holdout_share"], 0.0);
    assert_eq!(found["delivery"]["triggered"]["holdout_sessions"], 36);
    assert_eq!(found["interference"]["served_learnings"], 36);
    assert_eq!(found["judge"]["epochs"].as_array().unwrap().len(), 1);
    assert_eq!(found["segments"]["source"]["segments"].as_array().unwrap().len(), 2);
    assert!(
        found["confidence_interval_95_percentage_points"][0].as_f64()
            < found["success_rate_lift_percentage_points"].as_f64()
    );

    // A person who disagrees is heard; a look changes nothing that was not looked at.
    let label =
        json!({"labels": [{"session_id": "s0", "user_id": everyone[0].0, "is_success": false}]});
    server.post("/api/evaluations/labels", &label).await.ok();
    let labelled = server.get(&format!("{PATH}/exp/results")).await.ok();
    assert_eq!(labelled["judge"]["labelled_sessions"], 1);

    // The export gives the same numbers, and names nobody.
    let export = server.get(&format!("{PATH}/exp/export")).await;
    assert_eq!(export.headers["content-type"], "application/x-ndjson");
    assert!(everyone.iter().all(|(user, _)| !export.text.contains(&format!("\"{user}\""))));
    assert_eq!(export.text.lines().count(), 72);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &export.text).unwrap();
    let path = file.path().display().to_string();
    let output = Process::run(&[
        "experiments",
        "analyse",
        "--holdout-percentage",
        "50",
        "--rows",
        &path,
        "--format",
        "json",
    ]);
    let mut again: Value = serde_json::from_slice(&output.stdout).unwrap();
    again.sort_all_objects();
    for (name, value) in again.as_object().unwrap() {
        if name != "analysis" {
            assert_eq!(labelled[name], *value, "{name}");
        }
    }
    assert_eq!(again["analysis"]["input_digest"], labelled["analysis"]["input_digest"]);
    assert_eq!(
        again["success_rate_lift_percentage_points"],
        labelled["success_rate_lift_percentage_points"]
    );

    // A holdout session that carried a learning must not be: counted and listed, and no decision.
    let held = &everyone.last().unwrap().0;
    let mut leaked = talk(held, "s1", true);
    leaked["interaction_data_list"][1]["retrieved_learnings"] =
        json!([{"kind": "agent_playbook", "learning_id": "1"}]);
    server.publish(&leaked).await.ok();
    let found = server.get(&format!("{PATH}/exp/results")).await.ok();
    assert_eq!(
        found["health"]["contaminated_holdout_sessions"],
        json!([{"user_id": held, "session_id": "s1"}])
    );
    assert_eq!(
        (&found["decision"]["decision"], &found["decision"]["decision_null_reason"]),
        (&Value::Null, &json!("unhealthy"))
    );

    // A deleted session no longer counts.
    server.post("/api/clear_user_data", &json!({"user_id": held})).await.ok();
    let found = server.get(&format!("{PATH}/exp/results")).await.ok();
    assert_eq!(found["holdout"]["published_session_count"], 33);
    assert_eq!(found["health"]["healthy"], true);
    stop(&server, "exp").await;
    assert_eq!(server.get(&format!("{PATH}/exp/results")).await.ok()["holdout"], found["holdout"]);
}

#[apply(both_backends)]
async fn a_plan_stands_on_past_sessions(t: TestApp) {
    let server = t.serve().await;
    let nothing = server.get(&format!("{PATH}/plan")).await.ok();
    assert_eq!((&nothing["past_users"], &nothing["days_needed"]), (&json!(0), &Value::Null));
    assert_eq!(nothing["success_rate_null_reason"], "arm_without_evaluated_sessions");
    for n in 0..12 {
        for s in 0..2 {
            let mut body = talk(&format!("user-{n}"), &format!("s{s}"), (n + s) % 3 != 0);
            body["session_finished"] = json!(true);
            server.publish(&body).await.ok();
        }
    }
    work(&t).await;
    let plan = server
        .get(&format!(
            "{PATH}/plan?holdout_percentage=5&effect_percentage_points=3&power=0.9&days=7"
        ))
        .await
        .ok();
    assert_eq!(
        (&plan["past_users"], &plan["past_sessions"], &plan["days"]),
        (&json!(12), &json!(24), &json!(7))
    );
    assert!(plan["small_holdout_price"].as_f64().unwrap() > 2.28);
    assert!(plan["holdout_users_needed"].as_u64() < plan["treatment_users_needed"].as_u64());
    for (query, pointer) in [
        ("holdout_percentage=0", "/holdout_percentage"),
        ("holdout_percentage=100", "/holdout_percentage"),
        ("power=1", "/power"),
        ("days=0", "/days"),
        ("effect_percentage_points=NaN", "/effect_percentage_points"),
    ] {
        let problems = server.get(&format!("{PATH}/plan?{query}")).await.input_problems();
        assert_eq!(problems[0].0, pointer, "{query}");
    }
}
