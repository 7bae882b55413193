//! Verdicts on retrieved learnings: both halves, one set, replaced whole.

use std::sync::Arc;

use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use super::{results, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends, until};

/// Learnings of ada, of bob, and of the organization. Playbooks get the ids 1 to 3 (user, agent).
async fn learn(t: &TestApp, server: &Server) {
    let profile = |user: &str, id: &str, content: &str, until: i64| json!({"user_id": user, "profile_id": id, "content": content, "expiration_timestamp": until});
    let profiles = json!({"user_profiles": [
        profile("ada", "p1", "Ada wants parcels delivered to her parcel locker on Tuesday", 4_102_444_800),
        profile("ada", "old", "gone", NOW + 5),
        profile("bob", "p2", "Bob", 4_102_444_800),
    ]});
    server.post("/api/add_user_profile", &profiles).await.ok();
    t.clock().advance(10);
    let playbook = |content: &str, trigger: &str| json!({"user_id": "ada", "agent_version": "v1", "content": content, "trigger": trigger});
    let playbooks =
        json!({"user_playbooks": [playbook("Tell the delivery day of the parcel", "parcel")]});
    assert_eq!(server.post("/api/add_user_playbook", &playbooks).await.ok()["ids"], json!([1]));
    let agent = |content: &str, status: &str| json!({"agent_version": "v1", "content": content, "trigger": "weather", "playbook_status": status});
    let playbooks = json!({"agent_playbooks": [
        agent("Talk about the weather in Spain", "approved"), agent("never", "rejected"), agent("theirs", "approved")]});
    assert_eq!(
        server.post("/api/add_agent_playbook", &playbooks).await.ok()["ids"],
        json!([1, 2, 3])
    );
    t.sql("DELETE FROM agent_playbook_decisions WHERE agent_playbook_id = 3").await.unwrap();
    t.sql("UPDATE agent_playbooks SET org_id = 'other' WHERE agent_playbook_id = 3").await.unwrap();
}

fn with_learnings(session: &str) -> Value {
    let reference = |kind: &str, id: &str| json!({"kind": kind, "learning_id": id});
    json!({"user_id": "ada", "session_id": session, "agent_version": "v1", "session_finished": true,
    "interaction_data_list": [
        {"role": "User", "content": "Where is my parcel?"},
        {"role": "Assistant", "content": "Your parcel arrives in your parcel locker on Tuesday.",
         "retrieved_learnings": [reference("profile", "p1"), reference("profile", "p1"), reference("profile", "old"),
             reference("profile", "p2"), reference("user_playbook", "1"), reference("user_playbook", "x"),
             reference("agent_playbook", "1"), reference("agent_playbook", "2"), reference("agent_playbook", "3")]},
        {"role": "User", "content": "Perfect, that works, thank you!"},
        {"role": "Assistant", "content": "You are welcome.", "retrieved_learnings": [reference("profile", "p1")]},
    ]})
}

async fn verdicts(server: &Server) -> Vec<Value> {
    let found =
        server.post("/api/get_retrieved_learning_evaluation_results", &json!({})).await.ok();
    found["results"].as_array().unwrap().clone()
}

