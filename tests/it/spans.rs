//! `POST /v1/traces` with the bytes of real exporters.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use service::credentials::Role;

use crate::support::{Answer, NOW, Server, TestApp, apply, both_backends};

const PATH: &str = "/v1/traces";
const ORG: &str = "org";

macro_rules! recording {
    ($file:literal) => {
        include_bytes!(concat!("../../crates/traces/fixtures/otlp/", $file)).as_slice()
    };
}

/// The recordings were made after this test's clock begins.
async fn server(t: &TestApp) -> Server {
    t.clock().advance(2_000_000_000 - NOW);
    t.serve().await
}

async fn send(server: &Server, kind: &str, coding: Option<&str>, bytes: &[u8]) -> Answer {
    let mut request = server.request("POST", PATH).header("content-type", kind);
    if let Some(coding) = coding {
        request = request.header("content-encoding", coding);
    }
    server.send(request.body(bytes.to_vec())).await
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A conversation as it is stored: role, content, tools.
async fn said(person: &Server) -> Vec<(String, String, usize)> {
    let session = person.get("/api/sessions/u-1/s-1").await.ok();
    let turns = session["interactions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    turns
        .map(|turn| {
            let tools = turn["tools_used"].as_array().unwrap().len();
            (text(&turn["role"]), text(&turn["content"]), tools)
        })
        .collect()
}

#[apply(both_backends)]
async fn real_exporters_give_the_conversation_once(t: TestApp) {
    let server = server(&t).await;
    let expected = [
        ("User", "Hello", 0),
        ("Assistant", "Hi, how can I help?", 0),
        ("User", "Where is order 7?", 0),
        ("Assistant", "", 1),
        ("Assistant", "Order 7 arrives tomorrow.", 0),
    ];
    let expected: Vec<(String, String, usize)> = expected
        .iter()
        .map(|(role, content, tools)| ((*role).to_owned(), (*content).to_owned(), *tools))
        .collect();
    let protobuf = "application/x-protobuf";
    let recordings = [
        ("genai", protobuf, recording!("genai.bin")),
        ("genai-stream", protobuf, recording!("genai_stream.bin")),
        ("open-inference", protobuf, recording!("open_inference.bin")),
        ("open-llmetry", protobuf, recording!("open_llmetry.bin")),
        ("traceloop", protobuf, recording!("traceloop.bin")),
        ("ai-sdk", "application/json", recording!("ai_sdk.json")),
    ];
    for (org, kind, bytes) in recordings {
        let publisher = server.with_token(&t.key(org, Role::Publish).await);
        let person = server.with_token(&t.key(org, Role::Dashboard).await);
        let packed = gzip(bytes);
        for (coding, bytes) in [(None, bytes), (Some("gzip"), packed.as_slice())] {
            let answer = send(&publisher, kind, coding, bytes).await;
            assert_eq!(
                (answer.status, answer.text.as_str()),
                (200, if kind == protobuf { "" } else { "{}" })
            );
            assert_eq!(answer.headers["content-type"], kind);
            assert_eq!(said(&person).await, expected, "{org} {coding:?}");
        }
    }
}

#[apply(both_backends)]
async fn what_cannot_be_stored_is_said(t: TestApp) {
    let server = server(&t).await;
    let publisher = server.with_token(&t.key(ORG, Role::Publish).await);
    let span = |user: Option<&str>, id: &str| {
        let mut attributes = vec![
            json!({"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}),
            json!({"key": "gen_ai.input.messages", "value": {"stringValue":
                json!([{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]).to_string()}}),
        ];
        attributes
            .extend(user.map(|user| json!({"key": "user.id", "value": {"stringValue": user}})));
        json!({"traceId": format!("{id}{id}"), "spanId": id, "name": "chat",
            "startTimeUnixNano": "1900000000000000000", "endTimeUnixNano": "1900000001000000000",
            "attributes": attributes})
    };
    let request =
        |spans: Vec<Value>| json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    let nobody = request(vec![span(None, "b7ad6b7169203331")]);
    let answer = publisher.post(PATH, &nobody).await.ok();
    assert_eq!(answer["partialSuccess"]["rejectedSpans"], "1");
    assert!(
        answer["partialSuccess"]["errorMessage"].as_str().unwrap().contains("user"),
        "{answer}"
    );

    let lenient = t.replica_with(|settings| settings.otlp.anonymous_users = true).await;
    let lenient = lenient.serve().await;
    let publisher_there = lenient.with_token(&t.key(ORG, Role::Publish).await);
    assert_eq!(publisher_there.post(PATH, &nobody).await.ok(), json!({}));
    let anonymous = "SELECT COUNT(*) FROM sessions JOIN subjects USING (org_id, subject)
        WHERE user_id LIKE 'anonymous:%'";
    assert_eq!(t.number(anonymous).await, 1);

    // Of somebody who was erased, nothing comes back; the rest of the request is stored.
    let person = server.with_token(&t.key(ORG, Role::Governance).await);
    assert_eq!(
        publisher.post(PATH, &request(vec![span(Some("ada"), "b7ad6b7169203332")])).await.ok(),
        json!({})
    );
    person
        .post("/api/governance/erase-user", &json!({"user_id": "ada", "request_id": "letter"}))
        .await
        .ok();
    crate::learning_loop::work(&t).await;
    let both =
        request(vec![span(Some("ada"), "b7ad6b7169203332"), span(Some("bob"), "b7ad6b7169203333")]);
    publisher.post(PATH, &both).await.ok();
    for (user, count) in [("ada", 0), ("bob", 1)] {
        let subject = t.subject_in(ORG, user);
        let sessions = format!("SELECT COUNT(*) FROM sessions WHERE subject = {subject}");
        assert_eq!(t.number(&sessions).await, count, "{user}");
    }

    send(&publisher, "text/plain", None, b"").await.problem(415, "unsupported_media_type");
    send(&publisher, "application/x-protobuf", Some("br"), b"")
        .await
        .problem(415, "unsupported_media_type");
    send(&publisher, "application/x-protobuf", Some("gzip"), b"no gzip")
        .await
        .problem(400, "bad_request");
    send(&publisher, "application/x-protobuf", None, b"\xff\xff").await.problem(400, "bad_request");
    send(&publisher, "application/json", None, b"[1").await.problem(400, "bad_request");
    let bomb = gzip(&vec![b' '; t.settings().server.body_limit_bytes + 1]);
    send(&publisher, "application/json", Some("gzip"), &bomb).await.problem(413, "body_too_large");
    let auditor = server.with_token(&t.key(ORG, Role::Auditor).await);
    assert_eq!(auditor.post(PATH, &nobody).await.status, 403);
}

#[apply(both_backends)]
async fn a_span_around_calls_that_comes_late_repeats_nothing(t: TestApp) {
    let server = server(&t).await;
    let span = |id: u64, parent: Option<u64>, attributes: Value| {
        let attributes: Vec<Value> = attributes
            .as_object()
            .unwrap()
            .iter()
            .chain(json!({"user.id": "u-1", "session.id": "s-1"}).as_object().unwrap())
            .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
            .collect();
        json!({"traceId": "0123456789abcdef0123456789abcdef", "spanId": format!("{id:016x}"),
            "parentSpanId": parent.map_or(String::new(), |id| format!("{id:016x}")), "name": "n",
            "startTimeUnixNano": "1800000000000000000", "endTimeUnixNano": "1800000001000000000",
            "attributes": attributes})
    };
    let call = span(
        2,
        Some(1),
        json!({"openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Hello",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Hi"}),
    );
    let around = span(
        1,
        None,
        json!({"openinference.span.kind": "AGENT", "input.value": "Hello",
        "output.value": "Hi"}),
    );
    let stored =
        [("User".to_owned(), "Hello".to_owned(), 0), ("Assistant".to_owned(), "Hi".to_owned(), 0)];
    for late in [&call, &around, &around] {
        let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": [late]}]}]}).to_string();
        let answer = send(&server, "application/json", None, body.as_bytes()).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, "{}"));
        assert_eq!(said(&server.inspecting()).await, stored);
    }
}
