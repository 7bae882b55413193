//! Customers who keep coming while the demo runs, so that its counters move.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::desk::Desk;
use super::fill::request;
use super::story::{Dice, Visit};
use super::talk::{self, Given};
use crate::app::App;

/// Between one customer and the next.
const PAUSE: Duration = Duration::from_secs(3);

/// Serves a customer every few seconds until the app stops.
pub async fn run(app: Arc<App>) {
    let desk = Desk::new(&app);
    loop {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = app.stopping.cancelled() => return,
        }
        if let Err(error) = serve_one(&app, &desk).await {
            tracing::debug!(%error, "a demo customer went away");
        }
    }
}

/// A customer asks, the agent searches and answers, they part a moment later.
async fn serve_one(app: &App, desk: &Desk) -> Result<()> {
    let now = app.clock.now();
    let number = u64::try_from(now).unwrap_or_default();
    let dice = Dice::new(0x11FE, number);
    let user = format!("customer-{:04}", 1 + dice.below(super::story::USERS));
    let visit = Visit {
        number,
        starts_at: now - 180,
        user,
        source: dice.one_of(&["web", "web", "app", "email"]),
        version: "support-2.0",
        chance: 0.87,
        dice,
    };
    let topic = talk::topic_of(&visit.dice);
    let question = json!({"query": topic.questions[0], "user_id": visit.user, "session_id": visit.session_id()});
    let found = desk.post("/api/search", &question).await?;
    let given = Given { lesson: None, profile: found["profiles"][0]["profile_id"].as_str() };
    let mut turns = talk::converse(&visit, topic, &given, visit.dice.chance(0.3)).turns;
    cite(&mut turns, &found);
    for turn in &mut turns {
        // Long silences of the past would lie in the future here.
        turn["created_at"] = json!(turn["created_at"].as_i64().unwrap_or(now).min(now));
    }
    desk.post("/api/publish_interaction", &request(&visit, &turns, 0, true)).await.map(drop)
}

/// The agent uses the best playbook that the search found.
fn cite(turns: &mut [Value], found: &Value) {
    let playbook = &found["agent_playbooks"][0];
    let Some(id) = playbook["agent_playbook_id"].as_i64() else { return };
    let id = id.to_string();
    if let Some(reply) = turns.get_mut(1) {
        let learning = json!({"kind": "agent_playbook", "learning_id": id});
        if let Some(list) = reply["retrieved_learnings"].as_array_mut() {
            list.push(learning);
        }
        reply["citations"] =
            json!([{"kind": "agent_playbook", "real_id": id, "title": playbook["playbook_name"]}]);
    }
}
