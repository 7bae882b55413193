//! Customers who keep coming while the demo runs, so that its counters move.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::desk::Desk;
use super::fill::{outcome, request};
use super::lessons::Profile;
use super::story::{Dice, FORGOTTEN, USERS, Visit, user_id};
use super::talk::{self, Given};
use service::app::App;

/// Pause between two customers.
const PAUSE: Duration = Duration::from_secs(3);

/// Factor by which live conversations run faster than those of the made-up history.
const HURRY: i64 = 8;

/// A conversation that is going on: when it ends, and what is published then.
struct Talk {
    ends_at: i64,
    request: Value,
    /// Outcome that the desk's own system reports afterwards.
    outcome: Option<Value>,
}

/// A customer comes every few seconds until the app stops.
pub async fn run(app: Arc<App>) {
    let desk = Desk::new(&app);
    let mut talking = Vec::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = app.stopping.cancelled() => return,
        }
        if let Err(error) = go_on(&app, &desk, &mut talking).await {
            tracing::debug!(%error, "a demo customer went away");
        }
    }
}

async fn go_on(app: &App, desk: &Desk, talking: &mut Vec<Talk>) -> Result<()> {
    let now = app.clock.now();
    for over in talking.extract_if(.., |talk| talk.ends_at <= now) {
        desk.post("/api/publish_interaction", &over.request).await?;
        if let Some(outcome) = &over.outcome {
            desk.post("/api/session_outcome", outcome).await?;
        }
    }
    talking.extend(welcome(now, desk).await?);
    Ok(())
}

/// A customer asks, the agent searches and answers.
async fn welcome(now: i64, desk: &Desk) -> Result<Option<Talk>> {
    let number = u64::try_from(now).unwrap_or_default();
    let dice = Dice::new(0x11FE, number);
    let customer = 1 + dice.below(USERS) as u64;
    if customer == FORGOTTEN.0 {
        return Ok(None);
    }
    let visit = Visit {
        number,
        starts_at: now,
        user: user_id(customer),
        customer,
        source: dice.one_of(&["web", "web", "app", "email"]),
        version: "support-2.0",
        chance: 0.87,
        dice,
    };
    let topic = talk::topic_of(&visit.dice);
    let question = json!({"query": topic.questions[0], "user_id": visit.user, "session_id": visit.session_id()});
    let found = desk.post("/api/search", &question).await?;
    let profile = found["profiles"][0]["profile_id"].as_str();
    let profile = profile.map(|id| Profile { id: id.to_owned(), made_at: now });
    let given = Given { lesson: None, profile };
    let conversation = talk::converse(&visit, topic, &given, visit.dice.chance(0.3));
    let mut turns = conversation.turns;
    cite(&mut turns, &found);
    let mut ends_at = now;
    for turn in &mut turns {
        ends_at = now + (turn["created_at"].as_i64().unwrap_or(now) - now) / HURRY;
        turn["created_at"] = json!(ends_at);
    }
    let outcome = outcome(&visit, conversation.went_well, ends_at);
    Ok(Some(Talk { ends_at, request: request(&visit, &turns, 0, true), outcome }))
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
