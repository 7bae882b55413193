//! The gate and the attribution: who gets what, and what is stored about it.

use serde_json::{Value, json};
use service::experiments::Arm;

use super::{callers, start, stop, user};
use crate::learnings::{add_agent_playbook, add_profile, add_user_playbook};
use crate::publish::two_turns;
use crate::support::{Server, TestApp, apply, both_backends};

const ENDPOINTS: &[(&str, &[&str])] = &[
    ("search", &["profiles", "user_playbooks", "agent_playbooks"]),
    ("search_profiles", &["user_profiles"]),
    ("search_user_playbooks", &["user_playbooks"]),
    ("search_agent_playbooks", &["agent_playbooks"]),
    ("get_profiles", &["user_profiles"]),
    ("get_user_playbooks", &["user_playbooks"]),
    ("get_agent_playbooks", &["agent_playbooks"]),
];

async fn teach(server: &Server, user: &str) {
    add_profile(server, user, "Wants refunds to her card").await;
    add_user_playbook(server, user, "refund asked", "Refund to the card").await;
}

async fn ask(server: &Server, endpoint: &str, user: &str, session: Option<&str>) -> Value {
    let body = json!({"user_id": user, "query": "refund", "session_id": session});
    server.post(&format!("/api/{endpoint}"), &body).await.ok()
}

/// Number of learnings in an answer.
fn learnings(answer: &Value, lists: &[&str]) -> usize {
    lists.iter().map(|list| answer[list].as_array().unwrap().len()).sum()
}

async fn exposure(t: &TestApp, org: &str, column: &str, user: &str) -> i64 {
    let subject = t.subject_in(org, user);
    t.number(&format!("SELECT CAST(COALESCE(SUM({column}), 0) AS BIGINT) FROM experiment_exposures WHERE subject = {subject}")).await
}

#[apply(both_backends)]
async fn the_holdout_gets_nothing_and_treatment_everything(t: TestApp) {
    let server = t.serve().await;
    let (agent, dashboard) = callers(&t, &server, "org").await;
    let [held, treated] = [Arm::Holdout, Arm::Treatment].map(|arm| user("org", "exp", 30.0, arm));
    for user in [&held, &treated] {
        teach(&agent, user).await;
    }
    add_agent_playbook(&dashboard, json!({"content": "Refunds take three days"})).await;
    let before = ask(&agent, "search", &held, None).await;
    assert_eq!((learnings(&before, ENDPOINTS[0].1), &before["experiment"]), (3, &Value::Null));
    start(&dashboard, "exp", 30.0).await;
    for (endpoint, lists) in ENDPOINTS {
        let path = format!("/api/{endpoint}");
        let withheld = ask(&agent, endpoint, &held, Some("s")).await;
        assert_eq!(learnings(&withheld, lists), 0, "{endpoint}");
        assert_eq!(withheld["experiment"], json!({"experiment_id": "exp", "arm": "holdout"}));
        assert_eq!(withheld["success"], true);
        assert!(withheld["msg"].as_str().unwrap().contains("withheld"), "{endpoint}");
        let served = ask(&agent, endpoint, &format!("  {treated} "), Some("s")).await;
        assert_eq!(learnings(&served, lists), lists.len(), "{endpoint}");
        assert_eq!(served["experiment"], json!({"experiment_id": "exp", "arm": "treatment"}));
        assert_eq!(served["msg"], Value::Null, "{endpoint}");
        let nobody = json!({"query": "refund"});
        let refused = agent.post(&path, &nobody).await;
        let always = ["search_profiles", "get_profiles"].contains(endpoint);
        if always {
            refused.problem(422, "invalid_input");
        } else {
            refused.problem(422, "user_id_required_by_experiment");
        }
        // A person who looks is in no arm.
        let seen = ask(&dashboard, endpoint, &held, Some("s")).await;
        assert_eq!(
            (learnings(&seen, lists), &seen["experiment"]),
            (lists.len(), &Value::Null),
            "{endpoint}"
        );
        if !always {
            dashboard.post(&path, &nobody).await.ok();
        }
    }
    // Nine learnings were found for either; one row each, whatever the number of searches.
    assert_eq!(t.number("SELECT COUNT(*) FROM experiment_exposures").await, 2);
    for (user, served) in [(&held, 0), (&treated, 9)] {
        assert_eq!(exposure(&t, "org", "found", user).await, 9);
        assert_eq!(exposure(&t, "org", "served", user).await, served);
        assert_eq!(exposure(&t, "org", "searches", user).await, 7);
    }
    stop(&dashboard, "exp").await;
    let after = ask(&agent, "search", &held, Some("s")).await;
    assert_eq!((learnings(&after, ENDPOINTS[0].1), &after["experiment"]), (3, &Value::Null));
    assert_eq!(exposure(&t, "org", "searches", &held).await, 7);
}

