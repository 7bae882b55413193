//! Outcomes: ground truth, recorded once, revised when it changes.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::publish::two_turns;
use crate::support::{NOW, TestApp, apply, both_backends};

fn outcome(session: &str, what: &str) -> Value {
    json!({"session_id": session, "outcome": what, "occurred_at": NOW - 10})
}

#[apply(both_backends)]
async fn a_repeat_is_recorded_once_and_a_change_is_a_revision(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["source"] = json!("web");
    server.publish(&body).await.ok();
    let mut first = outcome("s1", "success");
    first["label"] = json!("resolved");
    first["value"] = json!(0.5);
    first["metadata"] =
        json!({"ticket": 7, "deep": {"a": [1, 2.5, null]}, "large": 1e17, "tiny": 1e-7});
    let answer = server.post("/api/session_outcome", &first).await.ok();
    assert_eq!(
        answer,
        json!({"success": true, "recorded": true, "reason": null,
        "message": "outcome recorded", "user_id": "ada", "source": "web"})
    );
    let again = server.post("/api/session_outcome", &first).await.ok();
    assert_eq!(
        again,
        json!({"success": true, "recorded": false, "reason": null,
        "message": "the same outcome was recorded before", "user_id": "ada", "source": "web"})
    );
    t.clock().advance(60);
    let changed = server.post("/api/session_outcome", &outcome("s1", "failure")).await.ok();
    assert_eq!(changed["recorded"], true);
    let history = server.get("/api/sessions/ada/s1").await.ok()["outcomes"].clone();
    let told: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|o| (&o["revision"], &o["outcome"], &o["recorded_at"]))
        .collect();
    assert_eq!(json!(told), json!([[1, "success", NOW], [2, "failure", NOW + 60]]));
    assert_eq!(history[0]["metadata"]["deep"], json!({"a": [1, 2.5, null]}));
    // Back to the first: a revision again, because the current one says otherwise.
    assert_eq!(server.post("/api/session_outcome", &first).await.ok()["recorded"], true);
}

