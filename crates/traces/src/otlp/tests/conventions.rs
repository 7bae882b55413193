use super::*;
use crate::Usage;

const TOLD: [&str; 2] = [
    r#"Assistant: Let me see. [look_up {"order":7} -> "on its way" success]"#,
    "Assistant: It is on its way.",
];

fn event(name: &str, attributes: Value) -> Value {
    json!({"name": name, "attributes": pairs(&attributes)})
}

#[test]
fn gen_ai_messages_as_text_structured_or_in_an_event() {
    let input = json!([
        text("user", "Where is order 7?"),
        {"role": "assistant", "parts": [
            {"type": "reasoning", "content": "hidden"},
            {"type": "text", "content": "Let me see."},
            {"type": "tool_call", "id": "c", "name": "look_up", "arguments": {"order": 7}},
        ]},
        {"role": "tool", "parts": [
            {"type": "tool_call_response", "id": "c", "response": "on its way"},
        ]},
    ]);
    let output = json!([text("assistant", "It is on its way.")]);
    assert_eq!(said(&map(&[span(1, None, chat(input.clone(), output.clone()))])), TOLD);
    let structured = json!({
        "gen_ai.operation.name": "generate_content",
        "gen_ai.system_instructions": [{"type": "text", "content": "Be kind."}],
        "gen_ai.input.messages": input,
        "gen_ai.output.messages": output,
    });
    assert_eq!(said(&map(&[span(1, None, structured.clone())])), TOLD);
    let mut in_event = span(1, None, json!({"gen_ai.operation.name": "chat"}));
    let details = event("gen_ai.client.inference.operation.details", structured);
    in_event["events"] = json!([details]);
    assert_eq!(said(&map(&[in_event])), TOLD);
}

