//! Retrieval experiments: lifecycle, arms, exposure, attribution, results.

mod analyse;
mod attribution;
mod gate;
mod lifecycle;
mod results;
mod simulation;

use serde_json::{Value, json};
use service::credentials::Role;
use service::experiments::{Arm, assign};

use crate::support::{Server, TestApp};

pub const PATH: &str = "/api/retrieval_experiments";

/// The same server, seen by an agent and by an operator of an organization.
pub async fn callers(t: &TestApp, server: &Server, org: &str) -> (Server, Server) {
    let agent = server.with_token(&t.key(org, Role::Agent).await);
    let dashboard = server.with_token(&t.key(org, Role::Dashboard).await);
    (agent, dashboard)
}

pub async fn start(server: &Server, id: &str, percentage: f64) -> Value {
    let body = json!({"experiment_id": id, "holdout_percentage": percentage});
    server.post(PATH, &body).await.ok()
}

pub async fn stop(server: &Server, id: &str) -> Value {
    server.post(&format!("{PATH}/stop"), &json!({"experiment_id": id})).await.ok()
}

/// The first users of this arm.
pub fn users(org: &str, experiment: &str, percentage: f64, arm: Arm, count: usize) -> Vec<String> {
    (0..)
        .map(|n| format!("user-{n}"))
        .filter(|user| assign(&org.into(), experiment, &user.as_str().into(), percentage) == arm)
        .take(count)
        .collect()
}

pub fn user(org: &str, experiment: &str, percentage: f64, arm: Arm) -> String {
    users(org, experiment, percentage, arm, 1).remove(0)
}
