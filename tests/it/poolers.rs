//! Behind pgbouncer in transaction mode.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::evaluation::talk;
use crate::support::{Cluster, Pgbouncer, Process, not_run, until};

/// POOLER_PUBLISHES=10000 for a longer run.
fn publishes() -> usize {
    std::env::var("POOLER_PUBLISHES").map_or(800, |count| count.parse().unwrap())
}

const CLIENTS: usize = 16;

fn command(url: &str) -> std::process::Command {
    let mut command =
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--database-url", url]);
    command.env("EVENHAND_LEARNING__EXTRACTOR", "rules").env("EVENHAND_LOG__LEVEL", "error");
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_transaction_mode_needs_its_setting() {
    let cluster = Cluster::start();
    let Some(pooler) = Pgbouncer::before(&cluster).await else {
        return not_run("poolers", "there is no pgbouncer");
    };
    let refused = command(&pooler.url()).output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("set database.pooler = \"transaction\""), "{said}");
    // Without a pooler the same setting is no mistake, only slower.
    let mut without = command(&cluster.url());
    let process = Process::start(without.env("EVENHAND_DATABASE__POOLER", "transaction"));
    assert_eq!(reqwest::get(process.url("/health/ready")).await.unwrap().status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishes_through_a_pooler_all_succeed() {
    let cluster = Cluster::start();
    let Some(pooler) = Pgbouncer::before(&cluster).await else {
        return not_run("poolers", "there is no pgbouncer");
    };
    let mut command = command(&pooler.url());
    command
        .env("EVENHAND_DATABASE__POOLER", "transaction")
        .env("EVENHAND_DATABASE__DIRECT_URL", cluster.url())
        .env("EVENHAND_JUDGE__MODEL", "offline");
    let process = Process::start(&mut command);
    let url = process.url("/api/publish_interaction");
    let begun = std::time::Instant::now();
    let failed: usize = join_all((0..CLIENTS).map(|client| {
        let url = url.clone();
        tokio::spawn(async move {
            let http = reqwest::Client::new();
            let mut failed = 0;
            for n in 0..publishes() / CLIENTS {
                let body = talk(&format!("u{client}-{}", n % 50), &format!("s{n}"), true);
                let answer = http.post(&url).json(&body).send().await.unwrap();
                failed += usize::from(answer.status() != 200);
            }
            failed
        })
    }))
    .await
    .into_iter()
    .map(Result::unwrap)
    .sum();
    println!("{} publishes in {:?}, {failed} failed", publishes(), begun.elapsed());
    assert_eq!(failed, 0);
    assert_eq!(cluster.number("SELECT COUNT(*) FROM requests").await, publishes() as i64);
    reads_and_jobs_work(&process, &cluster).await;
}

/// One of everything that goes to the database in another way than a publish.
async fn reads_and_jobs_work(process: &Process, cluster: &Cluster) {
    let http = reqwest::Client::new();
    let post = async |path: &str, body: Value| {
        let answer = http.post(process.url(path)).json(&body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    post("/api/search", json!({"user_id": "u1-1", "query": "parcel"})).await;
    post("/api/get_requests", json!({"user_id": "u1-1"})).await;
    let sessions = reqwest::get(process.url("/api/sessions")).await.unwrap();
    assert_eq!(sessions.status(), 200);
    post("/api/evaluations/regenerate", json!({"from_ts": 0, "to_ts": 4_000_000_000_i64})).await;
    until("a worker judges", async || {
        cluster.number("SELECT COUNT(*) FROM evaluation_results").await > 20
    })
    .await;
}
