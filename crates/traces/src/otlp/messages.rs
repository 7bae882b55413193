//! Messages in JSON: the parts of the GenAI conventions, and the forms of providers and frameworks that spans carry as
//! they are.

use std::collections::VecDeque;

use serde_json::Value;

use crate::turns::{Message, Role, ToolCall, ToolResult};

/// Deeper JSON stays text, so that whatever is made of it can be read again by any parser.
const DEEPEST: usize = 64;

/// Characters of an id or a name.
pub(super) const LONGEST_ID: usize = 255;

/// A call of a model: the history that it was asked with, and its answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Call {
    pub input: Vec<Message>,
    pub output: Vec<Message>,
}

impl Call {
    pub fn new(mut input: Vec<Message>, mut output: Vec<Message>) -> Self {
        pair(&mut input);
        let answer = output.iter().rposition(|message| message.role == Role::User);
        output.drain(..answer.map_or(0, |last| last + 1));
        output.retain(|message| message.role == Role::Assistant);
        input.iter_mut().chain(&mut output).for_each(storable);
        Call { input: join(input), output }
    }

    pub fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }
}

/// Leaves out U+0000, which no database stores, and gives every tool a name that is one.
fn storable(message: &mut Message) {
    without_nul(&mut message.text);
    for call in &mut message.calls {
        let name = call.name.chars().filter(|letter| !letter.is_control()).take(LONGEST_ID);
        let name: String = name.collect();
        call.name =
            Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or("unknown").to_owned();
        everywhere(&mut call.arguments);
    }
    message.results.iter_mut().for_each(|result| everywhere(&mut result.value));
}

fn without_nul(text: &mut String) {
    if text.contains('\0') {
        text.retain(|letter| letter != '\0');
    }
}

fn everywhere(value: &mut Value) {
    match value {
        Value::String(text) => without_nul(text),
        Value::Array(values) => values.iter_mut().for_each(everywhere),
        Value::Object(map) => {
            if map.keys().any(|key| key.contains('\0')) {
                let pairs = std::mem::take(map).into_iter();
                *map = pairs.map(|(key, value)| (key.replace('\0', ""), value)).collect();
            }
            map.values_mut().for_each(everywhere);
        }
        _ => {}
    }
}

/// Gives ids to calls of tools and results that have none, in their order.
fn pair(messages: &mut [Message]) {
    let mut open = VecDeque::new();
    let mut count = 0;
    for message in messages {
        for call in message.calls.iter_mut().filter(|call| call.id.is_empty()) {
            count += 1;
            call.id = format!("unnamed-{count}");
            open.push_back(call.id.clone());
        }
        for result in message.results.iter_mut().filter(|result| result.id.is_empty()) {
            result.id = open.pop_front().unwrap_or_default();
        }
    }
}

/// One answer that calls several tools is several messages in some forms.
fn join(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let calls =
            |message: &Message| message.role == Role::Assistant && !message.calls.is_empty();
        match joined.last_mut() {
            Some(last) if calls(last) && calls(&message) => {
                last.calls.extend(message.calls);
                add(&mut last.text, &message.text);
            }
            _ => joined.push(message),
        }
    }
    joined
}

/// JSON in text, when it is an object or a list and not too deep.
pub(super) fn parsed(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok().filter(|value| fits(value, DEEPEST))
}

fn fits(value: &Value, deepest: usize) -> bool {
    match value {
        Value::Array(values) => deepest > 0 && values.iter().all(|value| fits(value, deepest - 1)),
        Value::Object(map) => deepest > 0 && map.values().all(|value| fits(value, deepest - 1)),
        _ => true,
    }
}

/// `unnamed` is the role of a message that names none. Answers with a role that is not known are still answers.
pub(super) fn role(word: Option<&str>, unnamed: Role) -> Option<Role> {
    Some(match word.map(str::to_ascii_lowercase).as_deref() {
        None => unnamed,
        Some("system" | "developer") => Role::System,
        Some("user" | "human") => Role::User,
        Some("assistant" | "ai" | "model") => Role::Assistant,
        Some("tool" | "function") => Role::Tool,
        Some(_) if unnamed == Role::Assistant => Role::Assistant,
        Some(_) => return None,
    })
}

