//! From calls of a chat model to turns.
//!
//! Every call carries the whole history, so most of it was recorded before. New is what follows the last message of the
//! assistant: the user's words, or results of tools. An answer that calls tools becomes a turn once their results are
//! known, which the next call brings.

use serde_json::{Map, Value, json};

use crate::{ToolUsed, Turn, Usage};

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A message in no provider's own form.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub results: Vec<ToolResult>,
}

impl Message {
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Message { role, text: text.into(), calls: Vec::new(), results: Vec::new() }
    }
}

/// A tool that the model wants to be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Value,
}

/// The result of such a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub id: String,
    pub value: Value,
    pub failed: bool,
}

/// The turns that a call adds to its session: `input` is the history it was asked with, `output` its answer.
pub fn new_turns(
    input: &[Message],
    output: &[Message],
    asked_at: i64,
    answered_at: i64,
) -> Vec<Turn> {
    let last = input.iter().rposition(|message| message.role == Role::Assistant);
    let fresh = &input[last.map_or(0, |last| last + 1)..];
    let results: Vec<&ToolResult> = fresh.iter().flat_map(|message| &message.results).collect();
    let mut turns = Vec::new();
    if let Some(caller) = last.map(|last| &input[last]).filter(|message| !message.calls.is_empty())
    {
        turns.push(turn("Assistant", &caller.text, asked_at, used(caller, &results)));
    }
    for message in fresh.iter().filter(|message| message.role == Role::User) {
        if !message.text.is_empty() {
            turns.push(turn("User", &message.text, asked_at, Vec::new()));
        }
    }
    for message in output.iter().filter(|message| message.calls.is_empty()) {
        if !message.text.is_empty() {
            turns.push(turn("Assistant", &message.text, answered_at, Vec::new()));
        }
    }
    turns
}

/// Notes what a call took on the last turn that it adds: its answer. An answer that calls tools is no turn yet; then it is
/// the turn that the call answers. So every call counts once, whether or not the next one is known.
pub fn add_usage(turns: &mut [Turn], usage: Usage) {
    if let Some(last) = turns.last_mut()
        && !usage.is_empty()
    {
        last.usage = Some(usage);
    }
}

fn turn(role: &'static str, text: &str, created_at: i64, tools_used: Vec<ToolUsed>) -> Turn {
    let content = text.to_owned();
    Turn { role, content, created_at, tools_used, usage: None, passed_on: Map::new() }
}

fn used(caller: &Message, results: &[&ToolResult]) -> Vec<ToolUsed> {
    let each = caller.calls.iter().map(|call| {
        let result = results.iter().find(|result| result.id == call.id);
        let mut tool_data = json!({"arguments": call.arguments});
        if let Some(result) = result {
            tool_data["result"] = result.value.clone();
        }
        let failed = result.is_some_and(|result| result.failed);
        let status = if failed { "error" } else { "success" };
        ToolUsed { tool_name: call.name.clone(), tool_data, status }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turns: &[Turn]) -> Vec<(&str, &str, usize)> {
        turns.iter().map(|t| (t.role, t.content.as_str(), t.tools_used.len())).collect()
    }

    #[test]
    fn a_call_adds_what_follows_the_last_answer() {
        let system = Message::new(Role::System, "Be kind.");
        let hello = Message::new(Role::User, "Hello");
        let hi = Message::new(Role::Assistant, "Hi, how can I help?");
        let first = new_turns(&[system.clone(), hello.clone()], std::slice::from_ref(&hi), 1, 2);
        assert_eq!(said(&first), [("User", "Hello", 0), ("Assistant", "Hi, how can I help?", 0)]);
        let ask = Message::new(Role::User, "Where is my parcel?");
        let answer = Message::new(Role::Assistant, "On its way.");
        let second = new_turns(&[system, hello, hi, ask], &[answer], 3, 4);
        assert_eq!(
            said(&second),
            [("User", "Where is my parcel?", 0), ("Assistant", "On its way.", 0)]
        );
        assert_eq!((second[0].created_at, second[1].created_at), (3, 4));
    }

    #[test]
    fn tools_become_a_turn_once_their_results_are_known() {
        let ask = Message::new(Role::User, "Where is order 7?");
        let mut calls = Message::new(Role::Assistant, "");
        let call = ToolCall {
            id: "c1".to_owned(),
            name: "look_up".to_owned(),
            arguments: json!({"n": 7}),
        };
        calls.calls.push(call);
        assert_eq!(
            said(&new_turns(std::slice::from_ref(&ask), &[calls.clone()], 1, 2)),
            [("User", "Where is order 7?", 0)]
        );
        let mut result = Message::new(Role::Tool, "");
        result.results.push(ToolResult {
            id: "c1".to_owned(),
            value: json!("not found"),
            failed: true,
        });
        let answer = Message::new(Role::Assistant, "I could not find it.");
        let turns = new_turns(&[ask, calls, result], &[answer], 3, 4);
        assert_eq!(said(&turns), [("Assistant", "", 1), ("Assistant", "I could not find it.", 0)]);
        assert_eq!(turns[0].tools_used[0].status, "error");
        assert_eq!(
            turns[0].tools_used[0].tool_data,
            json!({"arguments": {"n": 7}, "result": "not found"})
        );
    }
}
