//! Model, tokens, cost and latency of calls, in the fields that each tool documents.

use serde_json::json;

use super::*;
use crate::Usage;

/// The usage on each turn.
fn usage(format: Format, records: &[Value]) -> Vec<Option<Usage>> {
    let found = items(format, records);
    let turns = found.iter().flat_map(|item| &item.publication.interaction_data_list);
    turns.map(|turn| turn.usage.clone()).collect()
}

fn took(cost_usd: Option<f64>, latency_ms: Option<u64>) -> Usage {
    let model = Some("m".to_owned());
    Usage { model, input_tokens: Some(5), output_tokens: Some(7), cost_usd, latency_ms }
}

fn with(mut record: Value, more: Value) -> Value {
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

#[test]
fn langfuse_in_every_age_of_its_fields() {
    let call = json!({
        "id": "g1", "traceId": "t1", "type": "GENERATION", "userId": "ana", "sessionId": "s1", "model": "m",
        "startTime": "2024-05-29T13:46:20.000Z", "endTime": "2024-05-29T13:46:22.500Z",
        "input": [{"role": "user", "content": "Hello"}], "output": "Hi",
    });
    let row = json!({
        "id": "g1", "trace_id": "t1", "type": "GENERATION", "user_id": "ana", "session_id": "s1",
        "start_time": "2024-05-29 13:46:20.000000", "end_time": "2024-05-29 13:46:22.500000",
        "provided_model_name": "m", "input": "[{\"role\":\"user\",\"content\":\"Hello\"}]", "output": "Hi",
    });
    for record in [
        with(
            call.clone(),
            json!({"usageDetails": {"input": 5, "output": 7, "total": 12},
            "costDetails": {"input": 0.1, "output": 0.15, "total": 0.25}}),
        ),
        with(
            call.clone(),
            json!({"usage": {"input": 5, "output": 7, "total": 12, "unit": "TOKENS"},
            "calculatedTotalCost": 0.25}),
        ),
        with(call.clone(), json!({"promptTokens": 5, "completionTokens": 7, "totalCost": "0.25"})),
        with(
            row,
            json!({"usage_details": "{\"input\": 5, \"output\": 7}",
            "cost_details": {"total": 0.25}, "latency": 2.5}),
        ),
    ] {
        let expected = [None, Some(took(Some(0.25), Some(2500)))];
        assert_eq!(usage(Format::Langfuse, std::slice::from_ref(&record)), expected, "{record}");
    }
    let letters = json!({"usage": {"input": 500, "output": 700, "unit": "CHARACTERS"}});
    let known = Usage { input_tokens: None, output_tokens: None, ..took(None, Some(2500)) };
    assert_eq!(usage(Format::Langfuse, &[with(call, letters)]), [None, Some(known)]);
}

#[test]
fn a_trace_of_langfuse_has_what_its_texts_took() {
    let trace = json!({
        "id": "t1", "timestamp": "2024-05-29T13:46:19.963Z", "userId": "ana", "sessionId": "s1",
        "input": "Hello", "output": "Hi", "totalCost": 0.25, "latency": 3.021,
    });
    let alone = Usage { cost_usd: Some(0.25), latency_ms: Some(3021), ..Usage::default() };
    assert_eq!(usage(Format::Langfuse, std::slice::from_ref(&trace)), [None, Some(alone)]);
    // The words of the trace are taken, and the tokens of the texts that its model was asked with.
    let text = |id: &str, tokens: [u64; 2]| {
        json!({"id": id, "traceId": "t1", "type": "GENERATION", "startTime": 1716990379, "model": "m",
            "input": "Say hello", "output": "Hello",
            "usageDetails": {"input": tokens[0], "output": tokens[1]}})
    };
    let both = [text("g1", [2, 3]), text("g2", [3, 4]), trace];
    assert_eq!(usage(Format::Langfuse, &both), [None, Some(took(Some(0.25), Some(3021)))]);
}

#[test]
fn langsmith() {
    let run = json!({
        "id": "r1", "trace_id": "r1", "run_type": "llm",
        "start_time": "2024-05-29T13:46:19.963000", "end_time": "2024-05-29T13:46:21.100000",
        "inputs": {"messages": [{"role": "user", "content": "Hello"}]},
        "outputs": {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]},
        "extra": {"metadata": {"user_id": "ana", "ls_model_name": "m"}},
    });
    let counted = with(
        run.clone(),
        json!({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12, "total_cost": "0.25"}),
    );
    let expected = [None, Some(took(Some(0.25), Some(1137)))];
    assert_eq!(usage(Format::Langsmith, &[counted]), expected);
    for (name, said) in [
        ("usage", json!({"prompt_tokens": 5, "completion_tokens": 7})),
        ("usage_metadata", json!({"input_tokens": 5, "output_tokens": 7})),
        ("llm_output", json!({"token_usage": {"prompt_tokens": 5, "completion_tokens": 7}})),
    ] {
        let mut run = run.clone();
        run["outputs"][name] = said;
        run["extra"] = json!({"metadata": {"user_id": "ana"}, "invocation_params": {"model": "m"}});
        let expected = [None, Some(took(None, Some(1137)))];
        assert_eq!(usage(Format::Langsmith, &[run]), expected, "{name}");
    }
}

