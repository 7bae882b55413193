//! Regeneration: the window, the sample, the counts, the end.

use std::sync::Arc;
use std::time::Duration;

use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};
use service::wiring::job_handlers;
use storage::jobs::Runner;

use super::{results, talk, work};
use crate::support::{
    NOW, Server, TestApp, apply, both_backends, schedule, throughout, until, within,
};

const PATH: &str = "/api/evaluations/regenerate";

fn window() -> Value {
    json!({"from_ts": NOW - 1000, "to_ts": NOW + 1000})
}

async fn publish(server: &Server, count: usize) {
    for n in 0..count {
        let mut body = talk(&format!("u{}", n % 7), &format!("s{n}"), n % 2 == 0);
        body["created_at"] = json!(NOW - 500);
        server.publish(&body).await.ok();
    }
}

async fn start(server: &Server, body: &Value) -> String {
    server.post(PATH, body).await.ok()["job_id"].as_str().unwrap().to_owned()
}

async fn status(server: &Server, job: &str) -> Value {
    server.get(&format!("{PATH}/{job}")).await.ok()
}

/// The app's own workers, for tests that look while it runs.
fn run_workers(t: &TestApp) {
    tokio::spawn(Runner::new(t.app.clone(), job_handlers()).run());
}

#[apply(both_backends)]
async fn a_window_is_judged_and_counted(t: TestApp) {
    let server = t.serve().await;
    publish(&server, 12).await;
    let mut early = talk("u1", "early", true);
    early["created_at"] = json!(NOW - 1001);
    server.publish(&early).await.ok();
    let mut edge = talk("u1", "edge", true);
    edge["created_at"] = json!(NOW - 1000);
    server.publish(&edge).await.ok();
    let begun = server.post(PATH, &window()).await.ok();
    assert_eq!(begun["total"], 13, "both ends of the window belong to it");
    let job = begun["job_id"].as_str().unwrap();
    let running = status(&server, job).await;
    assert_eq!(
        (&running["status"], &running["completed"], &running["finished_at"]),
        (&json!("running"), &json!(0), &json!(null))
    );
    server.post(PATH, &window()).await.problem(409, "regeneration_running");
    work(&t).await;
    let mut ended = status(&server, job).await;
    ended["job_id"] = json!("j");
    assert_eq!(
        ended,
        json!({
            "job_id": "j", "status": "completed", "total": 13, "completed": 13, "failed": 0, "failures": [],
            "started_at": NOW as f64, "finished_at": NOW as f64, "total_candidates": 13, "sampled_count": 13,
            "concurrency_limit": 10, "reason": null, "estimated_cost_usd": ended["estimated_cost_usd"],
            "cost_usd": 0.0, "max_cost_usd": null, "candidate_version": null, "evaluation_name": "agent_success",
            "from_ts": NOW - 1000, "to_ts": NOW,
        })
    );
    assert_eq!(results(&server).await.len(), 13);
    server
        .get(&format!("{PATH}/01900000-0000-7000-8000-000000000000"))
        .await
        .problem(404, "not_found");
    server.get(&format!("{PATH}/%00")).await.problem(404, "not_found");
    for bad in [
        json!({"from_ts": 5, "to_ts": 5}),
        json!({"from_ts": 5}),
        json!({"from_ts": 1, "to_ts": 2, "evaluation_name": "x"}),
    ] {
        server.post(PATH, &bad).await.problem(422, "invalid_input");
    }
    let nothing = start(&server, &json!({"from_ts": 1, "to_ts": 2})).await;
    work(&t).await;
    assert_eq!(status(&server, &nothing).await["status"], "completed");
}

