//! Killed, stopped or hung up on: what was acknowledged is there, and nothing is half there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use storage::db::Db;
use storage::subjects::SubjectKeys;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::publish::two_turns;
use crate::support::{
    Backend, Process, TEST_KEYS, TestApp, apply, both_backends, new_schema, postgres, within,
};

const CLIENTS: usize = 8;
const ROUNDS: usize = 20;
/// Publishes that must be acknowledged before a round may end.
const ENOUGH: usize = 3 * CLIENTS;

/// Storage of the binary, as arguments.
struct Storage {
    args: Vec<String>,
    folder: tempfile::TempDir,
}

impl Storage {
    async fn new(backend: Backend) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let args = match backend {
            Backend::Sqlite => vec!["--data-dir".to_owned(), folder.path().display().to_string()],
            Backend::Postgres => vec!["--database-url".to_owned(), new_schema().await],
        };
        Storage { args, folder }
    }

    fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }

    async fn recount_mismatches(&self) -> i64 {
        // Nobody is looked up by name, so that any key does.
        let hash = SubjectKeys::parse(TEST_KEYS).unwrap().subject_hash();
        let db = match self.args[0].as_str() {
            "--data-dir" => Db::sqlite(&self.folder.path().join("evenhand.db"), 1, hash).await,
            _ => Db::postgres(&postgres(&self.args[1], 2), hash).await,
        };
        let db = db.unwrap();
        let found = db
            .read("test.recount", (), |tx, ()| Box::pin(service::sessions::recount_mismatches(tx)))
            .await
            .unwrap();
        db.close().await;
        found
    }
}

/// The publishes of one client in one round that were answered with 200.
struct Acknowledged {
    user: String,
    session: String,
    requests: Vec<String>,
}

fn body(user: &str, session: &str, request: &str) -> Value {
    json!({
        "request_id": request, "user_id": user, "session_id": session,
        "interaction_data_list": [
            {"role": "User", "content": format!("question {request}")},
            {"role": "Assistant", "content": format!("answer {request} {}", "x".repeat(500))},
        ]
    })
}

/// State shared by the clients of a round.
#[derive(Default)]
struct Round {
    stop: AtomicBool,
    acknowledged: AtomicUsize,
}

/// Publishes without pause until told to stop, or until the server is gone.
async fn load(url: String, client: usize, round: usize, shared: Arc<Round>) -> Acknowledged {
    let http = reqwest::Client::new();
    let (user, session) = (format!("u{client}"), format!("round{round}"));
    let mut requests = Vec::new();
    for n in 0.. {
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        let request = format!("r-{round}-{client}-{n}");
        match http.post(&url).json(&body(&user, &session, &request)).send().await {
            Ok(answer) if answer.status() == 200 => {
                requests.push(request);
                shared.acknowledged.fetch_add(1, Ordering::SeqCst);
            }
            _ => break,
        }
    }
    Acknowledged { user, session, requests }
}

/// Starts the clients, lets them run for a while, does `end` to the server, and gives what was acknowledged.
async fn under_load(
    process: &mut Process,
    round: usize,
    pause: Duration,
    end: impl FnOnce(&mut Process),
) -> Vec<Acknowledged> {
    // The first publish loads the tokenizer, which takes a while in a debug build.
    let url = process.url("/api/publish_interaction");
    let warm = body("warm", "up", &format!("warm-{round}"));
    let answer = reqwest::Client::new().post(&url).json(&warm).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let shared = Arc::new(Round::default());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            tokio::spawn(load(
                process.url("/api/publish_interaction"),
                client,
                round,
                shared.clone(),
            ))
        })
        .collect();
    tokio::time::sleep(pause).await;
    // A busy machine gets the time it needs for a load worth the name.
    let started = Instant::now();
    while shared.acknowledged.load(Ordering::SeqCst) < ENOUGH {
        assert!(started.elapsed() < Duration::from_secs(20), "no load");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::task::block_in_place(|| end(process));
    shared.stop.store(true, Ordering::SeqCst);
    let mut all = Vec::new();
    for client in clients {
        all.push(client.await.unwrap());
    }
    all
}

