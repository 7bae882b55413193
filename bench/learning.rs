//! Overhead of extraction over its model: finished sessions with a model that answers in 20 ms, ten at a
//! time.
//!
//!   cargo build --release && cargo run --release --example bench_learning
//!   FSYNC=on scripts/with-postgres cargo run --release --example bench_learning -- --postgres
//!
//! Starts the release binary without workers, publishes the sessions (one person each: one window each), then starts
//! it again with workers and a slowed-down extractor (judge.offline_delay_ms), and compares the time until every window
//! was read with windows × delay / concurrency. Sessions are not judged meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use clap::Parser;
use load::Target;

#[derive(Parser)]
struct Args {
    /// Use the PostgreSQL that TEST_POSTGRES_URL names
    #[arg(long)]
    postgres: bool,
    #[arg(long, default_value_t = 10_000)]
    sessions: usize,
    #[arg(long, default_value_t = 20)]
    delay_ms: u64,
    #[arg(long, default_value_t = 10)]
    concurrency: usize,
}

fn main() {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data").display().to_string();
    let (delay, concurrency) = (args.delay_ms.to_string(), args.concurrency.to_string());
    // Windows are loaded and saved beside those that the model reads.
    let slots = (args.concurrency * 3).to_string();
    let key = format!("k1:{}", "ab".repeat(32));
    let mut environment = vec![
        ("EVENHAND_JUDGE__OFFLINE_DELAY_MS", delay.as_str()),
        ("EVENHAND_JUDGE__CONCURRENCY", concurrency.as_str()),
        ("EVENHAND_JOBS__CONCURRENCY", slots.as_str()),
    ];
    let url;
    let place: Vec<&str> = if args.postgres {
        environment.push(("EVENHAND_GOVERNANCE__KEYS", key.as_str()));
        url = std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres");
        vec!["--database-url", &url]
    } else {
        vec!["--data-dir", &data_dir]
    };
    println!("disk: {:.0} fsyncs per second", load::fsyncs_per_second(folder.path()));
    let idle = [&place[..], &["--no-workers"]].concat();
    let target = Target::start_with(&idle, &environment);
    let mut client = target.client();
    let unjudged = r#"{"agent_success_config":{"sampling_rate":0}}"#;
    assert_eq!(client.send("POST", "/api/update_config", unjudged), 200);
    let begun = Instant::now();
    publish(&target, args.sessions);
    let rate = args.sessions as f64 / begun.elapsed().as_secs_f64();
    println!("{} sessions published, {rate:.0} a second", args.sessions);
    drop((client, target));

    let begun = Instant::now();
    let target = Target::start_with(&place, &environment);
    let mut client = target.client();
    let mut shown = Instant::now();
    let took = loop {
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(client.send("GET", "/api/jobs", ""), 200);
        let summary: serde_json::Value = serde_json::from_slice(client.body()).unwrap();
        let count = |states: &[&str]| -> u64 {
            let jobs = summary["jobs"].as_array().unwrap().iter();
            jobs.filter(|job| job["kind"] == "extract_learnings")
                .filter(|job| states.iter().any(|state| job["state"] == *state))
                .map(|job| job["count"].as_u64().unwrap())
                .sum()
        };
        if count(&["waiting", "due", "running"]) == 0 {
            assert_eq!(count(&["done"]), args.sessions as u64, "every stream was read");
            break begun.elapsed().as_secs_f64();
        }
        if shown.elapsed() > Duration::from_secs(2) {
            let memory = target.memory_mib().unwrap_or(0.0);
            println!("{} windows read, {memory:.0} MiB", count(&["done"]));
            shown = Instant::now();
        }
    };
    let ideal = args.sessions as f64 * args.delay_ms as f64 / 1000.0 / args.concurrency as f64;
    let used = target.cpu().map_or(0.0, |cpu| cpu.as_secs_f64());
    println!(
        "{} windows in {took:.2} s; ideal {ideal:.2} s; overhead {:.1} %; {:.0} µs of processor time a window; \
         memory {:.0} MiB after",
        args.sessions,
        (took / ideal - 1.0) * 100.0,
        used * 1e6 / args.sessions as f64,
        target.memory_mib().unwrap_or(0.0)
    );
}

fn publish(target: &Target, sessions: usize) {
    std::thread::scope(|scope| {
        for part in 0..8 {
            scope.spawn(move || {
                let mut client = target.client();
                for n in (part..sessions).step_by(8) {
                    let body = format!(
                        r#"{{"user_id":"user-{n}","session_id":"session-{n}","session_finished":true,
"interaction_data_list":[{{"role":"User","content":"Where is order {n}?"}},
{{"role":"Assistant","content":"Order {n} left the warehouse this morning."}},
{{"role":"User","content":"Always tell me the day of delivery, please."}}]}}"#
                    );
                    assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
                }
            });
        }
    });
}
