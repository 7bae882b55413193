//! Deleting: exactly what was named goes, and what is left adds up.

use futures_util::future::join_all;
use serde_json::{Value, json};
use service::credentials::Role;

use crate::publish::two_turns;
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn publish(server: &Server, user: &str, session: &str, request: &str, more: Value) -> Value {
    let mut body = two_turns(user, session);
    body["request_id"] = json!(request);
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    server.publish(&body).await.ok()
}

#[apply(both_backends)]
async fn one_turn_goes_and_its_request_stays(t: TestApp) {
    let server = t.serve().await;
    let ids = publish(&server, "ada", "s1", "r1", json!({})).await["interaction_ids"].clone();
    let path = "/api/delete_interaction";
    let body = json!({"user_id": "ada", "interaction_id": ids[0]});
    server
        .delete(path, &json!({"user_id": "bob", "interaction_id": ids[0]}))
        .await
        .problem(404, "not_found");
    server.delete(path, &body).await.ok();
    server.delete(path, &body).await.problem(404, "not_found");
    let session = server.get("/api/sessions/ada/s1").await.ok();
    assert_eq!(session["session"]["interaction_count"], 1);
    assert_eq!(session["interactions"][0]["interaction_id"], ids[1]);
    server
        .delete(path, &json!({"user_id": "ada", "interaction_id": i64::MAX}))
        .await
        .problem(404, "not_found");
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn a_request_goes_with_its_turns_and_the_session_sums_up_anew(t: TestApp) {
    let server = t.serve().await;
    publish(
        &server,
        "ada",
        "s1",
        "r1",
        json!({"created_at": NOW - 100, "source": "web", "agent_version": "v1"}),
    )
    .await;
    publish(
        &server,
        "ada",
        "s1",
        "r2",
        json!({"created_at": NOW - 50, "source": "app", "agent_version": "v2"}),
    )
    .await;
    publish(
        &server,
        "ada",
        "s1",
        "r3",
        json!({"created_at": NOW - 10, "source": "tel", "agent_version": "v3"}),
    )
    .await;
    server.delete("/api/delete_request", &json!({"request_id": "r1"})).await.ok();
    server
        .delete("/api/delete_request", &json!({"request_id": "r1"}))
        .await
        .problem(404, "not_found");
    let summary = server.get("/api/sessions/ada/s1").await.ok()["session"].clone();
    assert_eq!(
        (&summary["first_request_at"], &summary["source"]),
        (&json!(NOW - 50), &json!("app"))
    );
    server.delete("/api/delete_request", &json!({"request_id": "r3"})).await.ok();
    let summary = server.get("/api/sessions/ada/s1").await.ok()["session"].clone();
    assert_eq!(
        (&summary["last_request_at"], &summary["agent_version"]),
        (&json!(NOW - 50), &json!("v2"))
    );
    assert_eq!((&summary["request_count"], &summary["interaction_count"]), (&json!(1), &json!(2)));
    server.delete("/api/delete_request", &json!({"request_id": "r2"})).await.ok();
    server.get("/api/sessions/ada/s1").await.problem(404, "not_found");
    // Its id is free again.
    assert_eq!(publish(&server, "ada", "s1", "r2", json!({})).await["duplicate"], false);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn several_requests_go_at_once_and_unknown_ids_are_passed_over(t: TestApp) {
    let server = t.serve().await;
    for (user, session, request) in [("ada", "s1", "r1"), ("ada", "s2", "r2"), ("bob", "s1", "r3")]
    {
        publish(&server, user, session, request, json!({})).await;
    }
    let path = "/api/delete_requests_by_ids";
    let deleted =
        server.delete(path, &json!({"request_ids": ["r1", "r1", "none", "r3"]})).await.ok();
    assert_eq!(deleted["deleted_count"], 2);
    server.delete(path, &json!({"request_ids": ["r1", "none"]})).await.problem(404, "not_found");
    let left = server.get("/api/sessions").await.ok();
    assert_eq!(left["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn a_session_goes_with_everything_that_hangs_on_it(t: TestApp) {
    let server = t.serve().await;
    for (user, request) in [("ada", "r1"), ("ada", "r2"), ("bob", "r3")] {
        publish(&server, user, "shared", request, json!({})).await;
    }
    let mut outcome =
        json!({"session_id": "shared", "user_id": "ada", "outcome": "success", "occurred_at": NOW});
    server.post("/api/session_outcome", &outcome).await.ok();
    outcome["user_id"] = json!("bob");
    server.post("/api/session_outcome", &outcome).await.ok();
    let path = "/api/delete_session";
    server.delete(path, &json!({"session_id": "shared"})).await.problem(409, "session_ambiguous");
    server
        .delete(path, &json!({"session_id": "shared", "user_id": "eve"}))
        .await
        .problem(404, "not_found");
    let gone = server.delete(path, &json!({"session_id": "shared", "user_id": "ada"})).await.ok();
    assert_eq!(gone["deleted_requests_count"], 2);
    server.get("/api/sessions/ada/shared").await.problem(404, "not_found");
    let bob = server.get("/api/sessions/bob/shared").await.ok();
    assert_eq!(bob["outcomes"].as_array().unwrap().len(), 1);
    // Only one user has it now.
    server.delete(path, &json!({"session_id": "shared"})).await.ok();
    server.delete(path, &json!({"session_id": "shared"})).await.problem(404, "not_found");
    assert_eq!(t.number("SELECT COUNT(*) FROM session_outcomes").await, 0);
}

#[apply(both_backends)]
async fn clearing_a_user_leaves_everyone_else_alone(t: TestApp) {
    let server = t.serve().await;
    let one = server.with_token(&t.key("one", Role::Dashboard).await);
    let two = server.with_token(&t.key("two", Role::Dashboard).await);
    for server in [&one, &two] {
        publish(server, "ada", "s1", "r1", json!({})).await;
        publish(server, "ada", "s2", "r2", json!({})).await;
        publish(server, "bob", "s1", "r3", json!({})).await;
    }
    let outcome = json!({"session_id": "s2", "outcome": "success", "occurred_at": NOW});
    one.post("/api/session_outcome", &outcome).await.ok();
    let cleared = one.post("/api/clear_user_data", &json!({"user_id": " ada "})).await.ok();
    let mut counts = cleared["deleted_counts"].as_object().unwrap().clone();
    counts.retain(|_, count| *count != json!(0));
    assert_eq!(
        json!(counts),
        json!({"jobs": 4, "outcomes": 1, "interactions": 4, "requests": 2, "sessions": 2})
    );
    one.post("/api/clear_user_data", &json!({"user_id": "ada"})).await.problem(404, "not_found");
    let counts = async |server: &Server| {
        server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len()
    };
    assert_eq!((counts(&one).await, counts(&two).await), (1, 3));
    // The door stays open.
    publish(&one, "ada", "s1", "r1", json!({})).await;
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn after_any_sequence_of_publishes_and_deletes_everything_adds_up(t: TestApp) {
    let server = t.serve().await;
    let mut state = 42u64;
    let mut below = move |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (mut requests, mut turns): (Vec<String>, Vec<(String, Value)>) = (Vec::new(), Vec::new());
    for step in 0..150 {
        let (user, session) = (format!("u{}", below(2)), format!("s{}", below(2)));
        match below(10) {
            0..=5 => {
                let id = format!("r{step}");
                let more = json!({
                    "created_at": NOW - 20 + i64::try_from(below(20)).unwrap(),
                    "source": format!("source{}", below(5)), "agent_version": format!("v{step}"),
                });
                let answer = publish(&server, &user, &session, &id, more).await;
                turns.extend(
                    answer["interaction_ids"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|i| (user.clone(), i.clone())),
                );
                requests.push(id);
            }
            6 | 7 if !turns.is_empty() => {
                let (user, id) =
                    turns.swap_remove(usize::try_from(below(turns.len() as u64)).unwrap());
                let answer = server
                    .delete(
                        "/api/delete_interaction",
                        &json!({"user_id": user, "interaction_id": id}),
                    )
                    .await;
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            }
            8 if !requests.is_empty() => {
                let id =
                    requests.swap_remove(usize::try_from(below(requests.len() as u64)).unwrap());
                let answer = server.delete("/api/delete_request", &json!({"request_id": id})).await;
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            }
            _ if below(4) == 0 => {
                let answer = server
                    .delete("/api/delete_session", &json!({"user_id": user, "session_id": session}))
                    .await;
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            }
            _ => {}
        }
        if step % 5 == 0 {
            agrees_with_its_rows(&server).await;
        }
    }
    assert_eq!(t.mismatches().await, 0);
    assert!(t.number("SELECT COUNT(*) FROM requests").await > 0, "something is left to check");
}

#[apply(both_backends)]
async fn deleting_while_others_publish_leaves_nothing_hanging(t: TestApp) {
    let server = t.serve().await;
    for round in 0..6 {
        let calls = (0..48).map(async |n| {
            let answer = match n % 6 {
                0 => server.delete("/api/delete_session", &json!({"user_id": "ada", "session_id": "s"})).await,
                1 => server.delete("/api/delete_request", &json!({"request_id": format!("r{round}-{}", n + 1)})).await,
                2 => server.post("/api/session_outcome", &json!({"session_id": "s", "user_id": "ada", "outcome": "success", "occurred_at": n})).await,
                3 if n % 12 == 3 => server.post("/api/clear_user_data", &json!({"user_id": "ada"})).await,
                _ => {
                    let mut body = two_turns("ada", "s");
                    body["request_id"] = json!(format!("r{round}-{n}"));
                    server.publish(&body).await
                }
            };
            assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
        });
        join_all(calls).await;
        assert_eq!(t.mismatches().await, 0, "round {round}");
    }
}

/// Sums every session up from its requests and turns and compares that with what the list says.
async fn agrees_with_its_rows(server: &Server) {
    let list = server.get("/api/sessions?limit=200").await.ok();
    for summary in list["sessions"].as_array().unwrap() {
        let text = |name: &str| summary[name].as_str().unwrap();
        let path = format!("/api/sessions/{}/{}", text("user_id"), text("session_id"));
        let whole = server.get(&path).await.ok();
        let mut requests: Vec<_> = whole["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| (r["created_at"].as_i64().unwrap(), r["request_id"].as_str().unwrap(), r))
            .collect();
        requests.sort_by_key(|(at, id, _)| (*at, *id));
        let (first, last) = (&requests[0], &requests[requests.len() - 1]);
        assert_eq!(summary["first_request_at"], first.0);
        assert_eq!(summary["source"], first.2["source"]);
        assert_eq!(summary["last_request_at"], last.0);
        assert_eq!(summary["request_count"], requests.len());
        assert_eq!(summary["interaction_count"], whole["interactions"].as_array().unwrap().len());
        let newest: Vec<_> =
            requests.iter().filter(|r| r.0 == last.0).map(|r| &r.2["agent_version"]).collect();
        assert!(newest.contains(&&summary["agent_version"]), "{summary}");
    }
}
