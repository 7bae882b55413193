//! Associations of rules with success, in worlds whose truth is known.

use serde_json::{Value, json};

use super::random::{DAY, Data, Dice, Session, Verdict, store};
use crate::support::{Backend, NOW, Server, TestApp, apply, both_backends, until};
use service::credentials::Role;

/// Users with levels of their own, who cite rules by chance. Rule `bad` costs some of its sessions their success; rule
/// `hard` is cited mostly by users who fail more often anyway.
fn world(t: &TestApp, seed: u64, users: usize, null_rules: usize) -> Data {
    let dice = &mut Dice(seed | 1);
    let mut sessions = Vec::new();
    for user in 0..users {
        let level = 55 + 10 * dice.below(5);
        for number in 0..4 {
            let mut cited: Vec<String> = Vec::new();
            for _ in 0..2 {
                cited.push(format!("null{}", dice.below(null_rules)));
            }
            let bad = dice.below(4) == 0;
            if bad {
                cited.push("bad".to_owned());
            }
            if dice.below(100) < if level < 70 { 70 } else { 10 } {
                cited.push("hard".to_owned());
            }
            cited.sort();
            cited.dedup();
            let success = dice.below(100) < if bad { level - 40 } else { level };
            sessions.push(Session {
                user: format!("u{user}"),
                id: format!("s{number}"),
                at: NOW - DAY - i64::try_from(dice.below(20 * 86_400)).unwrap(),
                source: "web",
                version: "v1",
                verdicts: vec![Verdict {
                    chance: 10_000,
                    version: "v1",
                    name: "agent_success",
                    success,
                    failure: if success { "" } else { "wrong_answer" },
                    corrections: 0,
                    turns: None,
                    escalated: false,
                    evaluated_at: NOW,
                }],
                cited: cited.into_iter().map(|id| ("playbook", id.clone(), id)).collect(),
                turns: Vec::new(),
                scores: Vec::new(),
            });
        }
    }
    Data {
        org: format!("world{seed}"),
        subjects: t.app.subject_keys.subject_hash(),
        from: NOW - 30 * DAY,
        to: NOW,
        bucket: "week",
        shadow: false,
        sets: Vec::new(),
        version: None,
        sessions,
    }
}

async fn rules(server: &Server, data: &Data) -> Vec<Value> {
    let body = json!({"from_ts": data.from, "to_ts": data.to, "include_session_ids": false});
    let found = server.post("/api/get_evaluation_overview", &body).await.ok();
    found["rule_attribution"].as_array().unwrap().clone()
}

#[apply(both_backends)]
async fn what_harms_is_marked_and_what_is_cited_by_the_unlucky_is_not(t: TestApp) {
    let server = t.serve().await;
    let (mut found, mut false_marks) = (0, 0);
    for seed in 1..=6 {
        let data = world(&t, seed, 200, 40);
        store(&t, &data).await;
        let token = t.key(&data.org, Role::Dashboard).await;
        for rule in rules(&server.with_token(&token), &data).await {
            let association = &rule["association"];
            let marked = association["is_marked"].as_bool().unwrap();
            match rule["rule_id"].as_str().unwrap() {
                "bad" => {
                    let difference = association["difference_pp"].as_f64().unwrap();
                    assert!((-60.0..-20.0).contains(&difference), "{rule}");
                    found += usize::from(marked);
                }
                _ => false_marks += usize::from(marked),
            }
        }
    }
    assert_eq!(found, 6);
    assert!(false_marks <= 3, "{false_marks} marks without cause in six worlds of 41 rules");
}

/// Evidence follows every change: at once where it is quick to compute, and within seconds on a machine that is busy.
#[tokio::test]
async fn evidence_is_of_the_rows_as_they_are() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let data = world(&t, 3, 60, 5);
    store(&t, &data).await;
    let token = t.key(&data.org, Role::Dashboard).await;
    let server = server.with_token(&token);
    let before = rules(&server, &data).await;
    assert_eq!(before, rules(&server, &data).await);
    t.sql("UPDATE evaluation_results SET is_success = TRUE").await.unwrap();
    t.sql("UPDATE cited_rules SET is_success = TRUE").await.unwrap();
    let after = rules(&server, &data).await;
    assert!(after.iter().all(|rule| rule["failures_with"] == 0), "{after:?}");
    until("the evidence is that of the rows", async || {
        let rules = rules(&server, &data).await;
        rules.iter().all(|rule| rule["association"]["is_marked"] == false)
    })
    .await;
}
