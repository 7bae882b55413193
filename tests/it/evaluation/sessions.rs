//! From publish to verdict: quiet periods, sampling, decisions, rules, deletion.

use std::sync::Arc;

use judge::recorded::RecordedJudge;
use serde_json::{Value, json};
use service::spending::count_spent_today;

use super::{decision, results, talk, work};
use crate::support::{NOW, Process, TestApp, apply, both_backends, until};

#[apply(both_backends)]
async fn a_quiet_session_is_judged_once_and_again_when_it_grows(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    assert_eq!(decision(&server, "s1").await.0, "not_yet_quiet");
    work(&t).await;
    t.clock().advance(400);
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(400);
    work(&t).await;
    assert!(results(&server).await.is_empty(), "400 seconds are not 600");
    t.clock().advance(200);
    assert_eq!(decision(&server, "s1").await.0, "queued");
    work(&t).await;
    let first = results(&server).await;
    assert_eq!(first.len(), 1);
    insta::assert_json_snapshot!("a_verdict", first[0], {".rubric_hash" => "[hash]"});
    assert_eq!(decision(&server, "s1").await, ("judged".to_owned(), "by rules".to_owned()));
    work(&t).await;
    t.clock().advance(10_000);
    work(&t).await;
    assert_eq!(results(&server).await[0]["evaluated_at"], first[0]["evaluated_at"], "judged once");

    server.publish(&talk("ada", "s1", false)).await.ok();
    assert_eq!(decision(&server, "s1").await.0, "not_yet_quiet");
    t.clock().advance(600);
    work(&t).await;
    let again = results(&server).await;
    assert_eq!(again.len(), 1);
    assert_eq!(again[0]["result_id"], first[0]["result_id"], "a regrade keeps its id");
    assert_eq!(again[0]["created_at"], first[0]["created_at"], "and its place");
    assert_eq!(again[0]["is_success"], false);
    assert_eq!(again[0]["user_turns_to_resolution"], Value::Null, "counted on success only");
    assert_eq!(first[0]["user_turns_to_resolution"], 4);
}

#[apply(both_backends)]
async fn a_finished_session_is_due_at_once(t: TestApp) {
    let server = t.serve().await;
    let mut finished = talk("ada", "s1", true);
    finished["session_finished"] = json!(true);
    finished["created_at"] = json!(NOW - 86_400);
    server.publish(&finished).await.ok();
    server.publish(&talk("bob", "s2", true)).await.ok();
    work(&t).await;
    assert_eq!(results(&server).await.len(), 1);
    assert_eq!(
        results(&server).await[0]["created_at"],
        NOW - 86_400,
        "the time of its first request"
    );
    server.post("/api/finalize_session", &json!({"session_id": "s2"})).await.ok();
    work(&t).await;
    assert_eq!(results(&server).await.len(), 2);
}

