//! Random publishes, searches, starts, stops and restarts, on two replicas at once.
//!
//! In any order of events: a user's arm never changes within an experiment, the holdout never receives a
//! learning through any endpoint, and every stored attribution is what the hash says.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde_json::{Value, json};
use service::experiments::assign;

use super::PATH;
use crate::publish::two_turns;
use crate::support::{Server, TestApp, apply, both_backends};

const SEARCHES: &[&str] = &[
    "search",
    "search_profiles",
    "search_user_playbooks",
    "search_agent_playbooks",
    "get_profiles",
    "get_user_playbooks",
    "get_agent_playbooks",
];

/// The user's arm in an answer, and the number of learnings it carries.
fn seen(answer: &Value) -> (Option<(String, String)>, usize) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let experiment = &answer["experiment"];
    let arm = experiment
        .is_object()
        .then(|| (text(&experiment["experiment_id"]), text(&experiment["arm"])));
    let lists = answer
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| name.as_str() != "warnings" && name.as_str() != "interaction_ids");
    (arm, lists.filter_map(|(_, value)| value.as_array()).map(Vec::len).sum())
}

async fn act(
    server: &Server,
    worker: u64,
    steps: u64,
    percentages: &BTreeMap<String, f64>,
) -> Vec<(String, String, String, usize)> {
    let mut state = worker.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 7;
    let mut below = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut observed = Vec::new();
    for _ in 0..steps {
        let (user, session) = (format!("user-{}", below(12)), format!("s{}", below(3)));
        match below(12) {
            0 => {
                let id = format!("exp-{}", below(percentages.len() as u64));
                let answer = server
                    .post(
                        PATH,
                        &json!({"experiment_id": id, "holdout_percentage": percentages[&id]}),
                    )
                    .await;
                assert!(matches!(answer.status, 200 | 409), "{}", answer.text);
            }
            1 => {
                let id = format!("exp-{}", below(percentages.len() as u64));
                let answer =
                    server.post(&format!("{PATH}/stop"), &json!({"experiment_id": id})).await;
                assert!(matches!(answer.status, 200 | 404 | 409), "{}", answer.text);
            }
            2..=4 => {
                let answer = server.publish(&two_turns(&user, &session)).await.ok();
                if let (Some((experiment, arm)), _) = seen(&answer) {
                    observed.push((user, experiment, arm, 0));
                }
            }
            _ => {
                let endpoint = SEARCHES[below(SEARCHES.len() as u64) as usize];
                let body = json!({"user_id": user, "session_id": session, "query": "refund"});
                let answer = server.post(&format!("/api/{endpoint}"), &body).await.ok();
                match seen(&answer) {
                    (Some((experiment, arm)), learnings) => {
                        observed.push((user, experiment, arm, learnings))
                    }
                    (None, learnings) => {
                        assert!(learnings > 0, "{endpoint} outside of experiments: {answer}")
                    }
                }
            }
        }
    }
    observed
}

#[apply(both_backends)]
async fn arms_hold_whatever_happens(t: TestApp) {
    let (here, other) = (t.serve().await, t.replica().await);
    let there = other.serve().await;
    for n in 0..12 {
        let user = format!("user-{n}");
        crate::learnings::add_profile(&here, &user, "Wants refunds to her card").await;
        crate::learnings::add_user_playbook(&here, &user, "refund asked", "Refund to the card")
            .await;
    }
    crate::learnings::add_agent_playbook(&here, json!({"content": "Refunds take three days"}))
        .await;
    let percentages: BTreeMap<String, f64> =
        (0..6).map(|n| (format!("exp-{n}"), 15.0 + 14.0 * f64::from(n))).collect();
    let workers = (0..8)
        .map(|worker| act(if worker % 2 == 0 { &here } else { &there }, worker, 60, &percentages));
    let observed: Vec<_> = join_all(workers).await.into_iter().flatten().collect();
    assert!(observed.len() > 50, "{}", observed.len());
    for (user, experiment, arm, learnings) in &observed {
        assert_eq!(
            assign(&"default".into(), experiment, &user.as_str().into(), percentages[experiment])
                .as_str(),
            arm
        );
        assert!(
            arm == "treatment" || *learnings == 0,
            "{user} of the holdout of {experiment} got {learnings}"
        );
    }
    type Stored = (String, String, String);
    let stored = t.app.db.read("test.arms", (), |tx, ()| Box::pin(async move {
        let requests: Vec<Stored> = storage::rows!(tx, Stored, "SELECT u.user_id, retrieval_experiment_id, retrieval_experiment_arm
                FROM requests JOIN subjects u USING (org_id, subject) WHERE retrieval_experiment_id IS NOT NULL")?;
        let exposures: Vec<Stored> = storage::rows!(tx, Stored, "SELECT u.user_id, experiment_id, arm
                FROM experiment_exposures JOIN subjects u USING (org_id, subject)")?;
        Ok((requests, exposures))
    })).await.unwrap();
    assert!(!stored.0.is_empty() && !stored.1.is_empty());
    for (user, experiment, arm) in stored.0.iter().chain(&stored.1) {
        assert_eq!(
            assign(&"default".into(), experiment, &user.as_str().into(), percentages[experiment])
                .as_str(),
            arm
        );
    }
    // Nothing was exposed or recorded outside of its experiment's time, and at most one is active.
    let outside = t.number("SELECT COUNT(*) FROM experiment_exposures x JOIN experiments e ON e.org_id = x.org_id
            AND e.experiment_id = x.experiment_id WHERE x.first_exposed_at < e.started_at OR x.last_exposed_at > COALESCE(e.ended_at, x.last_exposed_at)").await;
    assert_eq!(outside, 0);
    assert!(t.number("SELECT COUNT(*) FROM experiments WHERE ended_at IS NULL").await <= 1);
    assert_eq!(t.mismatches().await, 0);
}
