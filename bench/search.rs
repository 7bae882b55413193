//! Latency and throughput of search, over HTTP on loopback, with everything an agent's search goes through.
//!
//!   cargo build --release --bin evenhand && cargo build --profile bench --example bench_search
//!   target/release/examples/bench_search --sizes 3000,30000,300000
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_search --sizes 30000 --postgres
//!
//! Starts the release binary in a temporary folder or on the PostgreSQL of TEST_POSTGRES_URL, fills it through the
//! interface, starts it again, and measures unified searches at 1, 8 and 32 clients: full text, then hybrid with the
//! deterministic `hash` embedder. `server ms` is the processor time of the server for one search; on a machine with
//! other work to do it tells more than the latencies. Each cell runs for a bounded time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use load::place::Place;
use load::{Client, Target};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

const AGENT: &str = "an-agent-credential-for-this-measurement";
const OPERATOR: &str = "an-operator-credential-for-this-measurement";

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
    /// PostgreSQL of `scripts/with-postgres` instead of SQLite
    #[arg(long)]
    postgres: bool,
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
    assert!(!options.postgres || options.sizes.len() == 1, "one size at a time on one PostgreSQL");
    println!(
        "{:>9} {:>7} {:>8} {:>9} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "learnings",
        "mode",
        "clients",
        "search/s",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "server ms",
        "found"
    );
    for size in &options.sizes {
        measure(&options, *size);
    }
}

fn measure(options: &Options, size: usize) {
    let place = Place::new(options.postgres);
    let environment = [
        ("EVENHAND_AGENT_KEY", AGENT),
        ("EVENHAND_DASHBOARD_KEY", OPERATOR),
        ("EVENHAND_EMBEDDER__KIND", "hash"),
        ("EVENHAND_JOBS__CONCURRENCY", "64"),
    ];
    let mut target = place.serve_with(&environment);
    target.token = Some(AGENT.to_owned());
    let world = World::new(size, options);
    let started = Instant::now();
    fill(&world, &target);
    let filled = started.elapsed();
    work_off(&target);
    println!(
        "# {size} learnings of {} people, {} agent playbooks, filled in {:.0} s, embedded and aggregated after {:.0} s",
        world.users,
        world.agent_playbooks,
        filled.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    // A server that did not make the learnings: memory of the fill is not that of searches.
    drop(target);
    let mut target = place.serve_with(&environment);
    target.token = Some(AGENT.to_owned());
    let memory = |target: &Target| target.memory_mib().unwrap_or(0.0);
    let before = memory(&target);
    for mode in ["fts", "hybrid"] {
        for clients in &options.clients {
            let cell = run(&world, &target, mode, *clients, options.seconds);
            cell.print(size, mode, *clients);
            if options.trials {
                switch_trials(&target, true);
                let with = run(&world, &target, mode, *clients, options.seconds);
                with.print(size, mode, *clients);
                println!(
                    "# with trials, p50 is {:.2} times",
                    with.percentile(50) / cell.percentile(50)
                );
                switch_trials(&target, false);
            }
        }
    }
    println!("# memory: {before:.0} MiB before, {:.0} MiB after", memory(&target));
}

/// A connection with the key of somebody who decides what serves everybody.
fn operator(target: &Target) -> Client {
    Target::at(&target.address, Some(OPERATOR.to_owned())).client()
}

fn post(client: &mut Client, path: &str, body: &Value) {
    let status = client.send("POST", path, &body.to_string());
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(client.body()));
}

/// Switches trials on or off, and waits until that is known everywhere.
fn switch_trials(target: &Target, enabled: bool) {
    let config = json!({"learning_trials": {"enabled": enabled}});
    post(&mut operator(target), "/api/update_config", &config);
    std::thread::sleep(Duration::from_secs(11));
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

    fn search(&self, dice: &mut StdRng, mode: &str) -> String {
        let user = dice.random_range(0..self.users);
        let length = dice.random_range(5..13);
        let session = dice.random_range(0..SESSIONS_OF_USER);
        let body = json!({"user_id": format!("user-{user}"), "session_id": format!("session-{session}"),
            "query": self.text(dice, length), "search_mode": mode});
        body.to_string()
    }
}

fn fill(world: &World, target: &Target) {
    let mut client = target.client();
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
            add(&mut client, "/api/add_user_profile", "user_profiles", &mut profiles);
            add(&mut client, "/api/add_user_playbook", "user_playbooks", &mut playbooks);
        }
    }
    // Only people approve what serves everybody.
    let mut client = operator(target);
    let mut agents: Vec<Value> = Vec::new();
    for n in 0..world.agent_playbooks {
        let (trigger, content) = (world.text(&mut dice, 8), world.text(&mut dice, 30));
        agents.push(json!({"trigger": trigger, "content": content, "playbook_status": "approved"}));
        if agents.len() == 900 || n + 1 == world.agent_playbooks {
            add(&mut client, "/api/add_agent_playbook", "agent_playbooks", &mut agents);
        }
    }
}

fn add(client: &mut Client, path: &str, list: &str, rows: &mut Vec<Value>) {
    for batch in rows.chunks(1000) {
        post(client, path, &json!({list: batch}));
    }
    rows.clear();
}

/// Waits until the jobs that the new learnings caused, embedding and aggregation, are worked off.
fn work_off(target: &Target) {
    let mut client = operator(target);
    loop {
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(client.send("GET", "/api/jobs", ""), 200);
        let answer: Value = serde_json::from_slice(client.body()).unwrap();
        let is_left = |line: &&Value| {
            ["embed_learnings", "aggregate_playbooks"].contains(&line["kind"].as_str().unwrap())
                && ["waiting", "due", "running"].contains(&line["state"].as_str().unwrap())
        };
        if !answer["jobs"].as_array().unwrap().iter().any(|line| is_left(&line)) {
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

fn run(world: &World, target: &Target, mode: &str, clients: usize, seconds: u64) -> Cell {
    let mut warm = target.client();
    let mut dice = StdRng::seed_from_u64(13);
    for _ in 0..WARM_UP {
        assert_eq!(warm.send("POST", "/api/search", &world.search(&mut dice, mode)), 200);
    }
    let found = AtomicUsize::new(0);
    let mut run = load::run(target, clients, seconds as f64, |number, call, client| {
        let mut dice = StdRng::seed_from_u64((1000 + number as u64) << 32 | call as u64);
        let status = client.send("POST", "/api/search", &world.search(&mut dice, mode));
        found.fetch_add(usize::from(client.body().len() > 250), Ordering::Relaxed);
        status == 200
    });
    assert_eq!(run.failures, 0);
    run.latencies.sort_unstable();
    let cpu = run.cpu().unwrap_or_default().as_secs_f64();
    Cell { elapsed: run.elapsed, cpu, found: found.into_inner(), latencies: run.latencies }
}

impl Cell {
    fn percentile(&self, percent: usize) -> f64 {
        let place = (self.latencies.len() * percent / 100).min(self.latencies.len() - 1);
        self.latencies[place].as_secs_f64() * 1000.0
    }

    fn print(&self, size: usize, mode: &str, clients: usize) {
        let count = self.latencies.len();
        println!(
            "{size:>9} {mode:>7} {clients:>8} {:>9.0} {:>8.2} {:>8.2} {:>8.2} {:>9.2} {:>7.0}%",
            count as f64 / self.elapsed.as_secs_f64(),
            self.percentile(50),
            self.percentile(95),
            self.percentile(99),
            self.cpu * 1000.0 / count as f64,
            100.0 * self.found as f64 / count as f64
        );
    }
}