#[test]
fn a_call_that_asks_for_a_tool_counts_on_the_words_it_answers() {
    let call = json!({"id": "c1", "function": {"name": "look_up", "arguments": "{}"}});
    let ask = json!({"role": "user", "content": "Order 7?"});
    let wants = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "found"});
    let run = |id: &str, messages: Value, answer: Value| {
        json!({"id": id, "trace_id": "t", "parent_run_id": "p", "run_type": "llm", "start_time": 1716990379,
            "inputs": {"messages": messages}, "outputs": {"choices": [{"message": answer}]},
            "prompt_tokens": 5, "completion_tokens": 7, "extra": {"metadata": {"user_id": "ana",
            "thread_id": "s1", "ls_model_name": "m"}}})
    };
    let answer = json!({"role": "assistant", "content": "Here it is."});
    let records =
        [run("r1", json!([ask]), wants.clone()), run("r2", json!([ask, wants, result]), answer)];
    let known = Some(took(None, None));
    // The user's words, the tool with its result, the answer.
    assert_eq!(usage(Format::Langsmith, &records), [known.clone(), None, known]);
}

#[test]
fn phoenix() {
    let flat = json!({
        "context": {"trace_id": "t1", "span_id": "a"}, "span_kind": "LLM", "parent_id": "r",
        "start_time": "2024-05-29T13:46:19.963000+00:00", "end_time": "2024-05-29T13:46:21.100000+00:00",
        "attributes": {
            "user.id": "ana", "session.id": "s1", "llm.model_name": "m", "llm.token_count.prompt": 5,
            "llm.token_count.completion": 7, "llm.token_count.prompt_details.cache_read": 2,
            "llm.cost.total": 0.25,
            "llm.input_messages": [{"message.role": "user", "message.content": "Hello"}],
            "llm.output_messages": [{"message.role": "assistant", "message.content": "Hi"}],
        },
    });
    let expected = [None, Some(took(Some(0.25), Some(1137)))];
    assert_eq!(usage(Format::Phoenix, &[flat]), expected);
}

#[test]
fn openai() {
    let messages = json!([{"role": "user", "content": "Hello"}]);
    let chat = json!({"id": "b1", "request": {"body": {"model": "asked", "messages": messages, "user": "ana"}},
        "response": {"status_code": 200, "body": {"id": "c", "created": 1716990379, "model": "m",
            "choices": [{"message": {"role": "assistant", "content": "Hi"}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}}});
    let responses = json!({"body": {"input": "Hello", "user": "ana", "model": "m"},
        "response": {"body": {"id": "resp_1", "created_at": 1716990379,
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}],
            "usage": {"input_tokens": 5, "output_tokens": 7}}}});
    for record in [chat, responses] {
        assert_eq!(usage(Format::Openai, &[record]), [None, Some(took(None, None))]);
    }
    let conversation = json!({"messages": messages, "user": "ana"});
    assert_eq!(usage(Format::Openai, &[conversation]), [None]);
}

#[test]
fn our_own_form() {
    let turn = |role: &str, usage: Value| {
        json!({"user_id": "ana", "session_id": "s1", "role": role, "content": "Hello", "created_at": 1,
            "usage": usage})
    };
    let all = json!({"model": "m", "input_tokens": 5, "output_tokens": 7, "cost_usd": 0.25, "latency_ms": 9});
    let wrong = json!({"model": "a\nb", "input_tokens": -5, "cost_usd": "free"});
    let records = [turn("User", json!(null)), turn("Assistant", all), turn("Assistant", wrong)];
    assert_eq!(usage(Format::Jsonl, &records), [None, Some(took(Some(0.25), Some(9))), None]);
}

#[test]
fn usage_is_part_of_a_publish() {
    let record = json!({"user_id": "ana", "session_id": "s1", "content": "Hello", "created_at": 1,
        "usage": {"input_tokens": 5}});
    let found = items(Format::Jsonl, &[record]);
    let body = serde_json::to_value(&found[0].publication).unwrap();
    assert_eq!(
        body["interaction_data_list"],
        json!([{"role": "User", "content": "Hello", "created_at": 1, "usage": {"input_tokens": 5}}])
    );
}
