//! Messages in the forms that tools write: OpenAI's chat and responses, Anthropic's blocks, LangChain's three
//! serialisations, OpenInference's and Gemini's.

use serde_json::{Map, Value};

use super::fields::{json_inside, text};
use super::words::{Side, words};
use crate::Turn;
use crate::turns::{Message, Role, ToolCall, ToolResult, new_turns};

/// Fields in which messages are found, the likeliest first.
const PLACES: [&str; 12] = [
    "messages",
    "input_messages",
    "output_messages",
    "choices",
    "generations",
    "candidates",
    "contents",
    "output",
    "input",
    "message",
    "kwargs",
    "args",
];

/// The messages in a value; `None` if it has none.
pub fn messages(value: &Value) -> Option<Vec<Message>> {
    match value {
        Value::String(text) => messages(&json_inside(text)?),
        Value::Array(items) => list(items),
        Value::Object(map) => {
            if let Some(message) = message(value) {
                return Some(vec![message]);
            }
            PLACES.iter().find_map(|place| match (*place, map.get(*place)?) {
                // Only one of several answers went into the conversation.
                ("choices" | "candidates" | "generations", found) => answer(found),
                (_, found) => messages(found),
            })
        }
        _ => None,
    }
}

/// An answer: messages, or words that the assistant said.
pub fn answers(value: &Value) -> Vec<Message> {
    let mut found = messages(value)
        .unwrap_or_else(|| vec![Message::new(Role::Assistant, words(value, Side::Output))]);
    // The state after a step of a graph: history first, and what the step said behind the last words of the user.
    let spoke = |message: &Message| message.role == Role::User && !message.text.is_empty();
    if let Some(last) = found.iter().rposition(spoke) {
        found.drain(..=last);
    }
    found.retain(|message| message.role != Role::System);
    found
}

/// The turns of a conversation, those of the messages before `from` left out as far as they were answered: the turns that
/// the call behind each answer would have added.
pub fn conversation(messages: &[Message], from: usize) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(from) {
        if message.role == Role::Assistant {
            turns.extend(new_turns(&messages[..index], std::slice::from_ref(message), 0, 0));
        }
    }
    turns.extend(new_turns(messages, &[], 0, 0));
    turns
}

/// How far the conversation had come when a call was made, without what the call brought.
pub fn depth(input: &[Message]) -> usize {
    let last = input.iter().rposition(|message| message.role == Role::Assistant);
    let known = &input[..last.map_or(0, |last| last + 1)];
    known.iter().filter(|message| message.role != Role::System).count()
}

/// The first answer, or none if there is an empty list of them.
fn answer(value: &Value) -> Option<Vec<Message>> {
    let Some(first) = value.as_array()?.first() else { return Some(Vec::new()) };
    if first.is_array() {
        return answer(first);
    }
    let inside = first.get("message").or_else(|| first.get("content")).unwrap_or(first);
    if let Some(message) = message(inside) {
        return Some(vec![message]);
    }
    let text = text(first, &["text"]);
    Some(text.map(|text| Message::new(Role::Assistant, text)).into_iter().collect())
}

fn list(items: &[Value]) -> Option<Vec<Message>> {
    if let Some(Value::Array(first)) = items.first()
        && pair(first).is_none()
    {
        // A batch of prompts; all that is known to write one has one in it.
        return list(first);
    }
    let mut found: Vec<Message> = Vec::new();
    for item in items {
        if let Some(call) = loose_call(item) {
            match found.last_mut().filter(|last| last.role == Role::Assistant) {
                Some(last) => last.calls.push(call),
                None => {
                    let mut message = Message::new(Role::Assistant, "");
                    message.calls.push(call);
                    found.push(message);
                }
            }
        } else if let Some(message) = item.as_array().map_or_else(|| message(item), |a| pair(a)) {
            found.push(message);
        }
    }
    pair_results(&mut found);
    (!found.is_empty()).then_some(found)
}

/// Gives results that do not say which call they belong to the calls without a result, in their order.
fn pair_results(messages: &mut [Message]) {
    let mut open: Vec<String> = Vec::new();
    for index in 0..messages.len() {
        if messages[index].role == Role::Assistant {
            let answered = messages[index + 1..]
                .iter()
                .take_while(|message| message.role != Role::Assistant)
                .flat_map(|message| &message.results);
            let answered: Vec<&String> = answered.map(|result| &result.id).collect();
            let calls = messages[index].calls.iter().map(|call| call.id.clone());
            open = calls.filter(|id| !answered.contains(&id)).rev().collect();
            continue;
        }
        for result in messages[index].results.iter_mut().filter(|result| result.id.is_empty()) {
            result.id = open.pop().unwrap_or_default();
        }
    }
}

/// `["human", "Hello"]`.
fn pair(items: &[Value]) -> Option<Message> {
    let [Value::String(role), content] = items else { return None };
    Some(Message::new(named(role)?, content_text(content)))
}

