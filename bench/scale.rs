//! Load that one SQLite, one PostgreSQL and a Citus cluster hold, in one run: publishes and verdicts at 1, 8 and 32, and
//! the processor time of each.
//!
//!   cargo build --release --bin evenhand --example bench_scale
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_scale
//!
//! Starts the release binary itself: on SQLite in a temporary folder, then on the PostgreSQL of TEST_POSTGRES_URL and the
//! Citus cluster of TEST_CITUS_URL and TEST_CITUS_WORKERS, if there are any. `server µs` is the processor time of Evenhand
//! for each operation, `database µs` that of PostgreSQL: on Citus that of all servers together. Verdicts are those of the
//! offline judge, all of one agent version, with as many at a time as the column says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use std::time::{Duration, Instant};

use clap::Parser;
use load::Target;

#[derive(Parser)]
struct Args {
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    clients: Vec<usize>,
    /// Seconds that each line of publishes runs
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Finished sessions to be judged, for each line of verdicts
    #[arg(long, default_value_t = 6000)]
    sessions: usize,
    /// Databases to measure, of those that are there
    #[arg(long, value_delimiter = ',', default_value = "sqlite,postgres,citus")]
    engines: Vec<String>,
}

fn main() {
    let args = Args::parse();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load of the machine before: {}", load.trim());
    let folder = tempfile::tempdir().unwrap();
    println!("disk: {:.0} fsyncs per second", load::fsyncs_per_second(folder.path()));
    for engine in [Engine::Sqlite, Engine::postgres(), Engine::citus()] {
        if !args.engines.iter().any(|name| name == engine.name()) {
            continue;
        }
        match engine.servers() {
            [] if !matches!(engine, Engine::Sqlite) => {
                println!("{}: not run; there is none", engine.name());
            }
            _ => engine.measure(&args),
        }
    }
}

/// The database, with the URLs of its servers, the coordinator first.
enum Engine {
    Sqlite,
    Postgres(Vec<String>),
    Citus(Vec<String>),
}

impl Engine {
    fn postgres() -> Self {
        Engine::Postgres(std::env::var("TEST_POSTGRES_URL").into_iter().collect())
    }

    fn citus() -> Self {
        let servers =
            ["TEST_CITUS_URL", "TEST_CITUS_WORKERS"].map(std::env::var).into_iter().flatten();
        Engine::Citus(
            servers
                .flat_map(|urls| urls.split(' ').map(str::to_owned).collect::<Vec<_>>())
                .collect(),
        )
    }

    fn servers(&self) -> &[String] {
        match self {
            Engine::Sqlite => &[],
            Engine::Postgres(servers) | Engine::Citus(servers) => servers,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Engine::Sqlite => "sqlite",
            Engine::Postgres(_) => "postgres",
            Engine::Citus(_) => "citus",
        }
    }

    fn measure(&self, args: &Args) {
        println!(
            "\n{:>9} {:>9} {:>8} {:>11} {:>9} {:>9} {:>10} {:>12} {:>7}",
            "engine",
            "what",
            "at once",
            "per second",
            "p50 ms",
            "p99 ms",
            "server µs",
            "database µs",
            "failed"
        );
        for clients in &args.clients {
            self.publishes(*clients, args.seconds);
        }
        for workers in &args.clients {
            self.verdicts(*workers, args.sessions);
        }
    }

    /// A place of its own for each line: what one leaves behind is not in the way of the next.
    fn place(&self) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let servers = self.servers().to_vec();
        let name = format!("scale_{}", rand::random::<u32>());
        for server in &servers {
            query(server, &format!("CREATE DATABASE {name}"));
        }
        if let Engine::Citus(servers) = self {
            let databases: Vec<_> = servers.iter().map(|server| sibling(server, &name)).collect();
            for database in &databases {
                query(database, "CREATE EXTENSION citus");
            }
            for (place, server) in servers.iter().enumerate() {
                let call = if place == 0 { "citus_set_coordinator_host" } else { "citus_add_node" };
                let (host, port) = host_and_port(server);
                query(&databases[0], &format!("SELECT {call}('{host}', {port})"));
            }
        }
        Place { folder, name, servers }
    }

    fn publishes(&self, clients: usize, seconds: f64) {
        let place = self.place();
        let target = place.start(&["--no-workers"], 4);
        let before = place.database_cpu();
        let mut run = load::run(&target, clients, seconds, |number, call, client| {
            client.send("POST", "/api/publish_interaction", &session(number, call / 3, call, false))
                == 200
        });
        run.latencies.sort_unstable();
        let at = |percent: usize| {
            run.latencies[(run.latencies.len() * percent / 100).min(run.latencies.len() - 1)]
        };
        Line {
            engine: self.name(),
            what: "publish",
            at_once: clients,
            count: run.latencies.len(),
            elapsed: run.elapsed,
            p50: at(50),
            p99: at(99),
            server: run.cpu().unwrap_or_default(),
            database: place.database_cpu().saturating_sub(before),
            failed: run.failures,
        }
        .print();
    }

    fn verdicts(&self, workers: usize, sessions: usize) {
        let place = self.place();
        let target = place.start(&["--no-workers"], workers);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let target = &target;
                scope.spawn(move || {
                    let mut client = target.client();
                    for n in (number..sessions).step_by(8) {
                        let body = session(n % 500, n, n, true);
                        assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
                    }
                });
            }
        });
        drop(target);
        let before = place.database_cpu();
        let started = Instant::now();
        let target = place.start(&[], workers);
        let mut client = target.client();
        let limit = Duration::from_secs(300);
        let mut found = judged(&mut client);
        while found < sessions && started.elapsed() < limit {
            // Counting the jobs is work for the database, too: mostly shortly before the end.
            let seconds_each = started.elapsed().as_secs_f64() / found.max(1) as f64;
            let left = seconds_each * (sessions - found) as f64;
            std::thread::sleep(Duration::from_secs_f64((0.9 * left).clamp(0.05, 1.5)));
            found = judged(&mut client);
        }
        Line {
            engine: self.name(),
            what: "verdict",
            at_once: workers,
            count: found,
            elapsed: started.elapsed(),
            p50: Duration::ZERO,
            p99: Duration::ZERO,
            server: target.cpu().unwrap_or_default(),
            database: place.database_cpu().saturating_sub(before),
            failed: sessions - found,
        }
        .print();
    }
}

