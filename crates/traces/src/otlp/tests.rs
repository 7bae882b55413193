use serde_json::{Value, json};

use super::*;

mod conventions;
mod hostile;
mod recorded;

const TRACE: &str = "0123456789abcdef0123456789abcdef";

/// A span of TRACE with the given number as its id, in OTLP's JSON.
fn span(number: u64, parent: Option<u64>, attributes: Value) -> Value {
    json!({
        "traceId": TRACE,
        "spanId": format!("{number:016x}"),
        "parentSpanId": parent.map(|parent| format!("{parent:016x}")),
        "startTimeUnixNano": (1_700_000_000_000_000_000 + number * 1_000_000_000).to_string(),
        "endTimeUnixNano": 1_700_000_000_500_000_000 + (number + 1) * 1_000_000_000,
        "attributes": pairs(&attributes),
    })
}

fn pairs(attributes: &Value) -> Value {
    let each = attributes.as_object().unwrap().iter();
    each.map(|(key, value)| json!({"key": key, "value": any(value)})).collect()
}

fn any(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({"stringValue": text}),
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Number(number) if number.is_i64() => json!({"intValue": number.to_string()}),
        Value::Number(number) => json!({"doubleValue": number}),
        Value::Array(values) => {
            json!({"arrayValue": {"values": values.iter().map(any).collect::<Value>()}})
        }
        Value::Object(_) => json!({"kvlistValue": {"values": pairs(value)}}),
        Value::Null => json!({}),
    }
}

fn request(resource: Value, spans: &[Value]) -> ExportRequest {
    let body = json!({"resourceSpans": [{
        "resource": {"attributes": pairs(&resource)},
        "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}],
    }]});
    decode_json(body.to_string().as_bytes()).unwrap()
}

fn map(spans: &[Value]) -> Mapped {
    publications(&request(json!({"service.name": "shop"}), spans), &Settings { anonymous: true })
}

/// Role, text and tools with their input and output.
fn said(mapped: &Mapped) -> Vec<String> {
    let turns = mapped.publications.iter().flat_map(|made| &made.interaction_data_list);
    let each = turns.map(|turn| {
        let mut line = format!("{}: {}", turn.role, turn.content);
        for tool in &turn.tools_used {
            let (input, output) = (&tool.tool_data["arguments"], &tool.tool_data["result"]);
            line += &format!(" [{} {input} -> {output} {}]", tool.tool_name, tool.status);
        }
        line
    });
    each.collect()
}

fn chat(input: Value, output: Value) -> Value {
    json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": input.to_string(),
        "gen_ai.output.messages": output.to_string(),
    })
}

fn text(role: &str, words: &str) -> Value {
    json!({"role": role, "parts": [{"type": "text", "content": words}]})
}

#[test]
fn a_publication_has_ids_times_and_names() {
    let mut attributes = chat(json!([text("user", "Hello")]), json!([text("assistant", "Hi")]));
    attributes["user.id"] = json!(42);
    attributes["session.id"] = json!("s");
    attributes["gen_ai.conversation.id"] = json!("c");
    let resource = json!({"service.name": "shop", "service.version": "1.4"});
    let mapped =
        publications(&request(resource, &[span(1, None, attributes)]), &Settings::default());
    let made = serde_json::to_value(&mapped.publications).unwrap();
    let turn = |role, content, at| json!({"role": role, "content": content, "created_at": at});
    let mut turns = [turn("User", "Hello", 1_700_000_001), turn("Assistant", "Hi", 1_700_000_002)];
    turns[1]["usage"] = json!({"latency_ms": 1500});
    let wanted = json!([{
        "request_id": format!("otel:{TRACE}-0000000000000001"),
        "user_id": "42",
        "session_id": "c",
        "source": "shop",
        "agent_version": "1.4",
        "created_at": 1_700_000_001,
        "session_finished": false,
        "interaction_data_list": turns,
    }]);
    assert_eq!(made, wanted);
}

