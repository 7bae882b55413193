//! Each kind of event from the work that causes it to its receiver.

use std::sync::Arc;

use judge::recorded::RecordedJudge;
use serde_json::{Value, json};
use service::experiments::Arm;

use super::receivers::Receiver;
use super::{allowing, create};
use crate::evaluation::{talk, work};
use crate::experiments::{start, users};
use crate::support::{NOW, TestApp, apply, both_backends, schedule};

/// The messages that a receiver took.
fn told(receiver: &Receiver) -> Vec<Value> {
    let bodies = receiver.accepted().into_iter().map(|message| message.body);
    bodies.map(|body| serde_json::from_str(&body).unwrap()).collect()
}

#[apply(both_backends)]
async fn the_end_of_a_regeneration_is_told(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    create(&server, &receiver.url(), &["regeneration.done"]).await;
    for session in ["s1", "s2"] {
        server.publish(&talk("ada", session, false)).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(told(&receiver), [] as [Value; 0]);
    let range = json!({"from_ts": NOW - 10, "to_ts": NOW + 10_000});
    let begun = server.post("/api/evaluations/regenerate", &range).await.ok();
    work(&t).await;
    let told = told(&receiver);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["type"], "regeneration.done");
    assert_eq!(
        told[0]["data"],
        json!({"job_id": begun["job_id"], "status": "completed", "total": 2, "completed": 2, "failed": 0,
            "cost_usd": 0.0})
    );
}

#[apply(both_backends)]
async fn a_spent_budget_is_told_once_a_day(t: TestApp) {
    let t = allowing(&t).await;
    let t = t.replica_with(|settings| settings.judge.daily_budget_usd = 0.001).await;
    let judge = Arc::new(RecordedJudge::new([]).labelled("openai/gpt-5-mini"));
    let t = t.judged_by(judge.clone()).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    create(&server, &receiver.url(), &["judge.paused", "judge.budget_reached"]).await;
    for session in ["s1", "s2"] {
        server.publish(&talk("ada", session, true)).await.ok();
    }
    t.clock().advance(600);
    for _ in 0..3 {
        work(&t).await;
        t.clock().advance(61);
    }
    let told = told(&receiver);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["type"], "judge.budget_reached");
    assert_eq!(told[0]["data"], json!({"daily_budget_usd": 0.001}));
    assert_eq!(judge.count(), 0, "a call could cost more than is left");
}

/// Everybody who gets learnings succeeds, and nobody else.
#[apply(both_backends)]
async fn an_experiment_with_an_answer_is_told_once(t: TestApp) {
    let t = allowing(&t).await;
    let t = t.judged_by(Arc::new(RecordedJudge::new([]))).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    create(&server, &receiver.url(), &["experiment.decided", "experiment.unhealthy"]).await;
    start(&server, "exp", 50.0).await;
    t.clock().advance(10);
    for arm in Arm::BOTH {
        for user in users("default", "exp", 50.0, arm, 60) {
            let search = json!({"user_id": user, "session_id": "s", "query": "parcel"});
            server.post("/api/search", &search).await.ok();
            let mut body = talk(&user, "s", arm == Arm::Treatment);
            body["session_finished"] = json!(true);
            body["retrieval_experiment_id"] = json!("exp");
            body["retrieval_experiment_arm"] = json!(arm.as_str());
            server.publish(&body).await.ok();
        }
    }
    work(&t).await;
    schedule(&t.app, "watch_experiments").await;
    for _ in 0..3 {
        t.clock().advance(3600);
        work(&t).await;
    }
    let told = told(&receiver);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["type"], "experiment.decided");
    let data = &told[0]["data"];
    assert_eq!((&data["experiment_id"], &data["decision"]), (&json!("exp"), &json!("positive")));
    assert_eq!(data["success_rate_lift_percentage_points"], 100.0);
}
