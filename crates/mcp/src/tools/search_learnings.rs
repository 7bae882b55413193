//! `search_learnings`: what was learned that fits a question.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Output, body, describe, reads};
use crate::api::{Api, Client, Failure};
use crate::text::{list, pick, string};

pub const NAME: &str = "search_learnings";

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Search learnings",
        "Finds what was learned in earlier sessions and fits a question: profiles (facts about the user), user playbooks \
         (how this user wants things handled) and approved agent playbooks (how to handle a situation for everybody). \
         Call it before answering a user. Give user_id, or only agent playbooks are found, and session_id, so that an \
         experiment knows which session was served. Then name what you were given in retrieved_learnings of the turn \
         that you publish.",
        reads(),
    )
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The user's question, or words of it. The first 32 distinct words count.
    #[schemars(length(min = 1, max = 20_000))]
    query: String,
    /// The user who is being answered, by the same id as in publish_turns.
    #[schemars(length(min = 1, max = 255))]
    user_id: Option<String>,
    /// The session that the answer belongs to, by the same id as in publish_turns.
    #[schemars(length(min = 1, max = 255))]
    session_id: Option<String>,
    /// The kinds to look for; all of them when absent.
    entity_types: Option<Vec<EntityType>>,
    /// The most learnings of each kind; 5 when absent.
    #[schemars(range(min = 1, max = 100))]
    top_k: Option<i64>,
    /// Only playbooks of this version of the agent.
    #[schemars(length(max = 255))]
    agent_version: Option<String>,
    /// Only learnings with one of these tags.
    #[schemars(length(max = 50), inner(length(min = 1, max = 100)))]
    tags: Option<Vec<String>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EntityType {
    Profiles,
    UserPlaybooks,
    AgentPlaybooks,
}

/// The list of an answer, the kind of learning in it, and the field with its id.
const KINDS: [(&str, &str, &str); 3] = [
    ("profiles", "profile", "profile_id"),
    ("user_playbooks", "user_playbook", "user_playbook_id"),
    ("agent_playbooks", "agent_playbook", "agent_playbook_id"),
];

// The arm of an experiment is left out, because an agent that knew it could act on it. The server remembers the arm
// by the session.
pub async fn run<A: Api>(client: &Client<'_, A>, arguments: Arguments) -> Result<Output, Failure> {
    let answer = client.post("/api/search", body(&arguments)).await?;
    let mut learnings = Vec::new();
    for (field, kind, id) in KINDS {
        learnings.extend(list(&answer[field]).iter().map(|found| learning(found, kind, id)));
    }
    let mut text = match learnings.len() {
        0 => "Nothing that was learned fits.".to_owned(),
        1 => "1 learning fits.".to_owned(),
        count => format!("{count} learnings fit."),
    };
    for found in &learnings {
        text += &format!("\n\n[{} {}]", string(&found["kind"]), string(&found["learning_id"]));
        for (label, field) in [("When: ", "trigger"), ("", "content"), ("Why: ", "rationale")] {
            if let Some(words) = found[field].as_str() {
                text += &format!("\n{label}{words}");
            }
        }
    }
    let degraded = answer["degraded"] == true;
    if degraded {
        text += "\n\nA part of the search was missing; there may be more.";
    }
    Ok(Output { text, data: json!({"learnings": learnings, "degraded": degraded}) })
}

fn learning(found: &Value, kind: &str, id: &str) -> Value {
    let id = match &found[id] {
        Value::String(id) => id.clone(),
        number => number.to_string(),
    };
    let mut learning = pick(found, &["playbook_name", "trigger", "content", "rationale", "tags"]);
    learning.insert("kind".to_owned(), kind.into());
    learning.insert("learning_id".to_owned(), id.into());
    learning.into()
}
