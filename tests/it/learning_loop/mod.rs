//! The learning loop: what is published teaches, people approve, playbooks serve, verdicts correct.

mod aggregation;
mod crash;
mod extraction;
mod red_team;
mod rerun;
mod review;
mod shared;
mod tuning;

use base::owner::{OrgId, UserId};
use serde_json::{Value, json};
use service::wiring::job_handlers;
use storage::jobs;

use crate::support::{Server, TestApp};

/// Works through everything that is due.
pub async fn work(t: &TestApp) {
    jobs::run_until_idle(&t.app, &job_handlers()).await.unwrap();
}

/// A publish of turns `(role, content)`.
pub fn says(user: &str, session: &str, turns: &[(&str, &str)]) -> Value {
    let turns: Vec<Value> =
        turns.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    json!({"user_id": user, "session_id": session, "agent_version": "v1", "interaction_data_list": turns})
}

/// The same, with the session finished.
pub fn finished(user: &str, session: &str, turns: &[(&str, &str)]) -> Value {
    let mut body = says(user, session, turns);
    body["session_finished"] = json!(true);
    body
}

pub async fn playbooks(server: &Server, user: &str) -> Vec<Value> {
    let body =
        json!({"user_id": user, "status_filter": [null, "pending", "archived", "superseded"]});
    let found = server.post("/api/get_user_playbooks", &body).await.ok();
    found["user_playbooks"].as_array().unwrap().clone()
}

pub async fn profiles(server: &Server, user: &str) -> Vec<Value> {
    let body =
        json!({"user_id": user, "status_filter": [null, "pending", "archived", "superseded"]});
    let found = server.post("/api/get_profiles", &body).await.ok();
    found["user_profiles"].as_array().unwrap().clone()
}

pub async fn agent_playbooks(server: &Server) -> Vec<Value> {
    let found = server.inspecting().post("/api/get_agent_playbooks", &json!({})).await.ok();
    found["agent_playbooks"].as_array().unwrap().clone()
}

/// Has each of these people say something in a finished session of their own, and the loop take it in.
pub async fn teach(t: &TestApp, server: &Server, said: &[(&str, &str)]) {
    for (n, (user, text)) in said.iter().enumerate() {
        server
            .publish(&finished(user, &format!("taught-{n}-{}", t.clock().now()), &[("User", text)]))
            .await
            .ok();
    }
    work(t).await;
    t.clock().advance(30);
    work(t).await;
}

/// As many people as it takes for a proposal.
pub const ENOUGH: [&str; 5] = ["ada", "bob", "kim", "lea", "zoe"];

/// Has enough people say the same.
pub async fn teach_all(t: &TestApp, server: &Server, text: &str) {
    teach(t, server, &ENOUGH.map(|user| (user, text))).await;
}

/// `status` and `reason` of a request.
pub async fn status(server: &Server, request: &str) -> (String, String) {
    let found = server.get(&format!("/api/learning_status?request_id={request}")).await.ok();
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

/// `(first, last, count)` of each window of a user, in order.
pub async fn windows(t: &TestApp, user: &str) -> Vec<(i64, i64, i64)> {
    let owner = (OrgId::from("default"), UserId::from(user));
    t.app
        .db
        .read("test.windows", owner, |tx, (org_id, user_id)| {
            Box::pin(async move {
                storage::rows!(
                    tx,
                    (i64, i64, i64),
                    "SELECT first_interaction_id, last_interaction_id, interaction_count FROM learning_windows
                     WHERE org_id = $1 AND subject = $2 ORDER BY window_no",
                    org_id,
                    user_id
                )
            })
        })
        .await
        .unwrap()
}