#[apply(both_backends)]
async fn a_start_elsewhere_holds_here_from_the_next_search_on(t: TestApp) {
    let (here, other) = (t.serve().await, t.replica().await);
    let there = other.serve().await;
    let held = user("default", "exp", 50.0, Arm::Holdout);
    teach(&here, &held).await;
    assert_eq!(learnings(&ask(&here, "search", &held, None).await, &["profiles"]), 1);
    start(&there, "exp", 50.0).await;
    assert_eq!(learnings(&ask(&here, "search", &held, None).await, &["profiles"]), 0);
    stop(&there, "exp").await;
    assert_eq!(learnings(&ask(&here, "search", &held, None).await, &["profiles"]), 1);
}

#[apply(both_backends)]
async fn attribution_is_what_was_sent_or_what_was_recorded(t: TestApp) {
    let server = t.serve().await;
    let [held, treated] =
        [Arm::Holdout, Arm::Treatment].map(|arm| user("default", "exp", 50.0, arm));
    let with = |user: &str, session: &str, id: &str, arm: &str| {
        let mut body = two_turns(user, session);
        body["retrieval_experiment_id"] = json!(id);
        body["retrieval_experiment_arm"] = json!(arm);
        body
    };
    server.publish(&with(&held, "s", "exp", "holdout")).await.problem(422, "experiment_unknown");
    start(&server, "exp", 50.0).await;
    let stored = server.publish(&with(&held, "s", " exp ", "holdout")).await.ok();
    assert_eq!(stored["experiment"], json!({"experiment_id": "exp", "arm": "holdout"}));
    let problem = server
        .publish(&with(&held, "s", "exp", "treatment"))
        .await
        .problem(422, "experiment_arm_mismatch");
    assert_eq!(problem["errors"][0]["pointer"], "/retrieval_experiment_arm");
    server.publish(&with(&held, "s", "EXP", "holdout")).await.problem(422, "experiment_unknown");

    // Nothing was searched in this session, then something was.
    let mut plain = two_turns(&treated, "chat");
    assert_eq!(server.publish(&plain).await.ok()["experiment"], Value::Null);
    ask(&server, "search", &treated, Some("chat")).await;
    ask(&server, "search", &treated, None).await;
    plain["request_id"] = json!("r1");
    let attributed = json!({"experiment_id": "exp", "arm": "treatment"});
    let first = server.publish(&plain).await.ok();
    assert_eq!(first["experiment"], attributed);
    let repeat = server.publish(&plain).await.ok();
    assert_eq!((&repeat["experiment"], &repeat["duplicate"]), (&attributed, &json!(true)));
    assert_eq!(server.publish(&two_turns(&treated, "other")).await.ok()["experiment"], Value::Null);
    // After the stop: what was recorded still attributes, a pair is still checked, and nobody is assigned anew.
    stop(&server, "exp").await;
    assert_eq!(server.publish(&two_turns(&treated, "chat")).await.ok()["experiment"], attributed);
    server.publish(&with(&held, "s", "exp", "holdout")).await.ok();
    ask(&server, "search", &treated, Some("late")).await;
    assert_eq!(server.publish(&two_turns(&treated, "late")).await.ok()["experiment"], Value::Null);
    // The newest experiment of a session counts.
    start(&server, "exp-2", 50.0).await;
    let now = ask(&server, "search", &treated, Some("chat")).await["experiment"].clone();
    assert_eq!(now["experiment_id"], "exp-2");
    assert_eq!(server.publish(&two_turns(&treated, "chat")).await.ok()["experiment"], now);
    let body = json!({"user_id": treated, "session_id": "chat"});
    let read = server.post("/api/get_requests", &body).await.ok();
    let stored: Vec<_> = read["sessions"][0]["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["request"]["retrieval_experiment_id"].as_str())
        .collect();
    assert_eq!(stored.iter().filter(|id| **id == Some("exp")).count(), 2, "{stored:?}");
    assert_eq!(stored.iter().filter(|id| id.is_none()).count(), 1);
}

#[apply(both_backends)]
async fn an_erasure_leaves_no_exposure(t: TestApp) {
    let server = t.serve().await;
    let treated = user("default", "exp", 50.0, Arm::Treatment);
    let held = user("default", "exp", 50.0, Arm::Holdout);
    add_agent_playbook(&server, json!({"content": "Refunds take three days"})).await;
    start(&server, "exp", 50.0).await;
    for user in [&treated, &held] {
        ask(&server, "search", user, Some("s")).await;
    }
    t.sql("DELETE FROM experiment_stale_users").await.unwrap();
    t.sql("UPDATE subjects SET state = 'erasing'").await.unwrap();
    for user in [&treated, &held] {
        let body = json!({"user_id": user, "query": "refund", "session_id": "s"});
        server.post("/api/search", &body).await.problem(409, "subject_erasing");
    }
    t.sql("UPDATE subjects SET state = 'erased', user_id = NULL").await.unwrap();
    let served = ask(&server, "search", &treated, Some("s")).await;
    assert_eq!(learnings(&served, &["agent_playbooks"]), 1);
    assert!(served["msg"].as_str().unwrap().contains("was erased"), "{served}");
    let withheld = ask(&server, "search", &held, Some("s")).await;
    assert_eq!(learnings(&withheld, &["agent_playbooks"]), 0);
    let msg = withheld["msg"].as_str().unwrap();
    assert!(msg.contains("was erased") && msg.contains("withheld"), "{msg}");
    assert_eq!(exposure(&t, "default", "searches", &treated).await, 1);
    // Rows deleted by an erasure mark nobody as stale.
    t.sql("DELETE FROM experiment_exposures").await.unwrap();
    assert_eq!(t.number("SELECT COUNT(*) FROM experiment_stale_users").await, 0);
}

#[apply(both_backends)]
async fn deleting_a_session_deletes_its_exposures(t: TestApp) {
    let server = t.serve().await;
    start(&server, "exp", 50.0).await;
    for session in ["s1", "s2"] {
        ask(&server, "search", "ada", Some(session)).await;
        server.publish(&two_turns("ada", session)).await.ok();
    }
    ask(&server, "search", "bob", Some("s1")).await;
    server.delete("/api/delete_session", &json!({"session_id": "s1"})).await.ok();
    assert_eq!(exposure(&t, "default", "1", "ada").await, 1);
    assert_eq!(exposure(&t, "default", "1", "bob").await, 1);
    let cleared = server.post("/api/clear_user_data", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(cleared["deleted_counts"]["experiment_exposures"], 1);
    let ada = t.subject_in("default", "ada");
    for table in ["experiment_exposures", "experiment_stale_users", "experiment_user_sums"] {
        assert_eq!(
            t.number(&format!("SELECT COUNT(*) FROM {table} WHERE subject = {ada}")).await,
            0,
            "{table}"
        );
    }
}

#[apply(both_backends)]
async fn interference_is_counted_where_it_happens(t: TestApp) {
    let server = t.serve().await;
    let [held, treated] =
        [Arm::Holdout, Arm::Treatment].map(|arm| user("default", "exp", 50.0, arm));
    let theirs = add_user_playbook(&server, &held, "refund asked", "Refund to the card").await;
    let source = json!([{"user_playbook_id": theirs}]);
    t.clock().advance(-1000);
    add_agent_playbook(
        &server,
        json!({"content": "Refunds take three days", "source_windows": source}),
    )
    .await;
    t.clock().advance(1000);
    start(&server, "exp", 50.0).await;
    ask(&server, "search_agent_playbooks", &held, Some("s")).await;
    ask(&server, "search_agent_playbooks", &treated, Some("s")).await;
    assert_eq!(exposure(&t, "default", "served_from_holdout", &treated).await, 1);
    assert_eq!(exposure(&t, "default", "served_new", &treated).await, 0);
    add_agent_playbook(&server, json!({"content": "Refunds need a receipt"})).await;
    ask(&server, "search_agent_playbooks", &treated, Some("s")).await;
    assert_eq!(exposure(&t, "default", "served_from_holdout", &treated).await, 2);
    assert_eq!(exposure(&t, "default", "served_new", &treated).await, 1);
    assert_eq!(exposure(&t, "default", "served_from_holdout", &held).await, 0);
}