/// Reads one session back: everything acknowledged is in it, and everything in it is whole.
async fn is_whole(process: &Process, acknowledged: &Acknowledged) {
    let Acknowledged { user, session, requests } = acknowledged;
    let url = process.url(&format!("/api/sessions/{user}/{session}"));
    let answer = reqwest::get(url).await.unwrap();
    if requests.is_empty() && answer.status() == 404 {
        return;
    }
    let found: Value = answer.json().await.unwrap();
    let mut turns: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for turn in found["interactions"].as_array().unwrap() {
        turns
            .entry(turn["request_id"].as_str().unwrap())
            .or_default()
            .push(turn["content"].as_str().unwrap());
    }
    let stored: Vec<&str> = found["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["request_id"].as_str().unwrap())
        .collect();
    for request in &stored {
        let expected = body(user, session, request);
        let expected: Vec<&str> = (0..2)
            .map(|n| expected["interaction_data_list"][n]["content"].as_str().unwrap())
            .collect();
        assert_eq!(turns.remove(request), Some(expected), "{request} is half there");
    }
    assert!(turns.is_empty(), "turns without their request: {turns:?}");
    for request in requests {
        assert!(stored.contains(&request.as_str()), "{request} was acknowledged and is gone");
    }
}

async fn survives_being_killed(backend: Backend) {
    let storage = Storage::new(backend).await;
    let mut everything = Vec::new();
    let mut process = Process::serve(&storage.args());
    for round in 0..ROUNDS {
        let pause = Duration::from_millis(250 + 25 * (round as u64 % 8));
        let acknowledged = under_load(&mut process, round, pause, Process::kill).await;
        process = Process::serve(&storage.args());
        for client in &acknowledged {
            is_whole(&process, client).await;
        }
        everything.extend(acknowledged);
    }
    for client in &everything {
        is_whole(&process, client).await;
    }
    let total: usize = everything.iter().map(|client| client.requests.len()).sum();
    assert!(total >= ENOUGH * ROUNDS, "{total} publishes are not much of a load");
    // A publish acknowledged before a crash is still known to be a repeat after it.
    let known = everything.iter().find(|client| !client.requests.is_empty()).unwrap();
    let http = reqwest::Client::new();
    let repeat = body(&known.user, &known.session, &known.requests[0]);
    let answer: Value = http
        .post(process.url("/api/publish_interaction"))
        .json(&repeat)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(answer["duplicate"], true);
    process.terminate();
    assert_eq!(storage.recount_mismatches().await, 0);
    if backend == Backend::Sqlite {
        let mut args = vec!["doctor"];
        args.extend(storage.args());
        let doctor = Process::run(&args);
        assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_under_load_lose_nothing_acknowledged_on_sqlite() {
    survives_being_killed(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_under_load_lose_nothing_acknowledged_on_postgres() {
    survives_being_killed(Backend::Postgres).await;
}

async fn stops_gracefully(backend: Backend) {
    let storage = Storage::new(backend).await;
    let mut process = Process::serve(&storage.args());
    // Connections that say nothing, or stop in the middle, do not hold it up either.
    let _idle = TcpStream::connect(&process.address).await.unwrap();
    let mut stuck = TcpStream::connect(&process.address).await.unwrap();
    let head = "POST /api/publish_interaction HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    stuck.write_all(head.as_bytes()).await.unwrap();
    let mut ended = None;
    let acknowledged =
        under_load(&mut process, 0, Duration::from_millis(700), |p| ended = Some(p.terminate()))
            .await;
    let (code, took) = ended.unwrap();
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(10), "{took:?}");
    let total: usize = acknowledged.iter().map(|client| client.requests.len()).sum();
    assert!(total >= ENOUGH, "{total}");
    let process = Process::serve(&storage.args());
    for client in &acknowledged {
        is_whole(&process, client).await;
    }
    drop(process);
    assert_eq!(storage.recount_mismatches().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graceful_stop_under_load_is_quick_and_loses_nothing_on_sqlite() {
    stops_gracefully(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graceful_stop_under_load_is_quick_and_loses_nothing_on_postgres() {
    stops_gracefully(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_stops_at_once() {
    let storage = Storage::new(Backend::Sqlite).await;
    let mut process = Process::serve(&storage.args());
    reqwest::get(process.url("/health/ready")).await.unwrap();
    let _silent = TcpStream::connect(&process.address).await.unwrap();
    // Connections are accepted in order: when a later one is answered, the silent one is held.
    reqwest::get(process.url("/health/ready")).await.unwrap();
    let (code, took) = tokio::task::block_in_place(|| process.terminate());
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[apply(both_backends)]
async fn a_client_that_hangs_up_after_sending_has_published_all_the_same(t: TestApp) {
    let server = t.serve().await;
    // The tokenizer's first use takes a while; that is not what this is about.
    server.publish(&two_turns("warm", "up")).await.ok();
    for n in 0..40 {
        let mut body = two_turns("ada", "s");
        body["request_id"] = json!(format!("r{n}"));
        let body = body.to_string();
        let request = format!(
            "POST /api/publish_interaction HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        drop(stream);
    }
    let ada = t.subject_in("default", "ada");
    let stored = format!("SELECT COUNT(*) FROM requests WHERE subject = {ada}");
    within(20, "all 40 are stored", async || t.number(&stored).await == 40).await;
    assert_eq!(t.mismatches().await, 0);
}
