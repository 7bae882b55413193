//! The GenAI semantic conventions: messages as JSON in attributes of the span or of its event, and the older events, one
//! for each message.

use serde_json::Value;

use super::attributes::Attributes;
use super::messages::{Call, message, messages, parsed};
use super::wire::Event;
use super::{Kind, open_llmetry};
use crate::turns::{Message, Role};

const DETAILS: &str = "gen_ai.client.inference.operation.details";

pub(super) fn kind(span: &Attributes<'_>, events: &[Event]) -> Option<Kind> {
    Some(match span.text("gen_ai.operation.name") {
        Some("chat" | "text_completion" | "generate_content") => Kind::Model,
        Some("invoke_agent") => Kind::Around,
        Some("execute_tool" | "embeddings" | "create_agent") => Kind::Other,
        _ if span.has("gen_ai.input.messages") || open_llmetry::is_call(span) => Kind::Model,
        _ if events.iter().any(|event| event.name == DETAILS || said_by(&event.name).is_some()) => {
            Kind::Model
        }
        _ => return None,
    })
}

pub(super) fn call(span: &Attributes<'_>, events: &[Event]) -> Call {
    let details = events.iter().find(|event| event.name == DETAILS);
    let details = details.map(|event| Attributes::new(&event.attributes)).unwrap_or_default();
    let read = |key, unnamed| {
        let value = span.value(key).or_else(|| details.value(key));
        // Text that is no JSON was cut off by a limit of the exporter: its beginning would be no message.
        value.filter(|value| !value.is_string()).map(|value| messages(&value, unnamed))
    };
    let input = read("gen_ai.input.messages", Role::User).unwrap_or_default();
    let output = read("gen_ai.output.messages", Role::Assistant).unwrap_or_default();
    if !input.is_empty() || !output.is_empty() {
        return Call::new(input, output);
    }
    let flattened = open_llmetry::call(span);
    if flattened.is_empty() { from_events(events) } else { flattened }
}

fn said_by(event: &str) -> Option<Role> {
    Some(match event {
        "gen_ai.system.message" => Role::System,
        "gen_ai.user.message" => Role::User,
        "gen_ai.assistant.message" | "gen_ai.choice" => Role::Assistant,
        "gen_ai.tool.message" => Role::Tool,
        _ => return None,
    })
}

fn from_events(events: &[Event]) -> Call {
    let (mut input, mut output) = (Vec::new(), Vec::new());
    for event in events {
        if let Some(role) = said_by(&event.name) {
            let to = if event.name == "gen_ai.choice" { &mut output } else { &mut input };
            to.extend(from_event(&Attributes::new(&event.attributes), role));
        }
    }
    Call::new(input, output)
}

/// The attributes of an event are the fields of its message, or one of them has all fields as JSON; a choice has the
/// message inside.
fn from_event(event: &Attributes<'_>, role: Role) -> Option<Message> {
    let body = match event.text("gen_ai.event.content") {
        Some(text) => parsed(text)?,
        None => event.object(),
    };
    let body = match body.get("message") {
        Some(Value::String(text)) => match parsed(text) {
            Some(inner) if inner.is_object() => inner,
            Some(parts) => serde_json::json!({"content": parts}),
            None => serde_json::json!({"content": text, "tool_calls": body.get("tool_calls")}),
        },
        Some(inner) if inner.is_object() => inner.clone(),
        _ => body,
    };
    let mut message = message(&body, role)?;
    message.role = role;
    Some(message)
}
