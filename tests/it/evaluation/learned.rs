//! The learned judge: trained on labels and outcomes, abstaining, forgotten with the people it learned from.

use serde_json::{Value, json};

use super::{decision, results, work};
use crate::governance::erase::pair;
use service::credentials::Role;

use crate::support::{NOW, Server, TestApp, apply, both_backends};

/// A session whose words tell how it went.
fn told(user: &str, session: &str, good: bool, word: &str) -> Value {
    let last = if good { "How splendid of you" } else { "What a dreadful affair" };
    json!({
        "user_id": user, "session_id": session, "agent_version": "v1", "source": "web",
        "session_finished": true,
        "interaction_data_list": [
            {"role": "User", "content": format!("A question about {word} please")},
            {"role": "Assistant", "content": "Here is what we know about it."},
            {"role": "User", "content": last},
        ]
    })
}

/// Sixty sessions of thirty people, half of them good, with labels; three people speak of a zeppelin.
async fn teach(t: &TestApp, server: &Server) {
    let mut labels = Vec::new();
    for number in 0..60 {
        let (user, session, good) =
            (format!("u{}", number / 2), format!("s{number}"), number % 2 == 0);
        let word = if number / 2 < 3 { "zeppelin" } else { "parcels" };
        server.publish(&told(&user, &session, good, word)).await.ok();
        labels.push(json!({"user_id": user, "session_id": session, "is_success": good}));
    }
    work(t).await;
    server.post("/api/evaluations/labels", &json!({"labels": labels})).await.ok();
    t.clock().advance(61);
    work(t).await;
}

async fn card(server: &Server) -> Value {
    server.get("/api/evaluations/learned_judge").await.ok()
}

#[apply(both_backends)]
async fn fifty_labels_switch_it_on(t: TestApp) {
    let server = t.serve().await;
    let empty = card(&server).await;
    assert_eq!((&empty["version"], &empty["is_judging"]), (&Value::Null, &json!(false)));
    assert_eq!(empty["ground_truth"]["needed"], 50);
    let next_judge = async || {
        server.get("/api/evaluations/judge_health").await.ok()["judge"].as_str().unwrap().to_owned()
    };
    assert_eq!(next_judge().await, "rules");
    teach(&t, &server).await;
    let trained = card(&server).await;
    assert_eq!((&trained["version"], &trained["is_judging"]), (&json!("learned/1"), &json!(true)));
    assert_eq!(next_judge().await, "learned/1");
    assert_eq!(trained["ground_truth"]["labels"], 60);
    let report = &trained["report_card"];
    assert_eq!((&report["sessions"], &report["users"]), (&json!(60), &json!(30)));
    assert!(report["auc"].as_f64().unwrap() > 0.9, "{report}");
    assert!(report["kappa"].as_f64().unwrap() > 0.6, "{report}");
    assert_eq!(t.number("SELECT COUNT(*) FROM model_training").await, 60);

    server.publish(&told("new", "good", true, "parcels")).await.ok();
    server.publish(&told("new", "bad", false, "parcels")).await.ok();
    work(&t).await;
    let all = results(&server).await;
    let verdict = |id: &str| all.iter().find(|r| r["session_id"] == id).unwrap().clone();
    assert_eq!(verdict("good")["judge"], "learned/1");
    assert_eq!(verdict("good")["is_success"], true);
    assert!(verdict("good")["probability"].as_f64().unwrap() > 0.5);
    assert_eq!(verdict("bad")["is_success"], false);
    assert!(verdict("bad")["failure_reason"].as_str().unwrap().contains("likely"));

    // Rules first, and it no longer judges.
    let order = json!({"judge": {"order": ["rules", "learned"]}});
    server.post("/api/update_config", &order).await.ok();
    assert_eq!(card(&server).await["is_judging"], false);
    assert_eq!(next_judge().await, "rules");
    server.publish(&told("new", "third", true, "parcels")).await.ok();
    work(&t).await;
    assert_eq!(decision(&server, "third").await.0, "undecided");
    for wrong in [json!([]), json!(["rules", "rules"]), json!(["oracle"])] {
        let order = json!({"judge": {"order": wrong}});
        server.post("/api/update_config", &order).await.problem(422, "invalid_input");
    }
}

/// With an embedder the end of a session is a feature too; with another one the model is trained anew.
#[apply(both_backends)]
async fn it_reads_the_meaning_of_the_last_exchange(t: TestApp) {
    let t = t.replica_with(|s| s.embedder.kind = "hash".to_owned()).await;
    let server = t.serve().await;
    teach(&t, &server).await;
    let stored = "SELECT COUNT(*) FROM judge_models WHERE model LIKE '%\"embedder\":\"hash-256\",\"dimensions\":256%'";
    assert_eq!(t.number(stored).await, 1);
    server.publish(&told("new", "good", true, "parcels")).await.ok();
    work(&t).await;
    let judge_of = async |server: &Server, session: &str| {
        let all = results(server).await;
        let found = all.iter().find(|result| result["session_id"] == session).cloned();
        found.map(|result| (result["judge"].clone(), result["is_success"].clone()))
    };
    assert_eq!(judge_of(&server, "good").await, Some((json!("learned/1"), json!(true))));

    // Without the embedder it would have to guess: rules judge the next session, and another is trained.
    let without = t.replica_with(|s| s.embedder.kind = "none".to_owned()).await;
    let server = without.serve().await;
    server.publish(&told("new", "second", true, "parcels")).await.ok();
    work(&without).await;
    assert_eq!(decision(&server, "second").await.0, "undecided");
    assert_eq!(card(&server).await["version"], "learned/2");
    assert_eq!(without.number(stored).await, 0);
    server.publish(&told("new", "third", false, "parcels")).await.ok();
    work(&without).await;
    assert_eq!(judge_of(&server, "third").await, Some((json!("learned/2"), json!(false))));
}

