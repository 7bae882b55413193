//! Bad input: always a 4xx with a problem body, never a fallen server.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::conformance::{may_call_all, operations, specification};
use crate::publish::two_turns;
use crate::support::{Backend, Server, TestApp, apply, both_backends};

const PUBLISH: &str = "/api/publish_interaction";

/// Sends a body as it is, said to be JSON.
async fn send_raw(server: &Server, body: impl Into<reqwest::Body>) -> crate::support::Answer {
    let request = server.request("POST", PUBLISH);
    server.send(request.header("content-type", "application/json").body(body)).await
}

/// A publish whose first turn says `content`, a piece of JSON text.
fn saying(content: &str) -> String {
    format!(
        r#"{{"user_id": "ada", "session_id": "s", "interaction_data_list": [{{"content": {content}}}]}}"#
    )
}

async fn still_answers(server: &Server) {
    server.get("/health/ready").await.ok();
    server.publish(&two_turns("ada", "still")).await.ok();
}

#[apply(both_backends)]
async fn a_body_that_is_not_json_is_malformed(t: TestApp) {
    let server = t.serve().await;
    let deep = |open: &str, close: &str| {
        saying(&format!("{}1{}", open.repeat(10_000), close.repeat(10_000)))
    };
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("empty", b"".to_vec()),
        ("blank", b"  \n".to_vec()),
        ("words", b"hello".to_vec()),
        ("cut off", b"{\"user_id\": \"ada\"".to_vec()),
        ("two values", b"{} {}".to_vec()),
        ("single quotes", b"{'user_id': 'ada'}".to_vec()),
        ("invalid UTF-8", b"{\"user_id\": \"\xff\xfe\"}".to_vec()),
        ("invalid UTF-8 in a name", b"{\"\xc3\x28\": 1}".to_vec()),
        ("overlong UTF-8", b"{\"user_id\": \"\xc0\xaf\"}".to_vec()),
        ("UTF-16", "\u{feff}{}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("lone high surrogate", saying(r#""\ud800""#).into_bytes()),
        ("lone low surrogate", saying(r#""\udc00 x""#).into_bytes()),
        ("surrogates the wrong way round", saying(r#""\udc00\ud800""#).into_bytes()),
        ("raw NUL in text", saying("\"a\0b\"").into_bytes()),
        ("raw NUL between values", b"{\0}".to_vec()),
        ("raw newline in text", saying("\"a\nb\"").into_bytes()),
        ("10,000 lists", deep("[", "]").into_bytes()),
        ("10,000 objects", deep("{\"a\":", "}").into_bytes()),
        ("not a number", saying("NaN").into_bytes()),
        ("a number beyond all", saying("1e999").into_bytes()),
    ];
    for (what, body) in bodies {
        let answer = send_raw(&server, body).await;
        assert_eq!(answer.status, 400, "{what}: {}", answer.text);
        answer.problem(400, "malformed_json");
    }
    still_answers(&server).await;
}

#[apply(both_backends)]
async fn json_that_is_no_publish_is_refused_with_its_place(t: TestApp) {
    let server = t.serve().await;
    for (body, pointer, code) in [
        ("[]".to_owned(), "", "wrong_type"),
        ("null".to_owned(), "", "wrong_type"),
        ("\"text\"".to_owned(), "", "wrong_type"),
        ("7".to_owned(), "", "wrong_type"),
        (saying(r#""a\u0000b""#), "/interaction_data_list/0/content", "nul_character"),
        (
            saying(r#""x", "tools_used": [{"tool_name": "t", "tool_data": {"k": ["\u0000"]}}]"#),
            "/interaction_data_list/0/tools_used/0/tool_data/k/0",
            "nul_character",
        ),
        (
            saying(r#""x", "tools_used": [{"tool_name": "t", "tool_data": {"\u0000": 1}}]"#),
            "/interaction_data_list/0/tools_used/0/tool_data/\u{fffd}",
            "nul_character",
        ),
        (saying(r#""x", "unread": "\u0000""#), "/interaction_data_list/0/unread", "nul_character"),
        (
            saying(r#""x", "created_at": 9223372036854775808"#),
            "/interaction_data_list/0/created_at",
            "out_of_range",
        ),
        (
            saying(r#""x", "created_at": 99999999999999999999999999"#),
            "/interaction_data_list/0/created_at",
            "out_of_range",
        ),
        (
            saying(r#""x", "created_at": -9223372036854775809"#),
            "/interaction_data_list/0/created_at",
            "out_of_range",
        ),
        (
            saying(r#""x", "created_at": 9223372036854775807"#),
            "/interaction_data_list/0/created_at",
            "out_of_range",
        ),
        (saying("1e308"), "/interaction_data_list/0/content", "wrong_type"),
    ] {
        let problems = send_raw(&server, body.clone()).await.input_problems();
        assert_eq!(problems, [(pointer.to_owned(), code.to_owned())], "{body}");
    }
    still_answers(&server).await;
}

#[apply(both_backends)]
async fn odd_but_valid_json_is_stored_as_it_is(t: TestApp) {
    let server = t.serve().await;
    let content = "\u{1F980} \u{202e}rtl \u{0007} \u{e000} \u{fffe} e\u{301} \"quoted\" \\ \r\n\t";
    let data = json!({"": "", "a.b": 1, "large": 18_446_744_073_709_551_615_u64, "low": i64::MIN, "huge": 1e300,
        "nested": [[[[]]], {}], "text": "\u{1F980}"});
    let mut body = two_turns("ada", "s");
    body["interaction_data_list"][0] =
        json!({"content": content, "tools_used": [{"tool_name": "t", "tool_data": data}]});
    server.publish(&body).await.ok();
    let read = server.get("/api/sessions/ada/s").await.ok();
    assert_eq!(read["interactions"][0]["content"], content);
    assert_eq!(read["interactions"][0]["tools_used"][0]["tool_data"], data);
}

#[apply(both_backends)]
async fn a_path_that_can_name_nothing_is_not_found(t: TestApp) {
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let long = "x".repeat(300);
    let mut checked = 0;
    for (method, path, operation) in operations(&specification()) {
        let parts: Vec<&str> = path.split('/').collect();
        for place in (0..parts.len()).filter(|place| parts[*place].starts_with('{')) {
            for odd in
                ["none", "%00", "a%00b", "%ff", "%C3%28", "%20", "%0A", "%7F", "%2e%2e%2f", &long]
            {
                let mut path = parts.clone();
                path[place] = odd;
                let path = path.join("/").replace(['{', '}'], "");
                let answer = server.call(&method, &path, None).await;
                // A name that could be one gets as far as the body, which is missing here.
                if answer.status == 415 && operation.get("requestBody").is_some() {
                    continue;
                }
                assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text);
                answer.problem(404, "not_found");
                checked += 1;
            }
        }
    }
    assert!(checked >= 120, "only {checked} paths");
    open.get("/api/governance/purge-operations/%00").await.problem(401, "unauthenticated");
}

#[apply(both_backends)]
async fn bad_queries_are_refused(t: TestApp) {
    let server = t.serve().await;
    for (query, pointer, code) in [
        ("limit=many", "/limit", "wrong_type"),
        ("limit=0", "/limit", "out_of_range"),
        ("limit=201", "/limit", "out_of_range"),
        ("limit=9999999999999999999999", "/limit", "wrong_type"),
        ("limit=", "/limit", "wrong_type"),
        ("start_time=noon", "/start_time", "not_a_time"),
        ("cursor=00", "/cursor", "bad_form"),
        ("user_id=", "/user_id", "empty"),
        ("start_time=5&end_time=5", "/end_time", "not_after_start"),
        ("text=%00", "/text", "nul_character"),
    ] {
        let problems = server.get(&format!("/api/sessions?{query}")).await.input_problems();
        assert_eq!(problems, [(pointer.to_owned(), code.to_owned())], "{query}");
    }
    server.get("/api/sessions?limit=1&limit=2").await.problem(400, "bad_request");
    for harmless in ["%ff%fe=%ff", "&&&==&", "unknown=1", "user_id=%ff", "text=%25%5f%5c"] {
        server.get(&format!("/api/sessions?{harmless}")).await.ok();
    }
    let spec = specification();
    let everywhere = may_call_all(&t, &server).await;
    for (method, path, operation) in operations(&spec) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        for name in
            parameters.iter().filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap())
        {
            let body = operation.get("requestBody").map(|_| json!({}));
            let path = path.replace(['{', '}'], "");
            let answer =
                everywhere.call(&method, &format!("{path}?{name}=a%00b"), body.as_ref()).await;
            let found = answer.input_problems();
            assert!(
                found.contains(&(format!("/{name}"), "nul_character".to_owned())),
                "{method} {path} {name}: {found:?}"
            );
        }
    }
    let server = everywhere;
    let wait = server
        .call(
            "POST",
            "/api/publish_interaction?wait_for_response=maybe",
            Some(&two_turns("a", "s")),
        )
        .await;
    assert_eq!(wait.input_problems(), [("/wait_for_response".to_owned(), "wrong_type".to_owned())]);
}

#[tokio::test]
async fn only_json_is_read() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let text = two_turns("ada", "s").to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonx",
        "json",
        "",
    ] {
        let request =
            server.request("POST", PUBLISH).header("content-type", kind).body(text.clone());
        server.send(request).await.problem(415, "unsupported_media_type");
    }
    server
        .send(server.request("POST", PUBLISH).body(text.clone()))
        .await
        .problem(415, "unsupported_media_type");
    for kind in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]
    {
        let request =
            server.request("POST", PUBLISH).header("content-type", kind).body(text.clone());
        server.send(request).await.ok();
    }
}

#[tokio::test]
async fn unknown_paths_and_wrong_methods_are_problems_too() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    for path in [
        "/api",
        "/api/none",
        "/api/sessions/ada",
        "/api/sessions/a/b/c",
        "/API/whoami",
        "//api/whoami",
        "/%00",
        "/%ff",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
        answer.problem(404, "not_found");
    }
    for (method, path) in [
        ("GET", PUBLISH),
        ("PUT", PUBLISH),
        ("POST", "/api/sessions"),
        ("DELETE", "/health/live"),
        ("POST", "/api/delete_session"),
        ("BREW", "/api/whoami"),
    ] {
        let answer = server.call(method, path, None).await;
        assert!(answer.headers.contains_key("allow"), "{method} {path} names what is allowed");
        answer.problem(405, "method_not_allowed");
    }
}

#[tokio::test]
async fn a_sane_request_id_is_echoed_and_any_other_replaced() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let sent = async |id: &[u8]| {
        let value = reqwest::header::HeaderValue::from_bytes(id).unwrap();
        let answer =
            server.send(server.request("GET", "/api/none").header("x-request-id", value)).await;
        answer.problem(404, "not_found")["request_id"].as_str().unwrap().to_owned()
    };
    let longest = "x".repeat(128);
    for sane in ["a", "req-1_2.3:4", &longest] {
        assert_eq!(sent(sane.as_bytes()).await, *sane);
    }
    let too_long = "x".repeat(129);
    for odd in
        [&b""[..], b"a b", b"<script>", b"\xff\xfe", "ü".as_bytes(), b"a\tb", too_long.as_bytes()]
    {
        let minted = sent(odd).await;
        assert!(base::ids::is_uuid(&minted), "{minted}");
    }
    assert_ne!(sent(b"").await, sent(b"").await);
    let fine =
        server.send(server.request("GET", "/health/live").header("x-request-id", "mine")).await;
    assert_eq!(fine.headers["x-request-id"], "mine", "not only on problems");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_100_mb_is_refused_and_the_client_hears_it() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    // Announced, and in pieces without a length.
    send_raw(&server, vec![b'a'; 100 << 20]).await.problem(413, "body_too_large");
    let pieces = (0..100).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces));
    send_raw(&server, body).await.problem(413, "body_too_large");
    let limit = t.settings().server.body_limit_bytes;
    send_raw(&server, vec![b' '; limit + 1]).await.problem(413, "body_too_large");
    let mut fits = two_turns("ada", "s").to_string();
    fits.extend(std::iter::repeat_n(' ', limit - fits.len()));
    send_raw(&server, fits).await.ok();
    still_answers(&server).await;
}

/// Everything the server sends until it closes the connection, and how long that took.
async fn read_to_end(stream: &mut TcpStream) -> (String, Duration) {
    let started = Instant::now();
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes))
        .await
        .expect("the server closes the connection");
    (String::from_utf8_lossy(&bytes).into_owned(), started.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies_and_slow_heads_are_cut_off() {
    let t = TestApp::with(Backend::Sqlite, |s| s.server.body_timeout_seconds = 1).await;
    let server = t.serve().await;
    let head =
        format!("POST {PUBLISH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");

    let slow_body = async {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let start = format!("{head}Content-Length: 1000\r\n\r\n{{\"user_id\"");
        stream.write_all(start.as_bytes()).await.unwrap();
        let (answer, took) = read_to_end(&mut stream).await;
        assert!(
            answer.starts_with("HTTP/1.1 408 ") && answer.contains("request_timeout"),
            "{answer}"
        );
        assert!(took < Duration::from_secs(5), "{took:?}");
    };
    let slow_head = async {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let mut sent = 0;
        let started = Instant::now();
        // A byte now and then: the whole head counts, not the pause between bytes.
        for byte in head.bytes().cycle() {
            if stream.write_all(&[byte]).await.is_err()
                || started.elapsed() > Duration::from_secs(15)
            {
                break;
            }
            sent += 1;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "cut off after {sent} bytes, {:?}",
            started.elapsed()
        );
    };
    let silent = async {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let (_, took) = read_to_end(&mut stream).await;
        assert!(took < Duration::from_secs(10), "{took:?}");
    };
    tokio::join!(slow_body, slow_head, silent);
    still_answers(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn things_that_are_not_http_do_not_hurt() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    for noise in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/publish_interaction HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/publish_interaction HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /api/publish_interaction HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/whoami HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(noise).await.unwrap();
        let (answer, _) = read_to_end(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let many: String = (0..2000).map(|n| format!("X-{n}: {}\r\n", "v".repeat(500))).collect();
    let _ = stream
        .write_all(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n").as_bytes())
        .await;
    let (answer, _) = read_to_end(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    still_answers(&server).await;
}
