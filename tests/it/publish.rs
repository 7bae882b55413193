//! Publishing: what is acknowledged is stored, whole, once.

use futures_util::future::join_all;
use serde_json::{Value, json};
use service::credentials::Role;

use crate::support::{Backend, NOW, TestApp, apply, both_backends};

/// The smallest valid publish.
pub fn two_turns(user: &str, session: &str) -> Value {
    json!({
        "user_id": user, "session_id": session,
        "interaction_data_list": [
            {"role": "User", "content": "Where is my parcel?"},
            {"role": "Assistant", "content": "It arrives on Tuesday."},
        ]
    })
}

#[apply(both_backends)]
async fn what_is_published_is_read_back(t: TestApp) {
    let server = t.serve().await;
    let body = json!({
        "request_id": " r1 ", "user_id": " ada ", "session_id": "s1", "source": "web",
        "agent_version": "v2", "created_at": NOW - 100, "colour": "blue",
        "interaction_data_list": [
            {"role": "User", "content": "hello world", "user_action": "click",
             "user_action_description": "pressed", "interacted_image_url": "https://example.org/a.png",
             "created_at": NOW - 90},
            {},
            {"role": "Assistant", "content": "hi", "shadow_content": "hey", "expert_content": "good day",
             "tools_used": [{"tool_name": "find", "tool_data": {"deep": [1, {"a": 1.5}]}, "status": "error"}],
             "citations": [{"kind": "playbook", "real_id": "7", "title": "T"}],
             "retrieved_learnings": [{"kind": "profile", "learning_id": "p1"}]},
        ]
    });
    let answer = server.publish(&body).await.ok();
    assert_eq!(answer["request_id"], "r1");
    assert_eq!(answer["interaction_ids"].as_array().unwrap().len(), 2);
    assert_eq!(
        answer["warnings"],
        json!([
            "unknown field ignored: /colour",
            "item carries nothing, dropped: /interaction_data_list/1"
        ])
    );
    let read = server.post("/api/get_requests", &json!({"user_id": "ada"})).await.ok();
    insta::assert_json_snapshot!("publish_read_back", read);
}

#[apply(both_backends)]
async fn the_same_request_id_with_the_same_content_gets_the_first_answer_again(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["request_id"] = json!("r1");
    body["colour"] = json!("blue");
    let first = server.publish(&body).await.ok();
    assert_eq!(first["duplicate"], false);
    t.clock().advance(3600);
    let mut again = server.publish(&body).await.ok();
    assert_eq!(again["duplicate"], true);
    again["duplicate"] = json!(false);
    assert_eq!(again, first);
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 1);
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 2);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn a_request_id_is_not_taken_for_other_content(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["request_id"] = json!("r1");
    server.publish(&body).await.ok();
    for (field, value) in [
        ("session_id", json!("s2")),
        ("source", json!("web")),
        ("session_finished", json!(true)),
        ("created_at", json!(NOW - 1)),
        ("interaction_data_list", json!([{"content": "Where is my parcel?"}])),
    ] {
        let mut other = body.clone();
        other[field] = value;
        server.publish(&other).await.problem(409, "request_id_reused");
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 1);
}

#[apply(both_backends)]
async fn users_have_request_ids_of_their_own(t: TestApp) {
    let server = t.serve().await;
    let sent = |user: &str| {
        let mut body = two_turns(user, "s1");
        body["request_id"] = json!("r1");
        body
    };
    let first = server.publish(&sent("ada")).await.ok();
    let second = server.publish(&sent("bob")).await.ok();
    assert_eq!(second["duplicate"], false);
    let again = server.publish(&sent("ada")).await.ok();
    assert_eq!(again["interaction_ids"], first["interaction_ids"]);
    assert_eq!(server.publish(&sent("bob")).await.ok()["duplicate"], true);
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 2);
    let gone = server.delete("/api/delete_request", &json!({"request_id": "r1"})).await;
    gone.ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 0, "of both users");
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn organizations_have_request_ids_of_their_own(t: TestApp) {
    let server = t.serve().await;
    let one = server.with_token(&t.key("one", Role::Agent).await);
    let two = server.with_token(&t.key("two", Role::Agent).await);
    let mut body = two_turns("ada", "s1");
    body["request_id"] = json!("r1");
    one.publish(&body).await.ok();
    body["interaction_data_list"][0]["content"] = json!("Something else");
    assert_eq!(two.publish(&body).await.ok()["duplicate"], false);
    assert_eq!(two.publish(&body).await.ok()["duplicate"], true);
}

