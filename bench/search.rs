//! Latency and throughput of search, over HTTP on loopback, with everything an agent's search goes through.
//!
//!   cargo run --release --example bench_search -- --sizes 3000,30000,300000
//!
//! Makes an installation in a temporary folder (or uses an empty PostgreSQL with --database-url), fills it
//! through the API, and measures unified searches at 1, 8 and 32 clients: full text, then hybrid with the
//! deterministic `hash` embedder. Server and clients share the process, so `cpu ms` is what one search costs both of
//! them together; on a machine with other work to do it tells more than the latencies. Each cell runs for a bounded
//! time.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::clock::Clock;
use base::ids::Ids;
use clap::Parser;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use service::app::{App, Schema};
use service::config::Settings;
use service::credentials::{self, GivenCredentials, NewCredential, Role};
use storage::jobs::{self, QueueState, Runner};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Parser)]
struct Options {
    /// Numbers of learnings, one measurement each
    #[arg(long, value_delimiter = ',', default_value = "3000,30000,300000")]
    sizes: Vec<usize>,
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    clients: Vec<usize>,
    /// Seconds that each cell runs
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Learnings per person
    #[arg(long, default_value_t = 30)]
    per_user: usize,
    /// Agent playbooks per hundred learnings
    #[arg(long, default_value_t = 2)]
    agent_percent: usize,
    /// As many agent playbooks at every size: then only what other people have grows
    #[arg(long)]
    agent_playbooks: Option<usize>,
    /// Also with trials of playbooks
    #[arg(long)]
    trials: bool,
    /// An empty PostgreSQL database; SQLite without it
    #[arg(long)]
    database_url: Option<String>,
    /// PostgreSQL of `scripts/with-postgres`
    #[arg(long)]
    postgres: bool,
}

impl Options {
    fn database_url(&self) -> Option<String> {
        let of_script =
            || std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres");
        self.database_url.clone().or_else(|| self.postgres.then(of_script))
    }
}

/// Words of the made-up language, the common ones first: as in English, those carry no meaning.
const WORDS: usize = 6000;
const COMMON: &[&str] = &[
    "the", "to", "of", "and", "a", "in", "is", "for", "that", "with", "on", "it", "as", "be",
    "are", "this", "by", "from", "or", "at", "have", "an", "was", "not", "they", "we", "you",
    "their", "has", "will", "but", "what",
];
/// Sessions that a user's searches are spread over: enough that most of them find something for the first time.
const SESSIONS_OF_USER: u32 = 30;
/// Searches before the clock starts.
const WARM_UP: usize = 200;

fn main() {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!(
            "{:>9} {:>7} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "learnings",
            "mode",
            "clients",
            "search/s",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "cpu ms",
            "found"
        );
        for size in &options.sizes {
            measure(&options, *size).await;
        }
    });
}