#[test]
fn a_user_is_looked_for_around_then_in_the_trace_then_on_the_resource() {
    let call = || chat(json!([text("user", "Hello")]), json!([]));
    let user = |spans: &[Value], resource| {
        let mapped = publications(&request(resource, spans), &Settings { anonymous: true });
        mapped.publications[0].user_id.clone()
    };
    let root = span(1, None, json!({"user.id": "root"}));
    let middle = span(2, Some(1), json!({"enduser.id": "middle"}));
    let beside = span(3, Some(1), json!({"langfuse.user.id": "beside"}));
    let resource = json!({"user.id": "resource"});
    assert_eq!(user(&[span(4, Some(2), call()), middle, root.clone()], json!({})), "middle");
    assert_eq!(user(&[span(4, Some(1), call()), beside.clone(), root], json!({})), "root");
    assert_eq!(user(&[span(4, Some(9), call()), beside], resource.clone()), "beside");
    assert_eq!(user(&[span(4, None, call())], resource), "resource");
    assert_eq!(user(&[span(4, None, call())], json!({})), format!("anonymous:{TRACE}"));
}

#[test]
fn names_of_services_become_sources() {
    let call = || chat(json!([text("user", "Hello")]), json!([]));
    let source = |name: &str| {
        let request = request(json!({"service.name": name}), &[span(1, None, call())]);
        publications(&request, &Settings { anonymous: true }).publications[0].source.clone()
    };
    assert_eq!(source("Shop Agent/v2"), "shop-agent-v2");
    assert_eq!(source("unknown_service:python"), "otel");
    assert_eq!(source(""), "otel");
    assert_eq!(source(&"x".repeat(200)).len(), 128);
}

#[test]
fn calls_without_a_user_are_rejected_and_the_exporter_is_told() {
    let call = chat(json!([text("user", "Hello")]), json!([]));
    let spans = [span(1, None, call), span(2, None, json!({"http.method": "GET"}))];
    let mapped = publications(&request(json!({}), &spans), &Settings { anonymous: false });
    assert_eq!((mapped.rejected_spans, mapped.ignored_spans), (1, 1));
    assert!(mapped.publications.is_empty());
    let answer: Value = serde_json::from_str(&mapped.response_json()).unwrap();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    assert!(answer["partialSuccess"]["errorMessage"].as_str().unwrap().contains("user.id"));
    assert_eq!(mapped.response_protobuf()[2..4], [0x08, 1]);
    assert_eq!(Mapped::default().response_json(), "{}");
    assert!(Mapped::default().response_protobuf().is_empty());
}

#[test]
fn a_history_is_said_once_in_a_trace() {
    let failed = chat(json!([text("user", "Hello")]), json!([]));
    let again = chat(json!([text("user", "Hello")]), json!([text("assistant", "Hi")]));
    let spans = [span(1, None, failed), span(2, None, again.clone()), span(3, Some(2), again)];
    assert_eq!(said(&map(&spans)), ["User: Hello", "Assistant: Hi"]);
}

#[test]
fn order_and_repetition_make_no_difference() {
    let mut history = Vec::new();
    let mut spans = Vec::new();
    for number in 0..12 {
        history.push(text("user", &format!("question {number}")));
        let answer = text("assistant", &format!("answer {number}"));
        let mut attributes = chat(json!(history), json!([answer]));
        if number % 3 == 0 {
            attributes["user.id"] = json!(format!("u-{number}"));
        }
        spans.push(span(number, number.checked_sub(1), attributes));
        spans.push(span(100 + number, Some(number), json!({"db.system": "sqlite"})));
        history.push(answer);
    }
    // Two spans that start at the same time, and one id with two contents.
    spans[2]["startTimeUnixNano"] = spans[0]["startTimeUnixNano"].clone();
    let mut other = spans[8].clone();
    other["attributes"] = pairs(&json!({"gen_ai.operation.name": "chat"}));
    spans.push(other);
    let wanted = map(&spans);
    assert_eq!(wanted.publications.len(), 11, "span 0 has no valid id: {wanted:?}");
    let mut state = 7u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..25 {
        let mut mixed = spans.clone();
        for _ in 0..random(8) {
            mixed.push(spans[random(spans.len())].clone());
        }
        for last in (1..mixed.len()).rev() {
            mixed.swap(last, random(last + 1));
        }
        assert_eq!(map(&mixed), wanted);
    }
}