#[apply(both_backends)]
async fn strata_are_sampled_and_the_future_is_now(t: TestApp) {
    let server = t.serve().await;
    server.post("/api/update_config", &json!({"eval_sample_n_per_stratum": 3})).await.ok();
    for (n, (source, day)) in
        [("web", 0), ("web", 1), ("app", 1)].iter().flat_map(|s| [s; 5]).enumerate()
    {
        let mut body = talk("ada", &format!("s{n}"), true);
        body["source"] = json!(source);
        body["created_at"] = json!(NOW - day * 86_400);
        server.publish(&body).await.ok();
    }
    let job = start(&server, &json!({"from_ts": NOW - 3 * 86_400, "to_ts": NOW + 9_999})).await;
    work(&t).await;
    let ended = status(&server, &job).await;
    assert_eq!(
        (&ended["total_candidates"], &ended["sampled_count"], &ended["completed"]),
        (&json!(15), &json!(9), &json!(9))
    );
    assert_eq!(
        t.number(&format!("SELECT MAX(to_ts) FROM regenerations WHERE job_id = '{job}'")).await,
        NOW
    );
    for (source, n) in [("web", 6), ("app", 3)] {
        let judged = t.number(&format!("SELECT COUNT(*) FROM evaluation_results r JOIN sessions s
                ON s.session_id = r.session_id AND s.subject = r.subject WHERE s.source = '{source}'")).await;
        assert_eq!(judged, n, "{source}");
    }
}

#[apply(both_backends)]
async fn deleted_and_erased_sessions_count_as_failed(t: TestApp) {
    let server = t.serve().await;
    publish(&server, 7).await;
    let job = start(&server, &window()).await;
    server.delete("/api/delete_session", &json!({"session_id": "s0"})).await.ok();
    server.post("/api/clear_user_data", &json!({"user_id": "u1"})).await.ok();
    t.sql("UPDATE subjects SET state = 'erasing', epoch = epoch + 1 WHERE user_id = 'u2'")
        .await
        .unwrap();
    work(&t).await;
    let subject = t.subject_in("default", "u2");
    t.sql(&format!("DELETE FROM jobs WHERE subject = {subject}")).await.unwrap();
    work(&t).await;
    let ended = status(&server, &job).await;
    assert_eq!((&ended["status"], &ended["total"]), (&json!("completed"), &json!(7)), "{ended}");
    assert_eq!((&ended["completed"], &ended["failed"]), (&json!(4), &json!(3)), "{ended}");
    let failures = ended["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 3, "{ended}");
    assert_eq!(failures[0], json!({"session_id": "s0", "reason": "the session was deleted"}));
    assert!(
        failures[1..].iter().all(|f| f["session_id"] == ""),
        "whose they were is not told: {ended}"
    );
    assert_eq!(results(&server).await.len(), 4);
}

#[apply(both_backends)]
async fn judges_that_fail_are_counted_with_their_reason(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([
        Scripted::Refused,
        Scripted::Truncated,
        Scripted::Truncated,
        Scripted::Malformed,
    ]));
    let t = t.judged_by(judge).await;
    let server = t.serve().await;
    server.post("/api/update_config", &json!({"eval_concurrency_limit": 1})).await.ok();
    publish(&server, 5).await;
    let job = start(&server, &window()).await;
    work(&t).await;
    let ended = status(&server, &job).await;
    assert_eq!((&ended["completed"], &ended["failed"]), (&json!(3), &json!(2)), "{ended}");
    let reasons = ended["failures"].to_string();
    assert!(reasons.contains("declined to answer") && reasons.contains("cut off"), "{reasons}");
}

#[apply(both_backends)]
async fn cancelling_takes_effect_within_two_seconds(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).taking(Duration::from_millis(100)));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.post("/api/update_config", &json!({"eval_concurrency_limit": 2})).await.ok();
    publish(&server, 60).await;
    run_workers(&t);
    let job = start(&server, &window()).await;
    until("some are judged", async || status(&server, &job).await["completed"].as_i64() > Some(3))
        .await;
    let answer = server.delete(&format!("{PATH}/{job}"), &json!({})).await.ok();
    assert_eq!(answer, json!({"status": "cancelled"}));
    throughout(2, "most sessions are not judged", async || judge.count() < 50).await;
    let (calls, kept) = (judge.count(), results(&server).await.len());
    throughout(1, "no judgement starts after two seconds", async || judge.count() == calls).await;
    let ended = status(&server, &job).await;
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(ended["completed"].as_u64().unwrap(), kept as u64, "what was judged stays");
    assert_eq!(
        server.delete(&format!("{PATH}/{job}"), &json!({})).await.ok()["status"],
        "cancelled"
    );
    start(&server, &window()).await;
    t.app.stopping.cancel();
}

