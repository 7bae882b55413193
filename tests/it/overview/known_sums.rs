//! Sums that a process knows from an earlier answer.

use serde_json::json;
use service::evaluation::overview::{self, fold_all};

use super::random::DAY;
use super::wrong_sums;
use crate::evaluation::{talk, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

/// Judged sessions of six whole days, of which one has lines.
async fn counted(server: &Server) -> i64 {
    let end = NOW - NOW % DAY + DAY;
    let window = json!({"from_ts": end - 6 * DAY, "to_ts": end - 1});
    let overview = server.post("/api/get_evaluation_overview", &window).await.ok();
    overview["hero"]["n"].as_i64().unwrap()
}

async fn judged(t: &TestApp, server: &Server, session: &str) {
    server.publish(&talk("ada", session, true)).await.ok();
    t.clock().advance(600);
    work(t).await;
}

#[apply(both_backends)]
async fn known_lines_serve_until_somebody_folds(t: TestApp) {
    let (server, replica) = (t.serve().await, t.replica().await);
    judged(&t, &server, "s1").await;
    fold_all(&t.app).await.unwrap();
    assert_eq!(counted(&server).await, 1);
    // Nobody but a fold changes lines: a change by hand shows whether they are read.
    t.sql("UPDATE evaluation_rollups SET n = n + 10").await.unwrap();
    assert_eq!(counted(&server).await, 1, "known");
    assert_eq!(counted(&replica.serve().await).await, 11, "not known there");

    judged(&t, &server, "s2").await;
    fold_all(&replica.app).await.unwrap();
    assert_eq!(counted(&server).await, 12, "another process folded");

    t.sql("UPDATE evaluation_rollups SET n = n - 5").await.unwrap();
    assert_eq!(counted(&server).await, 12, "known");
    let rebuild =
        replica.app.db.write("test.rebuild", overview::Mark::new(&replica.app.ids), |tx, mark| {
            Box::pin(overview::rebuild(tx, *mark))
        });
    rebuild.await.unwrap();
    assert_eq!(counted(&server).await, 2, "another process made the lines anew");
    assert_eq!(wrong_sums(&t).await, []);
}

/// A replica of the version before folds without leaving a mark.
#[apply(both_backends)]
async fn lines_that_an_older_program_folded_are_read(t: TestApp) {
    let server = t.serve().await;
    judged(&t, &server, "s1").await;
    fold_all(&t.app).await.unwrap();
    assert_eq!(counted(&server).await, 1);
    t.sql("UPDATE evaluation_rollups SET n = n + 1").await.unwrap();
    t.sql("UPDATE folded_deltas SET folded = folded + 1 WHERE deltas = 'evaluation_deltas'")
        .await
        .unwrap();
    assert_eq!(counted(&server).await, 2);
    t.sql("DELETE FROM folded_deltas WHERE deltas = 'mark'").await.unwrap();
    t.sql("UPDATE evaluation_rollups SET n = n + 1").await.unwrap();
    assert_eq!(counted(&server).await, 3, "without a mark as well");
}

/// Nobody changes a delta in place: a change by hand, which the state of the tables does not tell, shows whether they
/// are read.
#[apply(both_backends)]
async fn what_was_counted_serves_until_a_row_changes(t: TestApp) {
    let (server, replica) = (t.serve().await, t.replica().await);
    judged(&t, &server, "s1").await;
    assert_eq!(counted(&server).await, 1);
    t.sql("UPDATE evaluation_deltas SET n = n + 10").await.unwrap();
    assert_eq!(counted(&server).await, 1, "counted before");
    assert_eq!(counted(&replica.serve().await).await, 11, "not counted there before");

    judged(&t, &server, "s2").await;
    assert_eq!(counted(&server).await, 12, "after a verdict");
    t.sql("UPDATE evaluation_deltas SET n = n - 5 WHERE n > 10").await.unwrap();
    assert_eq!(counted(&server).await, 12, "counted before");
    for change in [
        "gap_deltas (org_id, hour, source, agent_version, is_newest, n) VALUES ('o', 0, 's', 'v', 1, 1)",
        "rule_deltas (org_id, hour, source, kind, rule_id, n, successes)
         VALUES ('o', 0, 's', 'profile', 'p', 1, 1)",
        "shadow_session_deltas
           (org_id, hour, judge_prompt_version, source, user_group, n, regular_better, shadow_better)
         VALUES ('o', 0, 'v', 's', 1, 1, 1, 0)",
        "shadow_turn_deltas (org_id, hour, judge_prompt_version, n, wins, losses, both_orders, flips)
         VALUES ('o', 0, 'v', 1, 1, 0, 0, 0)",
    ] {
        let before = counted(&server).await;
        t.sql("UPDATE evaluation_deltas SET n = n + 1").await.unwrap();
        assert_eq!(counted(&server).await, before, "before {change}");
        t.sql(&format!("INSERT INTO {change}")).await.unwrap();
        assert_ne!(counted(&server).await, before, "after {change}");
    }
    let of_version = json!({"from_ts": NOW - 3 * DAY, "to_ts": NOW + DAY, "agent_version": "v1"});
    let path = "/api/get_evaluation_overview";
    let before = server.post(path, &of_version).await.ok()["hero"]["n"].clone();
    t.sql("UPDATE evaluation_deltas SET n = n + 1").await.unwrap();
    let after = server.post(path, &of_version).await.ok()["hero"]["n"].clone();
    assert_ne!(before, after, "of one version everything is counted each time");
}
