use serde_json::json;

use super::*;
use crate::files::Wrong;

#[test]
fn a_conversation_per_line() {
    let record = json!({"messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Order 7?"},
        {"role": "assistant", "content": null, "weight": 0, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{\"n\": 7}"}},
            {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "not json"}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "rain"}]},
        {"role": "assistant", "content": "Here it is."},
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:"}}]},
        {"role": "assistant", "content": null, "refusal": "I cannot say."},
        {"role": "user", "content": "Thanks"},
    ], "user": "ana", "tools": []});
    let found = items(Format::Openai, &[record]);
    assert_eq!(
        said(&found),
        turns(&[
            ("User", "Order 7?"),
            ("Assistant", "<look_up success><weather success>"),
            ("Assistant", "Here it is."),
            ("User", "And this?\n[image]"),
            ("Assistant", "I cannot say."),
            ("User", "Thanks"),
        ])
    );
    let publication = &found[0].publication;
    assert!(publication.session_finished);
    assert_eq!(publication.user_id, "ana");
    assert_eq!(publication.session_id, publication.request_id);
    let times: Vec<i64> =
        publication.interaction_data_list.iter().map(|turn| turn.created_at).collect();
    assert_eq!(times, (NOW - 5..=NOW).collect::<Vec<i64>>());
    assert_eq!(publication.created_at, NOW - 5);
    let tools = &publication.interaction_data_list[1].tools_used;
    assert_eq!(tools[0].tool_data, json!({"arguments": {"n": 7}, "result": "found"}));
    assert_eq!(tools[1].tool_data, json!({"arguments": "not json", "result": "rain"}));
}

fn pair(id: &str, messages: Value, metadata: Value) -> Value {
    json!({
        "id": id, "custom_id": "request-1",
        "request": {"method": "POST", "url": "/v1/chat/completions", "body": {
            "model": "gpt-4o", "messages": messages, "metadata": metadata, "user": "ana",
        }},
        "response": {"status_code": 200, "request_id": "r", "body": {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1716990379, "choices": [
                {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"},
                {"index": 1, "message": {"role": "assistant", "content": "Hey"}, "finish_reason": "stop"},
            ],
        }},
        "error": null,
    })
}

#[test]
fn a_request_with_its_response_is_a_conversation_or_a_part_of_one() {
    let history = json!([
        {"role": "user", "content": "Are you there?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Hello"},
    ]);
    let alone = items(Format::Openai, &[pair("b1", history.clone(), json!({}))]);
    assert_eq!(
        said(&alone),
        turns(&[
            ("User", "Are you there?"),
            ("Assistant", "Yes."),
            ("User", "Hello"),
            ("Assistant", "Hi"),
        ])
    );
    assert_eq!(owners(&alone), [("ana", "b1")]);
    assert_eq!(alone[0].publication.created_at, 1716990379);
    assert!(alone[0].publication.session_finished);
    let ids = json!({"session_id": "s1", "user_id": "bo"});
    let part = items(Format::Openai, &[pair("b2", history, ids)]);
    assert_eq!(said(&part), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
    assert_eq!(owners(&part), [("bo", "s1")]);
    assert!(!part[0].publication.session_finished);
}

#[test]
fn stored_completions_responses_and_old_pairs() {
    let expected = turns(&[("User", "Hello"), ("Assistant", "Hi")]);
    for record in [
        json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1716990379, "metadata": {"user_id": "ana"},
            "messages": [{"role": "user", "content": "Hello"}],
            "choices": [{"message": {"role": "assistant", "content": "Hi"}}]}),
        json!({"custom_id": "1", "body": {"input": "Hello", "instructions": "Be kind.", "user": "ana"},
        "response": {"body": {"id": "resp_1", "created_at": 1716990379, "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        ]}}}),
        json!({"prompt": "Hello", "completion": " Hi", "user": "ana"}),
        json!({"user": "ana", "input": {"messages": [{"role": "user", "content": "Hello"}]},
            "preferred_output": [{"role": "assistant", "content": "Hi"}],
            "non_preferred_output": [{"role": "assistant", "content": "No"}]}),
    ] {
        assert_eq!(
            said(&items(Format::Openai, std::slice::from_ref(&record))),
            expected,
            "{record}"
        );
    }
}

#[test]
fn calls_of_tools_among_the_items_of_a_response() {
    let record = json!({"user": "ana", "input": [
        {"role": "user", "content": "Order 7?"},
        {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": "{\"n\":7}"},
        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "found"},
        {"type": "function_call_output", "call_id": "c2", "output": "rain"},
    ], "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here."}]}]});
    assert_eq!(
        said(&items(Format::Openai, &[record])),
        turns(&[
            ("User", "Order 7?"),
            ("Assistant", "<look_up success><weather success>"),
            ("Assistant", "Here."),
        ])
    );
}

#[test]
fn a_response_without_its_request_is_told() {
    let mut record = pair("b1", json!([]), json!({}));
    record.as_object_mut().unwrap().remove("request");
    let empty = json!({"messages": [{"role": "system", "content": "Be kind."}], "user": "ana"});
    let (found, problems) =
        read_all(Format::Openai, &lines(&[record, empty, json!({"a": 1})]), &options());
    assert_eq!(found, []);
    let wrong: Vec<&Wrong> = problems.iter().map(|problem| &problem.wrong).collect();
    assert_eq!(wrong, [&Wrong::NoRequest, &Wrong::NoContent, &Wrong::Unknown(Format::Openai)]);
}