#[apply(both_backends)]
async fn cancelling_does_not_wait_for_a_slow_judge(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).taking(Duration::from_secs(60)));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    publish(&server, 4).await;
    run_workers(&t);
    let job = start(&server, &window()).await;
    until("all are asked for", async || judge.under_way() == 4).await;
    server.delete(&format!("{PATH}/{job}"), &json!({})).await.ok();
    within(10, "nobody waits, or pays, for the answers", async || judge.under_way() == 0).await;
    assert_eq!(results(&server).await.len(), 0);
    t.app.stopping.cancel();
}

#[apply(both_backends)]
async fn a_budget_stops_it_with_what_was_done(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).labelled("openai/gpt-5-mini"));
    let t = t.judged_by(judge).await;
    let server = t.serve().await;
    server.post("/api/update_config", &json!({"eval_concurrency_limit": 1})).await.ok();
    publish(&server, 30).await;
    let job =
        start(&server, &json!({"from_ts": NOW - 1000, "to_ts": NOW, "max_cost_usd": 0.004})).await;
    // Before the first session is judged: of one that has ended, nothing is estimated.
    until("estimated", async || {
        status(&server, &job).await["estimated_cost_usd"].as_f64() > Some(0.004)
    })
    .await;
    work(&t).await;
    let ended = status(&server, &job).await;
    assert_eq!(ended["status"], "cancelled", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("max_cost_usd"));
    let done = ended["completed"].as_u64().unwrap();
    assert!((1..30).contains(&done), "{ended}");
    assert!(ended["cost_usd"].as_f64().unwrap() >= 0.004);
    assert_eq!(results(&server).await.len() as u64, done);
}

#[apply(both_backends)]
async fn money_that_is_spent_stops_what_waits_for_its_turn(t: TestApp) {
    let judge = Arc::new(
        RecordedJudge::new([]).labelled("openai/gpt-5-mini").taking(Duration::from_millis(30)),
    );
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.post("/api/update_config", &json!({"eval_concurrency_limit": 2})).await.ok();
    publish(&server, 30).await;
    let job =
        start(&server, &json!({"from_ts": NOW - 1000, "to_ts": NOW, "max_cost_usd": 0.0000001}))
            .await;
    work(&t).await;
    assert_eq!(status(&server, &job).await["status"], "cancelled");
    assert!((1..=2).contains(&judge.count()), "those under way and none more");
    // Enough for all of them is no reason to say that it was stopped.
    let all =
        start(&server, &json!({"from_ts": NOW - 1000, "to_ts": NOW, "max_cost_usd": 1000})).await;
    work(&t).await;
    let ended = status(&server, &all).await;
    assert_eq!((&ended["status"], &ended["completed"]), (&json!("completed"), &json!(30)));
    // A limit that cannot be kept is not taken.
    let unpriced =
        t.judged_by(Arc::new(RecordedJudge::new([]).labelled("openai/nobody-knows"))).await;
    let window = json!({"from_ts": NOW - 1000, "to_ts": NOW, "max_cost_usd": 1});
    let problem = unpriced.serve().await.post(PATH, &window).await.problem(422, "invalid_input");
    assert_eq!(problem["errors"][0]["pointer"], "/max_cost_usd");
}