#[apply(both_backends)]
async fn outcomes_are_listed_for_the_sessions_asked_for(t: TestApp) {
    let server = t.serve().await;
    for (user, session) in [("ada", "s1"), ("ada", "s2"), ("ada", "s3"), ("bob", "s1")] {
        server.publish(&two_turns(user, session)).await.ok();
        if session != "s3" {
            let mut body = outcome(session, "success");
            body["user_id"] = json!(user);
            server.post("/api/session_outcome", &body).await.ok();
        }
    }
    let mut revised = outcome("s2", "unknown");
    revised["user_id"] = json!("ada");
    server.post("/api/session_outcome", &revised).await.ok();
    let listed = async |body: Value| -> Value {
        let answer = server.post("/api/get_session_outcomes", &body).await.ok();
        let mut rows: Vec<_> = answer["session_outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| json!([o["session_id"], o["user_id"], o["outcome"], o["revision"]]))
            .collect();
        rows.sort_by_key(Value::to_string);
        json!(rows)
    };
    assert_eq!(
        listed(json!({"session_ids": ["s1", "s2", "s3", "none"]})).await,
        json!([
            ["s1", "ada", "success", 1],
            ["s1", "bob", "success", 1],
            ["s2", "ada", "unknown", 2]
        ])
    );
    assert_eq!(
        listed(json!({"session_ids": ["s1"], "user_id": "bob"})).await,
        json!([["s1", "bob", "success", 1]])
    );
}

#[apply(both_backends)]
async fn a_list_has_the_shape_and_the_filters_of_existing_clients(t: TestApp) {
    let server = t.serve().await;
    for (n, (session, source)) in (0..).zip([("s1", "web"), ("s2", "web"), ("s3", "")]) {
        let mut body = two_turns("ada", session);
        body["source"] = json!(source);
        server.publish(&body).await.ok();
        let mut report = outcome(session, if n == 1 { "failure" } else { "success" });
        report["occurred_at"] = json!(NOW - 30 + 10 * n);
        report["label"] = json!(format!("l{n}"));
        server.post("/api/session_outcome", &report).await.ok();
    }
    // The public client's request when nothing is asked for.
    let all = json!({"session_ids": null, "user_id": null, "source": null, "outcome": null, "label": null,
        "start_time": null, "end_time": null, "top_k": 100, "offset": 0});
    let answer = server.post("/api/get_session_outcomes", &all).await.ok();
    assert_eq!((&answer["success"], &answer["message"]), (&json!(true), &json!("3 outcomes")));
    assert_eq!(
        answer["session_outcomes"][2],
        json!({"user_id": "ada", "session_id": "s1", "revision": 1,
        "outcome": "success", "occurred_at": NOW - 30, "label": "l0", "value": null, "metadata": null,
        "source": "web", "recorded_at": NOW, "created_at": NOW})
    );
    for (filter, expected) in [
        (json!({}), vec!["s3", "s2", "s1"]),
        (json!({"source": "web"}), vec!["s2", "s1"]),
        (json!({"source": ""}), vec!["s3"]),
        (json!({"outcome": "success"}), vec!["s3", "s1"]),
        (json!({"label": "l1"}), vec!["s2"]),
        (json!({"user_id": "bob"}), vec![]),
        (json!({"start_time": NOW - 20, "end_time": NOW - 20}), vec!["s2"]),
        (json!({"start_time": NOW - 20}), vec!["s3", "s2"]),
        (json!({"end_time": NOW - 21}), vec!["s1"]),
        (json!({"top_k": 1, "offset": 1}), vec!["s2"]),
        (json!({"session_ids": ["s1", "s3"], "outcome": "success", "top_k": 1}), vec!["s3"]),
    ] {
        let answer = server.post("/api/get_session_outcomes", &filter).await.ok();
        let found: Vec<_> = answer["session_outcomes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| &o["session_id"])
            .collect();
        assert_eq!(json!(found), json!(expected), "{filter}");
    }
    let bad =
        json!({"outcome": "won", "start_time": 9, "end_time": 8, "top_k": 0, "session_ids": "s1"});
    let mut problems = server.post("/api/get_session_outcomes", &bad).await.input_problems();
    problems.sort();
    let expected = [
        ("/end_time", "before_start"),
        ("/outcome", "not_allowed"),
        ("/session_ids", "wrong_type"),
        ("/top_k", "out_of_range"),
    ];
    assert_eq!(problems, expected.map(|(pointer, code)| (pointer.to_owned(), code.to_owned())));
}

#[apply(both_backends)]
async fn a_session_must_be_known_and_meant(t: TestApp) {
    let server = t.serve().await;
    for path in ["/api/session_outcome", "/api/finalize_session"] {
        server.post(path, &outcome("none", "success")).await.problem(404, "not_found");
    }
    server.publish(&two_turns("ada", "shared")).await.ok();
    server.publish(&two_turns("bob", "shared")).await.ok();
    for path in ["/api/session_outcome", "/api/finalize_session"] {
        let mut body = outcome("shared", "success");
        server.post(path, &body).await.problem(409, "session_ambiguous");
        body["user_id"] = json!("eve");
        server.post(path, &body).await.problem(404, "not_found");
        body["user_id"] = json!("bob");
        assert_eq!(server.post(path, &body).await.ok()["user_id"], "bob");
    }
    let ada = server.get("/api/sessions/ada/shared").await.ok();
    assert_eq!((&ada["outcomes"], &ada["session"]["finished_at"]), (&json!([]), &Value::Null));
    let bob = server.get("/api/sessions/bob/shared").await.ok();
    assert_eq!(bob["session"]["finished_at"], NOW);
    assert_eq!(
        t.number("SELECT COUNT(*) FROM subjects").await,
        2,
        "asking for someone admits nobody"
    );
}

#[apply(both_backends)]
async fn what_cannot_be_an_outcome_is_refused(t: TestApp) {
    let server = t.serve().await;
    server.publish(&two_turns("ada", "s1")).await.ok();
    for (field, value, code) in [
        ("outcome", json!("won"), "not_allowed"),
        ("outcome", Value::Null, "required"),
        ("occurred_at", json!(-1), "out_of_range"),
        ("occurred_at", json!("today"), "not_a_time"),
        ("label", json!("x".repeat(129)), "too_long"),
        ("label", json!(""), "empty"),
        ("value", json!("1"), "wrong_type"),
        ("metadata", json!([1]), "wrong_type"),
        ("metadata", json!({"text": "x".repeat(16 * 1024)}), "too_long"),
    ] {
        let mut body = outcome("s1", "success");
        body[field] = value;
        let problems = server.post("/api/session_outcome", &body).await.input_problems();
        assert_eq!(problems, [(format!("/{field}"), code.to_owned())]);
    }
    let mut fits = outcome("s1", "success");
    fits["metadata"] = json!({"text": "x".repeat(16 * 1024 - 11)});
    server.post("/api/session_outcome", &fits).await.ok();
    let problems = server
        .post("/api/get_session_outcomes", &json!({"session_ids": []}))
        .await
        .input_problems();
    assert_eq!(problems, [("/session_ids".to_owned(), "too_short".to_owned())]);
}

#[apply(both_backends)]
async fn the_same_outcome_from_many_at_once_is_recorded_once(t: TestApp) {
    let server = t.serve().await;
    server.publish(&two_turns("ada", "s1")).await.ok();
    let body = outcome("s1", "success");
    let answers = join_all((0..20).map(|_| server.post("/api/session_outcome", &body))).await;
    let recorded = answers.into_iter().filter(|a| a.json()["recorded"] == true).count();
    assert_eq!(recorded, 1);
    assert_eq!(t.number("SELECT COUNT(*) FROM session_outcomes").await, 1);
}
