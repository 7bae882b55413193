//! On Citus a person's publishes go to the server that has their rows, wherever that is at the time.

use service::webhooks::EventType;

use crate::evaluation::{results, talk, work};
use crate::publish::two_turns;
use crate::support::{Backend, Server, TestApp, not_run, until};
use crate::webhooks::refused_receiver;

const SHARD_OF_U: &str = "get_shard_id_for_distribution_column('subjects', ";

async fn a_cluster() -> Option<TestApp> {
    let t = TestApp::new(Backend::Postgres).await;
    if t.app.db.is_spread() {
        return Some(t);
    }
    not_run("places", "no Citus");
    None
}

async fn has_place(t: &TestApp, user: &str) -> bool {
    t.app.db.place_of(&"default".into(), &user.into()).await.is_some()
}

async fn publish(server: &Server, user: &str, times: usize) {
    for _ in 0..times {
        server.publish(&two_turns(user, "s1")).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishes_go_to_the_server_of_their_person() {
    let Some(t) = a_cluster().await else { return };
    let server = t.serve().await;
    for user in ["ada", "eve", "kim", "lou", "max"] {
        assert!(has_place(&t, user).await);
        publish(&server, user, 3).await;
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 15);
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 30);
    assert_eq!(t.number("SELECT COUNT(DISTINCT interaction_id) FROM interactions").await, 30);
    assert_eq!(t.mismatches().await, 0);
    // None was led back to the coordinator, after which all are for a while.
    assert!(has_place(&t, "ada").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_are_in_order_when_their_person_moves_to_another_server() {
    let Some(t) = a_cluster().await else { return };
    let server = t.serve().await;
    publish(&server, "ada", 3).await;
    let of_ada = format!("{SHARD_OF_U}{})", t.subject_in("default", "ada"));
    let away = format!(
        "SELECT COUNT(citus_move_shard_placement({of_ada}, here.nodename, here.nodeport, there.nodename, there.nodeport,
            'block_writes'))
         FROM (SELECT nodename, nodeport, groupid FROM pg_dist_placement JOIN pg_dist_node USING (groupid)
                WHERE shardid = {of_ada}) here,
              pg_dist_node there WHERE there.groupid <> here.groupid AND there.shouldhaveshards"
    );
    for _ in 0..2 {
        assert!(has_place(&t, "ada").await);
        t.sql(&away).await.unwrap();
        publish(&server, "ada", 3).await;
        until("the new place is known", async || has_place(&t, "ada").await).await;
        publish(&server, "ada", 3).await;
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 15);
    let out_of_order = "SELECT COUNT(*) FROM interactions a JOIN interactions b ON a.org_id = b.org_id
         AND a.subject = b.subject AND a.session_id = b.session_id AND a.interaction_id + 1 = b.interaction_id
         WHERE a.role = b.role";
    assert_eq!(t.number(out_of_order).await, 0);
    let span = "SELECT MAX(interaction_id) - MIN(interaction_id) FROM interactions";
    assert_eq!(t.number(span).await, 29);
    assert_eq!(t.mismatches().await, 0);
}

/// On the rules' verdicts, on one that somebody asks for, and on the news of a failure, which only the coordinator knows
/// who asks for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_are_written_at_the_place_of_their_person() {
    let Some(t) = a_cluster().await else { return };
    let server = t.serve().await;
    refused_receiver(&t, "default", &[EventType::SessionFailed]).await;
    let users = ["ada", "eve", "kim", "lou", "max"];
    for user in users {
        server.publish(&talk(user, "s1", user > "kim")).await.ok();
    }
    t.clock().advance(600);
    work(&t).await;
    let written = results(&server).await;
    assert_eq!(written.len(), users.len(), "{written:?}");
    let mut ids: Vec<i64> = written.iter().map(|r| r["result_id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), users.len());
    assert!(ids.last().is_some_and(|last| *last < 1000), "the coordinator's numbers: {ids:?}");
    assert_eq!(t.number("SELECT COUNT(*) FROM webhook_deliveries").await, 3);
    assert_eq!(
        t.number("SELECT COUNT(*) FROM jobs WHERE kind = 'evaluate_session' AND state = 'done'")
            .await,
        5
    );
    assert_eq!(t.mismatches().await, 0);
    // None was led back to the coordinator, after which all are for a while.
    assert!(has_place(&t, "ada").await);
}
