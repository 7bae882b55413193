//! Reading back: pages without gaps or repeats, filters, and sessions that never mix.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::publish::two_turns;
use crate::support::{NOW, Server, TestApp, apply, both_backends};

/// Percent-encodes everything that is not a letter or digit.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") }
        })
        .collect()
}

async fn publish_at(server: &Server, user: &str, session: &str, at: i64, more: Value) {
    let mut body = two_turns(user, session);
    body["created_at"] = json!(at);
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    server.publish(&body).await.ok();
}

/// The session ids of an answer of get_requests, in order.
fn session_ids(answer: &Value) -> Vec<&str> {
    let sessions = answer["sessions"].as_array().unwrap();
    sessions.iter().map(|s| s["session_id"].as_str().unwrap()).collect()
}

#[apply(both_backends)]
async fn get_requests_pages_by_session_newest_first(t: TestApp) {
    let server = t.serve().await;
    for n in 0..5 {
        publish_at(&server, "ada", &format!("s{n}"), NOW - 1000 + n, json!({})).await;
    }
    // Growing makes a session the newest.
    publish_at(&server, "ada", "s1", NOW - 1, json!({"request_id": "second"})).await;
    let page = async |top_k: i64, offset: i64| {
        let body = json!({"user_id": "ada", "top_k": top_k, "offset": offset});
        server.post("/api/get_requests", &body).await.ok()
    };
    let first = page(2, 0).await;
    assert_eq!((session_ids(&first), &first["has_more"]), (vec!["s1", "s4"], &json!(true)));
    let second = page(2, 2).await;
    assert_eq!((session_ids(&second), &second["has_more"]), (vec!["s3", "s2"], &json!(true)));
    let third = page(2, 4).await;
    assert_eq!((session_ids(&third), &third["has_more"]), (vec!["s0"], &json!(false)));
    let beyond = page(2, 6).await;
    assert_eq!((session_ids(&beyond), &beyond["has_more"]), (vec![], &json!(false)));
    let all = page(5, 0).await;
    assert_eq!(all["has_more"], false, "exactly five");
    let requests = first["sessions"][0]["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1]["request"]["request_id"], "second", "oldest request first");
    let turns = requests[1]["interactions"].as_array().unwrap();
    assert_eq!((&turns[0]["role"], &turns[1]["role"]), (&json!("User"), &json!("Assistant")));
}

#[apply(both_backends)]
async fn get_requests_filters_by_everything_it_offers(t: TestApp) {
    let server = t.serve().await;
    publish_at(
        &server,
        "ada",
        "a",
        NOW - 300,
        json!({"request_id": "r1", "source": "web", "agent_version": "v1"}),
    )
    .await;
    publish_at(
        &server,
        "ada",
        "b",
        NOW - 200,
        json!({"request_id": "r2", "source": "app", "agent_version": "v2"}),
    )
    .await;
    publish_at(
        &server,
        "bob",
        "a",
        NOW - 100,
        json!({"request_id": "r3", "source": "", "agent_version": "v2"}),
    )
    .await;
    let found = async |filter: Value| -> Vec<String> {
        let answer = server.post("/api/get_requests", &filter).await.ok();
        let mut ids: Vec<String> = answer["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|s| s["requests"].as_array().unwrap().clone())
            .map(|r| r["request"]["request_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(found(json!({})).await, ["r1", "r2", "r3"]);
    assert_eq!(found(json!({"user_id": " ada "})).await, ["r1", "r2"]);
    assert_eq!(found(json!({"session_id": "a"})).await, ["r1", "r3"]);
    assert_eq!(found(json!({"user_id": "bob", "session_id": "a"})).await, ["r3"]);
    assert_eq!(found(json!({"request_id": "r2"})).await, ["r2"]);
    assert_eq!(found(json!({"source": "web"})).await, ["r1"]);
    assert_eq!(found(json!({"source": ""})).await, ["r3"]);
    assert_eq!(found(json!({"agent_version": "v2"})).await, ["r2", "r3"]);
    assert_eq!(
        found(json!({"start_time": NOW - 200})).await,
        ["r2", "r3"],
        "the start is included"
    );
    assert_eq!(found(json!({"end_time": NOW - 200})).await, ["r1"], "the end is not");
    assert_eq!(
        found(json!({"start_time": "2026-01-15T11:55:00Z", "end_time": "2026-01-15T11:56:40"}))
            .await,
        ["r1"]
    );
    assert_eq!(found(json!({"user_id": "nobody"})).await, Vec::<String>::new());
    let backwards = json!({"start_time": NOW, "end_time": NOW});
    let problems = server.post("/api/get_requests", &backwards).await.input_problems();
    assert_eq!(problems, [("/end_time".to_owned(), "not_after_start".to_owned())]);
}

#[apply(both_backends)]
async fn get_interactions_gives_the_newest_turns_in_their_order(t: TestApp) {
    let server = t.serve().await;
    for n in 0..4i64 {
        let turns = json!([{"content": format!("q{n}")}, {"content": format!("a{n}")}]);
        publish_at(&server, "ada", "s", NOW - 100 + n, json!({"interaction_data_list": turns}))
            .await;
    }
    publish_at(&server, "bob", "s", NOW, json!({})).await;
    let contents = async |more: Value| -> Vec<String> {
        let mut body = json!({"user_id": "ada"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let read = server.post("/api/get_interactions", &body).await.ok();
        read["interactions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["content"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(contents(json!({})).await, ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3"]);
    assert_eq!(contents(json!({"top_k": 3})).await, ["a2", "q3", "a3"]);
    assert_eq!(
        contents(json!({"start_time": NOW - 99, "end_time": NOW - 97})).await,
        ["q1", "a1", "q2", "a2"]
    );
}

#[apply(both_backends)]
async fn the_list_says_how_sessions_began_and_what_their_calls_took(t: TestApp) {
    let server = t.serve().await;
    let usage = json!({"model": "m", "input_tokens": 1200, "output_tokens": 34, "cost_usd": 0.5, "latency_ms": 900});
    let less = json!({"input_tokens": 800});
    let turns = json!([
        {"role": "assistant", "content": "Welcome.", "usage": usage},
        {"role": "User", "content": "Where, é? ".repeat(30)},
        {"role": "assistant", "content": "There.", "usage": less},
    ]);
    publish_at(&server, "ada", "s1", NOW - 9, json!({"interaction_data_list": turns})).await;
    for n in 2..5 {
        publish_at(&server, "ada", &format!("s{n}"), NOW - n, json!({})).await;
    }
    let page = server.get("/api/sessions?limit=2&count=true").await.ok();
    assert_eq!((&page["total"], page["sessions"].as_array().unwrap().len()), (&json!(4), 2));
    assert_eq!(server.get("/api/sessions").await.ok()["total"], Value::Null, "nobody asked");
    let page = server.get("/api/sessions?session_ids=s1&user_id=ada&count=true").await.ok();
    let session = &page["sessions"][0];
    assert_eq!(page["total"], 1);
    assert_eq!(session["first_words"], json!("Where, é? ".repeat(20)));
    let calls = json!({
        "count": 2, "input_tokens": 2000, "output_tokens": 34, "cost_usd": 0.5, "latency_ms": 900,
    });
    assert_eq!(session["calls"], calls);
    assert_eq!(session["failure_reason"], Value::Null);
    let ada = t.subject_in("default", "ada");
    for (session, corrections) in [("s1", 0), ("s2", 3)] {
        t.sql(&format!(
            "INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success,
                failure_type, failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
                interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
                latency_ms, attempts, flags, source, is_newest)
             VALUES ('default', {ada}, '{session}', 'agent_success', 'v1', 1, FALSE, 'wrong_answer', 'Another place.',
                {corrections}, FALSE, 'complete', {NOW}, {NOW}, 1, 1, 'm', 'v1', '', 0, 0, 0, 1, '[]', '', TRUE)"
        ))
        .await
        .unwrap();
    }
    let page = server.get("/api/sessions?min_corrections=1&count=true").await.ok();
    assert_eq!((&page["total"], &page["sessions"][0]["session_id"]), (&json!(1), &json!("s2")));
    assert_eq!(page["sessions"][0]["failure_reason"], "Another place.");
    let none = server.get("/api/sessions?max_corrections=0&count=true").await.ok();
    assert!(!session_ids(&none).contains(&"s2"), "{none}");
}

#[apply(both_backends)]
async fn walking_the_session_list_misses_nothing_and_repeats_nothing(t: TestApp) {
    let server = t.serve().await;
    let mut expected = BTreeSet::new();
    for n in 0..23i64 {
        // Many equal times: the order must not depend on them.
        let (user, session) = (format!("u{}", n % 4), format!("s {}/é", n / 4));
        publish_at(&server, &user, &session, NOW - n % 3, json!({})).await;
        expected.insert((user, session));
    }
    let walks = [("newest", [1, 5, 22, 23, 200]), ("oldest", [1, 5, 22, 23, 200])];
    for (first, limit) in walks.iter().flat_map(|(first, limits)| limits.map(|l| (*first, l))) {
        let (mut seen, mut order, mut cursor) = (BTreeSet::new(), Vec::new(), String::new());
        loop {
            let path = format!("/api/sessions?limit={limit}&order={first}{cursor}");
            let page = server.get(&path).await.ok();
            let sessions = page["sessions"].as_array().unwrap();
            assert!(!sessions.is_empty() && sessions.len() <= limit);
            for s in sessions {
                let text = |name: &str| s[name].as_str().unwrap().to_owned();
                assert!(seen.insert((text("user_id"), text("session_id"))), "{s} twice");
                order.push(s["last_request_at"].as_i64().unwrap());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(seen, expected, "limit {limit}");
        if first == "oldest" {
            order.reverse();
        }
        assert!(order.windows(2).all(|pair| pair[0] >= pair[1]), "{first} first");
    }
}

#[apply(both_backends)]
async fn the_session_list_filters(t: TestApp) {
    let server = t.serve().await;
    let said = |text: &str| json!([{"content": text}]);
    for (session, user, at, more) in [
        (
            "percent",
            "ada",
            NOW - 400,
            json!({"interaction_data_list": said("I am 100% sure"), "source": "web"}),
        ),
        (
            "number",
            "ada",
            NOW - 300,
            json!({"interaction_data_list": said("I am 1000 sure"), "agent_version": "v9"}),
        ),
        ("under", "bob", NOW - 200, json!({"interaction_data_list": said("call do_it now")})),
        ("plain", "bob", NOW - 100, json!({"interaction_data_list": said("call doXit \\ now")})),
    ] {
        publish_at(&server, user, session, at, more).await;
    }
    let found = async |query: String| -> Vec<String> {
        let page = server.get(&format!("/api/sessions?{query}")).await.ok();
        page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["session_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(found(format!("text={}", encoded("100%"))).await, ["percent"]);
    assert_eq!(found(format!("text={}", encoded("do_it"))).await, ["under"]);
    assert_eq!(found(format!("text={}", encoded("\\"))).await, ["plain"]);
    assert_eq!(found("text=SURE".to_owned()).await, ["number", "percent"], "whatever the case");
    assert_eq!(found("text=+".to_owned()).await.len(), 4, "blank is no filter");
    assert_eq!(found("user_id=bob".to_owned()).await, ["plain", "under"]);
    assert_eq!(found("source=web".to_owned()).await, ["percent"]);
    assert_eq!(found("agent_version=v9".to_owned()).await, ["number"]);
    assert_eq!(
        found(format!("start_time={}&end_time={}", NOW - 300, NOW - 100)).await,
        ["under", "number"]
    );
    assert_eq!(
        found("start_time=2026-01-15T11:57:00Z&user_id=ada".to_owned()).await,
        Vec::<String>::new()
    );
    let bad = server.get("/api/sessions?cursor=nonsense").await.input_problems();
    assert_eq!(bad, [("/cursor".to_owned(), "bad_form".to_owned())]);
}

/// With no time at all, every answer is of the sessions that were looked at first.
#[apply(both_backends)]
async fn a_list_that_looks_for_a_text_ends_in_time_and_says_where_to_go_on(t: TestApp) {
    const SESSIONS: i64 = 350;
    let hurried = t.replica_with(|s| s.sessions.list_milliseconds = 0).await;
    let server = hurried.serve().await;
    publish_at(&server, "ada", "first", NOW - 300, json!({})).await;
    let ada = t.subject_in("default", "ada");
    // Many of one second, so that parts end amid it.
    let many = format!(
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {SESSIONS})
         INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
            last_received_at, source, agent_version, request_count, interaction_count)
         SELECT 'default', {ada}, 's' || (1000 + n), 1, {NOW} - 100, 'r', {NOW} - 100 + n / 150, {NOW}, 'web', 'v1', 0, 0 FROM c"
    );
    t.sql(&many).await.unwrap();
    let said = json!({"interaction_data_list": [{"content": "the zebra"}]});
    for (user, session, at) in [("bob", "early", NOW - 200), ("cem", "late", NOW - 10)] {
        publish_at(&server, user, session, at, said.clone()).await;
    }
    for (order, first, second) in [("newest", "late", "early"), ("oldest", "early", "late")] {
        let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
        loop {
            let path = format!("/api/sessions?text=zebra&count=true&order={order}{cursor}");
            let page = server.get(&path).await.ok();
            found.extend(session_ids(&page).into_iter().map(str::to_owned));
            pages += 1;
            assert_eq!(page["total"], Value::Null, "not counted in time");
            assert_eq!(page["searched_to"].is_null(), page["next_cursor"].is_null());
            let Some(next) = page["next_cursor"].as_str() else { break };
            let looked_to = page["searched_to"].as_i64().unwrap();
            assert!((NOW - 300..NOW).contains(&looked_to), "{looked_to}");
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, [first, second]);
        assert!(pages > 2, "one part in an answer: {pages}");
    }
    // One person's few sessions and those that are named need no search.
    for filter in ["user_id=ada&source=web&limit=3", "session_ids=s1001,s1349,nobody&source=web"] {
        let page = server.get(&format!("/api/sessions?{filter}")).await.ok();
        assert_eq!(page["searched_to"], Value::Null, "{filter}");
    }
    let unhurried = t.serve().await;
    let page = unhurried.get("/api/sessions?text=zebra&count=true").await.ok();
    assert_eq!((session_ids(&page), &page["total"]), (vec!["late", "early"], &json!(2)));
    assert_eq!((&page["searched_to"], &page["next_cursor"]), (&Value::Null, &Value::Null));
}

#[apply(both_backends)]
async fn the_session_list_filters_by_experiment_and_arm(t: TestApp) {
    let server = t.serve().await;
    let start = json!({"experiment_id": "exp", "holdout_percentage": 50});
    server.post("/api/retrieval_experiments", &start).await.ok();
    for (n, user) in ["ada", "bob", "cem", "dua", "eve", "fay"].iter().enumerate() {
        let at = NOW - i64::try_from(n).unwrap();
        publish_at(&server, user, "without", at, json!({})).await;
        let org = "default".into();
        let arm = service::experiments::assign(&org, "exp", &(*user).into(), 50.0);
        let named =
            json!({"retrieval_experiment_id": "exp", "retrieval_experiment_arm": arm.as_str()});
        publish_at(&server, user, arm.as_str(), at, named).await;
    }
    let found = async |query: &str| -> Vec<String> {
        let page = server.get(&format!("/api/sessions?count=true&{query}")).await.ok();
        let found: Vec<String> = session_ids(&page).into_iter().map(str::to_owned).collect();
        assert_eq!(page["total"], found.len(), "{query}");
        found
    };
    assert_eq!(found("").await.len(), 12);
    let both = found("experiment_id=exp").await;
    assert_eq!(both.len(), 6);
    assert!(!both.contains(&"without".to_owned()));
    let mut arms = 0;
    for arm in ["treatment", "holdout"] {
        let in_arm = found(&format!("experiment_id=exp&arm={arm}")).await;
        assert!(!in_arm.is_empty() && in_arm.iter().all(|id| id == arm), "{arm}: {in_arm:?}");
        arms += in_arm.len();
    }
    assert_eq!(arms, 6);
    assert_eq!(found("experiment_id=another").await.len(), 0);
    let bad = server.get("/api/sessions?arm=holdout").await.input_problems();
    assert_eq!(bad, [("/arm".to_owned(), "needs_experiment".to_owned())]);
}

#[apply(both_backends)]
async fn two_users_with_the_same_session_id_are_never_mixed(t: TestApp) {
    let server = t.serve().await;
    for user in ["ada", "bob"] {
        let turns = json!([{"content": format!("said by {user}")}]);
        publish_at(&server, user, "shared", NOW - 10, json!({"interaction_data_list": turns}))
            .await;
    }
    let ada = server.get("/api/sessions/ada/shared").await.ok();
    assert_eq!(ada["session"]["request_count"], 1);
    assert!(!ada.to_string().contains("bob"), "{ada}");
    let read = server.post("/api/get_requests", &json!({"session_id": "shared"})).await.ok();
    assert_eq!(session_ids(&read), ["shared", "shared"], "one entry per user");
    for session in read["sessions"].as_array().unwrap() {
        let user = session["requests"][0]["request"]["user_id"].as_str().unwrap();
        assert_eq!(session["requests"][0]["interactions"][0]["content"], format!("said by {user}"));
        assert_eq!(session["requests"].as_array().unwrap().len(), 1);
    }
}

#[apply(both_backends)]
async fn a_session_is_found_whatever_its_id_is_made_of(t: TestApp) {
    let server = t.serve().await;
    for (user, session) in [
        ("ada/lovelace", "2026/01/15"),
        ("ada lovelace", "a b"),
        ("Адa", "сессия №1"),
        ("a%2Fb", "100%"),
        ("?q=1", "#frag"),
        ("a+b", "&x=y"),
        ("🦀", "\"quoted'\\"),
    ] {
        publish_at(&server, user, session, NOW - 1, json!({})).await;
        let path = format!("/api/sessions/{}/{}", encoded(user), encoded(session));
        let found = server.get(&path).await.ok();
        assert_eq!(
            (&found["session"]["user_id"], &found["session"]["session_id"]),
            (&json!(user), &json!(session))
        );
        assert_eq!(found["interactions"].as_array().unwrap().len(), 2);
    }
    server.get("/api/sessions/ada/none").await.problem(404, "not_found");
    server.get("/api/sessions/none/2026%2F01%2F15").await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn ids_no_session_can_have_are_simply_not_found(t: TestApp) {
    let server = t.serve().await;
    let long = "x".repeat(5000);
    for path in ["a%00b/s", "a/s%00", "%FF/s", "a/%C3", &format!("a/{long}")] {
        server.get(&format!("/api/sessions/{path}")).await.problem(404, "not_found");
    }
    // A cursor that this server never gave out.
    let forged = r#"[1,"a\u0000","b"]"#.bytes().map(|b| format!("{b:02x}")).collect::<String>();
    let problems = server.get(&format!("/api/sessions?cursor={forged}")).await.input_problems();
    assert_eq!(problems, [("/cursor".to_owned(), "bad_form".to_owned())]);
}

#[apply(both_backends)]
async fn learning_status_tells_where_a_request_stands(t: TestApp) {
    let server = t.serve().await;
    publish_at(&server, "ada", "s", NOW, json!({"request_id": "r 1", "evaluation_only": true}))
        .await;
    let status = server.get("/api/learning_status?request_id=r%201").await.ok();
    assert_eq!((&status["request_id"], &status["status"]), (&json!("r 1"), &json!("done")));
    assert!(status["reason"].as_str().unwrap().contains("evaluation_only"));
    server.get("/api/learning_status?request_id=r2").await.problem(404, "not_found");
    let problems = server.get("/api/learning_status").await.input_problems();
    assert_eq!(problems, [("/request_id".to_owned(), "required".to_owned())]);
}

/// The sessions of an export, in order.
async fn exported(server: &Server, query: &str) -> Vec<Value> {
    let answer = server.inspecting().get(&format!("/api/sessions/export{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[apply(both_backends)]
async fn an_export_has_every_session_once_and_whole(t: TestApp) {
    let server = t.serve().await;
    // More than a page of sessions, two users with the same session ids.
    for n in 0..130 {
        let user = if n % 2 == 0 { "ada" } else { "bob" };
        let more = json!({"source": if n < 100 { "web" } else { "app" }});
        publish_at(&server, user, &format!("s{}", n / 2), NOW - 1000 + n, more).await;
    }
    publish_at(&server, "ada", "s7", NOW - 1, json!({"request_id": "second"})).await;
    let outcome =
        json!({"user_id": "ada", "session_id": "s7", "outcome": "success", "occurred_at": NOW});
    server.post("/api/session_outcome", &outcome).await.ok();
    let all = exported(&server, "").await;
    let key =
        |line: &Value| (line["session"]["user_id"].clone(), line["session"]["session_id"].clone());
    assert_eq!(all.len(), 130);
    assert_eq!(
        all.iter().map(|line| format!("{:?}", key(line))).collect::<BTreeSet<_>>().len(),
        130
    );
    let grown = all.iter().find(|line| key(line) == (json!("ada"), json!("s7"))).unwrap();
    assert_eq!(grown["requests"].as_array().unwrap().len(), 2);
    assert_eq!(grown["interactions"].as_array().unwrap().len(), 4);
    assert_eq!(grown["outcomes"][0]["outcome"], "success");
    let page = server.inspecting().get("/api/sessions/ada/s7").await.ok();
    assert_eq!(grown["interactions"], page["interactions"], "the same turns as on its page");
    assert_eq!(exported(&server, "?user_id=bob").await.len(), 65);
    assert_eq!(exported(&server, "?source=app").await.len(), 30);
    assert_eq!(exported(&server, &format!("?start_time={}", NOW - 900)).await.len(), 31);
    assert!(exported(&server, "?user_id=nobody").await.is_empty());
    let wrong = server.inspecting().get("/api/sessions/export?start_time=soon").await;
    assert_eq!(wrong.input_problems(), [("/start_time".to_owned(), "not_a_time".to_owned())]);
}

#[apply(both_backends)]
async fn the_call_behind_a_turn_is_kept_with_it(t: TestApp) {
    let server = t.serve().await;
    let usage = json!({"model": "m-1", "input_tokens": 812, "output_tokens": 40, "cost_usd": 0.0031,
        "latency_ms": 1450});
    let turns = json!([{"content": "q"}, {"role": "Assistant", "content": "a", "usage": usage},
        {"role": "Assistant", "content": "b", "usage": {}}]);
    publish_at(&server, "ada", "s", NOW, json!({"interaction_data_list": turns})).await;
    let read = server.post("/api/get_interactions", &json!({"user_id": "ada"})).await.ok();
    let found: Vec<&Value> =
        read["interactions"].as_array().unwrap().iter().map(|turn| &turn["usage"]).collect();
    assert_eq!(found, [&Value::Null, &usage, &Value::Null], "an empty one says nothing");
    let mut body = two_turns("ada", "s");
    body["interaction_data_list"][1]["usage"] =
        json!({"input_tokens": -1, "cost_usd": "much", "latency_ms": 1.5});
    let mut problems = server.publish(&body).await.input_problems();
    problems.sort();
    let at = |name: &str| format!("/interaction_data_list/1/usage/{name}");
    let expected = [
        (at("cost_usd"), "wrong_type".to_owned()),
        (at("input_tokens"), "out_of_range".to_owned()),
        (at("latency_ms"), "wrong_type".to_owned()),
    ];
    assert_eq!(problems, expected);
}
