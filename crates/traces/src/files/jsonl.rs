//! Our own forms: a turn, the body of a publish, or a session of `GET /api/sessions/export` per line.

use serde_json::{Map, Value, json};

use super::fields::{amount, count, name, text};
use super::publish::Identity;
use super::{Format, Sink, Wrong, times};
use crate::{ToolUsed, Turn, Usage};

/// Fields of a turn that are passed on as they are.
const PASSED_ON: [&str; 8] = [
    "shadow_content",
    "expert_content",
    "user_action",
    "user_action_description",
    "interacted_image_url",
    "image_encoding",
    "citations",
    "retrieved_learnings",
];

pub fn take(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    match record.get("session").filter(|session| session.is_object()) {
        Some(session) => exported(session, record).iter().try_for_each(|body| publish(body, sink)),
        None => publish(record, sink),
    }
}

/// The publishes of an exported session, in their order.
fn exported(session: &Value, record: &Value) -> Vec<Value> {
    let list = |name: &str| record.get(name).and_then(Value::as_array).into_iter().flatten();
    let body = |request: &Value| {
        let id = &request["request_id"];
        let turns: Vec<&Value> = list("interactions").filter(|t| t["request_id"] == *id).collect();
        json!({
            "user_id": session["user_id"],
            "session_id": session["session_id"],
            "request_id": id,
            "source": request["source"],
            "agent_version": request["agent_version"],
            "created_at": request["created_at"],
            "interaction_data_list": turns,
        })
    };
    list("requests").map(body).collect()
}

fn publish(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    let several = record.get("interaction_data_list").and_then(Value::as_array);
    if several.is_none() && record.get("content").is_none() && record.get("tools_used").is_none() {
        return Err(Wrong::Unknown(Format::Jsonl));
    }
    let mut draft = sink.draft(record, None);
    if let Some(request_id) = text(record, &["request_id"]) {
        draft.request_id = request_id;
    }
    draft.identity = Identity {
        user: text(record, &["user_id"]),
        session: text(record, &["session_id"]),
        agent_version: text(record, &["agent_version"]),
    };
    draft.source = text(record, &["source"]);
    draft.finished = record.get("session_finished") == Some(&Value::Bool(true));
    let created_at = times::seconds(record, &["created_at"])?;
    let records = several.map_or_else(|| std::slice::from_ref(record), Vec::as_slice);
    let mut last = created_at;
    for record in records {
        let at = times::seconds(record, &["created_at"])?.or(last).ok_or(Wrong::NoTime)?;
        last = Some(at);
        draft.turns.extend(turn(record, at)?);
    }
    let first = draft.turns.first().map(|turn| turn.created_at).ok_or(Wrong::NoContent)?;
    draft.created_at = created_at.unwrap_or(first);
    sink.publish(draft);
    Ok(())
}

/// `None` if nothing is in it.
fn turn(record: &Value, created_at: i64) -> Result<Option<Turn>, Wrong> {
    let role = match text(record, &["role"]).map(|role| role.to_ascii_lowercase()).as_deref() {
        None | Some("user" | "human") => "User",
        Some("assistant" | "agent" | "ai") => "Assistant",
        Some(_) => return Err(Wrong::BadRole),
    };
    let content = match record.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(content)) => content.clone(),
        Some(_) => return Err(Wrong::Unknown(Format::Jsonl)),
    };
    let tools = record.get("tools_used").and_then(Value::as_array).into_iter().flatten();
    let tools_used: Vec<ToolUsed> = tools.filter_map(tool).collect();
    let says = |value: &&Value| !matches!(value, Value::Null) && !is_blank(value);
    let passed_on = PASSED_ON.iter().filter_map(|name| {
        let value = record.get(name).filter(says)?;
        Some(((*name).to_owned(), value.clone()))
    });
    let passed_on: Map<String, Value> = passed_on.collect();
    let empty = content.trim().is_empty() && tools_used.is_empty() && passed_on.is_empty();
    let usage = record.get("usage").map(usage).filter(|usage| !usage.is_empty());
    Ok((!empty).then_some(Turn { role, content, created_at, tools_used, usage, passed_on }))
}

/// True for texts and lists without anything in them, and for no action.
fn is_blank(value: &Value) -> bool {
    value == "none" || value == "" || value.as_array().is_some_and(Vec::is_empty)
}

fn usage(record: &Value) -> Usage {
    Usage {
        model: name(record, &["model"]),
        input_tokens: count(record, &["input_tokens"]),
        output_tokens: count(record, &["output_tokens"]),
        cost_usd: amount(record, &["cost_usd"]),
        latency_ms: count(record, &["latency_ms"]),
    }
}

fn tool(record: &Value) -> Option<ToolUsed> {
    let tool_data = match record.get("tool_data") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::Object(data)) => Value::Object(data.clone()),
        Some(other) => serde_json::json!({"output": other}),
    };
    let failed = matches!(
        text(record, &["status"]).as_deref(),
        Some("error" | "failed" | "failure" | "timeout")
    );
    let status = if failed { "error" } else { "success" };
    Some(ToolUsed { tool_name: text(record, &["tool_name"])?, tool_data, status })
}
