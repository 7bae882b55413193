//! OpenLLMetry: messages flattened to `gen_ai.prompt.N.…` and `gen_ai.completion.N.…`. Its newer versions follow the GenAI
//! conventions instead.

use serde_json::Value;

use super::attributes::Attributes;
use super::messages::{Call, answered, arguments, body, role};
use crate::turns::{Message, Role, ToolCall};

pub(super) fn is_call(span: &Attributes<'_>) -> bool {
    span.has_list("gen_ai.prompt.")
        || span.has_list("gen_ai.completion.")
        || matches!(span.text("llm.request.type"), Some("chat" | "completion"))
}

pub(super) fn call(span: &Attributes<'_>) -> Call {
    let read = |prefix, unnamed| {
        let each = span.list(prefix);
        each.iter().filter_map(|fields| message(fields, unnamed)).collect()
    };
    Call::new(read("gen_ai.prompt.", Role::User), read("gen_ai.completion.", Role::Assistant))
}

fn message(fields: &Attributes<'_>, unnamed: Role) -> Option<Message> {
    let role = role(fields.text("role"), unnamed)?;
    let mut message = Message::new(role, "");
    let content = Value::from(fields.text("content").unwrap_or_default());
    body(&mut message, &content);
    for call in fields.list("tool_calls.") {
        message.calls.push(ToolCall {
            id: call.id("id").unwrap_or_default(),
            name: call.text("name").unwrap_or("unknown").to_owned(),
            arguments: arguments(&Value::from(call.text("arguments").unwrap_or_default())),
        });
    }
    if role == Role::Tool && message.results.is_empty() {
        answered(&mut message, &fields.id("tool_call_id").unwrap_or_default(), &content, false);
    }
    Some(message)
}