/// A call of a tool that is an item of its own, as in OpenAI's responses.
fn loose_call(item: &Value) -> Option<ToolCall> {
    let is_call = item.get("type").and_then(Value::as_str) == Some("function_call");
    is_call.then(|| call(item)).flatten()
}

fn message(value: &Value) -> Option<Message> {
    let map = value.as_object()?;
    if let Some(Value::Object(kwargs)) = map.get("kwargs")
        && let Some(Value::String(class)) = map.get("id")?.as_array()?.last()
    {
        let role = match class.trim_end_matches("Chunk") {
            "ChatMessage" => named(kwargs.get("role")?.as_str()?)?,
            class => named(class.strip_suffix("Message")?)?,
        };
        return Some(with_body(role, kwargs));
    }
    let kind = map.get("type").and_then(Value::as_str);
    if kind == Some("function_call_output") {
        let mut message = Message::new(Role::Tool, "");
        message.results.push(result(value, "output"));
        return Some(message);
    }
    if let Some(role) = map.get("role").and_then(Value::as_str) {
        return Some(with_body(named(role)?, map));
    }
    if let Some(role) = kind.and_then(named) {
        let body = map.get("data").and_then(Value::as_object).unwrap_or(map);
        return body.contains_key("content").then(|| with_body(role, body));
    }
    if map.get("tool_calls").is_some_and(Value::is_array) {
        return Some(with_body(Role::Assistant, map));
    }
    message(map.get("message")?)
}

fn named(role: &str) -> Option<Role> {
    Some(match role.to_ascii_lowercase().as_str() {
        "user" | "human" => Role::User,
        "assistant" | "ai" | "model" | "bot" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => Role::Tool,
        _ => return None,
    })
}

fn with_body(role: Role, body: &Map<String, Value>) -> Message {
    let value = Value::Object(body.clone());
    let content = ["content", "contents", "parts"]
        .iter()
        .find_map(|name| body.get(*name).filter(|content| super::fields::is_set(Some(content))));
    let mut message = Message::new(role, content.map(content_text).unwrap_or_default());
    if role == Role::Tool {
        message.results.push(result(&value, "content"));
        message.text = String::new();
    }
    if message.text.is_empty()
        && let Some(refusal) = text(&value, &["refusal"])
    {
        message.text = refusal;
    }
    for item in content.and_then(Value::as_array).into_iter().flatten() {
        block(item, &mut message);
    }
    let extra = body.get("additional_kwargs");
    let calls = [Some(&value), extra].into_iter().flatten().find_map(|body| {
        let calls = body.get("tool_calls")?.as_array()?;
        let calls: Vec<ToolCall> = calls.iter().filter_map(call).collect();
        (!calls.is_empty()).then_some(calls)
    });
    let legacy =
        || [Some(&value), extra].into_iter().flatten().find_map(|b| b.get("function_call"));
    match calls {
        // LangChain repeats the blocks of its content in this field.
        Some(calls) => message.calls = calls,
        None => message.calls.extend(legacy().and_then(call)),
    }
    message
}

/// A call or a result among the parts of a content.
fn block(item: &Value, message: &mut Message) {
    match item.get("type").and_then(Value::as_str) {
        Some("tool_use" | "tool_call" | "tool-call") => message.calls.extend(call(item)),
        Some("tool_result" | "tool-result") => message.results.push(result(item, "content")),
        _ => {
            if let Some(wanted) = item.get("functionCall").or_else(|| item.get("function_call")) {
                message.calls.extend(call(wanted));
            }
            if let Some(done) =
                item.get("functionResponse").or_else(|| item.get("function_response"))
            {
                message.results.push(result(done, "response"));
            }
        }
    }
}

fn call(value: &Value) -> Option<ToolCall> {
    let value = value.get("tool_call").unwrap_or(value);
    let function = value.get("function").filter(|f| f.is_object()).unwrap_or(value);
    let name = text(function, &["name", "toolName"])?;
    let names = ["arguments", "args", "input"];
    let arguments = names.iter().find_map(|name| function.get(*name)).cloned().unwrap_or_default();
    let arguments = match &arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or(arguments),
        _ => arguments,
    };
    let id = text(value, &["call_id", "tool_call_id", "toolCallId", "id"]);
    Some(ToolCall { id: id.unwrap_or_else(|| name.clone()), name, arguments })
}

/// The result of a call. Without the id of its call, the name of the tool stands for it, as in [`call`].
fn result(value: &Value, content: &str) -> ToolResult {
    let id = text(value, &["tool_call_id", "call_id", "tool_use_id", "toolCallId", "id", "name"]);
    let content = [content, "contents", "output", "result"];
    let content = content.iter().find_map(|name| value.get(*name)).cloned().unwrap_or_default();
    let output = match &content {
        Value::Array(_) => Value::String(content_text(&content)),
        _ => content,
    };
    let failed = value.get("status").and_then(Value::as_str) == Some("error")
        || value.get("is_error").or_else(|| value.get("isError")) == Some(&Value::Bool(true));
    ToolResult { id: id.unwrap_or_default(), value: output, failed }
}

