//! The tools. Each has a file with what it takes, the requests it makes, and the part of the answers that it gives back:
//! a text to read, and the same as data, both small enough for a model's context.

mod experiment_results;
mod explain_verdict;
mod overview;
mod publish_turns;
mod report_outcome;
mod schema;
mod search_learnings;
mod session;

use std::sync::LazyLock;

use base::clock::Clock;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{Api, Client};

/// The result of a tool.
struct Output {
    text: String,
    data: Value,
}

/// All tools, in the order in which an agent meets them.
pub static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        search_learnings::tool(),
        publish_turns::tool(),
        report_outcome::tool(),
        overview::tool(),
        session::tool(),
        explain_verdict::tool(),
        experiment_results::tool(),
    ]
});

/// Calls a tool. A refusal of the interface is a result; only what cannot be a call is an error of the protocol.
pub async fn call<A: Api>(
    client: &Client<'_, A>,
    clock: &Clock,
    name: &str,
    arguments: JsonObject,
) -> Result<CallToolResult, ErrorData> {
    let output = match name {
        search_learnings::NAME => search_learnings::run(client, read(arguments)?).await,
        publish_turns::NAME => publish_turns::run(client, read(arguments)?).await,
        report_outcome::NAME => report_outcome::run(client, clock, read(arguments)?).await,
        overview::NAME => overview::run(client, clock, read(arguments)?).await,
        session::NAME => session::run(client, read(arguments)?).await,
        explain_verdict::NAME => explain_verdict::run(client, read(arguments)?).await,
        experiment_results::NAME => experiment_results::run(client, read(arguments)?).await,
        _ => {
            let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name.as_ref()).collect();
            let text = format!("There is no tool {name:?}; there are {}.", known.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    Ok(match output {
        Ok(Output { text, data }) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = Some(data);
            result
        }
        Err(failure) => failure.into_result(),
    })
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ErrorData::invalid_params(format!("Unreadable arguments: {error}."), None))
}

/// A tool that takes `T`.
fn describe<T: JsonSchema>(
    name: &'static str,
    title: &str,
    description: &'static str,
    effects: ToolAnnotations,
) -> Tool {
    let tool = Tool::new(name, description, schema::of::<T>()).with_title(title);
    tool.with_annotations(effects.open_world(false))
}

fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true)
}

/// Adds to what is stored, and replaces or deletes nothing.
fn adds() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false)
}

/// Arguments as the body of a request that has the same fields; what was not given is left out.
fn body(arguments: &impl Serialize) -> Value {
    // Writing fails for maps whose keys are no texts only, and no arguments have any.
    let mut body = serde_json::to_value(arguments).unwrap_or_default();
    if let Value::Object(fields) = &mut body {
        fields.retain(|_, value| !value.is_null());
    }
    body
}