#[apply(both_backends)]
async fn candidates_are_what_the_user_may_see_once_per_turn(t: TestApp) {
    let server = t.serve().await;
    learn(&t, &server).await;
    server.publish(&with_learnings("s1")).await.ok();
    work(&t).await;
    let found = verdicts(&server).await;
    let mut seen: Vec<(i64, String)> = found
        .iter()
        .map(|v| {
            (
                v["interaction_id"].as_i64().unwrap(),
                format!("{}/{}", v["kind"].as_str().unwrap(), v["learning_id"].as_str().unwrap()),
            )
        })
        .collect();
    seen.sort();
    let first = seen[0].0;
    let expected: Vec<(i64, String)> =
        [(0, "agent_playbook/1"), (0, "profile/p1"), (0, "user_playbook/1"), (2, "profile/p1")]
            .iter()
            .map(|(n, name)| (first + n, (*name).to_owned()))
            .collect();
    assert_eq!(seen, expected);
    assert_eq!(results(&server).await[0]["retrieved_learning_status"], "complete");
    let of = |kind: &str| found.iter().find(|v| v["kind"] == kind).unwrap();
    assert_eq!(of("user_playbook")["is_relevant"], true);
    assert_eq!(of("agent_playbook")["is_relevant"], false);
    assert!(of("user_playbook")["evaluated_playbook_digest"].as_str().unwrap().len() == 64);
    assert!(of("profile")["evaluated_playbook_digest"].is_null());
    for verdict in &found {
        assert!(["positive", "negative", "neutral"].contains(&verdict["impact"].as_str().unwrap()));
        assert_eq!(verdict["interaction_created_at"], NOW + 10);
    }
    for (filter, count) in [
        (json!({"user_id": "ada"}), 4),
        (json!({"user_id": "bob"}), 0),
        (json!({"session_id": "s1", "limit": 2}), 2),
        (json!({"start_time": NOW + 11}), 0),
        (json!({"end_time": NOW + 11}), 4),
    ] {
        let found =
            server.post("/api/get_retrieved_learning_evaluation_results", &filter).await.ok();
        assert_eq!(found["results"].as_array().unwrap().len(), count, "{filter}");
    }
    server.delete("/api/delete_session", &json!({"session_id": "s1"})).await.ok();
    assert!(verdicts(&server).await.is_empty());
}

#[apply(both_backends)]
async fn a_half_that_fails_leaves_nulls_and_both_leave_the_old_set(t: TestApp) {
    learn(&t, &t.serve().await).await;
    // Session, then relevance, then impact.
    let judge =
        Arc::new(RecordedJudge::new([Scripted::Rules, Scripted::Rules, Scripted::Malformed]));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&with_learnings("s1")).await.ok();
    work(&t).await;
    let first = verdicts(&server).await;
    assert_eq!(first.len(), 4);
    assert!(first.iter().all(|v| v["impact"].is_null() && v["is_relevant"].is_boolean()));
    assert_eq!(results(&server).await[0]["retrieved_learning_status"], "degraded");

    for next in [Scripted::Rules, Scripted::Refused, Scripted::Injected] {
        judge.push(next);
    }
    let grade = json!({"session_id": "s1", "agent_version": "v1", "refresh": true});
    let graded = server.post("/api/evaluations/grade_on_demand", &grade).await.ok();
    assert_eq!(graded["retrieved_learning_status"], "failed");
    assert_eq!(verdicts(&server).await, first, "the old set stands");

    // A provider that is away now is asked again by a job of its own.
    for next in [Scripted::Rules, Scripted::Status(500), Scripted::Rules] {
        judge.push(next);
    }
    let graded = server.post("/api/evaluations/grade_on_demand", &grade).await.ok();
    assert_eq!(graded["retrieved_learning_status"], "pending");
    t.clock().advance(60);
    work(&t).await;
    assert_eq!(results(&server).await[0]["retrieved_learning_status"], "complete");
    assert!(verdicts(&server).await.iter().all(|v| v["impact"].is_string()));
}

#[apply(both_backends)]
async fn a_session_that_changes_under_the_judge_keeps_its_old_set(t: TestApp) {
    learn(&t, &t.serve().await).await;
    let judge = Arc::new(RecordedJudge::new([]).taking(std::time::Duration::from_secs(1)));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&with_learnings("s1")).await.ok();
    let grow = async {
        until("the learnings are being judged", async || judge.count() > 1).await;
        let mut more = with_learnings("s1");
        more["session_finished"] = json!(false);
        server.publish(&more).await.ok();
    };
    tokio::join!(work(&t), grow);
    assert!(verdicts(&server).await.is_empty(), "not of turns that are no longer all there are");
    assert_eq!(results(&server).await[0]["retrieved_learning_status"], "pending");
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(verdicts(&server).await.len(), 8);
    assert_eq!(results(&server).await[0]["retrieved_learning_status"], "complete");
}
