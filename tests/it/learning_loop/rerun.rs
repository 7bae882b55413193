//! Reading turns again: after an extractor changed, or at once.

use serde_json::{Value, json};

use super::{finished, playbooks, says, status, work};
use crate::governance::erase::Both;
use crate::support::{Server, TestApp, apply, both_backends};

const WISH: &str = "Please always answer in metric units.";

async fn operation(server: &Server, name: &str) -> Value {
    let path = format!("/api/get_operation_status?service_name={name}");
    server.get(&path).await.ok()["operation_status"].clone()
}

#[apply(both_backends)]
async fn turns_are_read_again_and_teach_nothing_twice(t: TestApp) {
    let server = t.serve().await;
    for (user, session) in [("ada", "s1"), ("bob", "s2"), ("kim", "s3")] {
        let mut body = finished(user, session, &[("User", WISH), ("Assistant", "Noted.")]);
        body["source"] = json!(if user == "kim" { "app" } else { "web" });
        server.publish(&body).await.ok();
    }
    work(&t).await;
    assert_eq!(operation(&server, "profile_generation").await, Value::Null);
    let windows = t.number("SELECT COUNT(*) FROM learning_windows").await;
    assert_eq!((windows, playbooks(&server, "ada").await.len()), (3, 1));
    let ada = t.subject_in("default", "ada");
    t.sql(&format!("DELETE FROM user_playbooks WHERE subject = {ada}")).await.unwrap();

    let rerun = json!({"source": "web"});
    let started = server.post("/api/rerun_profile_generation", &rerun).await.ok();
    assert_eq!(started["operation_id"], "profile_generation");
    let second = server.post("/api/rerun_profile_generation", &rerun).await.ok();
    assert_eq!((&started["success"], &second["success"]), (&json!(true), &json!(false)));
    let begun = operation(&server, "profile_generation").await;
    assert_eq!(
        (&begun["status"], &begun["started_at"]),
        (&json!("in_progress"), &json!(t.clock().now()))
    );
    work(&t).await;
    t.clock().advance(5);
    work(&t).await;
    let ended = operation(&server, "profile_generation").await;
    assert_eq!(
        (&ended["status"], &ended["progress_percentage"]),
        (&json!("completed"), &json!(100.0))
    );
    assert_eq!((&ended["total_users"], &ended["processed_users"]), (&json!(2), &json!(2)));
    assert_eq!(t.number("SELECT COUNT(*) FROM learning_windows").await, windows + 2, "not kim's");
    for user in ["ada", "bob", "kim"] {
        assert_eq!(playbooks(&server, user).await.len(), 1, "{user}");
    }
    assert_eq!(operation(&server, "playbook_generation").await, Value::Null, "it is another one");

    // One person's, from a time on.
    let later = json!({"user_id": "bob", "start_time": t.clock().now()});
    server.post("/api/rerun_profile_generation", &later).await.ok();
    work(&t).await;
    assert_eq!(operation(&server, "profile_generation").await["total_users"], 0);
    let unknown = json!({"user_id": "nobody"});
    server.post("/api/rerun_profile_generation", &unknown).await.problem(404, "not_found");
    let version = json!({"agent_version": "v2"});
    server.post("/api/rerun_playbook_generation", &version).await.ok();
    work(&t).await;
    let of_version = operation(&server, "playbook_generation").await;
    assert_eq!(
        (&of_version["status"], &of_version["total_users"]),
        (&json!("completed"), &json!(0))
    );
}

/// A full window leaves its last turns to the next as context: they were read, and are read again when asked for.
#[apply(both_backends)]
async fn the_last_turns_of_a_full_window_are_read_again(t: TestApp) {
    let server = t.serve().await;
    let turns = [("User", "Where is my parcel?"); 9];
    server.publish(&says("ada", "s1", &turns)).await.ok();
    t.clock().advance(100);
    let from = t.clock().now();
    server.publish(&says("ada", "s1", &[("User", WISH)])).await.ok();
    work(&t).await;
    let windows = t.number("SELECT COUNT(*) FROM learning_windows").await;
    assert_eq!((windows, playbooks(&server, "ada").await.len()), (1, 1));
    server.post("/api/rerun_profile_generation", &json!({"start_time": from})).await.ok();
    work(&t).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM learning_windows").await, windows + 1);
    assert_eq!(playbooks(&server, "ada").await.len(), 1);
}

#[apply(both_backends)]
async fn what_waits_is_read_at_once(t: TestApp) {
    let server = t.serve().await;
    let answer = server.publish(&says("ada", "s1", &[("User", WISH)])).await.ok();
    let request = answer["request_id"].as_str().unwrap().to_owned();
    work(&t).await;
    assert_eq!(status(&server, &request).await.0, "pending", "it waits for more");
    server.post("/api/manual_profile_generation", &json!({"user_id": "ada"})).await.ok();
    work(&t).await;
    assert_eq!(status(&server, &request).await.0, "done");
    server.post("/api/run_playbook_aggregation", &json!({"agent_version": "v1"})).await.ok();
    t.clock().advance(11);
    work(&t).await;
    let runs = "SELECT COUNT(*) FROM jobs WHERE kind = 'aggregate_playbooks' AND state = 'done'";
    assert!(t.number(runs).await > 0);
}

#[apply(both_backends)]
async fn nothing_of_the_erased_stays_in_an_operation(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&finished("ada", "s1", &[("User", WISH)])).await.ok();
    work(&t).await;
    let server = &both.agent;
    server.post("/api/rerun_profile_generation", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(both.erase("ada", "dsr").await["status"], "complete");
    work(&t).await;
    assert_eq!(operation(server, "profile_generation").await, Value::Null);
    let jobs = format!("SELECT COUNT(*) FROM jobs WHERE subject = {}", t.subject("ada"));
    assert_eq!(t.number(&jobs).await, 0);
}
