//! `/mcp`: every tool through the service itself, with the permissions of the key.

use serde_json::{Value, json};
use service::credentials::Role;

use crate::support::{Answer, Server, TestApp, apply, both_backends};

/// One request of the protocol.
async fn ask(server: &Server, method: &str, params: Value) -> Answer {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = server
        .request("POST", "/mcp")
        .header("accept", "application/json, text/event-stream")
        .json(&body);
    server.send(request).await
}

/// The result of a tool.
async fn call(server: &Server, name: &str, arguments: Value) -> Value {
    let answer = ask(server, "tools/call", json!({"name": name, "arguments": arguments})).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[apply(both_backends)]
async fn tools_do_what_the_interface_does(t: TestApp) {
    let served = t.serve().await;
    let server = served.with_token(&t.key("org", Role::Dashboard).await);
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let begun = ask(&server, "initialize", hello).await.json();
    assert_eq!(begun["result"]["serverInfo"]["name"], "evenhand");
    let listed = ask(&server, "tools/list", json!({})).await.json();
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 7, "{names:?}");

    let this = json!({"user_id": "ada", "session_id": "s"});
    let with = |more: Value| {
        let mut arguments = this.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let turns = json!([{"role": "User", "content": "Where is my parcel?"},
        {"role": "Assistant", "content": "It arrives on Tuesday."}]);
    let calls = [
        ("search_learnings", with(json!({"query": "parcel"}))),
        ("publish_turns", with(json!({"turns": turns, "request_id": "r"}))),
        ("report_outcome", with(json!({"outcome": "success"}))),
        ("overview", json!({})),
        ("session", this.clone()),
        ("explain_verdict", this.clone()),
        ("experiment_results", json!({})),
    ];
    for (name, arguments) in calls {
        assert!(names.contains(&name));
        let result = call(&server, name, arguments).await;
        assert_ne!(result["isError"], true, "{name}: {}", text(&result));
    }
    let stored = server.get("/api/sessions/ada/s").await.ok();
    assert_eq!(stored["interactions"][1]["content"], "It arrives on Tuesday.");
    assert_eq!(stored["outcomes"][0]["outcome"], "success");

    let missing = call(&server, "session", json!({"user_id": "ada", "session_id": "other"})).await;
    assert_eq!(missing["isError"], true);
    assert!(text(&missing).contains("404"), "{}", text(&missing));
    let unknown =
        ask(&server, "tools/call", json!({"name": "erase", "arguments": {}})).await.json();
    assert!(
        unknown["error"]["message"].as_str().unwrap().contains("search_learnings"),
        "{unknown}"
    );
}

#[apply(both_backends)]
async fn a_key_may_do_by_tools_what_it_may_do_without(t: TestApp) {
    let server = t.serve().await;
    t.key("org", Role::Dashboard).await;
    ask(&server, "tools/list", json!({})).await.problem(401, "unauthenticated");
    let program = server.with_token(&t.key("org", Role::Publish).await);
    let searched =
        call(&program, "search_learnings", json!({"query": "parcel", "user_id": "ada"})).await;
    assert_ne!(searched["isError"], true, "{}", text(&searched));
    let refused = call(&program, "overview", json!({})).await;
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).starts_with("403 forbidden"), "{}", text(&refused));
    // An auditor reads and adds nothing.
    let auditor = server.with_token(&t.key("org", Role::Auditor).await);
    let turns =
        json!({"user_id": "ada", "session_id": "s", "turns": [{"role": "User", "content": "Hi"}]});
    let refused = call(&auditor, "publish_turns", turns).await;
    assert!(text(&refused).starts_with("403 forbidden"), "{}", text(&refused));
    let looked = call(&auditor, "overview", json!({})).await;
    assert_ne!(looked["isError"], true, "{}", text(&looked));
}
