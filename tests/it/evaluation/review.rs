//! Labels, agreement and judge diffs.

use std::sync::Arc;

use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use super::{results, talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn judged(t: &TestApp, server: &Server, count: usize) {
    for n in 0..count {
        server.publish(&talk(&format!("u{}", n % 5), &format!("s{n}"), n % 2 == 0)).await.ok();
    }
    t.clock().advance(600);
    work(t).await;
}

#[apply(both_backends)]
async fn labels_measure_the_judge(t: TestApp) {
    let server = t.serve().await;
    judged(&t, &server, 20).await;
    let none = server.get("/api/evaluations/agreement").await.ok();
    assert_eq!((&none["n"], &none["judged"]), (&json!(0), &json!(20)));
    assert_eq!(none["kappa"]["null_reason"], "no_labels");
    // The judge passes even numbers; people disagree on s0 and s1.
    let labels: Vec<Value> = (0..12)
        .map(|n| {
            let person = if n < 2 { n % 2 == 1 } else { n % 2 == 0 };
            json!({"session_id": format!("s{n}"), "is_success": person, "labelled_by": "kim"})
        })
        .collect();
    let stored = server.post("/api/evaluations/labels", &json!({"labels": labels})).await.ok();
    assert_eq!(stored, json!({"success": true, "labelled": 12}));
    let found = server.get("/api/evaluations/agreement").await.ok();
    assert_eq!(
        found["confusion"],
        json!({"true_passes": 5, "false_passes": 1, "false_failures": 1, "true_failures": 5})
    );
    assert_eq!(found["n"], 12);
    assert!((found["agreement"].as_f64().unwrap() - 10.0 / 12.0).abs() < 1e-12);
    assert!((found["kappa"]["value"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    assert!((found["sensitivity"]["value"].as_f64().unwrap() - 5.0 / 6.0).abs() < 1e-12);
    assert_eq!(found["false_passes"][0]["session_id"], "s0");
    assert!((found["raw_success_rate"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-12);
    assert!((found["corrected_success_rate"]["value"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    assert!(found["corrected_success_rate"]["ci95"].is_array());

    // The same person changes their mind: one label, not two.
    let again = json!({"labels": [{"session_id": "s0", "is_success": true, "labelled_by": "kim"}]});
    server.post("/api/evaluations/labels", &again).await.ok();
    let found = server.get("/api/evaluations/agreement").await.ok();
    assert_eq!((&found["n"], &found["confusion"]["false_passes"]), (&json!(12), &json!(0)));
    // The customer's word counts where nobody labelled.
    let outcome = json!({"session_id": "s14", "outcome": "failure", "occurred_at": NOW});
    server.post("/api/session_outcome", &outcome).await.ok();
    let found = server.get("/api/evaluations/agreement").await.ok();
    assert_eq!((&found["n"], &found["confusion"]["false_passes"]), (&json!(13), &json!(1)));
    assert_eq!(server.get("/api/evaluations/agreement?ground_truth=labels").await.ok()["n"], 12);
    assert_eq!(server.get("/api/evaluations/agreement?ground_truth=outcomes").await.ok()["n"], 1);
    assert_eq!(server.get("/api/evaluations/agreement?from_ts=9").await.ok()["n"], 13);
    assert_eq!(server.get("/api/evaluations/agreement?to_ts=9").await.ok()["judged"], 0);
    assert_eq!(server.get("/api/evaluations/agreement?prompt_version=v9").await.ok()["judged"], 0);
}

#[apply(both_backends)]
async fn bad_labels_store_nothing(t: TestApp) {
    let server = t.serve().await;
    judged(&t, &server, 2).await;
    let unknown = json!({"labels": [{"session_id": "s0", "is_success": true}, {"session_id": "nope", "is_success": true}]});
    server.post("/api/evaluations/labels", &unknown).await.problem(404, "not_found");
    assert_eq!(t.number("SELECT COUNT(*) FROM session_labels").await, 0, "all or none");
    for bad in [
        json!({}),
        json!({"labels": []}),
        json!({"labels": [{"session_id": "s0"}]}),
        json!({"labels": [{"session_id": "s0", "is_success": true, "failure_type": "wrong_answer"}]}),
        json!({"labels": [{"session_id": "s0", "is_success": false, "failure_type": "mood"}]}),
    ] {
        server.post("/api/evaluations/labels", &bad).await.problem(422, "invalid_input");
    }
}

#[apply(both_backends)]
async fn a_judge_diff_touches_no_live_number_until_it_is_promoted(t: TestApp) {
    let server = t.serve().await;
    judged(&t, &server, 10).await;
    let live = results(&server).await;
    // A candidate that fails everything.
    let verdict = json!({"reasoning": "r", "number_of_corrections": 0, "is_escalated": false,
        "failure_reason": "stricter", "failure_type": "wrong_answer", "is_success": false});
    let strict = t.judged_by(Arc::new(RecordedJudge::new([]).then(Scripted::Ok(verdict)))).await;
    let window = json!({"from_ts": NOW - 10, "to_ts": NOW + 10, "candidate_version": "v1"});
    let begun = server.post("/api/evaluations/judge_diffs", &window).await.ok();
    let path = format!("/api/evaluations/judge_diffs/{}", begun["job_id"].as_str().unwrap());
    server.post(&format!("{path}/promote"), &json!({})).await.problem(409, "diff_not_complete");
    work(&strict).await;
    let found = server.get(&path).await.ok();
    assert_eq!(found["progress"]["status"], "completed");
    assert_eq!(
        (&found["compared"], &found["flips_to_failure"], &found["flips_to_success"]),
        (&json!(10), &json!(5), &json!(0))
    );
    assert_eq!(
        (&found["live_success_rate"], &found["candidate_success_rate"]),
        (&json!(0.5), &json!(0.0))
    );
    assert!((found["mcnemar_p"]["value"].as_f64().unwrap() - 0.0625).abs() < 1e-12);
    assert_eq!(found["flips"].as_array().unwrap().len(), 5);
    assert_eq!(results(&server).await, live, "live numbers are as they were");
    let promoted = server.post(&format!("{path}/promote"), &json!({})).await.ok();
    assert_eq!(promoted["session_success_prompt_version"], "v1");
    let config = server.get("/api/get_config").await.ok();
    assert_eq!(config["judge"]["session_success_prompt_version"], "v1");
    let unknown = json!({"from_ts": 1, "to_ts": 2, "candidate_version": "v77"});
    server.post("/api/evaluations/judge_diffs", &unknown).await.problem(422, "invalid_input");
    server
        .get("/api/evaluations/judge_diffs/01900000-0000-7000-8000-000000000000")
        .await
        .problem(404, "not_found");
}
