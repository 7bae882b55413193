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
    assert_eq!(
        found["corrected_success_rate"]["null_reason"], "fewer_than_30_labelled_users_in_an_arm",
        "nobody drew these sessions at random"
    );

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
    for (filter, judged) in
        [("judge=rules", 20), ("judge=other", 0), ("source=", 20), ("source=web", 0)]
    {
        let found = server.get(&format!("/api/evaluations/agreement?{filter}")).await.ok();
        assert_eq!(found["judged"], judged, "{filter}");
    }
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

/// Half of the queue is drawn at random with chances that are kept, half is where a label teaches most; Agree and
/// Disagree are labels; the estimated rate takes the random ones and refuses a number without enough of them.
#[apply(both_backends)]
async fn the_queue_draws_and_its_labels_correct_the_rate(t: TestApp) {
    let server = t.serve().await;
    for n in 0..80 {
        let mut body = talk(&format!("u{n}"), &format!("s{n}"), n % 4 != 0);
        body["source"] = json!("web");
        server.publish(&body).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let draw = async |limit: usize| -> Vec<Value> {
        let body = json!({"limit": limit});
        let queue = server.post("/api/evaluations/review_queue", &body).await.ok();
        queue["items"].as_array().unwrap().clone()
    };
    let first = draw(10).await;
    let of = |items: &[Value], half: &str| items.iter().filter(|i| i["half"] == half).count();
    assert_eq!((of(&first, "random"), of(&first, "informative")), (5, 5));
    let chance = |item: &Value| item["chance"].as_f64();
    assert!(first.iter().all(|i| (i["half"] == "random") == chance(i).is_some_and(|c| c < 0.5)));
    assert_eq!(draw(10).await, first, "until they are labelled they stay");

    let opinion = |item: &Value, says: &str| json!({"labels": [{"user_id": item["user_id"], "session_id": item["session_id"], "opinion": says}]});
    server.post("/api/evaluations/labels", &opinion(&first[0], "disagree")).await.ok();
    server.post("/api/evaluations/labels", &opinion(&first[1], "agree")).await.ok();
    let path =
        format!("/api/evaluations/labels?session_id={}", first[0]["session_id"].as_str().unwrap());
    let label = server.get(&path).await.ok()["labels"][0].clone();
    assert_eq!(
        label["is_success"],
        first[0]["verdict"] == "failure",
        "the opposite of the verdict"
    );
    let queue = server.post("/api/evaluations/review_queue", &json!({"limit": 10})).await.ok();
    let items = queue["items"].as_array().unwrap();
    assert!(items.iter().all(|i| i["session_id"] != first[0]["session_id"]));
    assert_eq!(
        queue["last_ten"],
        json!({"labels": 2, "agreed": 1, "disagreed": 1, "undecided": 0})
    );
    assert_eq!((&queue["ground_truth"], &queue["needed"]), (&json!(2), &json!(50)));
    let both = json!({"labels": [{"session_id": "s1", "is_success": true, "opinion": "agree"}]});
    server.post("/api/evaluations/labels", &both).await.problem(422, "invalid_input");

    let estimated = async || {
        let answer = server.get("/api/evaluations/estimated_success").await.ok();
        answer["sources"][0].clone()
    };
    let few = estimated().await;
    assert_eq!((&few["source"], &few["sessions"]), (&json!("web"), &json!(80)));
    assert_eq!(few["estimated"]["null_reason"], "fewer_than_30_labelled_users");
    for item in draw(120).await.iter().filter(|item| item["half"] == "random") {
        server.post("/api/evaluations/labels", &opinion(item, "agree")).await.ok();
    }
    let web = estimated().await;
    assert!(web["labelled_users"].as_u64().unwrap() >= 60, "{web}");
    let (value, low) = (&web["estimated"]["value"], &web["estimated"]["ci95"][0]);
    assert!((value.as_f64().unwrap() - 0.75).abs() < 0.06 && low.as_f64().unwrap() < 0.75, "{web}");
    let agreement = server.get("/api/evaluations/agreement").await.ok();
    assert!(agreement["corrected_success_rate"]["value"].as_f64().is_some(), "{agreement}");
}
