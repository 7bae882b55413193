//! Sessions that were published with an experiment count, whenever they began and ended.

use serde_json::{Value, json};
use service::experiments::Arm;
use service::webhooks::EventType;

use super::{PATH, start, stop, user, users};
use crate::evaluation::{talk, work};
use crate::support::{Server, TestApp, apply, both_backends};

async fn results(server: &Server) -> Value {
    server.get(&format!("{PATH}/exp/results")).await.ok()
}

/// A publish that carries the pair, as a client sends it.
fn with_pair(mut body: Value, arm: Arm) -> Value {
    body["retrieval_experiment_id"] = json!("exp");
    body["retrieval_experiment_arm"] = json!(arm.as_str());
    body
}

/// A first turn without anything to search for.
fn greeting(user: &str, session: &str) -> Value {
    json!({
        "user_id": user, "session_id": session, "agent_version": "v1",
        "interaction_data_list": [
            {"role": "User", "content": "Hello"},
            {"role": "Assistant", "content": "Good morning, how can I help you today?"},
        ]
    })
}

fn finished(user: &str, session: &str) -> Value {
    let mut body = talk(user, session, true);
    body["session_finished"] = json!(true);
    body
}

async fn search(server: &Server, user: &str, session: Option<&str>) {
    let body = json!({"user_id": user, "session_id": session, "query": "parcel"});
    server.post("/api/search", &body).await.ok();
}

fn sixes() -> Vec<(String, Arm)> {
    let of = |arm| users("default", "exp", 50.0, arm, 6).into_iter().map(move |user| (user, arm));
    Arm::BOTH.into_iter().flat_map(of).collect()
}

#[apply(both_backends)]
async fn an_agent_that_greets_before_it_searches_is_counted(t: TestApp) {
    let server = t.serve().await;
    start(&server, "exp", 50.0).await;
    t.clock().advance(10);
    for (n, (user, arm)) in sixes().iter().enumerate() {
        // Half of them send the pair with the greeting already, and half search without naming the session.
        let hello = greeting(user, "s");
        server.publish(&if n % 2 == 0 { with_pair(hello, *arm) } else { hello }).await.ok();
        t.clock().advance(1);
        search(&server, user, (n % 3 == 0).then_some("s")).await;
        t.clock().advance(1);
        server.publish(&with_pair(finished(user, "s"), *arm)).await.ok();
    }
    work(&t).await;
    let found = results(&server).await;
    let attribution = &found["health"]["attribution"];
    assert_eq!((&attribution["attributed"], &attribution["no_metadata"]), (&json!(12), &json!(0)));
    assert_eq!(
        (&attribution["began_before_exposure"], &attribution["ended_after_stop"]),
        (&json!(12), &json!(0))
    );
    assert_eq!(
        (&found["evaluated_session_coverage"], &found["unattributed_evaluated_session_count"]),
        (&json!(1.0), &json!(0))
    );
    assert_eq!(
        (
            &found["treatment"]["evaluated_session_count"],
            &found["holdout"]["evaluated_session_count"]
        ),
        (&json!(6), &json!(6))
    );
    assert_eq!(found["health"]["healthy"], true, "{}", found["health"]["problems"]);

    // The tokens are those of the whole session, whether the greeting carried the pair or not.
    let tokens = t
        .number("SELECT CAST(SUM(token_count) AS BIGINT) FROM interactions WHERE role <> 'User'")
        .await;
    let average = |arm: &str| found[arm]["average_output_tokens"].as_f64().unwrap();
    assert_eq!(average("treatment"), tokens as f64 / 12.0);
    assert_eq!(average("treatment"), average("holdout"));
    assert_eq!(found["treatment"]["output_token_session_count"], 6);
}

