use serde_json::json;

use super::*;
use crate::files::Wrong;

fn span(id: &str, parent: Option<&str>, kind: &str, attributes: Value) -> Value {
    json!({
        "id": "U3Bhbjox", "name": "step", "context": {"trace_id": "t1", "span_id": id},
        "span_kind": kind, "parent_id": parent, "start_time": "2024-05-29T13:46:19.963000+00:00",
        "end_time": "2024-05-29T13:46:21.100000+00:00", "status_code": "OK", "status_message": "",
        "attributes": attributes, "events": [],
    })
}

fn expected() -> Vec<(&'static str, String)> {
    turns(&[("Assistant", "One moment.<look_up success>"), ("Assistant", "Here it is.")])
}

#[test]
fn flat_attributes() {
    let attributes = json!({
        "openinference.span.kind": "LLM", "session.id": "s1", "user.id": "ana",
        "metadata": "{\"agent_version\": \"v9\"}", "llm.model_name": "m",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be kind.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "Order 7?",
        "llm.input_messages.2.message.role": "assistant",
        "llm.input_messages.2.message.content": "One moment.",
        "llm.input_messages.2.message.tool_calls.0.tool_call.id": "c1",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "look_up",
        "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": "{\"n\": 7}",
        "llm.input_messages.3.message.role": "tool",
        "llm.input_messages.3.message.tool_call_id": "c1",
        "llm.input_messages.3.message.content": "found",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Here it is.",
    });
    let found = items(Format::Phoenix, &[span("a", Some("r"), "LLM", attributes)]);
    assert_eq!(said(&found), expected());
    assert_eq!(owners(&found), [("ana", "s1")]);
    let publication = &found[0].publication;
    assert_eq!(publication.request_id, "phoenix-a");
    assert_eq!(publication.agent_version.as_deref(), Some("v9"));
    let tool = &publication.interaction_data_list[0].tools_used[0];
    assert_eq!(tool.tool_data, json!({"arguments": {"n": 7}, "result": "found"}));
}

fn messages() -> (Value, Value) {
    let call =
        json!({"tool_call": {"id": "c1", "function": {"name": "look_up", "arguments": "{}"}}});
    let input = json!([
        {"message": {"role": "user", "content": "Order 7?"}},
        {"message": {"role": "assistant", "content": "One moment.", "tool_calls": [call]}},
        {"message": {"role": "tool", "content": "found", "tool_call_id": "c1"}},
    ]);
    (input, json!([{"message": {"role": "assistant", "content": "Here it is."}}]))
}

#[test]
fn nested_attributes() {
    let (input, output) = messages();
    let attributes = json!({
        "llm": {"input_messages": input, "output_messages": output},
        "session": {"id": "s1"}, "user": {"id": "ana"}, "metadata": {"a.b": 1},
    });
    let record = span("a", None, "llm", attributes);
    assert_eq!(said(&items(Format::Phoenix, std::slice::from_ref(&record))), expected());
    let trace = json!({"traceId": "t1", "spans": [record], "duration": 5});
    assert_eq!(said(&items(Format::Phoenix, std::slice::from_ref(&trace))), expected());
    let page = json!({"data": [trace], "next_cursor": null});
    assert_eq!(said(&items(Format::Phoenix, &[page])), expected());
}

#[test]
fn columns_of_a_data_frame() {
    let row = json!({
        "name": "step", "span_kind": "LLM", "parent_id": null, "start_time": 1716990379963_u64,
        "end_time": 1716990381100_u64, "context.span_id": "a", "context.trace_id": "t1",
        "attributes.session.id": "s1", "attributes.user.id": "ana",
        "attributes.llm.input_messages": [
            {"message.role": "user", "message.content": "Hello"},
        ],
        "attributes.llm.output_messages": [
            {"message.role": "assistant", "message.content": "Hi"},
        ],
        "attributes.llm.token_count.total": 9, "attributes.input.value": null,
    });
    let found = items(Format::Phoenix, &[row]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
    assert_eq!(owners(&found), [("ana", "s1")]);
    let times: Vec<i64> =
        found[0].publication.interaction_data_list.iter().map(|turn| turn.created_at).collect();
    assert_eq!(times, [1716990379, 1716990381]);
}

#[test]
fn a_root_serves_if_no_model_was_called() {
    let attributes = json!({"input.value": "{\"question\": \"Hello\"}", "output.value": "Hi",
        "session.id": "s1", "user.id": "ana", "input.mime_type": "application/json"});
    let root = span("r", None, "CHAIN", attributes);
    let tool = span("b", Some("r"), "TOOL", json!({"input.value": "x", "output.value": "y"}));
    let found = items(Format::Phoenix, &[tool.clone(), root.clone()]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
    let (input, output) = messages();
    // Only the root knows the user.
    let call = json!({"llm.input_messages": input, "llm.output_messages": output});
    let found = items(Format::Phoenix, &[span("a", Some("r"), "LLM", call), tool, root]);
    assert_eq!(said(&found), expected());
    assert_eq!(owners(&found), [("ana", "s1")]);
}

#[test]
fn a_call_may_have_its_messages_in_its_values() {
    let attributes = json!({
        "input.value": "{\"messages\": [[{\"lc\": 1, \"type\": \"constructor\", \"id\": [\"langchain\", \"HumanMessage\"], \"kwargs\": {\"content\": \"Hello\"}}]]}",
        "output.value": "{\"generations\": [[{\"text\": \"Hi\"}]]}",
        "session.id": "s1", "user.id": "ana",
    });
    let found = items(Format::Phoenix, &[span("a", Some("r"), "LLM", attributes)]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
}

#[test]
fn a_record_that_is_no_span_is_told() {
    let (_, problems) = read_all(Format::Phoenix, "{\"name\": 1}\n{\"context\": {}}", &options());
    let wrong: Vec<&Wrong> = problems.iter().map(|problem| &problem.wrong).collect();
    let unknown = Wrong::Unknown(Format::Phoenix);
    assert_eq!(wrong, [&unknown, &unknown]);
}