/// The messages of a list, of an object with `messages`, or of text, which has the given role.
pub(super) fn messages(value: &Value, unnamed: Role) -> Vec<Message> {
    match value {
        Value::String(text) if !text.is_empty() => vec![Message::new(unnamed, text)],
        Value::Array(values) => values.iter().flat_map(|value| messages(value, unnamed)).collect(),
        Value::Object(map) => match map.get("messages") {
            Some(inner) => messages(inner, unnamed),
            None => message(value, unnamed).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}

/// A message, unless its role is not known.
pub(super) fn message(value: &Value, unnamed: Role) -> Option<Message> {
    // LangChain's own form.
    let value = value.get("kwargs").filter(|inner| inner.is_object()).unwrap_or(value);
    let kind = word(value, &["type"]);
    if let Some("function_call" | "function_call_output") = kind {
        let mut message = Message::new(Role::Assistant, "");
        part(&mut message, value);
        if !message.results.is_empty() {
            message.role = Role::Tool;
        }
        return Some(message);
    }
    let role = role(word(value, &["role"]).or(kind), unnamed)?;
    let mut message = Message::new(role, "");
    let content = value.get("parts").or_else(|| value.get("content")).unwrap_or(&Value::Null);
    body(&mut message, content);
    if let Some(calls) = value.get("tool_calls") {
        let read = calls.as_str().and_then(parsed);
        let calls = read.as_ref().unwrap_or(calls).as_array();
        message.calls.extend(calls.into_iter().flatten().map(call));
    }
    if role == Role::Tool && message.results.is_empty() {
        let id = word(value, &["tool_call_id", "toolCallId", "id"]).unwrap_or_default();
        let failed = word(value, &["status"]) == Some("error");
        answered(&mut message, id, content, failed);
    }
    Some(message)
}

/// The text of a message of a tool is the result of the call that it names.
pub(super) fn answered(message: &mut Message, id: &str, content: &Value, failed: bool) {
    message.text.clear();
    message.results.push(ToolResult { id: id.to_owned(), value: plain(content), failed });
}

/// Content is text, parts, or parts as JSON in text.
pub(super) fn body(message: &mut Message, content: &Value) {
    let read = content.as_str().and_then(parsed).filter(are_parts);
    match read.as_ref().unwrap_or(content) {
        Value::String(text) => add(&mut message.text, text),
        Value::Array(parts) => parts.iter().for_each(|value| part(message, value)),
        _ => {}
    }
}

fn are_parts(value: &Value) -> bool {
    const NAMES: [&str; 4] = ["type", "text", "toolUse", "toolResult"];
    let is_part = |part: &Value| NAMES.iter().any(|name| part.get(name).is_some());
    value.as_array().is_some_and(|parts| !parts.is_empty() && parts.iter().all(is_part))
}

fn part(message: &mut Message, value: &Value) {
    if let Some(text) = value.as_str() {
        return add(&mut message.text, text);
    }
    match word(value, &["type"]) {
        Some("text" | "input_text" | "output_text") => {
            add(&mut message.text, word(value, &["content", "text"]).unwrap_or_default());
        }
        Some("tool_call" | "tool-call" | "tool_use" | "function_call") => {
            message.calls.push(call(value));
        }
        Some("tool_call_response" | "tool-result" | "tool_result" | "function_call_output") => {
            message.results.push(result(value));
        }
        Some(_) => {}
        // The forms of Bedrock name the kind of a part by its key.
        None => {
            if let Some(text) = word(value, &["text"]) {
                add(&mut message.text, text);
            } else if let Some(inner) = value.get("toolUse") {
                message.calls.push(call(inner));
            } else if let Some(inner) = value.get("toolResult") {
                message.results.push(result(inner));
            }
        }
    }
}

const IDS: [&str; 7] =
    ["id", "toolCallId", "tool_call_id", "call_id", "tool_use_id", "toolUseId", "tool_id"];

pub(super) fn call(value: &Value) -> ToolCall {
    let inner = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
    let given = ["arguments", "input", "args"].iter().find_map(|key| inner.get(key));
    ToolCall {
        id: id(value),
        name: word(inner, &["name", "toolName"]).unwrap_or("unknown").to_owned(),
        arguments: arguments(given.unwrap_or(&Value::Null)),
    }
}

/// A call of a tool has its own id beside that of its item in one form, and it is the longer name that results repeat.
fn id(value: &Value) -> String {
    word(value, &["call_id"]).or_else(|| word(value, &IDS)).unwrap_or_default().to_owned()
}

/// Arguments come as JSON text from some providers.
pub(super) fn arguments(value: &Value) -> Value {
    value.as_str().and_then(parsed).unwrap_or_else(|| value.clone())
}

fn result(value: &Value) -> ToolResult {
    let given = ["response", "result", "output", "content"].iter().find_map(|key| value.get(key));
    let given = given.unwrap_or(&Value::Null);
    let flag = |key| value.get(key).and_then(Value::as_bool).unwrap_or(false);
    // The AI SDK puts a result into an object with its kind.
    let kind = word(given, &["type"]).filter(|_| given.get("value").is_some());
    let inner = kind.and_then(|_| given.get("value")).unwrap_or(given);
    let failed = flag("isError")
        || flag("is_error")
        || word(value, &["status"]) == Some("error")
        || kind.is_some_and(|kind| kind.starts_with("error"));
    ToolResult { id: id(value), value: plain(inner), failed }
}

/// Parts of nothing but text are that text.
fn plain(content: &Value) -> Value {
    if !are_parts(content) {
        return content.clone();
    }
    let mut message = Message::new(Role::Tool, "");
    body(&mut message, content);
    if message.text.is_empty() { content.clone() } else { Value::from(message.text) }
}

fn word<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    let found = keys.iter().find_map(|key| value.get(key).and_then(Value::as_str));
    found.filter(|text| !text.is_empty())
}

pub(super) fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}