#[apply(both_backends)]
async fn one_that_cannot_go_on_ends_as_an_error_and_makes_way(t: TestApp) {
    let server = t.serve().await;
    publish(&server, 3).await;
    let job = start(&server, &window()).await;
    t.sql("UPDATE jobs SET attempts = 20 WHERE kind = 'regenerate'").await.unwrap();
    work(&t).await;
    let ended = status(&server, &job).await;
    assert_eq!(
        (&ended["status"], &ended["finished_at"]),
        (&json!("error"), &json!(NOW as f64)),
        "{ended}"
    );
    assert!(ended["reason"].as_str().unwrap().contains("worker died"), "{ended}");
    assert_eq!(
        t.number("SELECT COUNT(*) FROM jobs WHERE parent_id IS NOT NULL AND state = 'open'").await,
        0
    );
    // A rubric that this program does not have (any more).
    let diff = json!({"from_ts": NOW - 1000, "to_ts": NOW, "candidate_version": "v1"});
    let diff = server.post("/api/evaluations/judge_diffs", &diff).await.ok();
    t.sql("UPDATE regenerations SET candidate_version = 'v77' WHERE status = 'running'")
        .await
        .unwrap();
    work(&t).await;
    let ended = status(&server, diff["job_id"].as_str().unwrap()).await;
    assert_eq!((&ended["status"], &ended["completed"]), (&json!("error"), &json!(0)), "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("v77"), "{ended}");
    let job = start(&server, &window()).await;
    work(&t).await;
    assert_eq!(status(&server, &job).await["status"], "completed");
}

#[apply(both_backends)]
async fn a_paused_judge_says_why_it_waits_and_no_longer(t: TestApp) {
    let paused = t.judged_by(Arc::new(RecordedJudge::new([]).then(Scripted::Status(401)))).await;
    let server = t.serve().await;
    publish(&server, 3).await;
    let job = start(&server, &window()).await;
    work(&paused).await;
    let waiting = status(&server, &job).await;
    assert_eq!((&waiting["status"], &waiting["completed"]), (&json!("running"), &json!(0)));
    assert!(waiting["reason"].as_str().unwrap().contains("refuses the API key"), "{waiting}");
    t.clock().advance(31);
    t.sql(
        "UPDATE jobs SET lease_until = run_at + 1000, lease_token = 'x' WHERE kind = 'regenerate'",
    )
    .await
    .unwrap();
    assert_eq!(status(&server, &job).await["reason"], json!(null), "somebody works on it");
    t.sql("UPDATE jobs SET lease_until = NULL, lease_token = NULL WHERE kind = 'regenerate'")
        .await
        .unwrap();
    work(&t).await;
    assert_eq!(status(&server, &job).await["completed"], 3);
}

#[apply(both_backends)]
async fn one_is_kept_for_thirty_days_with_its_failures(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).then(Scripted::Refused));
    let server = t.serve().await;
    publish(&server, 2).await;
    let diff = json!({"from_ts": NOW - 1000, "to_ts": NOW, "candidate_version": "v1"});
    let diff = server.post("/api/evaluations/judge_diffs", &diff).await.ok();
    work(&t).await;
    let job = start(&server, &window()).await;
    work(&t.judged_by(judge).await).await;
    let ended = status(&server, &job).await;
    assert_eq!(ended["failures"].as_array().unwrap().len(), 2);
    // Its children ended a day before it did.
    t.sql("UPDATE jobs SET finished_at = finished_at - 86400 WHERE parent_id IS NOT NULL")
        .await
        .unwrap();
    t.clock().advance(30 * 86_400 - 3600);
    let forget = async || {
        for kind in ["prune_jobs", "forget_regenerations"] {
            schedule(&t.app, kind).await;
        }
        t.clock().advance(3600);
        work(&t).await;
    };
    forget().await;
    let still = status(&server, &job).await;
    assert_eq!(
        (&still["failed"], &still["failures"]),
        (&ended["failed"], &ended["failures"]),
        "it stays as it was"
    );
    forget().await;
    server.get(&format!("{PATH}/{job}")).await.problem(404, "not_found");
    let diff = format!("/api/evaluations/judge_diffs/{}", diff["job_id"].as_str().unwrap());
    server.get(&diff).await.problem(404, "not_found");
    for table in ["regenerations", "candidate_verdicts", "jobs WHERE parent_id IS NOT NULL"] {
        assert_eq!(t.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
}

#[apply(both_backends)]
async fn progress_is_streamed_until_the_end(t: TestApp) {
    let t = t.judged_by(Arc::new(RecordedJudge::new([]).taking(Duration::from_millis(150)))).await;
    let server = t.serve().await;
    publish(&server, 60).await;
    run_workers(&t);
    let job = start(&server, &window()).await;
    let answer = server.get(&format!("{PATH}/{job}/events")).await;
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/event-stream"));
    let events: Vec<Value> = answer
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert!(events.len() >= 2, "{}", answer.text);
    assert_eq!(events.last().unwrap()["status"], "completed");
    assert_eq!(events.last().unwrap()["completed"], 60);
    assert!(events.iter().all(|event| event["rate"].is_f64()));
    server
        .get(&format!("{PATH}/01900000-0000-7000-8000-000000000000/events"))
        .await
        .problem(404, "not_found");
    t.app.stopping.cancel();
}