#[apply(both_backends)]
async fn sampling_sources_and_their_reasons(t: TestApp) {
    let server = t.serve().await;
    let config = json!({"agent_success_config": {
        "sampling_rate": 0.0, "evaluation_only_sampling_rate": 1.0, "request_sources_enabled": ["", "web"]}});
    server.post("/api/update_config", &config).await.ok();
    let mut app = talk("ada", "from-app", true);
    app["source"] = json!("app");
    let mut only = talk("ada", "only", true);
    only["evaluation_only"] = json!(true);
    for body in [&app, &only, &talk("ada", "plain", true)] {
        server.publish(body).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(decision(&server, "from-app").await.0, "skipped");
    assert!(decision(&server, "from-app").await.1.contains("request_sources_enabled"));
    assert_eq!(decision(&server, "plain").await.0, "sampled_out");
    assert_eq!(decision(&server, "only").await.0, "judged", "its own rate is 1");
    assert_eq!(results(&server).await.len(), 1);
    server.get("/api/evaluations/decisions?session_id=nope").await.problem(404, "not_found");
    server.get("/api/evaluations/decisions").await.problem(422, "invalid_input");
    let all = server.get("/api/evaluations/decisions?user_id=ada").await.ok();
    assert_eq!(all["decisions"].as_array().unwrap().len(), 3);
}

#[apply(both_backends)]
async fn rules_judge_beside_the_judge(t: TestApp) {
    let server = t.serve().await;
    let config = json!({"agent_success_config": {"sampling_rate": 0.0}, "evaluators": [
        {"evaluation_name": "polite", "kind": "regex", "role": "agent", "pattern": "(?i)sorry", "must_match": false},
        {"evaluation_name": "short", "kind": "max_turns", "max_turns": 1},
        {"evaluation_name": "reported", "kind": "customer_outcome"},
    ]});
    server.post("/api/update_config", &config).await.ok();
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let by_name = async || -> Vec<(String, bool)> {
        let mut found: Vec<_> = results(&server)
            .await
            .iter()
            .map(|r| {
                (
                    r["evaluation_name"].as_str().unwrap().to_owned(),
                    r["is_success"].as_bool().unwrap(),
                )
            })
            .collect();
        found.sort();
        found
    };
    assert_eq!(by_name().await, [("polite".to_owned(), true), ("short".to_owned(), false)]);
    assert!(results(&server).await.iter().all(|r| r["judge"] == "rule" && r["cost_usd"] == 0.0));
    let outcome = json!({"session_id": "s1", "outcome": "failure", "occurred_at": NOW});
    server.post("/api/session_outcome", &outcome).await.ok();
    work(&t).await;
    assert_eq!(by_name().await[1], ("reported".to_owned(), false));
    let filter = json!({"evaluation_name": "reported", "agent_version": "v1", "start_time": NOW - 1, "end_time": NOW + 1});
    let found = server.post("/api/get_agent_success_evaluation_results", &filter).await.ok();
    assert_eq!(found["agent_success_evaluation_results"].as_array().unwrap().len(), 1);
    for none in
        [json!({"agent_version": "v2"}), json!({"end_time": NOW}), json!({"start_time": NOW + 1})]
    {
        let found = server.post("/api/get_agent_success_evaluation_results", &none).await.ok();
        assert_eq!(found["agent_success_evaluation_results"], json!([]), "{none}");
    }
    server
        .post("/api/get_agent_success_evaluation_results", &json!({"limit": 1001}))
        .await
        .problem(422, "invalid_input");
}

#[apply(both_backends)]
async fn what_is_deleted_takes_its_verdicts_along(t: TestApp) {
    let server = t.serve().await;
    for session in ["s1", "s2", "s3"] {
        server.publish(&talk("ada", session, true)).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let labels = json!({"labels": [{"session_id": "s1", "is_success": true}, {"session_id": "s2", "is_success": false}]});
    server.post("/api/evaluations/labels", &labels).await.ok();
    server.delete("/api/delete_session", &json!({"session_id": "s1"})).await.ok();
    let left = async |table: &str, session: &str| {
        t.number(&format!("SELECT COUNT(*) FROM {table} WHERE session_id = '{session}'")).await
    };
    for table in ["evaluation_results", "evaluation_decisions", "session_labels"] {
        assert_eq!(left(table, "s1").await, 0, "{table}");
        assert_eq!(left(table, "s2").await, 1, "{table}");
    }
    // A session that goes while it waits is skipped, and leaves no decision behind.
    server.publish(&talk("ada", "s3", true)).await.ok();
    server.delete("/api/delete_session", &json!({"session_id": "s3"})).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(
        left("evaluation_results", "s3").await + left("evaluation_decisions", "s3").await,
        0
    );
    let ada = t.subject_in("default", "ada");
    let hers = async |table: &str| {
        t.number(&format!("SELECT COUNT(*) FROM {table} WHERE subject = {ada}")).await
    };
    assert_eq!(hers("evaluation_results").await, 1);
    server.post("/api/clear_user_data", &json!({"user_id": "ada"})).await.ok();
    for table in ["evaluation_results", "evaluation_decisions", "session_labels", "jobs"] {
        assert_eq!(hers(table).await, 0, "{table}");
    }
}

#[apply(both_backends)]
async fn nothing_is_judged_for_someone_being_erased(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.sql("UPDATE subjects SET state = 'erasing', epoch = epoch + 1 WHERE user_id = 'ada'")
        .await
        .unwrap();
    t.clock().advance(600);
    work(&t).await;
    assert!(results(&server).await.is_empty());
    let grade = json!({"session_id": "s1", "agent_version": "v1"});
    server.post("/api/evaluations/grade_on_demand", &grade).await.problem(409, "subject_erasing");
    let label = json!({"labels": [{"session_id": "s1", "is_success": true}]});
    server.post("/api/evaluations/labels", &label).await.problem(409, "subject_erasing");
}

#[apply(both_backends)]
async fn users_with_the_same_session_id_are_not_mixed(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    server.publish(&talk("bob", "s1", false)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let of = async |user: &str| {
        let body = json!({"user_id": user});
        let found = server.post("/api/get_agent_success_evaluation_results", &body).await.ok();
        found["agent_success_evaluation_results"][0]["is_success"].as_bool()
    };
    assert_eq!((of("ada").await, of("bob").await), (Some(true), Some(false)));
    let both = server.get("/api/evaluations/decisions?session_id=s1").await.ok();
    assert_eq!(both["decisions"].as_array().unwrap().len(), 2);
}

#[apply(both_backends)]
async fn a_verdict_that_is_there_is_not_paid_for_again(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    let grade = json!({"session_id": "s1", "agent_version": "v1"});
    server.post("/api/evaluations/grade_on_demand", &grade).await.ok();
    t.clock().advance(600);
    work(&t).await;
    server.post("/api/finalize_session", &json!({"session_id": "s1"})).await.ok();
    work(&t).await;
    assert_eq!(judge.count(), 1, "its turns are those that were judged on demand");
    assert_eq!(decision(&server, "s1").await.0, "judged");
    // Nor does a sample that it is not in make its verdict unsaid.
    let config = json!({"agent_success_config": {"sampling_rate": 0.0}});
    server.post("/api/update_config", &config).await.ok();
    server.post("/api/finalize_session", &json!({"session_id": "s1"})).await.ok();
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "judged");
    server.post("/api/update_config", &json!({"agent_success_config": null})).await.ok();
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(judge.count(), 2, "it grew");
}

#[apply(both_backends)]
async fn readiness_shows_the_judge_and_how_late_the_queue_is(t: TestApp) {
    let server = t.serve().await;
    let detail = async |name: &str| {
        let ready = server.get("/health/ready").await.ok();
        let checks = ready["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!(check["ok"], true);
        check["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail("judge").await, "rules");
    server.publish(&talk("ada", "s1", true)).await.ok();
    assert_eq!(detail("jobs").await, "nothing is late");
    t.clock().advance(600 + 45);
    assert_eq!(detail("jobs").await, "the oldest due job waits for 45 s");
    work(&t).await;
    assert_eq!(detail("jobs").await, "nothing is late");
}

#[apply(both_backends)]
async fn a_restart_begins_no_new_daily_budget(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).labelled("openai/gpt-5-mini"));
    let t = t.judged_by(judge).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let cost = results(&server).await[0]["cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0);
    let limited = t.replica_with(|settings| settings.judge.daily_budget_usd = 5.0).await;
    count_spent_today(&limited.app).await.unwrap();
    assert!((limited.app.judge.spent_today() - cost).abs() < 1e-12);
    t.clock().advance(86_400);
    let tomorrow = t.replica_with(|settings| settings.judge.daily_budget_usd = 5.0).await;
    count_spent_today(&tomorrow.app).await.unwrap();
    assert_eq!(tomorrow.app.judge.spent_today(), 0.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_show_the_queue_and_the_judge() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (place, metrics) = (folder.path().display().to_string(), free.to_string());
    let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", &place, "--no-workers"];
    let mut command = Process::command(&args);
    command.env("EVENHAND_METRICS__LISTEN", &metrics).env("EVENHAND_JUDGE__MODEL", "openai/m");
    command.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    let process = Process::start(&mut command);
    let client = reqwest::Client::new();
    let mut body = talk("ada", "s1", true);
    body["session_finished"] = json!(true);
    let published = client.post(process.url("/api/publish_interaction")).json(&body).send().await;
    assert_eq!(published.unwrap().status(), 200);
    let value = async |name: &str| -> f64 {
        let answer = reqwest::get(format!("http://{metrics}/metrics")).await.unwrap();
        let text = answer.text().await.unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("evenhand_judge_paused ").await, 1.0, "it has no key");
    for age in ["evenhand_evaluation_queue_age_seconds ", "evenhand_jobs_oldest_due_age_seconds "] {
        until(age, async || value(age).await >= 1.0).await;
    }
    assert_eq!(value("evenhand_jobs{kind=\"evaluate_session\",state=\"due\"}").await, 1.0);
}
