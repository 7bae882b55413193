//! Verdicts on retrieved learnings: both halves, one set, replaced whole.

use std::sync::Arc;

use evenhand::judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use super::{results, work};
use crate::support::{Backend, NOW, Server, TestApp};

/// Learnings of ada, of bob, and of the organization, past the endpoints that make them.
async fn learn(t: &TestApp) {
    let number = if t.backend == Backend::Sqlite { "INTEGER" } else { "BIGINT" };
    for table in [
        format!(
            "CREATE TABLE IF NOT EXISTS profiles (org_id TEXT, user_id TEXT, profile_id TEXT, content TEXT, expiration_timestamp {number})"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS user_playbooks (org_id TEXT, user_id TEXT, user_playbook_id {number}, content TEXT, \"trigger\" TEXT)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS agent_playbooks (org_id TEXT, agent_playbook_id {number}, content TEXT, \"trigger\" TEXT, playbook_status TEXT)"
        ),
    ] {
        t.sql(&table).await.unwrap();
    }
    for row in [
        "INSERT INTO profiles VALUES ('default', 'ada', 'p1', 'Ada wants parcels delivered to her parcel locker on Tuesday', 4102444800)".to_owned(),
        format!("INSERT INTO profiles VALUES ('default', 'ada', 'old', 'gone', {})", NOW - 1),
        "INSERT INTO profiles VALUES ('default', 'bob', 'p2', 'Bob', 4102444800)".to_owned(),
        "INSERT INTO user_playbooks VALUES ('default', 'ada', 7, 'Tell the delivery day of the parcel', 'parcel')".to_owned(),
        "INSERT INTO agent_playbooks VALUES ('default', 9, 'Talk about the weather in Spain', 'weather', 'approved')".to_owned(),
        "INSERT INTO agent_playbooks VALUES ('default', 10, 'never', 'never', 'rejected')".to_owned(),
        "INSERT INTO agent_playbooks VALUES ('other', 11, 'theirs', '', 'approved')".to_owned(),
    ] {
        t.sql(&row).await.unwrap();
    }
}

fn with_learnings(session: &str) -> Value {
    let reference = |kind: &str, id: &str| json!({"kind": kind, "learning_id": id});
    json!({"user_id": "ada", "session_id": session, "agent_version": "v1", "session_finished": true,
    "interaction_data_list": [
        {"role": "User", "content": "Where is my parcel?"},
        {"role": "Assistant", "content": "Your parcel arrives in your parcel locker on Tuesday.",
         "retrieved_learnings": [reference("profile", "p1"), reference("profile", "p1"), reference("profile", "old"),
             reference("profile", "p2"), reference("user_playbook", "7"), reference("user_playbook", "x"),
             reference("agent_playbook", "9"), reference("agent_playbook", "10"), reference("agent_playbook", "11")]},
        {"role": "User", "content": "Perfect, thank you!"},
        {"role": "Assistant", "content": "You are welcome.", "retrieved_learnings": [reference("profile", "p1")]},
    ]})
}

async fn verdicts(server: &Server) -> Vec<Value> {
    let found =
        server.post("/api/get_retrieved_learning_evaluation_results", &json!({})).await.ok();
    found["results"].as_array().unwrap().clone()
}

both_backends! {
    async fn candidates_are_what_the_user_may_see_once_per_turn(t: TestApp) {
        learn(&t).await;
        let server = t.serve().await;
        server.publish(&with_learnings("s1")).await.ok();
        work(&t).await;
        let found = verdicts(&server).await;
        let mut seen: Vec<(i64, String)> = found
            .iter()
            .map(|v| (v["interaction_id"].as_i64().unwrap(), format!("{}/{}", v["kind"].as_str().unwrap(), v["learning_id"].as_str().unwrap())))
            .collect();
        seen.sort();
        let first = seen[0].0;
        let expected: Vec<(i64, String)> = [(0, "agent_playbook/9"), (0, "profile/p1"), (0, "user_playbook/7"), (2, "profile/p1")]
            .iter()
            .map(|(n, name)| (first + n, (*name).to_owned()))
            .collect();
        assert_eq!(seen, expected);
        assert_eq!(results(&server).await[0]["retrieved_learning_status"], "complete");
        let of = |id: &str| found.iter().find(|v| v["learning_id"] == id).unwrap();
        assert_eq!(of("7")["is_relevant"], true);
        assert_eq!(of("9")["is_relevant"], false);
        assert!(of("7")["evaluated_playbook_digest"].as_str().unwrap().len() == 64);
        assert!(of("p1")["evaluated_playbook_digest"].is_null());
        for verdict in &found {
            assert!(["positive", "negative", "neutral"].contains(&verdict["impact"].as_str().unwrap()));
            assert_eq!(verdict["interaction_created_at"], NOW);
        }
        for (filter, count) in [
            (json!({"user_id": "ada"}), 4), (json!({"user_id": "bob"}), 0), (json!({"session_id": "s1", "limit": 2}), 2),
            (json!({"start_time": NOW + 1}), 0), (json!({"end_time": NOW + 1}), 4),
        ] {
            let found = server.post("/api/get_retrieved_learning_evaluation_results", &filter).await.ok();
            assert_eq!(found["results"].as_array().unwrap().len(), count, "{filter}");
        }
        server.delete("/api/delete_session", &json!({"session_id": "s1"})).await.ok();
        assert!(verdicts(&server).await.is_empty());
    }

    async fn a_half_that_fails_leaves_nulls_and_both_leave_the_old_set(t: TestApp) {
        learn(&t).await;
        // Session, then relevance, then impact.
        let judge = Arc::new(RecordedJudge::new([Scripted::Rules, Scripted::Rules, Scripted::Malformed]));
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

    async fn a_session_that_changes_under_the_judge_keeps_its_old_set(t: TestApp) {
        learn(&t).await;
        let t = t.judged_by(Arc::new(RecordedJudge::new([]).taking(std::time::Duration::from_millis(400)))).await;
        let server = t.serve().await;
        server.publish(&with_learnings("s1")).await.ok();
        let grow = async {
            tokio::time::sleep(std::time::Duration::from_millis(600)).await;
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
}
