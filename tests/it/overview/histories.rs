//! Random histories of publishes, verdicts, regrades, deletions and erasures: the sums follow every one of them.

use std::sync::Arc;

use base::owner::{OrgId, UserId};
use serde_json::{Value, json};
use service::evaluation::overview::{self, fold_all};
use service::user_tables::USER_TABLES;
use storage::subjects::user_tables::UserTable;

use super::random::{DAY, Dice};
use super::wrong_sums;
use crate::evaluation::shadow::{Preferring, Prefers};
use crate::evaluation::work;
use crate::support::{Backend, NOW, Server, TestApp, apply, both_backends};

struct History {
    t: TestApp,
    server: Server,
    dice: Dice,
    requests: Vec<String>,
    turns: Vec<(String, Value)>,
}

impl History {
    async fn step(&mut self, number: usize) {
        let (user, session) =
            (format!("u{}", self.dice.below(3)), format!("s{}", self.dice.below(3)));
        match self.dice.below(16) {
            0..=6 => self.publish(&user, &session, number).await,
            7 | 8 => {
                self.t.clock().advance(600);
                work(&self.t).await;
            }
            9 => {
                let version = format!("v{}", self.dice.below(2));
                let body = json!({"session_id": session, "user_id": user, "agent_version": version, "refresh": true});
                let answer = self.server.post("/api/evaluations/grade_on_demand", &body).await;
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            }
            10 | 11 if !self.turns.is_empty() => {
                let place = self.dice.below(self.turns.len());
                let (user, id) = self.turns.swap_remove(place);
                self.delete(
                    "/api/delete_interaction",
                    &json!({"user_id": user, "interaction_id": id}),
                )
                .await;
            }
            12 if !self.requests.is_empty() => {
                let place = self.dice.below(self.requests.len());
                let id = self.requests.swap_remove(place);
                self.delete("/api/delete_request", &json!({"request_id": id})).await;
            }
            13 => {
                self.delete("/api/delete_session", &json!({"user_id": user, "session_id": session}))
                    .await
            }
            14 if self.dice.below(3) == 0 => {
                let answer =
                    self.server.post("/api/clear_user_data", &json!({"user_id": user})).await;
                assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
            }
            15 if self.dice.below(3) == 0 => self.erase(&user).await,
            15 => fold_all(&self.t.app).await.unwrap(),
            _ => {}
        }
    }

