//! Reviewing playbooks, and the change log of profiles.

use serde_json::{Value, json};

use super::{finished, playbooks, profiles, teach, work};
use crate::support::{Server, TestApp, apply, both_backends};

const WISH: &str = "Please always answer in metric units.";

async fn review(server: &Server, more: Value) -> Value {
    let mut body = json!({"start_time": 1, "end_time": 4_000_000_000_i64});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/api/review_user_playbooks", &body).await.ok()
}

fn decisions(report: &Value) -> Vec<(&str, &str)> {
    let results = report["results"].as_array().unwrap().iter();
    results
        .map(|result| {
            (result["decision"].as_str().unwrap(), result["reason_code"].as_str().unwrap())
        })
        .collect()
}

#[apply(both_backends)]
async fn playbooks_that_would_not_be_learned_today_are_found(t: TestApp) {
    let server = t.serve().await;
    teach(&t, &server, &[("ada", WISH)]).await;
    let learned = playbooks(&server, "ada").await[0].clone();
    // One that says something else of the same turn, one that says less, and one that came from nowhere.
    let add = async |content: &str, turns: &Value| {
        let playbook = json!({"user_id": "ada", "agent_version": "v1", "content": content,
            "source_interaction_ids": turns});
        let added = json!({"user_playbooks": [playbook]});
        server.post("/api/add_user_playbook", &added).await.ok()["ids"][0].clone()
    };
    let noise = add("Never heard of it.", &learned["source_interaction_ids"]).await;
    let unfounded = add("Offer a refund.", &json!([])).await;
    let report = review(&server, json!({})).await;
    assert_eq!(
        decisions(&report),
        [
            ("skip", "evidence_unavailable"),
            ("reject", "unsupported_evidence"),
            ("accept", "grounded_useful"),
        ],
        "{report}"
    );
    assert_eq!(report["results"][0]["user_playbook_id"], unfounded);
    assert_eq!(report["rejected_count"], 1);
    let current = async || {
        let body = json!({"user_id": "ada"});
        let found = server.post("/api/get_user_playbooks", &body).await.ok();
        found["user_playbooks"].as_array().unwrap().len()
    };
    assert_eq!(current().await, 3, "a report changes nothing");

    let applied = review(&server, json!({"report_only": false})).await;
    assert_eq!(applied["results"][1]["applied"], true);
    assert_eq!(current().await, 2);
    let status = format!(
        "SELECT COUNT(*) FROM user_playbooks WHERE user_playbook_id = {noise} AND status = 'archived'"
    );
    assert_eq!(t.number(&status).await, 1);
    let again = review(&server, json!({"report_only": false, "top_k": 1})).await;
    assert_eq!((&again["selected_count"], &again["skipped_count"]), (&json!(1), &json!(1)));
    let bad = json!({"start_time": 5, "end_time": 1});
    server.post("/api/review_user_playbooks", &bad).await.problem(422, "invalid_input");
}

#[apply(both_backends)]
async fn a_playbook_is_worded_anew(t: TestApp) {
    let server = t.serve().await;
    teach(&t, &server, &[("ada", WISH)]).await;
    let learned = playbooks(&server, "ada").await[0].clone();
    let id = &learned["user_playbook_id"];
    let change = json!({"user_playbook_id": id, "content": "Never answer in metric units."});
    server.put("/api/update_user_playbook", &change).await.ok();
    let report = review(&server, json!({"report_only": false})).await;
    let result = &report["results"][0];
    assert_eq!(
        (&result["decision"], &result["applied"]),
        (&json!("edit"), &json!(true)),
        "{report}"
    );
    assert_eq!(result["edit"]["content"], learned["content"]);
    let all = playbooks(&server, "ada").await;
    let successor = &result["successor_user_playbook_id"];
    let new = all.iter().find(|p| p["user_playbook_id"] == *successor).unwrap();
    assert_eq!((&new["content"], &new["status"]), (&learned["content"], &Value::Null));
    let old = all.iter().find(|p| p["user_playbook_id"] == *id).unwrap();
    assert_eq!(old["status"], "superseded");
}

#[apply(both_backends)]
async fn the_change_log_shows_what_was_added_and_replaced(t: TestApp) {
    let server = t.serve().await;
    let log = async || {
        let found = server.get("/api/profile_change_log").await.ok();
        found["profile_change_logs"].as_array().unwrap().clone()
    };
    assert_eq!(log().await, Vec::<Value>::new());
    for (session, text) in [("s1", "We use Slack for alerts."), ("s2", "We use Teams for alerts.")]
    {
        t.clock().advance(60);
        server
            .publish(&finished("ada", session, &[("User", text), ("Assistant", "Noted.")]))
            .await
            .ok();
        work(&t).await;
    }
    let stored = profiles(&server, "ada").await;
    let changes = log().await;
    assert_eq!(changes.len(), 2, "{stored:?} {changes:?}");
    assert!(changes[0]["created_at"].as_i64() > changes[1]["created_at"].as_i64(), "newest first");
    assert_eq!(changes[1]["removed_profiles"], json!([]));
    let replaced = &changes[0]["removed_profiles"][0];
    assert_eq!(replaced["profile_id"], changes[1]["added_profiles"][0]["profile_id"]);
    assert_eq!(replaced["status"], "superseded");
    server.call("DELETE", "/api/delete_all_profiles", None).await.ok();
    assert_eq!(log().await, Vec::<Value>::new(), "what was deleted is not told again");
}
