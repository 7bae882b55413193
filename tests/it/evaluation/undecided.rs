//! A judge that abstains: no verdict, a reason, and a share beside every rate.

use serde_json::{Value, json};

use super::{decision, results, talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn hero(server: &Server) -> Value {
    let window = json!({"from_ts": NOW - 86_400, "to_ts": NOW + 86_400});
    server.post("/api/get_evaluation_overview", &window).await.ok()["hero"].clone()
}

/// A session that the rules know nothing about, of one turn each.
fn plain(user: &str, session: &str) -> Value {
    json!({
        "user_id": user, "session_id": session, "agent_version": "v1", "session_finished": true,
        "interaction_data_list": [
            {"role": "User", "content": "When do you open on Sundays?"},
            {"role": "Assistant", "content": "We open at nine."},
        ]
    })
}

fn more(text: &str) -> Value {
    json!({
        "user_id": "ada", "session_id": "s1", "agent_version": "v1", "session_finished": true,
        "interaction_data_list": [{"role": "User", "content": text}]
    })
}

#[apply(both_backends)]
async fn an_abstention_withdraws_the_verdict_and_keeps_its_id(t: TestApp) {
    let server = t.serve().await;
    let mut first = talk("ada", "s1", true);
    first["session_finished"] = json!(true);
    server.publish(&first).await.ok();
    work(&t).await;
    let before = results(&server).await;
    assert_eq!(before.len(), 1);
    assert_eq!(hero(&server).await["judged_share"], 1.0);

    server.publish(&more("Please also send me the invoice of last month.")).await.ok();
    work(&t).await;
    assert!(results(&server).await.is_empty(), "the judge abstained");
    let (decided, reason) = decision(&server, "s1").await;
    assert_eq!(decided, "undecided");
    assert!(reason.contains("stops in the middle") && reason.contains("by rules"), "{reason}");
    let now = hero(&server).await;
    assert_eq!((&now["judged_share"], &now["without_verdict"]), (&json!(0.0), &json!(1)));
    assert_eq!(t.mismatches().await, 0, "sums follow");

    // Looking again changes nothing: the session is the same.
    let judged = t.number("SELECT MAX(judged_at) FROM verdict_gaps").await;
    t.clock().advance(5);
    work(&t).await;
    assert_eq!(t.number("SELECT MAX(judged_at) FROM verdict_gaps").await, judged);

    let answer = json!({
        "user_id": "ada", "session_id": "s1", "agent_version": "v1", "session_finished": true,
        "interaction_data_list": [
            {"role": "Assistant", "content": "Here is the invoice."},
            {"role": "User", "content": "Great, that works. Thank you!"},
        ]
    });
    server.publish(&answer).await.ok();
    work(&t).await;
    let after = results(&server).await;
    assert_eq!(after.len(), 1);
    assert_eq!(after[0]["result_id"], before[0]["result_id"], "the id comes back");
    assert_eq!(t.number("SELECT COUNT(*) FROM verdict_gaps").await, 0);
    assert_eq!(hero(&server).await["judged_share"], 1.0);
    assert_eq!(t.mismatches().await, 0);
}

#[apply(both_backends)]
async fn a_grade_and_a_regeneration_say_so(t: TestApp) {
    let server = t.serve().await;
    server.publish(&plain("ada", "s1")).await.ok();
    let ask = json!({"session_id": "s1", "agent_version": "v1"});
    let grade = server.post("/api/evaluations/grade_on_demand", &ask).await.ok();
    assert_eq!(grade["skipped_reason"], "UNDECIDED");
    assert_eq!((&grade["result_id"], &grade["cached"]), (&Value::Null, &json!(false)));
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "undecided");
    let window = json!({"from_ts": NOW - 100, "to_ts": NOW + 100});
    let job = server.post("/api/evaluations/regenerate", &window).await.ok();
    work(&t).await;
    let path = format!("/api/evaluations/regenerate/{}", job["job_id"].as_str().unwrap());
    let status = server.get(&path).await.ok();
    assert_eq!(
        (&status["status"], &status["completed"], &status["failed"]),
        (&json!("completed"), &json!(1), &json!(0))
    );
    assert!(results(&server).await.is_empty());
    assert_eq!(t.mismatches().await, 0);
}

