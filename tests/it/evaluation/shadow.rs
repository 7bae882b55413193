//! Shadow comparisons: what is judged, in which order, and what becomes of it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use judge::offline::OfflineJudge;
use judge::{Call, Input, Judge, JudgeAnswer, JudgeError, Usage};
use serde_json::{Value, json};

use super::{results, talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

/// Preference of a test judge between two responses.
#[derive(Clone, Copy)]
pub enum Prefers {
    First,
    /// The response that has this text in it, by far.
    Text(&'static str),
    /// Like `Text`, and says that it is a close call.
    Slightly(&'static str),
}

pub struct Preferring(pub Prefers);

impl Judge for Preferring {
    fn provider(&self) -> &str {
        "test"
    }

    fn label(&self) -> &str {
        "test"
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(async move {
            let Input::Shadow { response_1, .. } = &call.input else {
                let mut answer = OfflineJudge.call(call).await?;
                if answer.json["outcome"] == "undecided" {
                    answer.json["outcome"] = json!("success");
                    answer.json["undecided_reason"] = Value::Null;
                }
                return Ok(answer);
            };
            let (first, much) = match self.0 {
                Prefers::First => (true, true),
                Prefers::Text(text) => (response_1.contains(text), true),
                Prefers::Slightly(text) => (response_1.contains(text), false),
            };
            Ok(JudgeAnswer {
                json: json!({
                    "comparison_reason": "as told", "better_request": if first { "1" } else { "2" },
                    "is_significantly_better": much,
                }),
                model: "test".to_owned(),
                usage: Usage::default(),
                usage_is_estimated: false,
                latency: std::time::Duration::ZERO,
                finish_reason: "stop".to_owned(),
                problem: None,
            })
        })
    }
}

/// A session with two responses that have another one beside them.
pub fn with_shadow(user: &str, session: &str) -> Value {
    json!({
        "user_id": user, "session_id": session, "agent_version": "v1",
        "interaction_data_list": [
            {"role": "User", "content": "Where is my parcel?", "shadow_content": "not a response"},
            {"role": "Assistant", "content": "regular: Tuesday", "shadow_content": "shadow: no idea"},
            {"role": "User", "content": "Perfect, that works, thank you very much!"},
            {"role": "Assistant", "content": "regular: welcome", "shadow_content": "shadow: bye"},
        ]
    })
}

pub async fn recent(server: &Server) -> Vec<Value> {
    let answer = server.get("/api/evaluations/shadow_comparisons/recent?limit=100").await.ok();
    answer["verdicts"].as_array().unwrap().clone()
}

fn is_win(verdict: &Value) -> bool {
    let better = verdict["output"]["better_request"].as_str().unwrap();
    better != "tie" && (better == "1") == verdict["service_is_request_1"].as_bool().unwrap()
}

#[apply(both_backends)]
async fn a_judge_that_prefers_the_first_position_finds_only_ties(t: TestApp) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::First))).await;
    let server = t.serve().await;
    for n in 0..20 {
        server.publish(&with_shadow(&format!("u{n}"), "s")).await.ok();
    }
    work(&t).await;
    let verdicts = recent(&server).await;
    assert_eq!(verdicts.len(), 40, "each response once, no user turn");
    for verdict in &verdicts {
        assert_eq!(verdict["output"]["better_request"], "tie");
        assert_eq!(verdict["output"]["is_significantly_better"], false);
        assert_eq!(verdict["order_consistent"], false);
    }
    let first: Vec<_> =
        verdicts.iter().map(|v| v["service_is_request_1"].as_bool().unwrap()).collect();
    assert!(first.contains(&true) && first.contains(&false), "the first order is random");
    t.clock().advance(600);
    work(&t).await;
    assert!(results(&server).await.iter().all(|r| r["regular_vs_shadow"] == "tied"));
}