struct Line {
    engine: &'static str,
    what: &'static str,
    at_once: usize,
    count: usize,
    elapsed: Duration,
    p50: Duration,
    p99: Duration,
    server: Duration,
    database: Duration,
    failed: usize,
}

impl Line {
    fn print(&self) {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / self.count.max(1) as f64;
        println!(
            "{:>9} {:>9} {:>8} {:>11.0} {:>9.2} {:>9.2} {:>10.0} {:>12.0} {:>7}",
            self.engine,
            self.what,
            self.at_once,
            self.count as f64 / self.elapsed.as_secs_f64(),
            self.p50.as_secs_f64() * 1000.0,
            self.p99.as_secs_f64() * 1000.0,
            each(self.server),
            each(self.database),
            self.failed
        );
    }
}

struct Place {
    folder: tempfile::TempDir,
    /// Of the database, on each of the servers.
    name: String,
    servers: Vec<String>,
}

impl Place {
    fn start(&self, more: &[&str], workers: usize) -> Target {
        let folder = self.folder.path().join("data").display().to_string();
        let url = self.servers.first().map(|server| sibling(server, &self.name));
        let mut args = match &url {
            Some(url) => vec!["--database-url", url.as_str()],
            None => vec!["--data-dir", folder.as_str()],
        };
        args.extend(more);
        let (key, workers) = (format!("k1:{}", "ab".repeat(32)), workers.to_string());
        let environment = [
            ("EVENHAND_GOVERNANCE__KEYS", key.as_str()),
            ("EVENHAND_JUDGE__MODEL", "offline"),
            ("EVENHAND_JUDGE__CONCURRENCY", workers.as_str()),
            ("EVENHAND_JOBS__CONCURRENCY", workers.as_str()),
            ("EVENHAND_LEARNING__EXTRACTOR", "off"),
        ];
        Target::start_with(&args, &environment)
    }

    /// Processor time of all servers so far.
    fn database_cpu(&self) -> Duration {
        self.servers.iter().map(|server| server_cpu(server)).sum()
    }
}

/// Processor time of a PostgreSQL so far: of its processes, and of those that have ended.
fn server_cpu(url: &str) -> Duration {
    let folder = query(url, "SHOW data_directory").unwrap();
    let file = std::fs::read_to_string(format!("{folder}/postmaster.pid")).unwrap_or_default();
    let Some(first) = file.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) else {
        return Duration::ZERO;
    };
    let ticks = |id: u32, fields: std::ops::Range<usize>, parent: Option<u32>| -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        // The parent is the first field after the state. Some are -1.
        let all: Vec<i64> =
            after.split_whitespace().skip(1).map(|field| field.parse().unwrap_or(0)).collect();
        if parent.is_some_and(|parent| all.first() != Some(&i64::from(parent))) {
            return 0;
        }
        all.get(fields).map_or(0, |times| times.iter().sum::<i64>().unsigned_abs())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let children: u64 = ids.map(|id| ticks(id, 10..12, Some(first))).sum();
    Duration::from_millis(10 * (children + ticks(first, 10..14, None)))
}

impl Drop for Place {
    fn drop(&mut self) {
        for server in &self.servers {
            query(server, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// The URL of another database of the same server.
fn sibling(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{name}")
}

fn host_and_port(url: &str) -> (&str, &str) {
    let place = url.rsplit_once('/').and_then(|(server, _)| server.rsplit_once('@'));
    place
        .and_then(|(_, place)| place.rsplit_once(':'))
        .expect("a URL with a user, a host and a port")
}

/// The first value of a statement's first row.
fn query(url: &str, statement: &str) -> Option<String> {
    use sqlx::{Connection, Row};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
        #[allow(clippy::disallowed_types)]
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        let row = sqlx::raw_sql(statement).fetch_optional(&mut conn).await.unwrap();
        row.and_then(|row| row.try_get::<String, _>(0).ok())
    })
}

fn judged(client: &mut load::Client) -> usize {
    assert_eq!(client.send("GET", "/api/jobs", ""), 200);
    let answer: serde_json::Value = serde_json::from_slice(client.body()).unwrap();
    let lines = answer["jobs"].as_array().expect("lines");
    let done =
        lines.iter().filter(|line| line["kind"] == "evaluate_session" && line["state"] == "done");
    done.map(|line| usize::try_from(line["count"].as_u64().unwrap()).unwrap()).sum()
}

fn session(user: usize, session: usize, call: usize, finished: bool) -> String {
    format!(
        r#"{{"user_id":"user-{user}","session_id":"session-{session}","source":"web","agent_version":"v1","session_finished":{finished},
"interaction_data_list":[
{{"role":"User","content":"Where is order {call}? It should have been here on Tuesday, and nobody answers the phone."}},
{{"role":"Assistant","content":"Order {call} left the warehouse this morning. The carrier says it arrives tomorrow before noon.","tools_used":[{{"tool_name":"look_up_order","tool_data":{{"order":{call}}},"status":"success"}}]}},
{{"role":"User","content":"Perfect, thank you very much!"}}
]}}"#
    )
}
