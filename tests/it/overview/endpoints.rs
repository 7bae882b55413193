//! The endpoints around the overview: what they refuse, hero states, imported scores, exports, long lists.

use std::collections::BTreeSet;

use judge::recorded::RecordedJudge;
use serde_json::{Value, json};
use service::credentials::Role;

use super::random::DAY;
use crate::evaluation::shadow::{Preferring, Prefers, with_shadow};
use crate::evaluation::{talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

const PATH: &str = "/api/get_evaluation_overview";

async fn overview(server: &Server, body: Value) -> Value {
    server.post(PATH, &body).await.ok()
}

/// The window of everything up to now.
fn window(t: &TestApp) -> Value {
    json!({"from_ts": NOW - 60 * DAY, "to_ts": t.clock().now()})
}

#[apply(both_backends)]
async fn bad_windows_and_sets_are_named(t: TestApp) {
    let server = t.serve().await;
    for (body, pointer, code) in [
        (json!({"from_ts": 2, "to_ts": 1}), "/to_ts", "before_start"),
        (json!({"from_ts": -1, "to_ts": 1}), "/from_ts", "out_of_range"),
        (json!({"from_ts": 0, "to_ts": 1_000_000_000_000_i64}), "/to_ts", "out_of_range"),
        (json!({"from_ts": 0}), "/to_ts", "required"),
        (json!({"from_ts": "yesterday", "to_ts": 1}), "/from_ts", "not_a_time"),
        (json!({"from_ts": 0, "to_ts": 1, "bucket": "month"}), "/bucket", "not_allowed"),
        (
            json!({"from_ts": 0, "to_ts": 1, "source_sets": [{"label": "a", "sources": ["x"]}, {"label": "a", "sources": ["y"]}]}),
            "/source_sets/1/label",
            "duplicate",
        ),
        (
            json!({"from_ts": 0, "to_ts": 1, "source_sets": [{"label": "a", "sources": ["x"]}, {"label": "b", "sources": ["y", "x"]}]}),
            "/source_sets/1/sources/1",
            "duplicate",
        ),
        (
            json!({"from_ts": 0, "to_ts": 1, "source_sets": [{"label": "a", "sources": ["x", "x"]}]}),
            "/source_sets/0/sources/1",
            "duplicate",
        ),
        (
            json!({"from_ts": 0, "to_ts": 1, "source_sets": [{"label": "a", "sources": []}]}),
            "/source_sets/0/sources",
            "too_short",
        ),
        (
            json!({"from_ts": 0, "to_ts": 1, "source_sets": [{"label": "", "sources": ["x"]}]}),
            "/source_sets/0/label",
            "empty",
        ),
        (json!({"from_ts": 0, "to_ts": 1, "agent_version": 2}), "/agent_version", "wrong_type"),
        (json!({"from_ts": 0, "to_ts": 1, "agent_version": " "}), "/agent_version", "empty"),
        (
            json!({"from_ts": 0, "to_ts": 1, "agent_version": "v".repeat(256)}),
            "/agent_version",
            "too_long",
        ),
        (
            json!({"from_ts": 0, "to_ts": 1, "agent_version": "v\n2"}),
            "/agent_version",
            "control_character",
        ),
    ] {
        let problems = server.post(PATH, &body).await.input_problems();
        assert_eq!(problems, [(pointer.to_owned(), code.to_owned())], "{body}");
    }
    let widest =
        overview(&server, json!({"from_ts": 0, "to_ts": 9_999_999_999_i64, "bucket": "day"})).await;
    insta::assert_json_snapshot!("an_empty_overview", widest);
}

#[apply(both_backends)]
async fn the_judges_of_the_newest_verdicts_are_named(t: TestApp) {
    let server = t.serve().await;
    for session in ["one", "two", "three"] {
        server.publish(&talk("ada", session, true)).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let window = json!({"from_ts": 0, "to_ts": 9_999_999_999_i64});
    let judges = async || overview(&server, window.clone()).await["judges"].clone();
    assert_eq!(judges().await, json!([{"judge": "rules", "is_rules": true, "n": 3}]));
    // As if a model had judged two of them.
    let set = "UPDATE evaluation_results SET judge = 'openai/gpt-5-mini' WHERE session_id <> 'one'";
    t.sql(set).await.unwrap();
    assert_eq!(
        judges().await,
        json!([
            {"judge": "openai/gpt-5-mini", "is_rules": false, "n": 2}, {"judge": "rules", "is_rules": true, "n": 1}
        ])
    );
}

#[apply(both_backends)]
async fn one_version_of_the_agent_is_all_there_is(t: TestApp) {
    let t = t.judged_by(std::sync::Arc::new(RecordedJudge::new([]))).await;
    let server = t.serve().await;
    let publish = async |user: &str, session: &str, version: &str, good: bool| {
        let mut body = talk(user, session, good);
        body["agent_version"] = json!(version);
        body["interaction_data_list"][1]["citations"] =
            json!([{"kind": "playbook", "real_id": "rule", "title": version}]);
        server.publish(&body).await.ok();
    };
    publish("ada", "old", "v1", true).await;
    publish("bob", "new", "v2", false).await;
    publish("eve", "both", "v1", true).await;
    t.clock().advance(60);
    publish("eve", "both", "v2", true).await;
    t.clock().advance(600);
    work(&t).await;
    let again = json!({"session_id": "both", "user_id": "eve", "agent_version": "v1"});
    server.post("/api/evaluations/grade_on_demand", &again).await.ok();
    let of = async |version: &str| {
        let mut body = window(&t);
        body["agent_version"] = json!(version);
        body["source_sets"] = json!([{"label": "all", "sources": [""]}]);
        overview(&server, body).await
    };
    for (version, ids) in
        [("v1", json!(["old", "both"])), ("v2", json!(["new", "both"])), ("v3", json!([]))]
    {
        let found = of(version).await;
        let n = ids.as_array().unwrap().len();
        assert_eq!(
            (&found["hero"]["n"], &found["available_agent_versions"]),
            (&json!(n), &json!(["v1", "v2"]))
        );
        let set = &found["source_set_comparison"]["sets"][0];
        assert_eq!((&set["session_ids"], &set["session_count"]), (&ids, &json!(n)));
        assert_eq!(
            found["source_set_comparison"]["available_sources"].as_array().unwrap().len(),
            n.min(1)
        );
        let recent = found["recent_results"].as_array().unwrap();
        assert_eq!(recent.len(), n);
        assert!(recent.iter().all(|result| result["agent_version"] == version));
        let rules = found["rule_attribution"].as_array().unwrap();
        assert_eq!(rules.len(), n.min(1));
        // Sessions of the same second are in no promised order.
        let set = |ids: &Value| -> BTreeSet<String> {
            ids.as_array().unwrap().iter().map(Value::to_string).collect()
        };
        assert!(rules.iter().all(|rule| set(&rule["cited_session_ids"]) == set(&ids)));
        let absent = if version == "v1" { "\"new\"" } else { "\"old\"" };
        assert!(!found.to_string().contains(absent), "{found}");
    }
    assert_eq!(of("v3").await["hero"]["state"], "empty");
    assert_eq!(of(" v1 ").await, of("v1").await, "ids are trimmed");
    let mut all = window(&t);
    let found = overview(&server, all.clone()).await;
    assert_eq!(found["hero"]["n"], 3, "a session with two verdicts counts once");
    all["agent_version"] = Value::Null;
    assert_eq!(overview(&server, all).await, found);
}

#[apply(both_backends)]
async fn every_hero_state_is_reached(t: TestApp) {
    let t = t.judged_by(std::sync::Arc::new(Preferring(Prefers::First))).await;
    let server = t.serve().await;
    let state = async |body: Value| {
        overview(&server, body).await["hero"]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(window(&t)).await, "empty");
    server.publish(&talk("ada", "plain", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(state(window(&t)).await, "shadow_off");
    server.publish(&with_shadow("ada", "compared")).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(state(window(&t)).await, "early");
    let found = overview(&server, window(&t)).await;
    let total = &found["shadow_win_rate_trend"]["window_total"];
    assert_eq!(
        (&total["ties"], &total["flip_rate"], &total["win_rate"]),
        (&json!(2), &json!(1.0), &json!(0.0))
    );
    assert_eq!(
        (&found["hero"]["shadow_success_rate_pp"], &found["hero"]["delta_pp"]),
        (&json!(50.0), &json!(0.0))
    );
    let mut without = window(&t);
    without["include_shadow"] = json!(false);
    assert_eq!(state(without.clone()).await, "shadow_off");
    assert_eq!(overview(&server, without).await["shadow_win_rate_trend"], Value::Null);
    t.clock().advance(15 * DAY);
    assert_eq!(state(window(&t)).await, "early", "old enough, but two comparisons");
    let ada = t.subject_in("default", "ada");
    let copies = (0..500).map(|n| format!("('default', {ada}, 'compared', {}, 'v1', 1, 'v1', TRUE, '1', FALSE, '', {NOW}, 1, 'offline', '', 0, 0, 0, 1)", -1 - n));
    let copies = copies.collect::<Vec<_>>().join(", ");
    t.sql(&format!("INSERT INTO shadow_verdicts (org_id, subject, session_id, interaction_id, judge_prompt_version, epoch, agent_version, service_is_request_1, better_request, is_significantly_better, comparison_reason, created_at, judged_at, judge, rubric_hash, input_tokens, output_tokens, latency_ms, attempts) VALUES {copies}")).await.unwrap();
    assert_eq!(state(window(&t)).await, "full");
    // Another rubric hides them all.
    for table in ["shadow_verdicts", "shadow_sessions"] {
        t.sql(&format!("UPDATE {table} SET judge_prompt_version = 'v0'")).await.unwrap();
    }
    let found = overview(&server, window(&t)).await;
    assert_eq!(found["hero"]["state"], "shadow_off");
    assert_eq!(found["hero"]["shadow_success_rate_pp"], Value::Null);
    assert_eq!(found["shadow_win_rate_trend"]["window_total"]["n"], 0);
    assert_eq!(crate::overview::wrong_sums(&t).await, []);
}

#[apply(both_backends)]
async fn imported_scores_fill_their_tiles(t: TestApp) {
    let t = t.judged_by(std::sync::Arc::new(RecordedJudge::new([]))).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "s1", true)).await.ok();
    server.publish(&talk("bob", "s2", true)).await.ok();
    let path = "/api/imported_scores";
    let score = |run: &str, value: f64, ts: i64| json!({"scorer_name": "csat", "session_id": "s1", "value": value, "ts": ts, "source_run_id": run});
    let first = server.post(path, &score("a", 4.0, NOW - 10)).await.ok();
    assert_eq!((&first["recorded"], &first["user_id"]), (&json!(true), &json!("ada")));
    assert_eq!(server.post(path, &score("a", 4.0, NOW - 10)).await.ok()["recorded"], false);
    server.post(path, &score("a", 5.0, NOW - 10)).await.problem(409, "source_run_id_reused");
    server.post(path, &score("b", 2.0, NOW - 20)).await.ok();
    server.post(path, &score("c", 1.0, NOW - 9 * DAY)).await.ok();
    let tiles =
        overview(&server, json!({"from_ts": NOW - 30 * DAY, "to_ts": NOW})).await["partner_tiles"]
            .clone();
    assert_eq!(tiles, json!([{"scorer_name": "csat", "current": 3.0, "n": 2, "delta": 2.0}]));
    let mut unknown = score("d", 1.0, NOW);
    unknown["session_id"] = json!("nope");
    server.post(path, &unknown).await.problem(404, "not_found");
    server.post(path, &json!({"value": "much"})).await.problem(422, "invalid_input");
    let other = server.with_token(&t.key("two", Role::Agent).await);
    other.post(path, &score("e", 1.0, NOW)).await.problem(404, "not_found");
    let dashboard = server.with_token(&t.key("default", Role::Dashboard).await);
    dashboard.publish(&talk("bob", "s1", true)).await.ok();
    dashboard.post(path, &score("f", 1.0, NOW)).await.problem(409, "session_ambiguous");
    dashboard
        .delete("/api/delete_session", &json!({"session_id": "s1", "user_id": "ada"}))
        .await
        .ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM imported_scores").await, 0);
    t.sql("UPDATE subjects SET state = 'erasing' WHERE user_id = 'bob'").await.unwrap();
    let mut of_bob = score("g", 1.0, NOW);
    of_bob["user_id"] = json!("bob");
    dashboard.post(path, &of_bob).await.problem(409, "subject_erasing");
}

#[apply(both_backends)]
async fn exports_have_every_verdict_of_the_window(t: TestApp) {
    let t = t.judged_by(std::sync::Arc::new(RecordedJudge::new([]))).await;
    let server = t.serve().await;
    for (user, source, good) in [("ada", "web", true), ("bob", "", false), ("eve", "app", true)] {
        let mut body = talk(user, "s, \"1\"", good);
        body["source"] = json!(source);
        server.publish(&body).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let path = |rest: &str| format!("/api/evaluations/export?from_ts={NOW}&to_ts={NOW}&{rest}");
    let csv = server.get(&path("format=csv")).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert!(csv.headers["content-disposition"].to_str().unwrap().contains("evaluations.csv"));
    let lines: Vec<_> = csv.text.split("\r\n").collect();
    assert_eq!(lines.len(), 5, "a header, three verdicts and the end: {}", csv.text);
    assert!(lines[0].starts_with("result_id,user_id,session_id,agent_version,source,created_at"));
    assert!(lines[1].contains("\"s, \"\"1\"\"\""), "{}", lines[1]);
    let ndjson = server.get(&path("format=ndjson")).await;
    let rows: Vec<Value> =
        ndjson.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let users: std::collections::BTreeSet<_> =
        rows.iter().map(|row| row["user_id"].as_str().unwrap()).collect();
    assert_eq!(users.into_iter().collect::<Vec<_>>(), ["ada", "bob", "eve"]);
    let bob = rows.iter().find(|row| row["user_id"] == "bob").unwrap();
    assert_eq!(
        (&bob["is_success"], &bob["user_turns_to_resolution"]),
        (&json!(false), &Value::Null)
    );
    let some = server.get(&path("format=ndjson&sources=web,")).await.text;
    assert_eq!(some.lines().count(), 2, "web, and requests without a source");
    assert_eq!(
        server.get("/api/evaluations/export?from_ts=0&to_ts=1&format=ndjson").await.text,
        ""
    );
    for bad in ["format=xls", "format=csv&from_ts=9", ""] {
        let answer = server.get(&format!("/api/evaluations/export?to_ts=1&{bad}")).await;
        answer.problem(422, "invalid_input");
    }
    let parquet = server.request("GET", &path("format=parquet")).send().await.unwrap();
    assert_eq!(parquet.headers()["content-type"], "application/vnd.apache.parquet");
    let bytes = parquet.bytes().await.unwrap();
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let reader = SerializedFileReader::new(bytes).unwrap();
    let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(read.len(), 3);
    for (row, wanted) in read.iter().zip(&rows) {
        assert_eq!(row.get_long(0).unwrap(), wanted["result_id"].as_i64().unwrap());
        assert_eq!(row.get_string(2).unwrap(), wanted["session_id"].as_str().unwrap());
        assert_eq!(row.get_bool(7).unwrap(), wanted["is_success"].as_bool().unwrap());
        assert_eq!(row.get_long(11).ok(), wanted["user_turns_to_resolution"].as_i64());
    }
}

#[apply(both_backends)]
async fn long_lists_come_in_pages_and_whole(t: TestApp) {
    // More than two pages of sessions, two users with the same ids.
    let t = t.judged_by(std::sync::Arc::new(RecordedJudge::new([]))).await;
    let server = t.serve().await;
    server.publish(&talk("ada", "first", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let columns = "org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type, failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens, latency_ms, attempts, flags, source, is_newest";
    let ada = t.subject_in("default", "ada");
    for part in 0..12 {
        let rows: Vec<_> = (0..1000).map(|n| {
            let n = part * 1000 + n;
            format!("('default', {ada}, 'x{n}', 'agent_success', 'v1', 1, TRUE, '', '', 0, FALSE, 'complete', {}, 1, 1, 1, 'offline', 'v1', '', 0, 0, 0, 1, '[]', 'web', TRUE)", NOW - n / 7)
        }).collect();
        t.sql(&format!("INSERT INTO evaluation_results ({columns}) VALUES {}", rows.join(", ")))
            .await
            .unwrap();
        let cited: Vec<_> = (0..1000)
            .map(|n| {
                let n = part * 1000 + n;
                format!(
                    "('default', {ada}, 'x{n}', 'playbook', 'rule', 1, '', 'web', {}, TRUE)",
                    NOW - n / 7
                )
            })
            .collect();
        t.sql(&format!("INSERT INTO cited_rules (org_id, subject, session_id, kind, rule_id, epoch, title, source, created_at, is_success) VALUES {}", cited.join(", "))).await.unwrap();
    }
    service::evaluation::overview::fold_all(&t.app).await.unwrap();
    let body = json!({"from_ts": NOW - DAY, "to_ts": NOW, "source_sets": [{"label": "both", "sources": ["web", ""]}, {"label": "none", "sources": ["app"]}]});
    let found = overview(&server, body.clone()).await;
    let comparison = &found["source_set_comparison"];
    let set = &comparison["sets"][0];
    assert_eq!(set["session_count"], 12_001);
    let unique: std::collections::BTreeSet<&str> =
        set["session_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!((unique.len(), set["session_ids"].as_array().unwrap().len()), (12_001, 12_001));
    assert_eq!(comparison["sets"][1]["session_ids"], json!([]));
    assert_eq!(comparison["source_sessions"][1]["sessions"].as_array().unwrap().len(), 12_000);
    assert_eq!(comparison["source_sessions"][1]["sessions"][0]["user_id"], "ada");
    assert_eq!(found["rule_attribution"][0]["cited_session_ids"].as_array().unwrap().len(), 12_000);
    let mut versioned = body.clone();
    versioned["agent_version"] = json!("v1");
    assert_eq!(overview(&server, versioned).await, found, "there is no other version");
    let mut short = body;
    short["include_session_ids"] = json!(false);
    let answer = server.post(PATH, &short).await;
    assert!(answer.text.len() < 100_000, "{} bytes", answer.text.len());
    assert_eq!(answer.ok()["source_set_comparison"]["sets"][0]["session_ids"], json!([]));
}

/// A session that was judged for two versions of the agent counts once: by the verdict on the version of its latest
/// request, whichever was judged last.
#[apply(both_backends)]
async fn a_session_counts_by_the_verdict_on_its_latest_version(t: TestApp) {
    let server = t.serve().await;
    for (id, at, version, said) in [
        ("r1", NOW - 200, "v1", "Perfect, thank you very much!"),
        ("r2", NOW - 100, "v2", "That is wrong, useless."),
    ] {
        let body = json!({
            "user_id": "ada", "session_id": "s1", "request_id": id, "agent_version": version, "created_at": at,
            "interaction_data_list": [
                {"role": "User", "content": "Where is my parcel?"},
                {"role": "Assistant", "content": "It comes tomorrow.",
                 "citations": [{"kind": "playbook", "real_id": "p1", "title": "Parcels"}]},
                {"role": "User", "content": said},
            ],
        });
        server.publish(&body).await.ok();
    }
    let grade = async |version: &str| {
        let body = json!({"session_id": "s1", "user_id": "ada", "agent_version": version, "refresh": true});
        let graded = server.post("/api/evaluations/grade_on_demand", &body).await.ok();
        assert!(graded["result_id"].is_i64(), "{graded}");
    };
    let verdicts = async |all: bool| -> Vec<String> {
        let body = json!({"all_versions": all});
        let found = server.post("/api/get_agent_success_evaluation_results", &body).await.ok();
        let rows = found["agent_success_evaluation_results"].as_array().unwrap();
        rows.iter().map(|row| row["agent_version"].as_str().unwrap().to_owned()).collect()
    };
    let overview = async |version: Option<&str>| -> i64 {
        let body = json!({"from_ts": NOW - 1000, "to_ts": NOW, "agent_version": version});
        let found = server.post("/api/get_evaluation_overview", &body).await.ok();
        assert_eq!(found["recent_results"].as_array().unwrap().len() as i64, found["hero"]["n"]);
        found["hero"]["n"].as_i64().unwrap()
    };
    grade("v1").await;
    assert_eq!(verdicts(false).await, ["v1"], "the only one there is");
    grade("v2").await;
    assert_eq!(verdicts(false).await, ["v2"]);
    t.clock().advance(5);
    grade("v1").await;
    assert_eq!(verdicts(false).await, ["v2"], "a regrade of an older version changes nothing");
    assert_eq!(verdicts(true).await.len(), 2);
    assert_eq!(
        (overview(None).await, overview(Some("v1")).await, overview(Some("v2")).await),
        (1, 1, 1)
    );
    server.delete("/api/delete_request", &json!({"request_id": "r2"})).await.ok();
    assert_eq!(verdicts(false).await, ["v1"], "no request of the later version is left");
    assert_eq!(overview(None).await, 1);
    assert_eq!(super::wrong_sums(&t).await, []);
}