    async fn publish(&mut self, user: &str, session: &str, number: usize) {
        let dice = &mut self.dice;
        let good = if dice.flag() {
            "Perfect, that works, thank you very much!"
        } else {
            "That is wrong, useless."
        };
        let rule = format!("rule{}", dice.below(3));
        let shadow = if dice.flag() { "Another answer." } else { "" };
        let id = format!("r{number}");
        let body = json!({
            "user_id": user, "session_id": session, "request_id": id,
            "source": dice.pick(&["", "web", "app"]), "agent_version": format!("v{}", dice.below(2)),
            // Often earlier than what is there: the first request of a session changes.
            "created_at": NOW - i64::try_from(dice.below(20 * 86_400)).unwrap(),
            "session_finished": dice.flag(),
            "interaction_data_list": [
                {"role": "User", "content": "Where is my parcel?"},
                {"role": "Assistant", "content": "On its way.", "shadow_content": shadow,
                 "citations": [{"kind": "playbook", "real_id": rule, "title": format!("said in {number}")}]},
                {"role": "User", "content": good},
            ],
        });
        let answer = self.server.publish(&body).await.ok();
        self.turns.extend(
            answer["interaction_ids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| (user.to_owned(), id.clone())),
        );
        self.requests.push(id);
    }

    async fn delete(&self, path: &str, body: &Value) {
        let answer = self.server.delete(path, body).await;
        assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
    }

    /// Deletes a person's rows two at a time, table by table in any order, as an erasure's batches may.
    async fn erase(&mut self, user: &str) {
        let subject = self.t.subject_in("default", user);
        self.t
            .sql(&format!(
                "UPDATE subjects SET state = 'erasing', epoch = epoch + 1 WHERE subject = {subject}"
            ))
            .await
            .unwrap();
        let mut tables: Vec<&UserTable> = USER_TABLES.iter().collect();
        while !tables.is_empty() {
            let index = self.dice.below(tables.len());
            let input = (tables[index], OrgId::from("default"), UserId::from(user));
            let batch = self.t.app.db.write("test.batch", input, |tx, (table, org, user)| {
                Box::pin(table.delete_batch(tx, org, user, i64::MAX, 2))
            });
            if batch.await.unwrap() == 0 {
                tables.remove(index);
            } else if self.dice.below(5) == 0 {
                assert_eq!(wrong_sums(&self.t).await, [], "in the middle of an erasure");
            }
        }
        self.t.sql(&format!("DELETE FROM subjects WHERE subject = {subject}")).await.unwrap();
    }

    /// Invariants of the stored rows.
    async fn check(&self, number: usize) {
        assert_eq!(wrong_sums(&self.t).await, [], "after step {number}");
        let none = [
            "SELECT COUNT(*) FROM evaluation_results r JOIN sessions s ON s.org_id = r.org_id AND s.subject = r.subject
                AND s.session_id = r.session_id WHERE r.created_at <> s.first_request_at OR r.source <> s.source",
            "SELECT COUNT(*) FROM shadow_sessions r JOIN sessions s ON s.org_id = r.org_id AND s.subject = r.subject
                AND s.session_id = r.session_id WHERE r.created_at <> s.first_request_at OR r.source <> s.source",
            "SELECT COUNT(*) FROM cited_rules r JOIN sessions s ON s.org_id = r.org_id AND s.subject = r.subject
                AND s.session_id = r.session_id WHERE r.created_at <> s.first_request_at OR r.source <> s.source",
            "SELECT COUNT(*) FROM (SELECT 1 FROM evaluation_results WHERE evaluation_name = 'agent_success'
                GROUP BY subject, session_id HAVING SUM(CASE WHEN is_newest THEN 1 ELSE 0 END) <> 1) bad",
            "SELECT COUNT(*) FROM cited_rules c WHERE NOT EXISTS (SELECT 1 FROM evaluation_results r
                WHERE r.subject = c.subject AND r.session_id = c.session_id AND r.is_newest AND r.is_success = c.is_success)",
            "SELECT COUNT(*) FROM shadow_verdicts v WHERE NOT EXISTS (SELECT 1 FROM interactions i
                WHERE i.interaction_id = v.interaction_id AND i.session_id = v.session_id)",
            "SELECT COUNT(*) FROM shadow_sessions p WHERE NOT EXISTS (SELECT 1 FROM shadow_verdicts v
                WHERE v.subject = p.subject AND v.session_id = p.session_id)",
        ];
        for query in none {
            assert_eq!(self.t.number(query).await, 0, "after step {number}: {query}");
        }
    }
}

