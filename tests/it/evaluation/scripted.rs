//! Everything that can happen to a judge: at the end every session is judged or has a reason, nothing twice.

use std::sync::Arc;
use std::time::Duration;

use judge::recorded::{RecordedJudge, Scripted};
use serde_json::json;

use super::{decision, results, talk, work};
use crate::support::{TestApp, apply, both_backends};

#[apply(both_backends)]
async fn failures_are_retried_and_end_with_a_verdict_or_a_reason(t: TestApp) {
    let script = [
        Scripted::TooMany(Some(Duration::from_millis(20))),
        Scripted::Status(500),
        Scripted::Status(529),
        Scripted::Truncated,
        Scripted::Malformed,
        Scripted::Refused,
        Scripted::Injected,
        Scripted::Rules,
        Scripted::Malformed,
        Scripted::Status(503),
    ];
    let judge = Arc::new(RecordedJudge::new(script.iter().cycle().take(40).cloned()));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    for n in 0..20 {
        server.publish(&talk(&format!("u{n}"), &format!("s{n}"), n % 2 == 0)).await.ok();
    }
    t.clock().advance(600);
    for _ in 0..40 {
        work(&t).await;
        // Between two rounds nobody holds anything: what waits, waits in the queue.
        assert_eq!(t.number("SELECT COUNT(*) FROM jobs WHERE lease_token IS NOT NULL").await, 0);
        assert_eq!(t.app.judge.in_use(), 0);
        t.clock().advance(4000);
    }
    assert_eq!(results(&server).await.len(), 20);
    for n in 0..20 {
        assert_eq!(decision(&server, &format!("s{n}")).await.0, "judged");
    }
    assert_eq!(
        t.number("SELECT COUNT(*) FROM jobs WHERE state = 'open' AND kind = 'evaluate_session'")
            .await,
        0
    );
}

#[apply(both_backends)]
async fn a_session_no_judge_can_judge_ends_with_its_reason(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).then(Scripted::Refused));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let (state, reason) = decision(&server, "s1").await;
    assert_eq!(state, "queued", "to be tried again");
    assert!(reason.contains("declined to answer"), "{reason}");
    for _ in 0..20 {
        t.clock().advance(4000);
        work(&t).await;
    }
    let (state, reason) = decision(&server, "s1").await;
    assert_eq!((state.as_str(), reason.as_str()), ("failed", "the judge declined to answer"));
    assert_eq!(judge.count(), 5, "as often as attempts allow, no more");
    assert!(results(&server).await.is_empty(), "absent, not a zero");
}

#[apply(both_backends)]
async fn rules_do_not_wait_for_the_judge(t: TestApp) {
    let t = t.judged_by(Arc::new(RecordedJudge::new([]).then(Scripted::Status(401)))).await;
    let server = t.serve().await;
    let rule = json!({"evaluation_name": "short", "kind": "max_turns", "max_turns": 1});
    server.post("/api/update_config", &json!({"evaluators": [rule]})).await.ok();
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let found = results(&server).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["evaluation_name"], &found[0]["is_success"]),
        (&json!("short"), &json!(false))
    );
    assert_eq!(decision(&server, "s1").await.0, "queued", "the judge is still to be asked");
}

#[apply(both_backends)]
async fn a_publish_makes_an_old_failure_of_no_account(t: TestApp) {
    let t = t.judged_by(Arc::new(RecordedJudge::new([Scripted::Refused]))).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "queued");
    server.publish(&talk("ada", "s1", true)).await.ok();
    assert_eq!(decision(&server, "s1").await, ("not_yet_quiet".to_owned(), String::new()));
}

#[apply(both_backends)]
async fn a_paused_judge_costs_no_attempts_and_goes_on_when_it_works(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([Scripted::Status(401)]));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    for _ in 0..10 {
        work(&t).await;
        t.clock().advance(120);
    }
    assert_eq!(judge.count(), 1, "a paused judge is not called");
    let (state, reason) = decision(&server, "s1").await;
    assert_eq!(state, "queued");
    assert!(reason.contains("refuses the API key"), "{reason}");
    assert_eq!(t.number("SELECT MAX(attempts) FROM jobs").await, 0);
    let ready = server.get("/health/ready").await.ok();
    assert!(ready.to_string().contains("refuses the API key"), "{ready}");
    let grade = json!({"session_id": "s1", "agent_version": "v1"});
    let problem = server.post("/api/evaluations/grade_on_demand", &grade).await;
    assert!(problem.headers.contains_key("retry-after"));
    problem.problem(503, "judge_unavailable");
    // The key is right again.
    let t = t.judged_by(Arc::new(RecordedJudge::new([]))).await;
    t.clock().advance(120);
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "judged");
}

#[apply(both_backends)]
async fn a_job_that_cannot_be_read_is_dead_at_once_and_says_why(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.sql("UPDATE jobs SET payload = '{\"session\": \"s1\"}' WHERE kind = 'evaluate_session'")
        .await
        .unwrap();
    t.clock().advance(600);
    work(&t).await;
    let dead = "SELECT attempts FROM jobs WHERE kind = 'evaluate_session' AND state = 'dead'";
    assert_eq!(t.number(dead).await, 1);
    let (state, reason) = decision(&server, "s1").await;
    assert_eq!(state, "failed");
    assert_eq!(reason, "the payload of this evaluate_session job cannot be read");
    // The next publish brings a job that can be.
    server.publish(&talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "judged");
}
