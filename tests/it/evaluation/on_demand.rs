//! Grading on demand: one judgement, however many ask.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use super::{results, talk, work};
use crate::support::{NOW, TestApp, apply, both_backends, until};

const PATH: &str = "/api/evaluations/grade_on_demand";

fn ask(session: &str) -> Value {
    json!({"session_id": session, "agent_version": "v1"})
}

#[apply(both_backends)]
async fn answers_always_have_their_keys(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    let unknown = server.post(PATH, &ask("nope")).await.ok();
    assert_eq!(
        unknown,
        json!({"session_id": "nope", "result_id": null, "cached": false,
        "skipped_reason": "NO_REQUESTS", "retrieved_learning_status": null, "stale": false})
    );
    let version = server.post(PATH, &json!({"session_id": "s1", "agent_version": "v9"})).await.ok();
    assert_eq!(version["skipped_reason"], "AGENT_VERSION_NOT_IN_SESSION");
    t.sql("DELETE FROM interactions").await.unwrap();
    assert_eq!(server.post(PATH, &ask("s1")).await.ok()["skipped_reason"], "NO_INTERACTIONS");
    server.post(PATH, &json!({"session_id": "s1"})).await.problem(422, "invalid_input");
    let name = json!({"session_id": "s1", "agent_version": "v1", "evaluation_name": "vibes"});
    server.post(PATH, &name).await.problem(422, "invalid_input");
    server.publish(&talk("ada", "same", true)).await.ok();
    server.publish(&talk("bob", "same", true)).await.ok();
    server.post(PATH, &ask("same")).await.problem(409, "session_ambiguous");
    let mut which = ask("same");
    which["user_id"] = json!("bob");
    assert!(server.post(PATH, &which).await.ok()["result_id"].is_i64());
}

#[apply(both_backends)]
async fn a_verdict_is_kept_for_a_day(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    let first = server.post(PATH, &ask("s1")).await.ok();
    assert_eq!((&first["cached"], &first["stale"]), (&json!(false), &json!(false)));
    assert_eq!(first["retrieved_learning_status"], "not_applicable");
    t.clock().advance(3600);
    let again = server.post(PATH, &ask("s1")).await.ok();
    assert_eq!((&again["cached"], &again["result_id"]), (&json!(true), &first["result_id"]));
    server.publish(&talk("ada", "s1", false)).await.ok();
    let stale = server.post(PATH, &ask("s1")).await.ok();
    assert_eq!((&stale["cached"], &stale["stale"]), (&json!(true), &json!(true)));
    assert_eq!(results(&server).await[0]["is_success"], true);
    let mut refresh = ask("s1");
    refresh["refresh"] = json!(true);
    let fresh = server.post(PATH, &refresh).await.ok();
    assert_eq!(
        (&fresh["cached"], &fresh["stale"], &fresh["result_id"]),
        (&json!(false), &json!(false), &first["result_id"])
    );
    assert_eq!(results(&server).await[0]["is_success"], false);
    assert_eq!(results(&server).await[0]["created_at"], NOW);
    t.clock().advance(86_400);
    assert_eq!(server.post(PATH, &ask("s1")).await.ok()["cached"], false, "a day is over");
}

#[apply(both_backends)]
async fn a_judge_that_fails_keeps_the_old_verdict(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([Scripted::Rules]).then(Scripted::Malformed));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    let first = server.post(PATH, &ask("s1")).await.ok();
    let mut refresh = ask("s1");
    refresh["refresh"] = json!(true);
    let problem = server.post(PATH, &refresh).await.problem(502, "judge_failed");
    assert!(!problem.to_string().contains("ada"), "{problem}");
    assert_eq!(server.post(PATH, &ask("s1")).await.ok()["result_id"], first["result_id"]);
    assert_eq!(results(&server).await[0]["is_success"], true);
    // A failure is not cached: the next call asks the judge again.
    judge.push(Scripted::Rules);
    assert_eq!(server.post(PATH, &refresh).await.ok()["cached"], false);
    judge.push(Scripted::TooMany(Some(Duration::from_millis(20))));
    server.post(PATH, &refresh).await.problem(503, "judge_unavailable");
}

#[apply(both_backends)]
async fn a_slow_judge_is_not_waited_for_for_ever(t: TestApp) {
    // Wide apart, so that a busy machine does not end the request before its answer: the caller is told after 6 seconds,
    // the request would be cut off after 8.
    let t = t.replica_with(|settings| settings.server.request_timeout_seconds = 8).await;
    let t = t.judged_by(Arc::new(RecordedJudge::new([]).taking(Duration::from_secs(7)))).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    let answer = server.post(PATH, &ask("s1")).await;
    assert!(answer.headers.contains_key("retry-after"));
    answer.problem(503, "judge_unavailable");
    until("it went on without us", async || !results(&server).await.is_empty()).await;
    assert_eq!(server.post(PATH, &ask("s1")).await.ok()["cached"], true);
}

#[apply(both_backends)]
async fn an_older_look_at_a_session_does_not_replace_a_newer_one(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).taking(Duration::from_millis(1500)));
    let slow = t.judged_by(judge.clone()).await;
    let (server, quick) = (slow.serve().await, t.serve().await);
    server.publish(&talk("ada", "s1", true)).await.ok();
    let overtake = async {
        until("the judge is asked", async || judge.under_way() == 1).await;
        let mut more = talk("ada", "s1", false);
        more["session_finished"] = json!(true);
        server.publish(&more).await.ok();
        work(&t).await;
        results(&quick).await[0].clone()
    };
    let body = ask("s1");
    let (old, new) = tokio::join!(server.post(PATH, &body), overtake);
    let old = old.ok();
    assert_eq!((&old["result_id"], &old["stale"]), (&new["result_id"], &json!(false)));
    assert_eq!(new["is_success"], false);
    assert_eq!(results(&server).await, [new], "as it was");
}

#[apply(both_backends)]
async fn fifty_calls_share_one_judgement_on_one_replica(t: TestApp) {
    fifty(&t, 1).await;
}

#[apply(both_backends)]
async fn fifty_calls_share_one_judgement_on_two_replicas(t: TestApp) {
    // Two processes cannot have one SQLite file.
    if t.backend == crate::support::Backend::Postgres {
        fifty(&t, 2).await;
    }
}

async fn fifty(t: &TestApp, replicas: usize) {
    let judge = Arc::new(RecordedJudge::new([]).taking(Duration::from_millis(1500)));
    let mut servers = Vec::new();
    for _ in 0..replicas {
        servers.push(t.judged_by(judge.clone()).await.serve().await);
    }
    servers[0].publish(&talk("ada", "s1", true)).await.ok();
    let body = ask("s1");
    let answers = join_all((0..50).map(|n| servers[n % replicas].post(PATH, &body))).await;
    let answers: Vec<Value> = answers.into_iter().map(|answer| answer.ok()).collect();
    assert_eq!(judge.count(), 1, "one judgement");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert!(answers[0]["result_id"].is_i64());
    assert_eq!(results(&servers[0]).await.len(), 1);
}