async fn measure(options: &Options, size: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::defaults().unwrap();
    settings.server.data_dir = folder.path().join("data");
    settings.embedder.kind = "hash".to_owned();
    settings.jobs.concurrency = 64;
    if let Some(url) = options.database_url() {
        settings.server.database_url = url;
        settings.governance.keys = format!("k1:{}", "0123456789abcdef".repeat(4));
    }
    let clock = Clock::System;
    let ids = Ids::system(clock.clone());
    let given = GivenCredentials::default();
    let app = App::open_with(settings, clock, ids, Schema::Migrate, given).await.unwrap();
    // An organization of its own: sizes measured on one PostgreSQL do not see each other.
    let org = format!("bench-{size}");
    let key = async |role| {
        let new = NewCredential::of(role, "bench");
        credentials::create(&app, &org.as_str().into(), new).await.unwrap().1
    };
    let (token, person) = (key(Role::Agent).await, key(Role::Dashboard).await);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = service::router::router(app.clone());
    let stopping = app.stopping.clone();
    let limits = service::http::connections::Limits::small(10);
    app.spawn(
        async move { service::http::server::serve(listener, router, stopping, limits).await },
    );

    let world = Arc::new(World::new(size, options));
    let started = Instant::now();
    fill(&world, address, &token, &person).await;
    let filled = started.elapsed();
    work_off(&app).await;
    println!(
        "# {size} learnings of {} people, {} agent playbooks, filled in {:.0} s, embedded and aggregated after {:.0} s",
        world.users,
        world.agent_playbooks,
        filled.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    for mode in ["fts", "hybrid"] {
        for clients in &options.clients {
            let cell = run(&world, address, &token, mode, *clients, options.seconds).await;
            cell.print(size, mode, *clients);
            if options.trials {
                switch_trials(address, &person, true).await;
                let with = run(&world, address, &token, mode, *clients, options.seconds).await;
                with.print(size, mode, *clients);
                println!(
                    "# with trials, p50 is {:.2} times",
                    with.percentile(50) / cell.percentile(50)
                );
                switch_trials(address, &person, false).await;
            }
        }
    }
    app.stop().await;
}

/// Switches trials on or off, and waits until that is known everywhere.
async fn switch_trials(address: SocketAddr, person: &str, enabled: bool) {
    let mut client = Client::new(address, person).await;
    let config = json!({"learning_trials": {"enabled": enabled}});
    client.post("/api/update_config", &serde_json::to_vec(&config).unwrap()).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
}

/// The same data and questions every time.
struct World {
    words: Vec<String>,
    users: usize,
    per_user: usize,
    agent_playbooks: usize,
}

impl World {
    fn new(size: usize, options: &Options) -> Self {
        let mut dice = StdRng::seed_from_u64(7);
        let syllables = [
            "ba", "ke", "li", "mo", "nu", "par", "ren", "sta", "tor", "vel", "wen", "zim", "dra",
            "gol",
        ];
        let mut word = || -> String {
            let length = dice.random_range(2..5);
            (0..length).map(|_| syllables[dice.random_range(0..syllables.len())]).collect()
        };
        let mut words: Vec<String> = COMMON.iter().map(|word| (*word).to_owned()).collect();
        words.extend((COMMON.len()..WORDS).map(|_| word()));
        let agent_playbooks = options.agent_playbooks.unwrap_or(size * options.agent_percent / 100);
        World {
            words,
            users: ((size - agent_playbooks) / options.per_user).max(1),
            per_user: options.per_user,
            agent_playbooks,
        }
    }

    /// Words as often as in real texts: the n-th about 1/n as often as the first.
    fn text(&self, dice: &mut StdRng, length: usize) -> String {
        let pick = |dice: &mut StdRng| {
            let power = (self.words.len() as f64).powf(dice.random::<f64>());
            &self.words[(power as usize).min(self.words.len() - 1)]
        };
        let words: Vec<&str> = (0..length).map(|_| pick(dice).as_str()).collect();
        words.join(" ")
    }

    fn search(&self, dice: &mut StdRng, mode: &str) -> Vec<u8> {
        let user = dice.random_range(0..self.users);
        let length = dice.random_range(5..13);
        let session = dice.random_range(0..SESSIONS_OF_USER);
        let body = json!({"user_id": format!("user-{user}"), "session_id": format!("session-{session}"),
            "query": self.text(dice, length), "search_mode": mode});
        serde_json::to_vec(&body).unwrap()
    }
}

async fn fill(world: &Arc<World>, address: SocketAddr, token: &str, person: &str) {
    let mut client = Client::new(address, token).await;
    let mut dice = StdRng::seed_from_u64(11);
    let mut profiles = Vec::new();
    let mut playbooks = Vec::new();
    for user in 0..world.users {
        for n in 0..world.per_user {
            let text = world.text(&mut dice, 22);
            let user_id = format!("user-{user}");
            if n % 3 == 2 {
                let trigger = world.text(&mut dice, 8);
                playbooks.push(json!({"user_id": user_id, "trigger": trigger, "content": text}));
            } else {
                profiles.push(json!({"user_id": user_id, "content": text}));
            }
        }
        if profiles.len() > 900 || user + 1 == world.users {
            client.add("/api/add_user_profile", "user_profiles", &mut profiles).await;
            client.add("/api/add_user_playbook", "user_playbooks", &mut playbooks).await;
        }
    }
    // Only people approve what serves everybody.
    let mut client = Client::new(address, person).await;
    let mut agents: Vec<Value> = Vec::new();
    for n in 0..world.agent_playbooks {
        let (trigger, content) = (world.text(&mut dice, 8), world.text(&mut dice, 30));
        agents.push(json!({"trigger": trigger, "content": content, "playbook_status": "approved"}));
        if agents.len() == 900 || n + 1 == world.agent_playbooks {
            client.add("/api/add_agent_playbook", "agent_playbooks", &mut agents).await;
        }
    }
}

/// Works through the jobs that the new learnings caused, embedding and aggregation, the way a server does.
async fn work_off(app: &Arc<App>) {
    app.spawn(Runner::new(app.clone(), service::wiring::job_handlers()).run());
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let (counts, _) = jobs::summary(app, None).await.unwrap();
        let open = |state: QueueState| {
            matches!(state, QueueState::Waiting | QueueState::Due | QueueState::Running)
        };
        let caused = ["embed_learnings", "aggregate_playbooks"];
        let left = counts.iter().filter(|c| caused.contains(&&*c.kind) && open(c.state));
        if left.map(|c| c.count).sum::<i64>() == 0 {
            break;
        }
    }
}