#[apply(both_backends)]
async fn a_judge_that_prefers_the_service_finds_only_wins(t: TestApp) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::Text("regular")))).await;
    let server = t.serve().await;
    server.publish(&with_shadow("ada", "s1")).await.ok();
    work(&t).await;
    let verdicts = recent(&server).await;
    assert_eq!(verdicts.len(), 2);
    assert!(verdicts.iter().all(is_win));
    assert!(
        verdicts.iter().all(
            |v| v["output"]["is_significantly_better"] == true && v["order_consistent"] == true
        )
    );
    assert_eq!(verdicts[0]["judge_prompt_version"], "v1");
    assert_eq!(verdicts[0]["created_at"], "2026-01-15T12:00:00Z");
    assert!(verdicts[0]["interaction_id"].is_string());
    // One call instead of two, and no verdict on the order.
    server.post("/api/update_config", &json!({"shadow_both_orders": false})).await.ok();
    server.publish(&with_shadow("ada", "s2")).await.ok();
    work(&t).await;
    let verdicts = recent(&server).await;
    assert_eq!(verdicts.len(), 4);
    assert!(
        verdicts
            .iter()
            .filter(|v| v["session_id"] == "s2")
            .all(|v| v["order_consistent"].is_null() && v["attempts"] == 1)
    );
    t.clock().advance(600);
    work(&t).await;
    assert!(results(&server).await.iter().all(|r| r["regular_vs_shadow"] == "regular_is_better"));
}

#[apply(both_backends)]
async fn preferences_follow_their_turns_and_go_with_them(t: TestApp) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::Slightly("Tuesday")))).await;
    let server = t.serve().await;
    let ids = server.publish(&with_shadow("ada", "s1")).await.ok()["interaction_ids"].clone();
    server.publish(&with_shadow("bob", "s1")).await.ok();
    t.clock().advance(600);
    work(&t).await;
    let of = async |user: &str| {
        let session = server.get(&format!("/api/sessions/{user}/s1")).await.ok();
        assert_eq!(session["evaluation_results"].as_array().unwrap().len(), 1);
        (
            session["evaluation_results"][0]["regular_vs_shadow"].clone(),
            session["shadow_comparisons"].as_array().unwrap().len(),
        )
    };
    // "regular: Tuesday" wins slightly; of the other pair neither has the word, so the orders disagree.
    assert_eq!(of("ada").await, (json!("regular_is_slightly_better"), 2));
    server
        .delete("/api/delete_interaction", &json!({"user_id": "ada", "interaction_id": ids[1]}))
        .await
        .ok();
    assert_eq!(of("ada").await, (json!("tied"), 1));
    server
        .delete("/api/delete_interaction", &json!({"user_id": "ada", "interaction_id": ids[3]}))
        .await
        .ok();
    assert_eq!(of("ada").await, (Value::Null, 0));
    assert_eq!(of("bob").await, (json!("regular_is_slightly_better"), 2));
    server.delete("/api/delete_session", &json!({"user_id": "bob", "session_id": "s1"})).await.ok();
    assert!(recent(&server).await.is_empty());
    assert_eq!(t.number("SELECT COUNT(*) FROM shadow_sessions").await, 0);
}