/// Rules alone have no success rate; an outcome gives one, and is left out of agreement.
#[apply(both_backends)]
async fn outcomes_are_evidence_and_rules_alone_have_no_rate(t: TestApp) {
    let server = t.serve().await;
    let mut bad = talk("bob", "s2", false);
    bad["session_finished"] = json!(true);
    server.publish(&bad).await.ok();
    server.publish(&plain("ada", "s1")).await.ok();
    work(&t).await;
    let alone = hero(&server).await;
    assert_eq!(alone["regular_success_rate_pp"], Value::Null);
    assert_eq!(
        (&alone["ci95_pp"], &alone["ci95_null_reason"]),
        (&Value::Null, &json!("only_rules_judged"))
    );
    assert_eq!((&alone["only_rules"], &alone["failures_with_evidence"]), (&json!(true), &json!(1)));
    assert_eq!(alone["judged_share"], 0.5);
    assert!(alone["advice"].as_str().unwrap().contains("50"), "{alone}");
    assert_eq!(alone["buckets"][0]["regular_rate"], Value::Null);

    let report = json!({"session_id": "s1", "outcome": "success", "occurred_at": NOW});
    server.post("/api/session_outcome", &report).await.ok();
    work(&t).await;
    let verdict = results(&server).await.into_iter().find(|r| r["session_id"] == "s1").unwrap();
    assert_eq!((&verdict["is_success"], &verdict["judge"]), (&json!(true), &json!("rules")));
    assert_eq!(verdict["prompt_version"], "outcome");
    let known = hero(&server).await;
    assert_eq!(known["regular_success_rate_pp"], 50.0);
    assert_eq!((&known["judged_share"], &known["only_rules"]), (&json!(1.0), &json!(false)));
    let agreement = server.get("/api/evaluations/agreement").await.ok();
    assert_eq!((&agreement["judged"], &agreement["n"]), (&json!(1), &json!(0)));
    assert_eq!(t.mismatches().await, 0);
}

/// A comparison of responses needs a model: without one it waits, with a reason.
#[apply(both_backends)]
async fn shadow_comparisons_wait_for_a_model(t: TestApp) {
    let server = t.serve().await;
    let mut body = plain("ada", "s1");
    body["interaction_data_list"][1]["shadow_content"] = json!("At ten.");
    server.publish(&body).await.ok();
    work(&t).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM shadow_verdicts").await, 0);
    let waits = "SELECT COUNT(*) FROM jobs WHERE kind = 'compare_shadow' AND state = 'open'
                 AND attempts = 0 AND last_error LIKE '%needs a model%'";
    assert_eq!(t.number(waits).await, 1);
}

#[apply(both_backends)]
async fn a_judge_that_fails_for_good_leaves_a_gap(t: TestApp) {
    use judge::recorded::{RecordedJudge, Scripted};
    let judge = RecordedJudge::new([]).then(Scripted::Refused);
    let t = t.judged_by(std::sync::Arc::new(judge)).await;
    let server = t.serve().await;
    server.publish(&plain("ada", "s1")).await.ok();
    for _ in 0..8 {
        work(&t).await;
        t.clock().advance(7200);
    }
    assert_eq!(decision(&server, "s1").await.0, "failed");
    let now = hero(&server).await;
    assert_eq!((&now["judged_share"], &now["only_rules"]), (&json!(0.0), &json!(false)));
    assert_eq!(t.number("SELECT COUNT(*) FROM verdict_gaps WHERE cause = 'failed'").await, 1);
}

#[apply(both_backends)]
async fn a_hand_over_is_a_failure_where_the_organization_says_so(t: TestApp) {
    let server = t.serve().await;
    let handed_over = |session: &str| {
        let mut body = plain("ada", session);
        body["interaction_data_list"][1]["content"] =
            json!("I am transferring you to a colleague.");
        body
    };
    server.publish(&handed_over("s1")).await.ok();
    work(&t).await;
    assert_eq!(decision(&server, "s1").await.0, "undecided");
    let change = json!({"judge": {"escalation_means_failure": true}});
    server.post("/api/update_config", &change).await.ok();
    server.publish(&handed_over("s2")).await.ok();
    work(&t).await;
    assert_eq!(decision(&server, "s2").await.0, "judged");
    let verdict = &results(&server).await[0];
    assert_eq!((&verdict["is_success"], &verdict["is_escalated"]), (&json!(false), &json!(true)));
}
