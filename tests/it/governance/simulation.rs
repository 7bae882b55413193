//! Publish, judge, regenerate, export and erase of the same people in random order at the same time: after an erasure
//! is complete, no read path returns anything of the person and no write lands.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use judge::recorded::RecordedJudge;
use serde_json::json;
use service::wiring::job_handlers;
use storage::subjects::audit;

use super::erase::{Both, erase_events, pair, rows_of};
use crate::evaluation::{talk, work};
use crate::support::{TestApp, apply, both_backends, rounds};

const STEPS: u64 = 12;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// One step of somebody; whatever is answered is well-formed.
async fn step(t: &TestApp, both: &Both, kind: u64, user: &str, number: u64) {
    let session = format!("s{}", number % 3);
    let answer = match kind {
        0..=3 => {
            let mut body = talk(user, &session, number.is_multiple_of(2));
            body["session_finished"] = json!(true);
            both.agent.publish(&body).await
        }
        4 => {
            let _ = storage::jobs::run_until_idle(&t.app, &job_handlers()).await;
            return;
        }
        5 => both.agent.post("/api/evaluations/grade_on_demand",
            &json!({"user_id": user, "session_id": session, "agent_version": "v1", "refresh": true})).await,
        6 => both.agent.post("/api/evaluations/regenerate", &json!({"from_ts": 1, "to_ts": 4_000_000_000_i64})).await,
        7 => both.agent.post("/api/add_user_profile", &json!({"user_profiles": [{"user_id": user, "content": "tea"}]})).await,
        8 => both.agent.post("/api/evaluations/labels", &json!({"labels": [{"user_id": user, "session_id": session, "is_success": true}]})).await,
        9 => {
            // An erasure ends exports of its person in the middle.
            let request = both.governor.request("POST", "/api/governance/export-user").json(&pair(user, &number.to_string()));
            if let Ok(response) = request.send().await {
                assert!(matches!(response.status().as_u16(), 200 | 409));
                let _ = response.bytes().await;
            }
            return;
        }
        _ => both.governor.post("/api/governance/erase-user", &pair(user, "dsr")).await,
    };
    assert!(
        matches!(answer.status, 200 | 202 | 404 | 409),
        "{kind}: {} {}",
        answer.status,
        answer.text
    );
}

#[apply(both_backends)]
async fn no_order_of_events_leaves_anything_behind(t: TestApp) {
    let judge = Arc::new(RecordedJudge::new([]).taking(Duration::from_millis(3)));
    let t = t.judged_by(judge).await;
    service::telemetry::init_logs(t.settings());
    let both = Both::new(&t).await;
    let rounds = rounds(50);
    for round in 0..rounds {
        let mut dice = Dice(round as u64 + 1);
        let users = [format!("a{round}"), format!("b{round}")];
        let mut steps = Vec::new();
        for number in 0..STEPS {
            // Both are erased somewhere in the middle; the rest is anything.
            let (kind, user) = match number {
                4 => (10, &users[0]),
                6 => (10, &users[1]),
                _ => (dice.below(11), &users[usize::try_from(dice.below(2)).unwrap()]),
            };
            let pause = Duration::from_millis(dice.below(12));
            let (t, both) = (&t, &both);
            steps.push(async move {
                tokio::time::sleep(pause).await;
                step(t, both, kind, user, number).await;
            });
        }
        join_all(steps).await;
        for user in &users {
            assert_eq!(both.erase(user, "dsr").await["status"], "complete", "round {round}");
            assert_eq!(rows_of(&t, user).await, 0, "round {round}");
            both.agent.publish(&talk(user, "late", true)).await.problem(409, "subject_erased");
        }
        t.clock().advance(2);
        work(&t).await;
        for user in &users {
            assert_eq!(rows_of(&t, user).await, 0, "round {round}: after the work that was left");
            let read = both.agent.post("/api/get_interactions", &json!({"user_id": user})).await;
            assert!(
                read.status == 404 || read.json()["interactions"] == json!([]),
                "{}",
                read.text
            );
            let found = both
                .agent
                .post("/api/search", &json!({"user_id": user, "query": "tea"}))
                .await
                .ok();
            assert_eq!(found["profiles"], json!([]));
        }
    }
    assert_eq!(erase_events(&t).await, i64::try_from(2 * rounds).unwrap());
    assert_eq!(audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at, None);
    assert_eq!(t.mismatches().await, 0);
}