async fn live(t: TestApp, seed: u64, steps: usize) {
    let t = t.judged_by(Arc::new(Preferring(Prefers::Text("way")))).await;
    let server = t.serve().await;
    let mut history =
        History { t, server, dice: Dice(seed), requests: Vec::new(), turns: Vec::new() };
    let mut most = 0;
    for number in 0..steps {
        history.step(number).await;
        if number % 3 == 0 {
            history.check(number).await;
            most = most.max(history.t.number("SELECT COUNT(*) FROM rule_rollups").await);
        }
    }
    assert!(most > 0, "something was counted");
    for user in ["u0", "u1", "u2"] {
        history.erase(user).await;
    }
    history.check(steps).await;
    fold_all(&history.t.app).await.unwrap();
    for table in [
        "evaluation_deltas",
        "rule_deltas",
        "evaluation_rollups",
        "rule_rollups",
        "shadow_session_rollups",
        "shadow_turn_rollups",
    ] {
        assert_eq!(
            history.t.number(&format!("SELECT COUNT(*) FROM {table}")).await,
            0,
            "nothing is left of anyone in {table}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_follow_every_history_on_sqlite() {
    for seed in 1..=3 {
        live(TestApp::new(Backend::Sqlite).await, seed, 150).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_follow_every_history_on_postgres() {
    live(TestApp::new(Backend::Postgres).await, 4, 120).await;
}

#[apply(both_backends)]
async fn an_earlier_first_request_moves_what_is_counted_by_it(t: TestApp) {
    let server = t.serve().await;
    let mut talk = crate::evaluation::talk("ada", "s1", true);
    talk["source"] = json!("web");
    talk["session_finished"] = json!(true);
    server.publish(&talk).await.ok();
    work(&t).await;
    talk["source"] = json!("app");
    talk["created_at"] = json!(NOW - 3 * DAY);
    talk["session_finished"] = json!(false);
    server.publish(&talk).await.ok();
    let results = crate::evaluation::results(&server).await;
    assert_eq!(results[0]["created_at"], NOW - 3 * DAY, "before any regrade");
    fold_all(&t.app).await.unwrap();
    let counted = async |source: &str| {
        t.number(&format!(
            "SELECT COUNT(*) FROM evaluation_rollups WHERE source = '{source}' AND n = 1"
        ))
        .await
    };
    assert_eq!((counted("web").await, counted("app").await), (0, 3), "an hour, a day and a week");
    assert_eq!(wrong_sums(&t).await, []);
}

#[apply(both_backends)]
async fn sums_that_were_tampered_with_are_found_and_made_anew(t: TestApp) {
    let server = t.serve().await;
    server.publish(&crate::evaluation::talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    assert_eq!(wrong_sums(&t).await, []);
    fold_all(&t.app).await.unwrap();
    t.sql("UPDATE evaluation_rollups SET successes = successes + 1 WHERE grain = 86400")
        .await
        .unwrap();
    assert_eq!(wrong_sums(&t).await, [("evaluation_rollups", 1)]);
    t.sql("DELETE FROM evaluation_rollups WHERE grain = 3600").await.unwrap();
    assert_eq!(wrong_sums(&t).await, [("evaluation_rollups", 2)]);
    t.sql("INSERT INTO rule_rollups (org_id, grain, source, start, kind, rule_id, n, successes) VALUES ('default', 3600, '*', 0, 'profile', 'p', 0, 0)").await.unwrap();
    assert_eq!(wrong_sums(&t).await, [("evaluation_rollups", 2), ("rule_rollups", 1)]);
    t.app
        .db
        .write("test.rebuild", overview::Mark::new(&t.app.ids), |tx, mark| {
            Box::pin(overview::rebuild(tx, *mark))
        })
        .await
        .unwrap();
    assert_eq!(wrong_sums(&t).await, []);
}

#[apply(both_backends)]
async fn verdicts_from_before_the_sums_are_counted(t: TestApp) {
    // There shards have had their triggers from the first migration on.
    if t.app.db.is_spread() {
        return;
    }
    let server = t.serve().await;
    server.publish(&crate::evaluation::talk("ada", "s1", true)).await.ok();
    t.clock().advance(600);
    work(&t).await;
    // As a database is that has the tables but never had the triggers.
    let names = service::evaluation::overview::trigger_names(t.app.db.engine().unwrap());
    let name = names.iter().find(|name| name.ends_with("_sessions")).unwrap();
    let of_table = if t.backend == Backend::Sqlite { "" } else { "ON sessions" };
    t.sql(&format!("DROP TRIGGER {name} {of_table}")).await.unwrap();
    t.sql("DELETE FROM evaluation_rollups").await.unwrap();
    // And one of an earlier version, which would count everything twice.
    let of_before: &[&str] = if t.backend == Backend::Sqlite {
        &[
            "CREATE TRIGGER rollup_v1_sessions AFTER UPDATE ON sessions BEGIN DELETE FROM evaluation_rollups; END",
        ]
    } else {
        &[
            "CREATE FUNCTION rollup_v1_sessions() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM evaluation_rollups; RETURN NULL; END'",
            "CREATE TRIGGER rollup_v1_sessions AFTER UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION rollup_v1_sessions()",
        ]
    };
    for statement in of_before {
        t.sql(statement).await.unwrap();
    }
    let again = t.replica().await;
    assert_eq!(wrong_sums(&again).await, []);
    let kept = again.number("SELECT COUNT(*) FROM evaluation_rollups").await;
    assert_eq!(kept, 6, "an hour, a day and a week, of its source and of the whole");
    server.publish(&crate::evaluation::talk("ada", "s1", true)).await.ok();
    assert_eq!(wrong_sums(&again).await, [], "the old trigger is gone");
}