#[apply(both_backends)]
async fn a_second_before_the_search_and_a_second_after_the_stop_still_count(t: TestApp) {
    let server = t.serve().await;
    let [early, late] = [Arm::Treatment, Arm::Holdout].map(|arm| user("default", "exp", 50.0, arm));
    start(&server, "exp", 50.0).await;
    t.clock().advance(10);
    server.publish(&with_pair(finished(&early, "before"), Arm::Treatment)).await.ok();
    t.clock().advance(1);
    search(&server, &early, None).await;
    search(&server, &late, None).await;
    server.publish(&with_pair(finished(&late, "within"), Arm::Holdout)).await.ok();
    server.publish(&with_pair(greeting(&late, "across"), Arm::Holdout)).await.ok();
    t.clock().advance(1);
    stop(&server, "exp").await;
    t.clock().advance(1);
    server.publish(&with_pair(finished(&late, "after"), Arm::Holdout)).await.ok();
    // Later turns of a session need no pair.
    server.publish(&finished(&late, "across")).await.ok();
    server
        .publish(&with_pair(finished(&late, "wrong"), Arm::Treatment))
        .await
        .problem(422, "experiment_arm_mismatch");
    work(&t).await;
    let found = results(&server).await;
    let attribution = &found["health"]["attribution"];
    assert_eq!(
        attribution,
        &json!({"attributed": 4, "began_before_exposure": 1, "ended_after_stop": 2, "no_metadata": 0,
        "mixed_arms": 0, "arm_mismatch": 0, "user_in_both_arms": 0})
    );
    assert_eq!(found["holdout"]["evaluated_session_count"], 3);

    // A session evaluated within the window that names no experiment is left out; after the stop it is not counted.
    server.publish(&finished(&late, "outside")).await.ok();
    let mut imported = finished(&late, "imported");
    imported["created_at"] = json!(t.clock().now() - 2);
    server.publish(&imported).await.ok();
    work(&t).await;
    let found = results(&server).await;
    assert_eq!(found["health"]["attribution"]["no_metadata"], 1);
    assert_eq!(
        (&found["unattributed_evaluated_session_count"], &found["evaluated_session_coverage"]),
        (&json!(1), &json!(0.8))
    );
}

#[apply(both_backends)]
async fn an_experiment_with_nothing_attributed_is_not_healthy(t: TestApp) {
    let server = t.serve().await;
    start(&server, "exp", 50.0).await;
    let health = async || {
        let found = results(&server).await;
        let problems = found["health"]["problems"].as_array().unwrap().clone();
        assert_eq!(found["health"]["healthy"], problems.is_empty());
        (problems, found["decision"]["decision"].clone())
    };
    let (problems, decision) = health().await;
    assert_eq!(
        (problems, decision),
        (vec![json!("no session of the experiment is evaluated yet")], json!("collecting"))
    );
    t.clock().advance(10);
    for n in 0..19 {
        server.publish(&finished("ada", &format!("s{n}"))).await.ok();
    }
    work(&t).await;
    let (problems, decision) = health().await;
    assert!(problems[0].as_str().unwrap().contains("none of the 19"), "{problems:?}");
    assert_eq!(decision, "collecting");
    server.publish(&finished("ada", "s19")).await.ok();
    let events = [EventType::ExperimentUnhealthy, EventType::ExperimentDecided];
    crate::webhooks::refused_receiver(&t, "default", &events).await;
    crate::support::schedule(&t.app, "watch_experiments").await;
    let told = "SELECT COUNT(*) FROM webhook_deliveries WHERE event = 'experiment.unhealthy'";
    assert_eq!(t.number(told).await, 0);
    work(&t).await;
    let (problems, decision) = health().await;
    assert_eq!((problems.len(), decision), (1, Value::Null));
    for _ in 0..2 {
        t.clock().advance(3600);
        work(&t).await;
        assert_eq!(t.number(told).await, 1, "told once");
    }
    for part in
        ["only 0 of 20", "session_id", "retrieval_experiment_id", "retrieval_experiment_arm"]
    {
        assert!(problems[0].as_str().unwrap().contains(part), "{problems:?}");
    }
    // At eight of ten it is well again.
    for (user, arm) in sixes() {
        for n in 0..7 {
            let body = with_pair(finished(&user, &format!("s{n}")), arm);
            server.publish(&body).await.ok();
        }
    }
    work(&t).await;
    let (problems, decision) = health().await;
    assert_eq!((problems, decision), (vec![], json!("collecting")));
}