/// The words in a content: text, or the texts of its parts; a part that is no text is named in brackets.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<String> =
                parts.iter().filter_map(part_text).filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
        Value::Object(_) => part_text(content).unwrap_or_default(),
        _ => String::new(),
    }
}

fn part_text(part: &Value) -> Option<String> {
    let part = part.get("message_content").unwrap_or(part);
    if let Value::String(text) = part {
        return Some(text.clone());
    }
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    if ["thinking", "reasoning", "redacted_thinking"].contains(&kind) {
        return None;
    }
    if let Some(text) = part.get("text").or_else(|| part.get("refusal")).and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    if let Some(parts) = part.get("parts") {
        return Some(content_text(parts));
    }
    let names = ["image", "audio", "video", "file", "document"];
    let name = names.iter().find(|name| kind.contains(*name))?;
    Some(format!("[{name}]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Role, words, and tools with their output.
    fn said(value: Value) -> Vec<(&'static str, String, Value)> {
        let messages = messages(&value).unwrap_or_default();
        let turns = conversation(&messages, 0).into_iter().map(|turn| {
            let tools = turn.tools_used.into_iter();
            let tools = tools.map(|tool| json!([tool.tool_name, tool.status, tool.tool_data]));
            (turn.role, turn.content, tools.collect())
        });
        turns.collect()
    }

    #[test]
    fn blocks_of_anthropic() {
        let found = said(json!([
            {"role": "user", "content": "Order 7?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "u1", "name": "look_up", "input": {"n": 7}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "u1", "is_error": true,
                    "content": [{"type": "text", "text": "no such order"}]},
                {"type": "text", "text": "Hurry"},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "There is none."}]},
        ]));
        let tools =
            json!([["look_up", "error", {"arguments": {"n": 7}, "result": "no such order"}]]);
        let expected = [
            ("User", "Order 7?".to_owned(), json!([])),
            ("Assistant", "One moment.".to_owned(), tools),
            ("User", "Hurry".to_owned(), json!([])),
            ("Assistant", "There is none.".to_owned(), json!([])),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_of_gemini_and_functions_of_old() {
        let tools =
            json!([["look_up", "success", {"arguments": {"n": 7}, "result": {"found": true}}]]);
        let gemini = said(json!({"contents": [
            {"role": "user", "parts": [{"text": "Order 7?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look_up", "args": {"n": 7}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look_up", "response": {"found": true}}}]},
        ]}));
        let expected =
            [("User", "Order 7?".to_owned(), json!([])), ("Assistant", String::new(), tools)];
        assert_eq!(gemini, expected);
        let old = said(json!([
            {"role": "user", "content": "Order 7?"},
            {"role": "assistant", "content": null, "function_call": {"name": "look_up", "arguments": "{\"n\": 7}"}},
            {"role": "function", "name": "look_up", "content": {"found": true}},
        ]));
        assert_eq!(old, expected);
    }

    #[test]
    fn results_without_an_id_belong_to_the_calls_in_order() {
        let call = |id: &str| json!({"id": id, "function": {"name": format!("tool {id}"), "arguments": "{}"}});
        let found = said(json!([
            {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b"), call("c")]},
            {"role": "tool", "content": "of a"},
            {"role": "tool", "content": "of b", "tool_call_id": "b"},
            {"role": "tool", "content": "of c"},
            {"role": "tool", "content": "of nothing"},
        ]));
        let outputs: Vec<&str> = found[0]
            .2
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.pointer("/2/result")?.as_str())
            .collect();
        assert_eq!(outputs, ["of a", "of b", "of c"]);
    }

    #[test]
    fn an_answer_that_never_came_says_nothing() {
        for value in [
            json!({"choices": []}),
            json!({"choices": [{"message": {"role": "assistant", "content": null}}]}),
            json!({"generations": [[]], "llm_output": null}),
            json!({"messages": []}),
            json!({"output": null}),
            json!({"content": [{"text": ""}]}),
            json!(null),
        ] {
            assert_eq!(conversation(&answers(&value), 0), [], "{value}");
        }
    }

    #[test]
    fn other_json_has_no_messages() {
        for value in [
            json!("Hello"),
            json!({"question": "Hello"}),
            json!([{"type": "Document", "page_content": "x"}]),
            json!({"messages": []}),
            json!({"args": ["Hello"], "kwargs": {}}),
            json!([["Hello"]]),
            json!(7),
        ] {
            assert_eq!(messages(&value), None, "{value}");
        }
        let decorated =
            json!({"args": [], "kwargs": {"messages": [{"role": "user", "content": "Hello"}]}});
        assert_eq!(messages(&decorated).map(|found| found.len()), Some(1));
    }
}
