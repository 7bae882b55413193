//! Three replicas behind a proxy on PostgreSQL or Citus, while everything under them is killed.
//!
//!   cargo build --release --bin evenhand --example bench_chaos
//!   target/release/examples/bench_chaos --seconds 600
//!   $CITUS target/release/examples/bench_chaos --seconds 600 --citus
//!
//! Starts a primary and a standby that it waits for, three servers, a judge that counts its calls, and clients that
//! publish finished sessions and erase people, each request again until it is acknowledged. Meanwhile servers are killed
//! (-9), the primary is ended as by a power cut and started again, and after two thirds of the time the standby is
//! promoted in its place. On Citus the cluster is the one that is there (TEST_CITUS_URL, TEST_CITUS_WORKERS), and the
//! coordinator and the workers are ended in turn. At the end everything acknowledged is looked for. Exit code 1 if
//! something is not as it must be.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

#[path = "../tests/it/support/cluster.rs"]
mod cluster;
#[path = "../tests/it/support/model.rs"]
mod model;

use std::collections::BTreeMap;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use cluster::Cluster;
use model::Model;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

#[derive(Parser)]
struct Args {
    /// How long the trouble lasts
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    #[arg(long, default_value_t = 6)]
    clients: usize,
    /// Seconds between two troubles
    #[arg(long, default_value_t = 8)]
    every: u64,
    /// On the Citus cluster of TEST_CITUS_URL and TEST_CITUS_WORKERS
    #[arg(long)]
    citus: bool,
}

const REPLICAS: usize = 3;
/// Work that waits is waited for as long as it becomes less in this time.
const STANDSTILL: Duration = Duration::from_secs(60);
const GOVERNOR: &str = "governor-governor-governor-governor";
const OPERATOR: &str = "operator-operator-operator-operator";
const JUDGE: Model = Model {
    marker: "parcel-",
    takes: Duration::from_millis(150),
    answers: |_| {
        json!({"reasoning": "r", "number_of_corrections": 0, "is_escalated": false,
            "failure_reason": "", "failure_type": "", "is_success": true})
    },
};

/// Answers that clients got.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    /// Sessions by number, acknowledged.
    sessions: Mutex<Vec<usize>>,
    erased: Mutex<Vec<usize>>,
    statuses: Mutex<BTreeMap<String, usize>>,
}

struct Replica {
    child: Child,
    port: u16,
}

fn start(url: &str, judge: &str, port: u16) -> Replica {
    let listen = format!("127.0.0.1:{port}");
    let child = Command::new(load::binary())
        .args(["serve", "--listen", &listen, "--database-url", url])
        .env("EVENHAND_GOVERNANCE__KEYS", format!("k1:{}", "ab".repeat(32)))
        .env("EVENHAND_GOVERNANCE_BEARER", GOVERNOR)
        .env("EVENHAND_DASHBOARD_KEY", OPERATOR)
        .env("EVENHAND_LEARNING__EXTRACTOR", "off")
        // Three replicas with a judge that takes 150 ms: 160 verdicts a second, more than clients publish.
        .env("EVENHAND_JOBS__CONCURRENCY", "8")
        .env("EVENHAND_JUDGE__CONCURRENCY", "8")
        .env("EVENHAND_JUDGE__MODEL", "openai/counting")
        .env("EVENHAND_LOG__LEVEL", "off")
        .env("OPENAI_BASE_URL", judge)
        .env("OPENAI_API_KEY", "sk-test")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    Replica { child, port }
}

/// Passes connections on to whichever replica takes them.
async fn proxy(listener: TcpListener, ports: Vec<u16>) {
    let turn = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let (turn, ports) = (turn.clone(), ports.clone());
        tokio::spawn(async move {
            for _ in 0..ports.len() {
                let port = ports[turn.fetch_add(1, Ordering::Relaxed) % ports.len()];
                if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    return;
                }
            }
        });
    }
}

/// Sends a request again until it is acknowledged.
async fn insist(seen: &Seen, http: &reqwest::Client, url: &str, body: &Value) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(90) {
        let key = if url.contains("/governance/") { GOVERNOR } else { OPERATOR };
        let answer = http.post(url).bearer_auth(key).json(body).send().await;
        let status = answer.as_ref().map_or("no answer".to_owned(), |a| a.status().to_string());
        *seen.statuses.lock().unwrap().entry(status).or_default() += 1;
        if answer.is_ok_and(|answer| answer.status() == 200) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    false
}

