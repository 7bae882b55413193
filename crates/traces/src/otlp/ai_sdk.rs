//! Vercel's AI SDK: a span around each call of a model, `….doGenerate` or `….doStream`, inside one around all of them.

use serde_json::Value;

use super::Kind;
use super::attributes::Attributes;
use super::messages::{Call, call as tool_call, messages};
use crate::turns::{Message, Role};

pub(super) fn kind(span: &Attributes<'_>) -> Option<Kind> {
    let operation = span.text("ai.operationId")?;
    let text = operation.ends_with(".doGenerate") || operation.ends_with(".doStream");
    Some(if text { Kind::Model } else { Kind::Other })
}

pub(super) fn call(span: &Attributes<'_>) -> Call {
    let prompt = span.value("ai.prompt.messages").filter(|value| !value.is_string());
    let input = prompt.map(|value| messages(&value, Role::User)).unwrap_or_default();
    let text = ["ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object"];
    let text = text.iter().find_map(|key| span.text(key)).unwrap_or_default();
    let calls = ["ai.response.toolCalls", "ai.result.toolCalls"];
    let calls = calls.iter().find_map(|key| span.value(key)).unwrap_or(Value::Null);
    let mut answer = Message::new(Role::Assistant, text);
    answer.calls.extend(calls.as_array().into_iter().flatten().map(tool_call));
    let answered = !answer.text.is_empty() || !answer.calls.is_empty();
    Call::new(input, if answered { vec![answer] } else { Vec::new() })
}