#[test]
fn gen_ai_events_one_for_each_message() {
    let calls = json!([{"id": "c", "type": "function",
        "function": {"name": "look_up", "arguments": "{\"order\": 7}"}}]);
    let mut of_fields = span(1, None, json!({"gen_ai.operation.name": "chat"}));
    of_fields["events"] = json!([
        event("gen_ai.system.message", json!({"content": "Be kind."})),
        event("gen_ai.user.message", json!({"content": "Where is order 7?"})),
        event("gen_ai.assistant.message", json!({"content": "Let me see.", "tool_calls": calls})),
        event("gen_ai.tool.message", json!({"id": "c", "content": "on its way"})),
        event(
            "gen_ai.choice",
            json!({"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "It is on its way."}})
        ),
        event("exception", json!({"exception.message": "unrelated"})),
    ]);
    assert_eq!(said(&map(&[of_fields])), TOLD);
    let json_event = |name, body: Value| {
        event(name, json!({"gen_ai.system": "az", "gen_ai.event.content": body.to_string()}))
    };
    let mut of_json = span(1, None, json!({"gen_ai.operation.name": "chat"}));
    of_json["events"] = json!([
        json_event("gen_ai.user.message", json!({"role": "user", "content": "Where is order 7?"})),
        json_event(
            "gen_ai.assistant.message",
            json!({"role": "assistant", "content": "Let me see.", "tool_calls": calls})
        ),
        json_event(
            "gen_ai.tool.message",
            json!({"role": "tool", "id": "c", "content": "on its way"})
        ),
        json_event("gen_ai.choice", json!({"message": {"content": "It is on its way."}})),
    ]);
    assert_eq!(said(&map(&[of_json])), TOLD);
    let mut of_blocks = span(1, None, json!({"gen_ai.operation.name": "chat"}));
    of_blocks["events"] = json!([
        event(
            "gen_ai.assistant.message",
            json!({"content": json!([{"text": "Let me see."},
            {"toolUse": {"toolUseId": "c", "name": "look_up", "input": {"order": 7}}}]).to_string()})
        ),
        event(
            "gen_ai.tool.message",
            json!({"content": json!([{"toolResult":
            {"toolUseId": "c", "content": [{"text": "on its way"}]}}]).to_string()})
        ),
        event(
            "gen_ai.choice",
            json!({"message": json!([{"text": "It is on its way."}]).to_string()})
        ),
    ]);
    assert_eq!(said(&map(&[of_blocks])), TOLD);
}

#[test]
fn open_inference_flattened() {
    let told = json!({
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "Where is order 7?",
        "llm.input_messages.1.message.role": "assistant",
        "llm.input_messages.1.message.content": "Let me see.",
        "llm.input_messages.1.message.tool_calls.0.tool_call.id": "c",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.name": "look_up",
        "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments": "{\"order\": 7}",
        "llm.input_messages.2.message.role": "tool",
        "llm.input_messages.2.message.tool_call_id": "c",
        "llm.input_messages.2.message.content": "on its way",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.text": "It is on its way.",
    });
    assert_eq!(said(&map(&[span(1, None, told)])), TOLD);
    // Ten comes after two.
    let mut many = json!({"openinference.span.kind": "LLM"});
    for number in [10, 2, 1, 0] {
        many[format!("llm.input_messages.{number}.message.role")] = json!("user");
        many[format!("llm.input_messages.{number}.message.content")] = json!(number.to_string());
    }
    assert_eq!(said(&map(&[span(1, None, many)])), ["User: 0", "User: 1", "User: 2", "User: 10"]);
}

#[test]
fn agents_and_chains_count_only_without_calls_and_only_the_outermost() {
    let around = |kind: &str, asked: Value, answered: Value| json!({"openinference.span.kind": kind, "input.value": asked, "output.value": answered});
    let chain = span(1, None, around("CHAIN", json!("Hello"), json!("Hi")));
    let agent = span(2, Some(1), around("AGENT", json!("Hello!!"), json!("Hi!!")));
    let tool = span(3, Some(2), around("TOOL", json!("{}"), json!("{}")));
    let spans = [tool, agent.clone(), chain.clone()];
    let mapped = map(&spans);
    assert_eq!(said(&mapped), ["User: Hello", "Assistant: Hi"]);
    assert_eq!(mapped.ignored_spans, 2);
    let call = chat(json!([text("user", "Words")]), json!([text("assistant", "More")]));
    let mapped = map(&[chain, agent.clone(), span(4, Some(2), call)]);
    assert_eq!(said(&mapped), ["User: Words", "Assistant: More"]);
    // The chain around it ends later, and may have had calls that came before.
    assert!(map(std::slice::from_ref(&agent)).publications.is_empty());
    let mut entered = agent;
    entered["flags"] = json!(0x301);
    assert_eq!(said(&map(&[entered])), ["User: Hello!!", "Assistant: Hi!!"]);
    let graph = json!({"messages": [{"type": "human", "content": "Hello"}]}).to_string();
    let history = json!({"messages": [{"type": "human", "content": "Hello"},
        {"type": "ai", "content": "Hi"}]});
    let graph = span(1, None, around("CHAIN", json!(graph), json!(history.to_string())));
    assert_eq!(said(&map(&[graph])), ["User: Hello", "Assistant: Hi"]);
    let numbers = span(1, None, around("CHAIN", json!("{\"n\": 1}"), json!("{\"n\": 2}")));
    assert!(map(&[numbers]).publications.is_empty());
    let mut invoked = chat(json!([text("user", "Hello")]), json!([text("assistant", "Hi")]));
    invoked["gen_ai.operation.name"] = json!("invoke_agent");
    assert_eq!(said(&map(&[span(1, None, invoked)])), ["User: Hello", "Assistant: Hi"]);
}

#[test]
fn open_llmetry_flattened() {
    let told = json!({
        "llm.request.type": "chat",
        "traceloop.association.properties.user_id": "u",
        "traceloop.association.properties.session_id": "s",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "[{\"type\": \"text\", \"text\": \"Where is order 7?\"}]",
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.content": "Let me see.",
        "gen_ai.prompt.1.tool_calls.0.id": "c",
        "gen_ai.prompt.1.tool_calls.0.name": "look_up",
        "gen_ai.prompt.1.tool_calls.0.arguments": "{\"order\": 7}",
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.tool_call_id": "c",
        "gen_ai.prompt.2.content": "on its way",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "It is on its way.",
        "gen_ai.completion.0.finish_reason": "stop",
    });
    let mapped = map(&[span(1, None, told)]);
    assert_eq!(said(&mapped), TOLD);
    let made = &mapped.publications[0];
    assert_eq!((made.user_id.as_str(), made.session_id.as_str()), ("u", "s"));
    let asked = json!({"gen_ai.prompt.0.content": "[{\"type\": \"text\", \"text\": \"Hello\"}]"});
    assert_eq!(said(&map(&[span(1, None, asked)])), ["User: Hello"]);
    let task = json!({"traceloop.span.kind": "task", "traceloop.entity.input": "{}"});
    assert_eq!(map(&[span(1, None, task)]).ignored_spans, 1);
}

#[test]
fn ai_sdk_inner_spans_only() {
    let prompt = json!([
        {"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."},
            {"type": "tool-call", "toolCallId": "c", "toolName": "look_up", "input": {"order": 7}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c",
            "toolName": "look_up", "output": {"type": "error-text", "value": "lost"}}]},
    ]);
    let inner = json!({
        "ai.operationId": "ai.streamText.doStream",
        "ai.prompt.messages": prompt.to_string(),
        "ai.response.text": "It is lost.",
    });
    let outer = json!({
        "ai.operationId": "ai.streamText",
        "ai.prompt": json!({"messages": prompt}).to_string(),
        "ai.response.text": "It is lost.",
        "ai.telemetry.metadata.userId": "u",
        "ai.telemetry.metadata.sessionId": "s",
    });
    let tool = json!({"ai.operationId": "ai.toolCall", "ai.toolCall.result": "lost"});
    let mapped = map(&[span(1, None, outer), span(2, Some(1), inner), span(3, Some(1), tool)]);
    let failed = r#"Assistant: Let me see. [look_up {"order":7} -> "lost" error]"#;
    assert_eq!(said(&mapped), [failed, "Assistant: It is lost."]);
    assert_eq!((mapped.publications[0].user_id.as_str(), mapped.ignored_spans), ("u", 2));
}

