//! The server over HTTP: the request of a client, and what becomes of its head.

use base::clock::Clock;
use http::{Method, Request, StatusCode, Version, header};
use http_body_util::BodyExt;
use mcp::Call;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::fake::{Fake, NOW};

/// Sends a message as a client does, with these headers besides.
async fn send(
    fake: &Fake,
    message: Value,
    headers: &[(&str, &str)],
) -> (StatusCode, String, Value) {
    let mut request = Request::post("/mcp")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(message.to_string()).unwrap();
    let service = mcp::http_service(fake.clone(), Clock::manual(NOW));
    let answer = service.oneshot(request).await.unwrap();
    let status = answer.status();
    let kind = answer.headers().get(header::CONTENT_TYPE);
    let kind = kind.map_or(String::new(), |kind| kind.to_str().unwrap().to_owned());
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, kind, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn search() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search_learnings", "arguments": {"query": "x"}}})
}

#[tokio::test]
async fn a_call_is_answered_with_json_and_asked_for_with_its_own_credential() {
    let fake = Fake::default();
    fake.answers("search", json!({}));
    let headers = [("authorization", "Bearer eh_agent_x"), ("host", "evenhand.example")];
    let (status, kind, answer) = send(&fake, search(), &headers).await;
    assert_eq!((status, kind.as_str()), (StatusCode::OK, "application/json"));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let [call] = fake.calls().try_into().unwrap();
    assert_eq!(call.authorization().unwrap(), "Bearer eh_agent_x");
}

#[tokio::test]
async fn the_foreign_host_and_origin_of_a_call_reach_the_interface() {
    let fake = Fake::default();
    fake.refuses(401, "unauthenticated", "Send the header.", json!([]));
    let headers = [("host", "evil.example"), ("origin", "https://evil.example")];
    let (_, _, answer) = send(&fake, search(), &headers).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let [call] = fake.calls().try_into().unwrap();
    assert_eq!(call.authorization(), None);
    let request = call.into_request().unwrap();
    assert_eq!(request.headers()[header::HOST], "evil.example");
    assert_eq!(request.headers()[header::ORIGIN], "https://evil.example");
}

#[tokio::test]
async fn every_request_stands_for_itself() {
    let fake = Fake::default();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    let (status, _, answer) = send(&fake, initialize, &[("host", "a")]).await;
    assert_eq!(
        (status, &answer["result"]["serverInfo"]["name"]),
        (StatusCode::OK, &json!("evenhand"))
    );
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let (_, _, answer) = send(&fake, list, &[("host", "a")]).await;
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn a_message_of_more_than_a_megabyte_is_refused() {
    let fake = Fake::default();
    let mut long = search();
    long["params"]["arguments"]["query"] = "x".repeat(1 << 20).into();
    let (status, _, _) = send(&fake, long, &[("host", "a")]).await;
    assert_eq!((status, fake.requests().len()), (StatusCode::PAYLOAD_TOO_LARGE, 0));
}

fn asked_by(headers: &[(&str, &str)]) -> http::request::Parts {
    let mut request = Request::post("/mcp").version(Version::HTTP_10);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

#[test]
fn a_request_within_the_process_has_the_head_of_the_one_that_asks() {
    let head = asked_by(&[
        ("authorization", "Bearer t"),
        ("host", "127.0.0.1:8700"),
        ("x-forwarded-for", "10.0.0.1"),
        ("x-request-id", "mine"),
        ("cookie", "evenhand_session=1"),
        ("content-length", "999"),
        ("content-type", "text/plain"),
        ("content-encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("accept", "text/event-stream"),
        ("accept-encoding", "br"),
        ("expect", "100-continue"),
    ]);
    let call = Call {
        method: Method::POST,
        path: "/api/search".to_owned(),
        body: Some(json!({"query": "x"})),
        asked_by: Some(head),
    };
    let request = call.into_request().unwrap();
    assert_eq!((request.method(), request.uri().path()), (&Method::POST, "/api/search"));
    // Local mode takes HTTP/1.0 for a proxy's.
    assert_eq!(request.version(), Version::HTTP_10);
    let mut kept: Vec<(&str, &str)> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    kept.sort_unstable();
    assert_eq!(
        kept,
        [
            ("authorization", "Bearer t"),
            ("content-type", "application/json"),
            ("host", "127.0.0.1:8700"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-request-id", "mine"),
        ]
    );
    assert_eq!(request.into_body(), b"{\"query\":\"x\"}");
}

#[test]
fn a_request_without_a_body_has_no_type_of_one() {
    let call = Call {
        method: Method::GET,
        path: "/api/sessions?limit=1".to_owned(),
        body: None,
        asked_by: None,
    };
    let request = call.into_request().unwrap();
    assert_eq!(request.uri().query(), Some("limit=1"));
    assert!(request.headers().is_empty() && request.body().is_empty());
}