fn session(user: String, number: usize) -> Value {
    json!({"request_id": format!("r{number}"), "user_id": user, "session_id": format!("s{number}"),
        "session_finished": true, "interaction_data_list": [
            {"role": "User", "content": format!("Where is parcel-{number}?")},
            {"role": "Assistant", "content": "It arrives on Tuesday."}]})
}

async fn publishes(seen: Arc<Seen>, base: String, client: usize, clients: usize) {
    let http = reqwest::Client::new();
    let url = format!("{base}/api/publish_interaction");
    for number in (client..).step_by(clients) {
        if seen.stop.load(Ordering::SeqCst) {
            break;
        }
        if insist(&seen, &http, &url, &session(format!("u{}", number % 97), number)).await {
            seen.sessions.lock().unwrap().push(number);
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}

/// Somebody new every second, who leaves again.
async fn erases(seen: Arc<Seen>, base: String) {
    let http = reqwest::Client::new();
    for number in 1_000_000.. {
        if seen.stop.load(Ordering::SeqCst) {
            break;
        }
        let mut body = session(format!("leaver{number}"), number);
        body["session_finished"] = json!(false);
        insist(&seen, &http, &format!("{base}/api/publish_interaction"), &body).await;
        let body =
            json!({"user_id": format!("leaver{number}"), "request_id": format!("dsr{number}")});
        if insist(&seen, &http, &format!("{base}/api/governance/erase-user"), &body).await {
            seen.erased.lock().unwrap().push(number);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    judge::llm::install_tls();
    println!(
        "load before: {}",
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim()
    );
    let mut servers = if args.citus { Servers::citus().await } else { Servers::postgres().await };
    let url = servers.url();
    let (calls, judge) = JUDGE.start().await;
    let mut replicas: Vec<Replica> =
        (0..REPLICAS).map(|_| start(&url, &judge, cluster::free_port())).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(proxy(listener, replicas.iter().map(|replica| replica.port).collect()));
    let seen = Arc::new(Seen::default());
    let mut clients: Vec<_> = (0..args.clients)
        .map(|client| tokio::spawn(publishes(seen.clone(), base.clone(), client, args.clients)))
        .collect();
    clients.push(tokio::spawn(erases(seen.clone(), base.clone())));

    let begun = Instant::now();
    let mut troubles = BTreeMap::<&str, usize>::new();
    for turn in 0.. {
        tokio::time::sleep(Duration::from_secs(args.every)).await;
        if begun.elapsed() >= Duration::from_secs(args.seconds) {
            break;
        }
        let is_late = begun.elapsed() >= Duration::from_secs(2 * args.seconds / 3);
        let trouble = if is_late && servers.standby.is_some() {
            servers.promote();
            "standby promoted"
        } else if turn % 3 == 2 {
            servers.restart(turn / 3).await
        } else {
            // Every third trouble is another one: each of them has its turn.
            let replica = &mut replicas[(turn - turn / 3) % REPLICAS];
            let _ = replica.child.kill();
            let _ = replica.child.wait();
            tokio::time::sleep(Duration::from_secs(1)).await;
            *replica = start(&url, &judge, replica.port);
            "replica killed"
        };
        *troubles.entry(trouble).or_default() += 1;
    }
    seen.stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    let sound = look(&servers.main, &seen, &calls, &troubles).await;
    for replica in &mut replicas {
        let _ = replica.child.kill();
        let _ = replica.child.wait();
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Cluster {
    /// A server that is running already, with its settings in its own file.
    async fn found(url: &str) -> Self {
        use sqlx::{Connection, Row};
        let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
        let row = sqlx::raw_sql("SHOW data_directory").fetch_one(&mut conn).await.unwrap();
        let data: String = row.get(0);
        let port = url.rsplit_once('/').and_then(|(server, _)| server.rsplit_once(':'));
        let port = port.and_then(|(_, port)| port.parse().ok()).expect("a URL with a port");
        Cluster { data: data.into(), port, folder: None }
    }
}

/// The databases that are ended and started again.
struct Servers {
    /// The primary, or the coordinator.
    main: Cluster,
    standby: Option<Cluster>,
    workers: Vec<Cluster>,
}

impl Servers {
    async fn postgres() -> Self {
        let main = Cluster::start();
        let standby = main.standby();
        main.execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await;
        main.execute("SELECT pg_reload_conf()").await;
        Servers { main, standby: Some(standby), workers: Vec::new() }
    }

    async fn citus() -> Self {
        let named =
            |name| std::env::var(name).expect("start this under a program that starts Citus");
        let main = Cluster::found(&named("TEST_CITUS_URL")).await;
        let mut workers = Vec::new();
        for url in named("TEST_CITUS_WORKERS").split_whitespace() {
            workers.push(Cluster::found(url).await);
        }
        Servers { main, standby: None, workers }
    }

    fn url(&self) -> String {
        match &self.standby {
            Some(standby) => format!(
                "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
                self.main.port, standby.port
            ),
            None => self.main.url(),
        }
    }

    fn promote(&mut self) {
        let standby = self.standby.take().expect("a standby");
        self.main.stop();
        standby.promote();
        self.main = standby;
    }

    /// Ends one of them and starts it again after three seconds.
    async fn restart(&self, turn: usize) -> &'static str {
        let all: Vec<_> = std::iter::once(&self.main).chain(&self.workers).collect();
        let server = turn % all.len();
        all[server].stop();
        tokio::time::sleep(Duration::from_secs(3)).await;
        all[server].resume();
        if server == 0 { "database restarted" } else { "worker restarted" }
    }
}

/// Compares what was acknowledged with what is there.
async fn look(
    server: &Cluster,
    seen: &Seen,
    calls: &model::Calls,
    troubles: &BTreeMap<&str, usize>,
) -> bool {
    let open = "SELECT COUNT(*) FROM jobs WHERE state = 'open' AND kind IN ('evaluate_session', 'erase_user')";
    let (mut left, mut since) = (i64::MAX, Instant::now());
    while left > 0 && since.elapsed() < STANDSTILL {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let now = server.number(open).await;
        if now < left {
            (left, since) = (now, Instant::now());
        }
    }
    let sessions = seen.sessions.lock().unwrap().clone();
    let stored = server.numbers("SELECT substr(request_id, 2)::bigint FROM requests").await;
    let mut lost = 0;
    for number in &sessions {
        lost += usize::from(!stored.contains(&i64::try_from(*number).unwrap()));
    }
    let halves = server
        .number(
            "SELECT COUNT(*) FROM (SELECT request_id FROM interactions GROUP BY org_id, subject, request_id
             HAVING COUNT(*) <> 2) odd",
        )
        .await;
    let judged = server
        .number("SELECT COUNT(*) FROM evaluation_results WHERE evaluation_name = 'agent_success'")
        .await;
    let unjudged = server
        .number(
            "SELECT COUNT(*) FROM sessions s WHERE substr(session_id, 2)::bigint < 1000000 AND 1 <> (
             SELECT COUNT(*) FROM evaluation_results r WHERE r.org_id = s.org_id AND r.subject = s.subject
             AND r.session_id = s.session_id AND r.evaluation_name = 'agent_success')",
        )
        .await;
    // By the numbers of their sessions: the names of those who left are gone.
    let leavers = server
        .number("SELECT COUNT(*) FROM sessions WHERE substr(session_id, 2)::bigint >= 1000000")
        .await;
    let purges =
        server.number("SELECT COUNT(*) FROM purge_operations WHERE status = 'complete'").await;
    let unfinished =
        server.number("SELECT COUNT(*) FROM purge_operations WHERE status <> 'complete'").await;
    let certified = server
        .number("SELECT COUNT(*) FROM audit_events WHERE operation = 'ERASE' AND status = 'ok'")
        .await;
    let calls = calls.lock().unwrap().clone();
    let asked: usize = calls.values().sum();
    let repeated = asked - calls.len();
    let share = 100.0 * repeated as f64 / calls.len().max(1) as f64;
    println!("troubles: {troubles:?}");
    println!("answers: {:?}", seen.statuses.lock().unwrap());
    println!("acknowledged: {} sessions; lost {lost}, half there {halves}", sessions.len());
    println!(
        "judged: {judged}, not exactly once {unjudged}; judge asked {asked} times, {repeated} repeated ({share:.2} %)"
    );
    let erased = seen.erased.lock().unwrap().len();
    println!(
        "erased: {erased} acknowledged, {purges} complete, {certified} certified, {unfinished} unfinished, {leavers} sessions left"
    );
    let errors = seen.statuses.lock().unwrap().keys().any(|status| status.starts_with("500"));
    lost == 0
        && halves == 0
        && unjudged == 0
        && unfinished == 0
        && certified == purges
        && usize::try_from(purges).unwrap() >= erased
        && leavers <= 1
        && share < 0.5
        && !errors
}
