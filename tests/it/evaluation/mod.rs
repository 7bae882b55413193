//! Evaluation: every session is judged once, or says why not.

mod crash;
mod learned;
mod learnings;
mod on_demand;
mod race;
mod regeneration;
mod review;
mod scripted;
mod sessions;
pub mod shadow;
mod undecided;

use serde_json::{Value, json};
use service::wiring::job_handlers;
use storage::jobs;

use crate::support::{Server, TestApp};

/// Works through everything that is due.
pub async fn work(t: &TestApp) {
    jobs::run_until_idle(&t.app, &job_handlers()).await.unwrap();
}

/// A session that the rules call a success, or a failure.
pub fn talk(user: &str, session: &str, good: bool) -> Value {
    let thanks = if good {
        "Perfect, that works, thank you very much!"
    } else {
        "That is wrong. I asked for my parcel, not for the weather. This is useless."
    };
    json!({
        "user_id": user, "session_id": session, "agent_version": "v1",
        "interaction_data_list": [
            {"role": "User", "content": "Where is my parcel?"},
            {"role": "Assistant", "content": "Your parcel arrives on Tuesday."},
            {"role": "User", "content": thanks},
        ]
    })
}

pub async fn results(server: &Server) -> Vec<Value> {
    let body = json!({"limit": 1000});
    let answer = server.post("/api/get_agent_success_evaluation_results", &body).await.ok();
    answer["agent_success_evaluation_results"].as_array().unwrap().clone()
}

/// The one decision about a session, and its reason.
pub async fn decision(server: &Server, session: &str) -> (String, String) {
    let path = format!("/api/evaluations/decisions?session_id={session}");
    let answer = server.get(&path).await.ok();
    let decisions = answer["decisions"].as_array().unwrap();
    assert_eq!(decisions.len(), 1, "{answer}");
    let text = |name: &str| decisions[0][name].as_str().unwrap().to_owned();
    (text("decision"), text("reason"))
}
