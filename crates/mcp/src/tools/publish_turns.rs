//! `publish_turns`: stores what was said and done in a session.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{Output, adds, body, describe};
use crate::api::{Api, Client, Failure};
use crate::text::{list, pick, string};

pub const NAME: &str = "publish_turns";

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Publish turns",
        "Stores turns of a session, in their order, so that the session is judged and learned from. Send each turn once: \
         those since the last publish. Set session_finished with the last ones, and the session is judged at once; \
         otherwise it is once it has been quiet for a while. A repeated call stores nothing twice: without a request_id \
         one is made from everything in the call, so an equal call is the same publish. If a user really says the same \
         again, give a new request_id or created_at; `duplicate` in the result tells when nothing was stored.",
        adds().idempotent(true),
    )
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The person that the agent talks to: everything about a user is kept, exported and erased under this id.
    #[schemars(length(min = 1, max = 255))]
    user_id: String,
    /// The conversation. The same id adds to it.
    #[schemars(length(min = 1, max = 255))]
    session_id: String,
    /// The turns since the last publish, oldest first.
    #[schemars(length(min = 1, max = 1000))]
    #[serde(rename(serialize = "interaction_data_list"))]
    turns: Vec<Turn>,
    /// A name for this publish, unique in the organization, such as the session and the number of its first turn. The
    /// same one with the same content is stored once; with other content it is refused.
    #[schemars(length(min = 1, max = 255))]
    request_id: Option<String>,
    /// The version of the agent, to compare versions.
    #[schemars(length(max = 255))]
    agent_version: Option<String>,
    /// The channel that the session comes from: lower-case letters, digits and `._:-`.
    #[schemars(length(max = 128), regex(pattern = "^[a-z0-9._:-]*$"))]
    source: Option<String>,
    /// True with the last turns of a session.
    session_finished: Option<bool>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Turn {
    /// `User` for the person; `Assistant` for the agent.
    #[schemars(length(min = 1, max = 1000))]
    role: String,
    /// The words that were said. May be empty where tools_used says it all.
    #[schemars(length(max = 1_000_000))]
    content: String,
    /// When it happened, as RFC 3339; now when absent.
    #[schemars(extend("format" = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// Tools that the agent called in this turn.
    #[schemars(length(max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    tools_used: Option<Vec<ToolUsed>>,
    /// Learnings that search_learnings had given for this response, used or not.
    #[schemars(length(max = 1000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    retrieved_learnings: Option<Vec<RetrievedLearning>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolUsed {
    tool_name: String,
    /// `success` when absent; anything else is a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Its arguments and results.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_data: Option<Map<String, Value>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RetrievedLearning {
    kind: LearningKind,
    learning_id: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum LearningKind {
    Profile,
    UserPlaybook,
    AgentPlaybook,
}

pub async fn run<A: Api>(client: &Client<'_, A>, arguments: Arguments) -> Result<Output, Failure> {
    let own_id = arguments.request_id.is_some();
    let mut body = body(&arguments);
    if !own_id {
        body["request_id"] = derived_id(&body).into();
    }
    let answer = client.post("/api/publish_interaction", body).await;
    let answer = answer.map_err(in_terms_of_turns)?;
    let request_id = string(&answer["request_id"]);
    let mut text = match (answer["duplicate"] == true, own_id) {
        (false, _) => {
            let stored = list(&answer["interaction_ids"]).len();
            let turns = if stored == 1 { "turn" } else { "turns" };
            format!("Stored {stored} {turns} as request {request_id}.")
        }
        (true, true) => {
            format!(
                "Request {request_id} was stored before with the same content; nothing is stored twice."
            )
        }
        (true, false) => format!(
            "An equal call was stored before, as request {request_id}; nothing is stored twice. If these turns are new \
             and only read the same, call again with a request_id of your own."
        ),
    };
    for warning in list(&answer["warnings"]) {
        text += &format!("\nWarning: {}", string(warning));
    }
    let data = pick(
        &answer,
        &[
            "request_id",
            "duplicate",
            "interaction_ids",
            "warnings",
            "learning_status",
            "learning_reason",
        ],
    );
    Ok(Output { text, data: data.into() })
}

/// An id for a publish that its caller did not name: the same for an equal call, so that a call whose answer was lost
/// can be repeated. Equal turns that are sent apart are told so, and can be sent with a name.
fn derived_id(body: &Value) -> String {
    format!("mcp-{}", hex::encode(Sha256::digest(body.to_string())))
}

/// Names the argument as the caller did.
fn in_terms_of_turns(mut failure: Failure) -> Failure {
    if let Failure::Refused(refusal) = &mut failure {
        for problem in &mut refusal.errors {
            if let Some(place) = problem.pointer.strip_prefix("/interaction_data_list") {
                problem.pointer = format!("/turns{place}");
            }
        }
    }
    failure
}
