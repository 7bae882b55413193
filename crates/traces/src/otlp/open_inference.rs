//! OpenInference: messages flattened to `llm.input_messages.N.message.…`, and the input and output of anything as a value.

use serde_json::Value;

use super::Kind;
use super::attributes::Attributes;
use super::messages::{Call, add, answered, arguments, messages, role};
use crate::turns::{Message, Role, ToolCall};

pub(super) fn kind(span: &Attributes<'_>) -> Option<Kind> {
    Some(match span.text("openinference.span.kind")? {
        "LLM" => Kind::Model,
        "AGENT" | "CHAIN" => Kind::Around,
        _ => Kind::Other,
    })
}

pub(super) fn call(span: &Attributes<'_>) -> Call {
    let read = |prefix, unnamed| {
        let each = span.list(prefix);
        each.iter().filter_map(|fields| message(fields, unnamed)).collect()
    };
    let input = read("llm.input_messages.", Role::User);
    let output = read("llm.output_messages.", Role::Assistant);
    let flattened = Call::new(input, output);
    if flattened.is_empty() { around(span) } else { flattened }
}

/// The value that went into something and the one that came out: text, messages, or an object with one field of words.
pub(super) fn around(span: &Attributes<'_>) -> Call {
    const ASKED: [&str; 5] = ["messages", "input", "question", "query", "prompt"];
    const ANSWERED: [&str; 5] = ["messages", "output", "answer", "response", "content"];
    let read = |key, fields: &[&str], unnamed| {
        let value = span.value(key).unwrap_or(Value::Null);
        match &value {
            Value::Object(map) if !map.contains_key("role") => {
                let found = fields.iter().find_map(|field| map.get(*field));
                found.map(|inner| messages(inner, unnamed)).unwrap_or_default()
            }
            other => messages(other, unnamed),
        }
    };
    Call::new(
        read("input.value", &ASKED, Role::User),
        read("output.value", &ANSWERED, Role::Assistant),
    )
}

fn message(fields: &Attributes<'_>, unnamed: Role) -> Option<Message> {
    let role = role(fields.text("message.role"), unnamed)?;
    let mut message = Message::new(role, fields.text("message.content").unwrap_or_default());
    for part in fields.list("message.contents.") {
        add(&mut message.text, part.text("message_content.text").unwrap_or_default());
    }
    for call in fields.list("message.tool_calls.") {
        let given = call.text("tool_call.function.arguments").unwrap_or_default();
        message.calls.push(ToolCall {
            id: call.id("tool_call.id").unwrap_or_default(),
            name: call.text("tool_call.function.name").unwrap_or("unknown").to_owned(),
            arguments: arguments(&Value::from(given)),
        });
    }
    if role == Role::Tool {
        let content = Value::from(message.text.as_str());
        let id = fields.id("message.tool_call_id").unwrap_or_default();
        answered(&mut message, &id, &content, false);
    }
    Some(message)
}
