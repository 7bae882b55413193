//! A session is judged once, whoever asks for it at the same time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use judge::recorded::{RecordedJudge, Scripted};
use serde_json::json;

use super::{talk, work};
use crate::support::{NOW, TestApp, apply, both_backends, rounds};

const SESSIONS: usize = 61;

/// Grades on demand, the queue and a regeneration, on two replicas at once: one paid call for each session.
#[apply(both_backends)]
async fn grade_queue_and_regeneration_pay_once(t: TestApp) {
    let verdict = json!({
        "reasoning": "", "is_success": true, "failure_type": "", "failure_reason": "",
        "number_of_corrections": 0, "is_escalated": false,
    });
    let slow = Scripted::Slow(Duration::from_millis(20), verdict);
    let judge = Arc::new(RecordedJudge::new([]).then(slow));
    let replicas = [t.judged_by(judge.clone()).await, t.judged_by(judge.clone()).await];
    let servers = [replicas[0].serve().await, replicas[1].serve().await];
    for round in 0..rounds(3) {
        let name = |n: usize| format!("r{round}-s{n}");
        for n in 0..SESSIONS {
            let mut body = talk(&format!("u{n}"), &name(n), true);
            body["session_finished"] = json!(true);
            body["created_at"] = json!(NOW + i64::try_from(round).unwrap() * 1001);
            servers[n % 2].publish(&body).await.ok();
        }
        t.clock().advance(1000);
        let before = judge.count();
        let from = NOW + i64::try_from(round).unwrap() * 1001;
        let window = json!({"from_ts": from, "to_ts": from + 999});
        servers[0].post("/api/evaluations/regenerate", &window).await.ok();
        // Verdicts from before its start are what it is to replay.
        t.clock().advance(1);
        let grades = join_all((0..SESSIONS).map(|n| {
            let server = &servers[(n + 1) % 2];
            let body = json!({"session_id": name(n), "agent_version": "v1"});
            async move { server.post("/api/evaluations/grade_on_demand", &body).await.ok() }
        }));
        let queues = join(work(&replicas[0]), work(&replicas[1]));
        let (grades, _) = join(grades, queues).await;
        assert!(grades.iter().all(|grade| grade["result_id"].is_i64()));
        work(&replicas[0]).await;
        assert_eq!(judge.count() - before, SESSIONS, "round {round}");
        let stored = t.number("SELECT COUNT(*) FROM evaluation_results").await;
        assert_eq!(stored, i64::try_from(SESSIONS * (round + 1)).unwrap());
    }
}