#[apply(both_backends)]
async fn another_rubric_hides_the_old_verdicts_and_a_regeneration_brings_new_ones(t: TestApp) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::Text("regular")))).await;
    let server = t.serve().await;
    for user in ["ada", "bob"] {
        server.publish(&with_shadow(user, "s1")).await.ok();
    }
    server.publish(&talk("eve", "no-shadow", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(recent(&server).await.len(), 4);
    let wrong = json!({"shadow_comparison_judge_prompt_version": "v99"});
    let problems = server.post("/api/update_config", &wrong).await.input_problems();
    assert_eq!(problems[0].1, "unknown_prompt_version");
    // As if the pin had moved on to v1 since.
    for table in ["shadow_verdicts", "shadow_sessions"] {
        t.sql(&format!("UPDATE {table} SET judge_prompt_version = 'v0'")).await.unwrap();
    }
    assert!(recent(&server).await.is_empty());
    assert!(results(&server).await.iter().all(|r| r["regular_vs_shadow"].is_null()));
    assert_eq!(server.get("/api/sessions/ada/s1").await.ok()["shadow_comparisons"], json!([]));
    let window =
        json!({"evaluation_name": "shadow_comparison", "from_ts": NOW - 10, "to_ts": NOW + 10_000});
    let started = server.post("/api/evaluations/regenerate", &window).await.ok();
    assert_eq!(started["total"], 2, "only sessions with something to compare");
    work(&t).await;
    let path = format!("/api/evaluations/regenerate/{}", started["job_id"].as_str().unwrap());
    let status = server.get(&path).await.ok();
    assert_eq!(
        (&status["status"], &status["completed"]),
        (&json!("completed"), &json!(2)),
        "{status}"
    );
    let again = recent(&server).await;
    assert_eq!(again.len(), 4);
    assert!(again.iter().all(is_win));
    assert_eq!(
        results(&server)
            .await
            .iter()
            .filter(|r| r["regular_vs_shadow"] == "regular_is_better")
            .count(),
        2
    );
    // Once more: the same rows, not more of them.
    server.post("/api/evaluations/regenerate", &window).await.ok();
    work(&t).await;
    let ids =
        |verdicts: &[Value]| verdicts.iter().map(|v| v["verdict_id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&recent(&server).await), ids(&again));
    assert_eq!(t.number("SELECT COUNT(*) FROM shadow_verdicts").await, 8);
    server.post("/api/evaluations/grade_on_demand", &json!({"session_id": "no-shadow", "agent_version": "v1", "evaluation_name": "shadow_comparison"})).await.problem(422, "invalid_input");
}

#[apply(both_backends)]
async fn recent_has_its_limits_and_its_thirty_days(t: TestApp) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::First))).await;
    let server = t.serve().await;
    for n in 0..6 {
        server.publish(&with_shadow("ada", &format!("s{n}"))).await.ok();
    }
    work(&t).await;
    let count = async |limit: &str| {
        let answer =
            server.get(&format!("/api/evaluations/shadow_comparisons/recent{limit}")).await.ok();
        answer["verdicts"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 10);
    assert_eq!(
        (count("?limit=0").await, count("?limit=-5").await, count("?limit=3").await),
        (1, 1, 3)
    );
    assert_eq!(count("?limit=1000000000000").await, 12);
    let problems =
        server.get("/api/evaluations/shadow_comparisons/recent?limit=abc").await.input_problems();
    assert_eq!(problems, [("/limit".to_owned(), "wrong_type".to_owned())]);
    t.clock().advance(30 * 86_400);
    assert_eq!(count("?limit=100").await, 12, "the first second of the thirty days");
    t.clock().advance(1);
    assert_eq!(count("?limit=100").await, 0);
}

#[apply(both_backends)]
async fn a_judge_that_is_away_is_asked_again_and_nothing_twice(t: TestApp) {
    use judge::recorded::{RecordedJudge, Scripted};
    let ok = Scripted::Ok(
        json!({"comparison_reason": "", "better_request": "tie", "is_significantly_better": false}),
    );
    let script = [ok.clone(), ok.clone(), Scripted::Status(503), ok.clone(), Scripted::Malformed];
    let judge = Arc::new(RecordedJudge::new(script).then(ok));
    let t = t.judged_by(judge.clone()).await;
    let server = t.serve().await;
    server.publish(&with_shadow("ada", "s1")).await.ok();
    work(&t).await;
    assert_eq!(recent(&server).await.len(), 1, "what was judged is kept");
    for _ in 0..5 {
        t.clock().advance(100);
        work(&t).await;
    }
    assert_eq!(recent(&server).await.len(), 2);
    assert_eq!(
        t.number("SELECT COUNT(*) FROM jobs WHERE kind = 'compare_shadow' AND state = 'done'")
            .await,
        1
    );
    assert_eq!(judge.count(), 2 + 1 + 2 + 2, "the first pair is not judged again");
}

#[apply(both_backends)]
async fn sessions_are_listed_by_their_newest_verdict(t: TestApp) {
    let server = t.serve().await;
    server.publish(&talk("ada", "good", true)).await.ok();
    server.publish(&talk("ada", "bad", false)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    server.publish(&talk("ada", "fresh", true)).await.ok();
    let list = async |verdict: &str| -> Vec<String> {
        let answer = server.get(&format!("/api/sessions?verdict={verdict}")).await.ok();
        answer["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["session_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(list("success").await, ["good"]);
    assert_eq!(list("failure").await, ["bad"]);
    assert_eq!(list("none").await, ["fresh"]);
    server.get("/api/sessions?verdict=perhaps").await.problem(422, "invalid_input");
    let whole = server.get("/api/sessions/ada/good").await.ok();
    assert_eq!(whole["evaluation_results"][0]["is_success"], true);
    assert_eq!(whole["learning_verdicts"], json!([]));
}

#[tokio::test]
async fn without_storage_it_says_so() {
    let t = TestApp::with(crate::support::Backend::Sqlite, |settings| {
        settings.server.storage = "none".to_owned();
    })
    .await;
    let server = t.serve().await;
    let path = "/api/evaluations/shadow_comparisons/recent";
    server.get(path).await.problem(503, "storage_not_configured");
}
