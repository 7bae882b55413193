//! Publishes that arrive at the same time are stored together; each of them must end as if it had come alone.

use base::clock::Clock;
use base::ids::Ids;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Answer, NOW, Server, TestApp, apply, both_backends};

const SESSIONS: usize = 30;

/// Two waves of publishes: sessions of several requests in any order, with repeats and refusals; then more repeats, and
/// ids that are used again for other content.
fn waves(prefix: &str) -> [Vec<Value>; 2] {
    let dice = Ids::seeded(Clock::manual(NOW), 7);
    let below = |bound: usize| (dice.fraction() * bound as f64) as usize;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for session in 0..SESSIONS {
        for request in 0..1 + below(6) {
            let mut body = json!({
                "user_id": format!("{prefix}-{}", session % 12),
                "session_id": format!("s-{session}"),
                "request_id": format!("{prefix}-{session}-{request}"),
                "created_at": NOW - 5_000 + ((request * 7 + session) % 13) as i64 * 60,
                "source": format!("source-{request}"),
                "agent_version": format!("v-{request}"),
                "session_finished": session % 5 == 0,
                "interaction_data_list": (0..1 + below(3))
                    .map(|turn| json!({"role": "user", "content": format!("Turn {turn} of {request}")}))
                    .collect::<Vec<Value>>(),
            });
            first.push(body.clone());
            match below(8) {
                0 => first.push(body),
                1 => second.push(body),
                2 => {
                    body["interaction_data_list"][0]["content"] =
                        json!("Other words under the same id");
                    second.push(body);
                }
                3 => {
                    body["user_id"] = json!(format!("{prefix}-refused-{session}-{request}"));
                    body["request_id"] = json!(format!("{prefix}-refused-{session}-{request}"));
                    body["retrieval_experiment_id"] = json!("nobody started it");
                    body["retrieval_experiment_arm"] = json!("treatment");
                    first.push(body);
                }
                _ => {}
            }
        }
    }
    [first, second]
}

/// The summaries and the turns of all sessions of a world, without numbers that the server gave.
async fn sessions(server: &Server, prefix: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for session in 0..SESSIONS {
        let path = format!("/api/sessions/{prefix}-{}/s-{session}", session % 12);
        let text = server.get(&path).await.ok().to_string().replace(&format!("{prefix}-"), "");
        let mut read: Value = serde_json::from_str(&text).unwrap();
        forget_numbers(&mut read);
        found.push(read);
    }
    found
}

fn forget_numbers(read: &mut Value) {
    match read {
        Value::Array(items) => items.iter_mut().for_each(forget_numbers),
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "interaction_id" | "interaction_ids"));
            fields.values_mut().for_each(forget_numbers);
        }
        _ => {}
    }
}

#[apply(both_backends)]
async fn what_is_stored_together_ends_as_if_each_had_come_alone(t: TestApp) {
    let server = t.serve().await;
    let (mut at_once, mut one_by_one) = (Vec::new(), Vec::new());
    for wave in waves("together") {
        at_once.extend(join_all(wave.iter().map(|body| server.publish(body))).await);
    }
    for body in waves("alone").concat() {
        one_by_one.push(server.publish(&body).await);
    }
    // Of two that are the same, either may be the repeat.
    let ends = |answers: &[Answer]| {
        let of = |answer: &Answer| (answer.status, answer.json()["code"].to_string());
        let mut ends: Vec<(u16, String)> = answers.iter().map(of).collect();
        ends.sort();
        ends
    };
    assert_eq!(ends(&at_once), ends(&one_by_one));
    for status in [200, 409, 422] {
        assert!(at_once.iter().any(|answer| answer.status == status), "{:?}", ends(&at_once));
    }
    for answer in at_once.iter().filter(|answer| answer.status == 200) {
        let ids = answer.json()["interaction_ids"].as_array().unwrap().clone();
        assert!(ids.windows(2).all(|pair| pair[0].as_i64() < pair[1].as_i64()), "{ids:?}");
    }
    assert_eq!(t.mismatches().await, 0);
    assert_eq!(sessions(&server, "together").await, sessions(&server, "alone").await);
    let refused = "SELECT COUNT(*) FROM subjects WHERE user_id LIKE '%refused%'";
    assert_eq!(t.number(refused).await, 0, "a refusal leaves nothing of somebody who is new");
    let jobs = async |prefix: &str| {
        t.number(&format!(
            "SELECT COUNT(*) FROM jobs JOIN subjects USING (org_id, subject) WHERE user_id LIKE '{prefix}-%'"
        ))
        .await
    };
    assert_eq!(jobs("together").await, jobs("alone").await);
}