#[test]
fn tools_without_ids_and_answers_in_several_messages() {
    let input = json!([
        {"role": "user", "content": "Both?"},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "one", "arguments": "{}"},
        {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "two", "arguments": "x"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
    ]);
    assert_eq!(
        said(&map(&[span(1, None, chat(input, json!([])))])),
        [r#"Assistant:  [one {} -> "1" success] [two "x" -> "2" success]"#]
    );
    let unnamed = json!([
        {"role": "model", "parts": [{"type": "tool_call", "name": "one"},
            {"type": "tool_call", "name": "two"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "response": 1},
            {"type": "tool_call_response", "response": {"n": 2}}]},
    ]);
    assert_eq!(
        said(&map(&[span(1, None, chat(unnamed, json!([])))])),
        [r#"Assistant:  [one null -> 1 success] [two null -> {"n":2} success]"#]
    );
}

#[test]
fn a_call_that_failed_gives_the_words_of_the_user() {
    let mut failed = span(
        1,
        None,
        json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json!([text("user", "Hello")]).to_string(),
            "error.type": "timeout",
        }),
    );
    failed["status"] = json!({"code": 2, "message": "timeout"});
    assert_eq!(said(&map(&[failed])), ["User: Hello"]);
}

#[test]
fn usage_under_the_names_of_every_convention() {
    let of = |more: Value| {
        let mut call = chat(json!([text("user", "Hello")]), json!([text("assistant", "Hi")]));
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        map(&[span(1, None, call)]).publications[0].interaction_data_list[1].usage.clone().unwrap()
    };
    let latency_ms = Some(1500);
    let all = Usage {
        model: Some("m".to_owned()),
        input_tokens: Some(5),
        output_tokens: Some(7),
        cost_usd: Some(0.25),
        latency_ms,
    };
    for named in [
        json!({"gen_ai.request.model": "asked", "gen_ai.response.model": "m", "gen_ai.usage.input_tokens": 5,
            "gen_ai.usage.output_tokens": 7, "gen_ai.usage.cost": 0.25}),
        json!({"gen_ai.request.model": "m", "gen_ai.usage.prompt_tokens": 5,
            "gen_ai.usage.completion_tokens": 7, "gen_ai.usage.total_cost": "0.25"}),
        json!({"llm.model_name": "m", "llm.token_count.prompt": 5, "llm.token_count.completion": 7,
            "llm.cost.total": 0.25}),
        json!({"llm.request.model": "m", "llm.usage.prompt_tokens": "5",
            "llm.usage.completion_tokens": 7.0, "gen_ai.usage.cost": 0.25}),
        json!({"ai.model.id": "m", "ai.usage.inputTokens": 5, "ai.usage.outputTokens": 7,
            "gen_ai.usage.cost": 0.25}),
        json!({"ai.response.model": "m", "ai.usage.promptTokens": 5, "ai.usage.completionTokens": 7,
            "gen_ai.usage.cost": 0.25}),
    ] {
        assert_eq!(of(named.clone()), all, "{named}");
    }
    let wrong = json!({"gen_ai.usage.input_tokens": -5, "gen_ai.usage.output_tokens": "many",
        "gen_ai.usage.cost": "NaN", "gen_ai.response.model": "a\nb"});
    assert_eq!(of(wrong), Usage { latency_ms, ..Usage::default() });
}

#[test]
fn a_span_without_an_end_has_no_latency() {
    let mut open = span(1, None, chat(json!([text("user", "Hello")]), json!([])));
    open["endTimeUnixNano"] = json!(0);
    assert_eq!(map(&[open]).publications[0].interaction_data_list[0].usage, None);
}