struct Cell {
    latencies: Vec<Duration>,
    elapsed: Duration,
    cpu: f64,
    found: usize,
}

async fn run(
    world: &Arc<World>,
    address: SocketAddr,
    token: &str,
    mode: &'static str,
    clients: usize,
    seconds: u64,
) -> Cell {
    let mut warm = Client::new(address, token).await;
    let mut dice = StdRng::seed_from_u64(13);
    for _ in 0..WARM_UP {
        warm.post("/api/search", &world.search(&mut dice, mode)).await;
    }
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let end = started + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..clients)
        .map(|n| {
            let (world, token) = (world.clone(), token.to_owned());
            tokio::spawn(async move {
                let mut client = Client::new(address, &token).await;
                let mut dice = StdRng::seed_from_u64(1000 + n as u64);
                let (mut latencies, mut found) = (Vec::new(), 0);
                while Instant::now() < end {
                    let body = world.search(&mut dice, mode);
                    let asked = Instant::now();
                    let answer = client.post("/api/search", &body).await;
                    latencies.push(asked.elapsed());
                    found += usize::from(answer.len() > 250);
                }
                (latencies, found)
            })
        })
        .collect();
    let (mut latencies, mut found) = (Vec::new(), 0);
    for task in tasks {
        let (some, hits) = task.await.unwrap();
        latencies.extend(some);
        found += hits;
    }
    latencies.sort_unstable();
    Cell { latencies, elapsed: started.elapsed(), cpu: cpu_seconds() - cpu, found }
}

impl Cell {
    fn percentile(&self, percent: usize) -> f64 {
        let place = (self.latencies.len() * percent / 100).min(self.latencies.len() - 1);
        self.latencies[place].as_secs_f64() * 1000.0
    }

    fn print(&self, size: usize, mode: &str, clients: usize) {
        let count = self.latencies.len();
        println!(
            "{size:>9} {mode:>7} {clients:>8} {:>9.0} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>7.0}%",
            count as f64 / self.elapsed.as_secs_f64(),
            self.percentile(50),
            self.percentile(95),
            self.percentile(99),
            self.cpu * 1000.0 / count as f64,
            100.0 * self.found as f64 / count as f64
        );
    }
}

/// Processor seconds of this process so far (Linux; elsewhere 0).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// One kept-alive connection; as little work as possible, because it shares the machine with the server.
struct Client {
    stream: TcpStream,
    head: String,
    buffer: Vec<u8>,
}

impl Client {
    async fn new(address: SocketAddr, token: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "host: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n"
        );
        Client { stream, head, buffer: Vec::new() }
    }

    async fn add(&mut self, path: &str, list: &str, rows: &mut Vec<Value>) {
        for batch in rows.chunks(1000) {
            let body = serde_json::to_vec(&json!({list: batch})).unwrap();
            self.post(path, &body).await;
        }
        rows.clear();
    }

    /// The body of a successful answer.
    async fn post(&mut self, path: &str, body: &[u8]) -> Vec<u8> {
        let mut request =
            format!("POST {path} HTTP/1.1\r\n{}content-length: {}\r\n\r\n", self.head, body.len())
                .into_bytes();
        request.extend_from_slice(body);
        self.stream.write_all(&request).await.unwrap();
        self.buffer.clear();
        loop {
            assert!(
                self.stream.read_buf(&mut self.buffer).await.unwrap() > 0,
                "the server hung up"
            );
            let Some(head_end) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") else {
                continue;
            };
            let head = String::from_utf8_lossy(&self.buffer[..head_end]).to_ascii_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
            let body_end = head_end + 4 + length.trim().parse::<usize>().unwrap();
            while self.buffer.len() < body_end {
                assert!(
                    self.stream.read_buf(&mut self.buffer).await.unwrap() > 0,
                    "the server hung up"
                );
            }
            let body = self.buffer[head_end + 4..body_end].to_vec();
            assert!(head.starts_with("http/1.1 200"), "{head}\n{}", String::from_utf8_lossy(&body));
            return body;
        }
    }
}