/// Another model comes with a fifth more ground truth, not before; a label wins over an outcome.
#[apply(both_backends)]
async fn it_is_trained_again_when_ground_truth_grew(t: TestApp) {
    let server = t.serve().await;
    teach(&t, &server).await;
    for number in 0..12 {
        let (user, session, good) = (format!("n{number}"), format!("m{number}"), number % 2 == 0);
        server.publish(&told(&user, &session, good, "parcels")).await.ok();
        let outcome = if good { "success" } else { "failure" };
        let report =
            json!({"user_id": user, "session_id": session, "outcome": outcome, "occurred_at": NOW});
        server.post("/api/session_outcome", &report).await.ok();
        if number == 10 {
            t.clock().advance(61);
            work(&t).await;
            assert_eq!(card(&server).await["version"], "learned/1", "11 of 60 are no fifth");
        }
    }
    let label = json!({"labels": [{"user_id": "n0", "session_id": "m0", "is_success": false}]});
    server.post("/api/evaluations/labels", &label).await.ok();
    t.clock().advance(61);
    work(&t).await;
    let again = card(&server).await;
    assert_eq!(again["version"], "learned/2");
    let truth = &again["ground_truth"];
    assert_eq!((&truth["sessions"], &truth["labels"]), (&json!(72), &json!(61)));
    assert_eq!(truth["failures"], 37, "the label of n0 wins over its outcome");
    assert_eq!(t.number("SELECT COUNT(*) FROM judge_models WHERE model <> ''").await, 1);
}

#[apply(both_backends)]
async fn forgetting_somebody_trains_another_without_them(t: TestApp) {
    let key = t.key("default", Role::Governance).await;
    let dashboard = t.key("default", Role::Dashboard).await;
    let base = t.serve().await;
    let server = base.with_token(&dashboard);
    teach(&t, &server).await;
    let holds = "SELECT COUNT(*) FROM judge_models WHERE model LIKE '%zeppelin%'";
    assert_eq!(t.number(holds).await, 1, "three people said it");
    let theirs = t.subject_in("default", "u1");
    let theirs = format!("SELECT COUNT(*) FROM model_training WHERE subject = {theirs}");
    assert_eq!(t.number(&theirs).await, 2);
    let governor = server.with_token(&key);
    let erased = governor.post("/api/governance/erase-user", &pair("u1", "letter-1")).await.ok();
    assert_eq!(t.number(holds).await, 0, "two are too few");
    let trained = card(&server).await;
    assert_eq!(trained["version"], "learned/2");
    assert_eq!(trained["report_card"]["users"], 29);
    assert_eq!(t.number(&theirs).await, 0);
    let path = format!(
        "/api/governance/purge-operations/{}/certificate",
        erased["purge_id"].as_str().unwrap()
    );
    let signed = governor.get(&path).await.ok();
    let certificate = &signed["certificate"];
    assert_eq!(
        (&certificate["judge_models_deleted"], &certificate["judge_models_retrained"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(certificate["erased"]["model_training"], Value::Null, "counted with its model");
}

/// A judge diff with the model, and its promotion.
#[apply(both_backends)]
async fn it_can_be_compared_and_promoted(t: TestApp) {
    let server = t.serve().await;
    let order = json!({"judge": {"order": ["rules", "learned"]}});
    server.post("/api/update_config", &order).await.ok();
    teach(&t, &server).await;
    let window = |version: &str| json!({"from_ts": NOW - 100, "to_ts": NOW + 1000, "candidate_version": version});
    let unknown = server.post("/api/evaluations/judge_diffs", &window("learned/7")).await;
    unknown.problem(422, "invalid_input");
    let job = server.post("/api/evaluations/judge_diffs", &window("learned/1")).await.ok();
    work(&t).await;
    let path = format!("/api/evaluations/judge_diffs/{}", job["job_id"].as_str().unwrap());
    let diff = server.get(&path).await.ok();
    assert_eq!(diff["progress"]["status"], "completed");
    assert!(diff["without_live_verdict"].as_u64().unwrap() > 40, "{diff}");
    server.post(&format!("{path}/promote"), &json!({})).await.ok();
    let config = server.get("/api/get_config").await.ok();
    assert_eq!(config["judge"]["order"], json!(["learned", "llm", "rules"]));
    assert_eq!(card(&server).await["is_judging"], true);
}
