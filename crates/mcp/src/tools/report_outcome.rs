//! `report_outcome`: what became of a session.

use base::clock::{Clock, rfc3339};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Output, adds, body, describe};
use crate::api::{Api, Client, Failure};
use crate::text::{pick, string};

pub const NAME: &str = "report_outcome";

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Report an outcome",
        "Records how a published session really ended, as the user or the business saw it: ground truth beside every \
         judge. Report what you know and never your own guess of it. A later report that says something else becomes \
         the newest; the earlier one is kept.",
        // A repeat without its own time is a report of a later moment.
        adds().idempotent(false),
    )
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The session, as it was published.
    #[schemars(length(min = 1, max = 255))]
    session_id: String,
    outcome: Outcome,
    /// Needed when several users have a session of this id.
    #[schemars(length(min = 1, max = 255))]
    user_id: Option<String>,
    /// When it happened, as RFC 3339; now when absent. With it, a repeated call changes nothing.
    #[schemars(extend("format" = "date-time"))]
    occurred_at: Option<String>,
    /// Your own word for it, such as `refunded`.
    #[schemars(length(min = 1, max = 128))]
    label: Option<String>,
    /// A number that goes with it, such as an amount of money or a rating.
    value: Option<f64>,
    /// Anything else about it, at most 16 KB.
    metadata: Option<Map<String, Value>>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Success,
    Failure,
    Unknown,
}

pub async fn run<A: Api>(
    client: &Client<'_, A>,
    clock: &Clock,
    mut arguments: Arguments,
) -> Result<Output, Failure> {
    arguments.occurred_at.get_or_insert_with(|| rfc3339(clock.now()));
    let answer = client.post("/api/session_outcome", body(&arguments)).await?;
    let user_id = string(&answer["user_id"]);
    let session_id = &arguments.session_id;
    let text = match answer["recorded"] == true {
        true => format!("Recorded for session {session_id} of {user_id}."),
        false => format!("Session {session_id} of {user_id} has this very outcome already."),
    };
    Ok(Output { text, data: pick(&answer, &["recorded", "user_id", "source"]).into() })
}