#[apply(both_backends)]
async fn fifty_parallel_publishes_of_one_request_id_store_it_once(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["request_id"] = json!("r1");
    let answers = join_all((0..50).map(|_| server.publish(&body))).await;
    let mut answers: Vec<Value> = answers.into_iter().map(crate::support::Answer::ok).collect();
    let first = answers.iter().filter(|a| a["duplicate"] == false).count();
    assert_eq!(first, 1);
    for answer in &mut answers {
        answer["duplicate"] = json!(false);
    }
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 1);
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 2);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn parallel_publishes_to_one_session_are_all_counted(t: TestApp) {
    let server = t.serve().await;
    let bodies: Vec<Value> = (0..40).map(|_| two_turns("ada", "s1")).collect();
    let answers = join_all(bodies.iter().map(|body| server.publish(body))).await;
    let mut ids: Vec<i64> = answers
        .into_iter()
        .flat_map(|a| a.ok()["interaction_ids"].as_array().unwrap().clone())
        .map(|id| id.as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 80, "no interaction id is given twice");
    let session = server.get("/api/sessions/ada/s1").await.ok();
    assert_eq!(session["session"]["request_count"], 40);
    assert_eq!(session["session"]["interaction_count"], 80);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn what_is_not_said_has_a_default(t: TestApp) {
    let server = t.serve().await;
    let body = json!({
        "user_id": "ada", "session_id": "s1", "request_id": null, "source": null, "agent_version": "  ",
        "created_at": null, "session_finished": null, "retrieval_experiment_id": null,
        "interaction_data_list": [
            {"content": "a", "role": null, "created_at": null, "tools_used": null},
            {"content": "b", "created_at": NOW - 5},
            {"content": "c"},
        ]
    });
    let answer = server.publish(&body).await.ok();
    assert!(base::ids::is_uuid(answer["request_id"].as_str().unwrap()));
    assert_eq!(
        (&answer["learning_status"], &answer["experiment"]),
        (&json!("deferred"), &Value::Null)
    );
    assert_eq!(answer["warnings"], json!([]));
    let session = server.get("/api/sessions/ada/s1").await.ok();
    let request = &session["requests"][0];
    assert_eq!(request["agent_version"], "agent-v0");
    assert_eq!((&request["source"], &request["created_at"]), (&json!(""), &json!(NOW)));
    assert_eq!(request["evaluation_only"], false);
    let turns = session["interactions"].as_array().unwrap();
    // A turn without a time takes that of the turn before it, so b and c stand before a.
    let told: Vec<_> = turns.iter().map(|turn| (&turn["content"], &turn["created_at"])).collect();
    assert_eq!(json!(told), json!([["b", NOW - 5], ["c", NOW - 5], ["a", NOW]]));
    assert!(turns.iter().all(|turn| turn["role"] == "User" && turn["user_action"] == "none"));
}

#[apply(both_backends)]
async fn history_may_be_imported_in_any_order(t: TestApp) {
    let server = t.serve().await;
    for (id, time, source, version) in [
        ("r2", NOW - 100, "late", "v2"),
        ("r1", NOW - 1000, "early", "v1"),
        ("r3", NOW - 500, "middle", "v3"),
        ("r0", NOW - 1000, "tie", "v0"),
    ] {
        let mut body = two_turns("ada", "s1");
        body["request_id"] = json!(id);
        body["created_at"] = json!(time);
        body["source"] = json!(source);
        body["agent_version"] = json!(version);
        server.publish(&body).await.ok();
    }
    let session = server.get("/api/sessions/ada/s1").await.ok();
    let summary = &session["session"];
    assert_eq!(summary["first_request_at"], NOW - 1000);
    assert_eq!(summary["last_request_at"], NOW - 100);
    assert_eq!(summary["source"], "tie", "the earliest by time, then by id");
    assert_eq!(summary["agent_version"], "v2");
    assert_eq!(summary["request_count"], 4);
    let order: Vec<_> =
        session["requests"].as_array().unwrap().iter().map(|r| &r["request_id"]).collect();
    assert_eq!(json!(order), json!(["r0", "r1", "r3", "r2"]));
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn tokens_are_counted_by_the_server(t: TestApp) {
    let server = t.serve().await;
    let long = "hello world ".repeat(5000);
    let body = json!({"user_id": "ada", "session_id": "s1", "interaction_data_list": [
        {"content": "hello world"}, {"content": "tiktoken is great!"}, {"user_action": "click"},
        {"content": long},
    ]});
    server.publish(&body).await.ok();
    let read = server.post("/api/get_interactions", &json!({"user_id": "ada"})).await.ok();
    let counts: Vec<_> = read["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["token_count"].as_i64().unwrap())
        .collect();
    assert_eq!(counts[..3], [2, 6, 0]);
    assert!((10_000..=10_001).contains(&counts[3]), "{}", counts[3]);
}

#[apply(both_backends)]
async fn a_session_is_finished_until_it_grows(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["session_finished"] = json!(true);
    server.publish(&body).await.ok();
    let finished =
        async || server.get("/api/sessions/ada/s1").await.ok()["session"]["finished_at"].clone();
    assert_eq!(finished().await, NOW);
    server.publish(&two_turns("ada", "s1")).await.ok();
    assert_eq!(finished().await, Value::Null);
}

#[apply(both_backends)]
async fn an_experiment_nobody_started_is_unknown(t: TestApp) {
    let server = t.serve().await;
    let mut body = two_turns("ada", "s1");
    body["retrieval_experiment_id"] = json!("exp");
    body["retrieval_experiment_arm"] = json!("holdout");
    let problem = server.publish(&body).await.problem(422, "experiment_unknown");
    assert_eq!(problem["errors"][0]["pointer"], "/retrieval_experiment_id");
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 0);
}

/// A valid publish with one field changed.
fn with(field: &str, value: Value) -> Value {
    let mut body = two_turns("ada", "s1");
    body[field] = value;
    body
}

/// A valid publish of one turn with one field changed.
fn turn_with(field: &str, value: Value) -> Value {
    let mut body = with("interaction_data_list", json!([{"content": "hello"}]));
    body["interaction_data_list"][0][field] = value;
    body
}

fn without(field: &str) -> Value {
    let mut body = two_turns("ada", "s1");
    body.as_object_mut().unwrap().remove(field);
    body
}

/// One (body, problems) pair per rule of the publish contract.
fn rules() -> Vec<(Value, Vec<(&'static str, &'static str)>)> {
    let long = |length: usize| json!("x".repeat(length));
    let mut rules = Vec::new();
    let mut rule = |body: Value, problems: &[(&'static str, &'static str)]| {
        rules.push((body, problems.to_vec()));
    };
    // Identifiers.
    rule(
        json!({}),
        &[
            ("/user_id", "required"),
            ("/session_id", "required"),
            ("/interaction_data_list", "required"),
        ],
    );
    for (field, pointer) in [("user_id", "/user_id"), ("session_id", "/session_id")] {
        rule(without(field), &[(pointer, "required")]);
        rule(with(field, Value::Null), &[(pointer, "required")]);
    }
    for (field, pointer) in
        [("user_id", "/user_id"), ("session_id", "/session_id"), ("request_id", "/request_id")]
    {
        rule(with(field, json!("")), &[(pointer, "empty")]);
        rule(with(field, json!(" \t ")), &[(pointer, "empty")]);
    }
    for (field, pointer) in [
        ("user_id", "/user_id"),
        ("session_id", "/session_id"),
        ("request_id", "/request_id"),
        ("agent_version", "/agent_version"),
    ] {
        rule(with(field, long(256)), &[(pointer, "too_long")]);
        rule(with(field, json!("a\u{7}b")), &[(pointer, "control_character")]);
        rule(
            with(field, json!("a\0b")),
            &[(pointer, "nul_character"), (pointer, "control_character")],
        );
        rule(with(field, json!(5)), &[(pointer, "wrong_type")]);
        rule(with(field, json!(["a"])), &[(pointer, "wrong_type")]);
    }
    // The list of turns.
    let list = "/interaction_data_list";
    rule(without("interaction_data_list"), &[(list, "required")]);
    rule(with("interaction_data_list", Value::Null), &[(list, "required")]);
    rule(with("interaction_data_list", json!([])), &[(list, "too_short")]);
    rule(
        with("interaction_data_list", json!(vec![json!({"content": "a"}); 1001])),
        &[(list, "too_long")],
    );
    rule(with("interaction_data_list", json!({"content": "a"})), &[(list, "wrong_type")]);
    rule(
        with("interaction_data_list", json!([{"content": "a"}, 7])),
        &[("/interaction_data_list/1", "wrong_type")],
    );
    rule(with("interaction_data_list", json!([{}, {"content": "  "}])), &[(list, "empty")]);
    let learnings = |n: usize| json!({"retrieved_learnings": vec![json!({"kind": "profile", "learning_id": "p"}); n]});
    rule(
        with("interaction_data_list", json!([learnings(600), learnings(401)])),
        &[(list, "too_long")],
    );
    // Source, times, flags.
    for bad in ["Web", "-web", "we b", " web", "wéb", "a/b"] {
        rule(with("source", json!(bad)), &[("/source", "bad_form")]);
    }
    rule(with("source", long(129)), &[("/source", "too_long")]);
    rule(with("source", json!(5)), &[("/source", "wrong_type")]);
    for (value, code) in [
        (json!(NOW + 61), "in_the_future"),
        (json!(-1), "out_of_range"),
        (json!(NOW * 1000), "out_of_range"),
        (json!(true), "not_a_time"),
        (json!("yesterday"), "not_a_time"),
        (json!(u64::MAX), "out_of_range"),
    ] {
        rule(with("created_at", value.clone()), &[("/created_at", code)]);
        rule(turn_with("created_at", value), &[("/interaction_data_list/0/created_at", code)]);
    }
    for (flag, pointer) in [
        ("session_finished", "/session_finished"),
        ("force_extraction", "/force_extraction"),
        ("skip_aggregation", "/skip_aggregation"),
        ("evaluation_only", "/evaluation_only"),
        ("override_learning_stall", "/override_learning_stall"),
    ] {
        rule(with(flag, json!("yes")), &[(pointer, "wrong_type")]);
        rule(with(flag, json!(1)), &[(pointer, "wrong_type")]);
    }
    let mut both = with("evaluation_only", json!(true));
    both["force_extraction"] = json!(true);
    rule(both, &[("/force_extraction", "contradiction")]);
    // Experiments: both or neither.
    let (id, arm) = ("/retrieval_experiment_id", "/retrieval_experiment_arm");
    rule(with("retrieval_experiment_id", json!("e")), &[(arm, "required")]);
    rule(with("retrieval_experiment_arm", json!("holdout")), &[(id, "required")]);
    let mut pair = with("retrieval_experiment_id", long(129));
    pair["retrieval_experiment_arm"] = json!("control");
    rule(pair, &[(id, "too_long"), (arm, "not_allowed")]);
    // Turns.
    rule(turn_with("role", long(1001)), &[("/interaction_data_list/0/role", "too_long")]);
    rule(turn_with("role", json!(5)), &[("/interaction_data_list/0/role", "wrong_type")]);
    for (field, pointer) in [
        ("content", "/interaction_data_list/0/content"),
        ("shadow_content", "/interaction_data_list/0/shadow_content"),
        ("expert_content", "/interaction_data_list/0/expert_content"),
        ("user_action_description", "/interaction_data_list/0/user_action_description"),
    ] {
        rule(turn_with(field, long(1_000_001)), &[(pointer, "too_long")]);
        rule(turn_with(field, json!({})), &[(pointer, "wrong_type")]);
        rule(turn_with(field, json!("a\0")), &[(pointer, "nul_character")]);
    }
    rule(
        turn_with("user_action", json!("swipe")),
        &[("/interaction_data_list/0/user_action", "not_allowed")],
    );
    rule(
        turn_with("image_encoding", json!(5)),
        &[("/interaction_data_list/0/image_encoding", "wrong_type")],
    );
    for bad in
        ["ftp://example.org/a.png", "javascript:alert(1)", "file:///etc/passwd", "a.png", "http:/x"]
    {
        rule(
            turn_with("interacted_image_url", json!(bad)),
            &[("/interaction_data_list/0/interacted_image_url", "bad_form")],
        );
    }
    let at = "/interaction_data_list/0/tools_used";
    rule(turn_with("tools_used", json!({})), &[(at, "wrong_type")]);
    rule(
        turn_with("tools_used", json!([{}])),
        &[("/interaction_data_list/0/tools_used/0/tool_name", "required")],
    );
    rule(
        turn_with("tools_used", json!([{"tool_name": "t", "tool_data": [1], "status": 5}])),
        &[
            ("/interaction_data_list/0/tools_used/0/tool_data", "wrong_type"),
            ("/interaction_data_list/0/tools_used/0/status", "wrong_type"),
        ],
    );
    rule(
        turn_with("citations", json!([{"kind": "rule", "tag": 1, "title": long(1001)}])),
        &[
            ("/interaction_data_list/0/citations/0/kind", "not_allowed"),
            ("/interaction_data_list/0/citations/0/real_id", "required"),
            ("/interaction_data_list/0/citations/0/tag", "wrong_type"),
            ("/interaction_data_list/0/citations/0/title", "too_long"),
        ],
    );
    rule(
        turn_with(
            "retrieved_learnings",
            json!([{"kind": "playbook", "learning_id": "", "exposure_receipt": 5}]),
        ),
        &[
            ("/interaction_data_list/0/retrieved_learnings/0/kind", "not_allowed"),
            ("/interaction_data_list/0/retrieved_learnings/0/learning_id", "empty"),
            ("/interaction_data_list/0/retrieved_learnings/0/exposure_receipt", "wrong_type"),
        ],
    );
    rule(
        turn_with("retrieved_learnings", json!([{}])),
        &[
            ("/interaction_data_list/0/retrieved_learnings/0/kind", "required"),
            ("/interaction_data_list/0/retrieved_learnings/0/learning_id", "required"),
        ],
    );
    // A turn that cannot be read is one problem, not also an empty turn.
    rule(
        with("interaction_data_list", json!([{"content": 5}])),
        &[("/interaction_data_list/0/content", "wrong_type")],
    );
    // All at once, whatever they are about.
    let mut future = with("created_at", json!(NOW + 100));
    future["interaction_data_list"][1]["created_at"] = json!(NOW + 100);
    rule(
        future,
        &[
            ("/created_at", "in_the_future"),
            ("/interaction_data_list/1/created_at", "in_the_future"),
        ],
    );
    rules
}

#[tokio::test]
async fn every_rule_of_publish_names_the_place_and_the_problem() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let mut wrong = Vec::new();
    for (body, expected) in rules() {
        let found = server.publish(&body).await.input_problems();
        let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
        if found != expected {
            let body: String = body.to_string().chars().take(300).collect();
            wrong.push(format!("{body}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 0);
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, 0);
}

#[apply(both_backends)]
async fn the_limits_themselves_are_allowed(t: TestApp) {
    let server = t.serve().await;
    let id = "ü".repeat(255);
    let mut body = two_turns(&id, &id);
    body["request_id"] = json!(id);
    body["agent_version"] = json!(id);
    body["source"] = json!("a".repeat(128));
    body["created_at"] = json!(NOW + 60);
    body["interaction_data_list"][0] = json!({
        "role": "r".repeat(1000), "content": "ö".repeat(1_000_000), "interacted_image_url": "DATA:image/png;base64,AA==",
    });
    let answer = server.publish(&body).await.ok();
    assert_eq!(answer["request_id"], id);
    let read = server.post("/api/get_requests", &json!({"request_id": id})).await.ok();
    let request = &read["sessions"][0]["requests"][0]["request"];
    assert_eq!(request["created_at"], NOW, "a clock a little ahead is set back to now");
    let many = with("interaction_data_list", json!(vec![json!({"content": "a"}); 1000]));
    assert_eq!(server.publish(&many).await.ok()["interaction_ids"].as_array().unwrap().len(), 1000);
}

#[apply(both_backends)]
async fn the_longest_identifiers_of_any_script_are_stored(t: TestApp) {
    // Nothing that an index could compress.
    let id = |seed: u32, first: u32| -> String {
        let mut state = seed;
        (0..255)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from_u32(first + (state >> 8) % 0x5000).unwrap()
            })
            .collect()
    };
    let server = t.serve().await;
    let three_bytes = |seed| id(seed, 0x4E00);
    let mut body = two_turns(&three_bytes(1), &three_bytes(2));
    body["request_id"] = json!(three_bytes(3));
    server.publish(&body).await.ok();
    let read = server.post("/api/get_requests", &json!({"user_id": three_bytes(1)})).await.ok();
    assert_eq!(read["sessions"][0]["session_id"], three_bytes(2));
    // Four bytes a character do not fit into an index together: refused, not a failure of the server.
    let mut body = two_turns(&id(1, 0x2_0000), &id(2, 0x2_0000));
    body["request_id"] = json!(id(3, 0x2_0000));
    let problems = server.publish(&body).await.input_problems();
    let expected =
        ["/request_id", "/user_id", "/session_id"].map(|p| (p.to_owned(), "too_long".to_owned()));
    assert_eq!(problems, expected);
}

#[tokio::test]
async fn a_problem_body_says_everything_at_once() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let body = json!({"user_id": " ", "created_at": "now", "source": "Web", "interaction_data_list": [
        {"role": 1, "content": "x"}, "turn"]});
    let request = server.request("POST", "/api/publish_interaction").json(&body);
    let answer = server.send(request.header("x-request-id", "snapshot-1")).await;
    insta::assert_json_snapshot!("publish_problem", answer.problem(422, "invalid_input"));
}

#[apply(both_backends)]
async fn the_order_of_names_does_not_make_other_content(t: TestApp) {
    let server = t.serve().await;
    let body = |data: &str| {
        format!(
            r#"{{"user_id": "ada", "session_id": "s1", "request_id": "r1", "interaction_data_list": [
                {{"role": "Assistant", "content": "hi", "tools_used": [{{"tool_name": "find", "tool_data": {data}}}]}}]}}"#
        )
    };
    let publish = async |data: &str| {
        let request = server.request("POST", "/api/publish_interaction");
        server.send(request.header("content-type", "application/json").body(body(data))).await
    };
    let first = publish(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#).await.ok();
    let again = publish(r#"{"b": {"d": 3, "c": 2}, "a": 1}"#).await.ok();
    assert_eq!((&again["duplicate"], &first["duplicate"]), (&json!(true), &json!(false)));
    assert_eq!(again["interaction_ids"], first["interaction_ids"]);
    publish(r#"{"a": 1, "b": {"c": 2, "d": 4}}"#).await.problem(409, "request_id_reused");
}
