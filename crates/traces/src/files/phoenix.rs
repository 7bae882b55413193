//! Phoenix: spans with OpenInference's attributes, flat, nested or as the columns of a data frame.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::{amount, count, is_set, name, object, text};
use super::publish::Identity;
use super::steps::{Part, Step};
use super::{Format, Sink, Wrong, times};
use crate::Usage;

/// Names with more parts are not attributes of a conversation.
const PARTS: usize = 16;

pub fn take(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    // A trace, as the command line tool writes it.
    if let Some(spans) = record.get("spans").and_then(Value::as_array) {
        for span in spans {
            if let Err(wrong) = take_span(span, sink) {
                sink.problem(wrong);
            }
        }
        return Ok(());
    }
    take_span(record, sink)
}

fn take_span(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    let span = nested(record);
    let context = object(&span, "context");
    let attributes = object(&span, "attributes");
    let trace =
        text(&context, &["trace_id", "traceId"]).or_else(|| text(&span, &["trace_id", "traceId"]));
    let (Some(trace), true) = (trace, attributes.is_object()) else {
        return Err(Wrong::Unknown(Format::Phoenix));
    };
    let kind = attributes
        .pointer("/openinference/span/kind")
        .and_then(Value::as_str)
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
        .or_else(|| text(&span, &["span_kind", "spanKind"]))
        .unwrap_or_default()
        .to_ascii_uppercase();
    let is_root = text(&span, &["parent_id", "parentId", "parent_span_id"]).is_none();
    let part = match kind.as_str() {
        "LLM" => Part::Call,
        _ if is_root => Part::Root,
        _ => Part::Other,
    };
    let side = |messages: &str, value: &str| {
        let messages = attributes.pointer(messages).filter(|found| is_set(Some(found)));
        messages.or_else(|| attributes.pointer(value))
    };
    let id = text(&context, &["span_id", "spanId"])
        .or_else(|| text(&span, &["span_id", "spanId", "id"]));
    let step = Step {
        record,
        id,
        trace,
        part,
        decides: is_root,
        identity: identity(&attributes),
        started: times::milliseconds(&span, &["start_time", "startTime"]),
        ended: times::milliseconds(&span, &["end_time", "endTime"]),
        usage: usage(&attributes),
        input: side("/llm/input_messages", "/input/value"),
        output: side("/llm/output_messages", "/output/value"),
    };
    step.give(sink)
}

fn usage(attributes: &Value) -> Usage {
    let llm = object(attributes, "llm");
    let tokens = object(&llm, "token_count");
    Usage {
        model: name(&llm, &["model_name"]),
        input_tokens: count(&tokens, &["prompt"]),
        output_tokens: count(&tokens, &["completion"]),
        cost_usd: amount(&object(&llm, "cost"), &["total"]),
        latency_ms: None,
    }
}

fn identity(attributes: &Value) -> Identity {
    let metadata = object(attributes, "metadata");
    let of = |name: &str| text(attributes.get(name).unwrap_or(&Value::Null), &["id"]);
    Identity {
        user: of("user").or_else(|| text(&metadata, &["user_id", "userId"])),
        session: of("session")
            .or_else(|| text(&metadata, &["session_id", "thread_id", "conversation_id"])),
        agent_version: text(&metadata, &["agent_version", "version"]),
    }
}

/// The same record with `{"a.b.0.c": 1}` written as `{"a": {"b": [{"c": 1}]}}`.
fn nested(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut tree = Tree::default();
            for (name, value) in map {
                let parts: Vec<&str> = name.split('.').collect();
                if parts.len() <= PARTS {
                    tree.add(&parts, nested(value));
                }
            }
            tree.value()
        }
        Value::Array(items) => Value::Array(items.iter().map(nested).collect()),
        other => other.clone(),
    }
}

#[derive(Default)]
struct Tree {
    leaf: Option<Value>,
    branches: BTreeMap<String, Tree>,
}

impl Tree {
    fn add(&mut self, parts: &[&str], value: Value) {
        match parts {
            [] => self.put(value),
            [first, rest @ ..] => {
                self.branches.entry((*first).to_owned()).or_default().add(rest, value);
            }
        }
    }

    /// An object is spread over the branches, so that flat and nested names of the same thing join.
    fn put(&mut self, value: Value) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (name, value) in map {
                    self.branches.entry(name).or_default().put(value);
                }
            }
            Value::Null => {}
            value => self.leaf = Some(value),
        }
    }

    fn value(self) -> Value {
        if self.branches.is_empty() {
            return self.leaf.unwrap_or_default();
        }
        if self.branches.keys().all(|name| name.parse::<usize>().is_ok()) {
            let mut items: Vec<(usize, Value)> = self
                .branches
                .into_iter()
                .filter_map(|(name, tree)| Some((name.parse().ok()?, tree.value())))
                .collect();
            items.sort_by_key(|(index, _)| *index);
            return Value::Array(items.into_iter().map(|(_, value)| value).collect());
        }
        let fields = self.branches.into_iter().map(|(name, tree)| (name, tree.value()));
        Value::Object(fields.collect::<Map<String, Value>>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flat_names_are_nested() {
        let flat = json!({
            "context.span_id": "s", "attributes.llm.tools.10.name": "ten",
            "attributes.llm.tools.9.name": "nine", "attributes": {"llm": {"model_name": "m"}},
        });
        let expected = json!({
            "context": {"span_id": "s"},
            "attributes": {"llm": {"model_name": "m", "tools": [{"name": "nine"}, {"name": "ten"}]}},
        });
        assert_eq!(nested(&flat), expected);
        let deep = "a.".repeat(1000);
        assert_eq!(nested(&json!({deep: 1, "b": 2})), json!({"b": 2}));
    }
}
