//! A primary that dies, a server that becomes read-only, and a standby that is read from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::publish::two_turns;
use crate::support::{Cluster, Process, until, within};

const CLIENTS: usize = 8;

fn serve(url: &str, more: &[(&str, &str)]) -> Process {
    let mut command =
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--database-url", url]);
    command.envs(more.iter().copied()).env("EVENHAND_LOG__LEVEL", "off");
    Process::start(&mut command)
}

/// One answer: when it came, and its request if that was stored.
struct Seen {
    at: Instant,
    status: u16,
    retry_after: bool,
    request: String,
}

async fn load(url: String, client: usize, stop: Arc<AtomicBool>) -> Vec<Seen> {
    let http = reqwest::Client::new();
    let mut seen = Vec::new();
    let mut pace = tokio::time::interval(Duration::from_millis(10));
    for n in 0.. {
        pace.tick().await;
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let request = format!("r-{client}-{n}");
        let mut body = two_turns(&format!("u{client}"), "s");
        body["request_id"] = json!(request);
        let answer = http.post(&url).json(&body).send().await.unwrap();
        let retry_after = answer.headers().contains_key("retry-after");
        seen.push(Seen {
            at: Instant::now(),
            status: answer.status().as_u16(),
            retry_after,
            request,
        });
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_takes_over_under_load() {
    let primary = Cluster::start();
    let standby = primary.standby();
    // Acknowledged means: on both.
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
    primary.execute("SELECT pg_reload_conf()").await;
    let url = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
        primary.port, standby.port
    );
    let process = serve(&url, &[]);
    let stop = Arc::new(AtomicBool::new(false));
    let publish = process.url("/api/publish_interaction");
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(load(publish.clone(), client, stop.clone())))
        .collect();
    let enough = "SELECT COUNT(*) FROM requests";
    until("there is load", async || {
        process.id() > 0 && primary.number(enough).await >= 10 * CLIENTS as i64
    })
    .await;
    tokio::task::block_in_place(|| {
        primary.stop();
        standby.promote();
    });
    let promoted = Instant::now();
    let stored = standby.number(enough).await;
    within(20, "publishes go on", async || {
        standby.number(enough).await > stored + 5 * CLIENTS as i64
    })
    .await;
    stop.store(true, Ordering::SeqCst);
    let mut all = Vec::new();
    for client in clients {
        all.extend(client.await.unwrap());
    }
    let odd: Vec<u16> =
        all.iter().map(|seen| seen.status).filter(|status| !matches!(status, 200 | 503)).collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(all.iter().all(|seen| seen.status == 200 || seen.retry_after));
    let first = all.iter().filter(|seen| seen.status == 200 && seen.at > promoted);
    let first = first.map(|seen| seen.at - promoted).min().unwrap();
    let refused = all.iter().filter(|seen| seen.status == 503).count();
    println!("first success {first:?} after the promotion; {refused} of {} were 503", all.len());
    assert!(first < Duration::from_secs(5), "{first:?}");
    let http = reqwest::Client::new();
    for client in 0..CLIENTS {
        let filter = json!({"user_id": format!("u{client}"), "limit": 1000});
        let answer =
            http.post(process.url("/api/get_requests")).json(&filter).send().await.unwrap();
        let answer = answer.text().await.unwrap();
        let own = format!("r-{client}-");
        for seen in all.iter().filter(|s| s.status == 200 && s.request.starts_with(&own)) {
            assert!(answer.contains(&format!("\"{}\"", seen.request)), "{} is lost", seen.request);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_writes_is_503_and_its_connections_are_dropped() {
    let cluster = Cluster::start();
    let process = serve(&cluster.url(), &[]);
    let http = reqwest::Client::new();
    let publish = async || {
        let url = process.url("/api/publish_interaction");
        http.post(url).json(&two_turns("ada", "s")).send().await.unwrap()
    };
    assert_eq!(publish().await.status(), 200);
    cluster.execute("ALTER SYSTEM SET default_transaction_read_only = on").await;
    cluster.execute("SELECT pg_reload_conf()").await;
    within(5, "writes are refused", async || publish().await.status() != 200).await;
    let refused = publish().await;
    assert_eq!(refused.status(), 503);
    assert_eq!(refused.headers()["retry-after"], "1");
    cluster.execute("ALTER SYSTEM RESET default_transaction_read_only").await;
    cluster.execute("SELECT pg_reload_conf()").await;
    within(5, "writes are taken again", async || publish().await.status() == 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_read_from_the_standby_and_without_it_from_the_primary() {
    let primary = Cluster::start();
    let standby = primary.standby();
    let process = serve(&primary.url(), &[("EVENHAND_DATABASE__READ_URL", &standby.url())]);
    let http = reqwest::Client::new();
    let publish = async |session: &str| {
        let url = process.url("/api/publish_interaction");
        let answer = http.post(url).json(&two_turns("ada", session)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    };
    let listed = async || {
        let answer = reqwest::get(process.url("/api/sessions")).await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        answer["sessions"].as_array().map_or(0, Vec::len)
    };
    publish("s1").await;
    within(10, "the standby has it", async || listed().await == 1).await;
    standby.execute("SELECT pg_wal_replay_pause()").await;
    publish("s2").await;
    let body = json!({"user_id": "ada"});
    let answer = http.post(process.url("/api/get_requests")).json(&body).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["sessions"].as_array().unwrap().len(), 2, "one's own writes are seen");
    assert_eq!(listed().await, 1, "the list is the standby's");
    standby.execute("SELECT pg_wal_replay_resume()").await;
    within(10, "it catches up", async || listed().await == 2).await;
    tokio::task::block_in_place(|| standby.stop());
    publish("s3").await;
    assert_eq!(listed().await, 3, "the primary answers");
}
