//! Requests that nobody sends by accident.

use super::*;

/// A field of protobuf with a message, text or bytes.
fn field(number: u8, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
    bytes.extend(inner);
    bytes
}

fn around_span(span: &[u8]) -> Vec<u8> {
    field(1, &field(2, &field(2, span)))
}

#[test]
fn deep_nesting_is_an_error() {
    let mut value = Vec::new();
    while value.len() < 50_000 {
        value = field(5, &field(1, &value));
    }
    let attribute = field(9, &field(2, &value));
    assert!(matches!(decode_protobuf(&around_span(&attribute)), Err(DecodeError::Protobuf)));

    let nested = "{\"arrayValue\":{\"values\":[".repeat(100_000);
    let body =
        format!("{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"value\":{nested}");
    assert!(matches!(decode_json(body.as_bytes()), Err(DecodeError::Json { .. })));
    let unknown = format!("{{\"unknown\":{}", "[".repeat(1_000_000));
    assert!(decode_json(unknown.as_bytes()).is_err());
}

#[test]
fn deep_json_in_text_is_no_message_or_stays_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = json!({"gen_ai.operation.name": "chat", "gen_ai.input.messages": deep});
    assert_eq!(map(&[span(1, None, call)]).silent_spans, 1);
    let arguments = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let call = json!({"openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "assistant",
        "llm.input_messages.0.message.tool_calls.0.tool_call.function.arguments": arguments});
    let mapped = map(&[span(1, None, call)]);
    let tool = &mapped.publications[0].interaction_data_list[0].tools_used[0];
    assert_eq!(tool.tool_data["arguments"], arguments);
}

#[test]
fn more_messages_than_a_batch_has_are_an_error() {
    let spans = field(2, &[]).repeat(600_000);
    let bytes = field(1, &field(2, &spans));
    assert!(matches!(decode_protobuf(&bytes), Err(DecodeError::TooManyMessages)));
    let spans = vec!["{}"; 600_000].join(",");
    let body = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{spans}]}}]}}]}}");
    assert!(matches!(decode_json(body.as_bytes()), Err(DecodeError::TooManyMessages)));
    // Braces inside of text are none.
    let call = chat(json!([text("user", &"{".repeat(600_000))]), json!([]));
    assert_eq!(map(&[span(1, None, call)]).publications.len(), 1);
}

#[test]
fn a_length_beyond_the_end_is_an_error() {
    assert!(
        decode_protobuf(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).is_err()
    );
    assert!(decode_protobuf(&[0xff; 64]).is_err());
    assert!(decode_protobuf(&[]).unwrap().resource_spans.is_empty());
}

#[test]
fn text_that_is_not_utf_8_is_an_error() {
    let attribute = field(9, &field(1, &[0xc3, 0x28]));
    assert!(decode_protobuf(&around_span(&attribute)).is_err());
    let mut body = br#"{"resourceSpans":[{"resource":{"attributes":[{"key":"??"}]}}]}"#.to_vec();
    assert!(decode_json(&body).is_ok());
    let place = body.iter().position(|byte| *byte == b'?').unwrap();
    body[place] = 0xff;
    assert!(decode_json(&body).is_err());
}

#[test]
fn wrong_types_and_times_are_an_error_that_names_no_content() {
    for (key, value) in [
        ("startTimeUnixNano", json!(-5)),
        ("startTimeUnixNano", json!("-5")),
        ("endTimeUnixNano", json!(1.5)),
        ("endTimeUnixNano", json!("99999999999999999999999")),
        ("traceId", json!("secret")),
        ("spanId", json!(7)),
        ("attributes", json!({"secret": 1})),
        ("events", json!("secret")),
    ] {
        let mut span = span(1, None, json!({}));
        span[key] = value;
        let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string();
        let error = decode_json(body.as_bytes()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    for body in ["", "[]", "null", "{\"resourceSpans\":{}}", "{"] {
        let decoded = decode_json(body.as_bytes());
        assert!(decoded.is_err() || decoded.unwrap().resource_spans.is_empty(), "{body}");
    }
}

#[test]
fn attributes_of_a_wrong_type_are_ignored() {
    let call = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": 7,
        "gen_ai.output.messages": [1, null, {"role": "nobody"}, {"parts": {"a": 1}}],
        "user.id": [1],
        "session.id": {"a": 1},
        "gen_ai.prompt.99999999999999999999.content": "no number",
        "gen_ai.prompt.4294967295.content": "Hello",
        "gen_ai.prompt.x.role": 1,
    });
    let mapped = map(&[span(1, None, call.clone())]);
    assert_eq!(mapped.rejected_spans, 0);
    let mut flattened = call;
    flattened.as_object_mut().unwrap().remove("gen_ai.output.messages");
    assert_eq!(said(&map(&[span(1, None, flattened)])), ["User: Hello"]);
}

#[test]
fn ids_that_are_none_are_rejected() {
    let call = || chat(json!([text("user", "Hello")]), json!([]));
    let mut short = span(1, None, call());
    short["traceId"] = json!("ab");
    let mapped = map(&[short, span(0, None, call())]);
    assert_eq!((mapped.rejected_spans, mapped.publications.len()), (2, 0));
    assert!(mapped.rejected_reason.is_some());
}

#[test]
fn spans_around_each_other_end_the_search() {
    let call = || chat(json!([text("user", "Hello")]), json!([]));
    let agent = json!({"openinference.span.kind": "AGENT", "input.value": "Hello"});
    let spans = [span(1, Some(2), call()), span(2, Some(1), json!({})), span(3, Some(3), agent)];
    assert_eq!(map(&spans).publications.len(), 1);
    let mut long: Vec<Value> = (1..2000).map(|n| span(n, Some(n + 1), call())).collect();
    long.push(span(2000, None, json!({"user.id": "u"})));
    assert!(map(&long).publications.iter().all(|made| made.user_id == "u"));
}

#[test]
fn a_name_longer_than_any_is_no_user() {
    let mut call = chat(json!([text("user", "Hello")]), json!([]));
    call["user.id"] = json!("u".repeat(256));
    call["session.id"] = json!("s".repeat(256));
    let made = &map(&[span(1, None, call)]).publications[0];
    assert_eq!(
        (made.user_id.as_str(), made.session_id.as_str()),
        (&*format!("anonymous:{TRACE}"), TRACE)
    );
}

#[test]
fn many_spans_with_one_id_cost_little() {
    let big = chat(json!([text("user", &"words ".repeat(100_000))]), json!([]));
    let mut spans = vec![span(1, None, big)];
    for number in 0..3000 {
        spans.push(span(1, None, json!({"number": number})));
    }
    assert_eq!(map(&spans).publications.len(), 1);
}

#[test]
fn what_no_database_stores_is_left_out() {
    let call = json!({"type": "tool_call", "id": "c", "name": "\u{0}\n", "arguments": {"a\u{0}": ["b\u{0}"]}});
    let mut call = chat(
        json!([{"role": "assistant", "parts": [call]}, text("user", "Hello\u{0}")]),
        json!([]),
    );
    call["user.id"] = json!("u\u{0}");
    let mapped = map(&[span(1, None, call)]);
    assert_eq!(
        said(&mapped),
        [r#"Assistant:  [unknown {"a":["b"]} -> null success]"#, "User: Hello"]
    );
    assert_eq!(mapped.publications[0].user_id, format!("anonymous:{TRACE}"));
}
