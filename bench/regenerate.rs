//! Overhead of a regeneration over its judge: sessions with a judge that answers in 20 ms, ten at a time.
//!
//!   cargo build --release && cargo run --release --example bench_regenerate
//!   FSYNC=on scripts/with-postgres cargo run --release --example bench_regenerate -- --postgres
//!
//! Starts the release binary with the offline judge slowed down (judge.offline_delay_ms), publishes the sessions,
//! regenerates, and compares the time with sessions × delay / concurrency. Prints memory along the way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use clap::Parser;
use load::{Client, Target};

#[derive(Parser)]
struct Args {
    /// Use the PostgreSQL that TEST_POSTGRES_URL names
    #[arg(long)]
    postgres: bool,
    #[arg(long, default_value_t = 5000)]
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
    let key = format!("k1:{}", "ab".repeat(32));
    let mut environment = vec![
        ("EVENHAND_JUDGE__OFFLINE_DELAY_MS", delay.as_str()),
        ("EVENHAND_JUDGE__CONCURRENCY", concurrency.as_str()),
        // Nothing but the regeneration works.
        ("EVENHAND_LEARNING__EXTRACTOR", "off"),
        ("EVENHAND_EVALUATION__QUIET_SECONDS", "86400"),
    ];
    let target = if args.postgres {
        environment.push(("EVENHAND_GOVERNANCE__KEYS", key.as_str()));
        let url = std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres");
        Target::start_with(&["--database-url", &url], &environment)
    } else {
        Target::start_with(&["--data-dir", &data_dir], &environment)
    };
    println!("disk: {:.0} fsyncs per second", load::fsyncs_per_second(folder.path()));
    publish(&target, args.sessions);
    let mut client = target.client();
    let config = format!(
        r#"{{"eval_sample_n_per_stratum":100000,"eval_concurrency_limit":{}}}"#,
        args.concurrency
    );
    assert_eq!(client.send("POST", "/api/update_config", &config), 200);
    println!("memory: {:.0} MiB before", target.memory_mib().unwrap_or(0.0));
    let cpu = target.cpu();
    let window = r#"{"from_ts":1,"to_ts":9999999999}"#;
    let begun = Instant::now();
    assert_eq!(client.send("POST", "/api/evaluations/regenerate", window), 200);
    let started = begun.elapsed();
    let job = field(&client, "job_id");
    let mut shown = Instant::now();
    let ended = loop {
        std::thread::sleep(Duration::from_millis(100));
        let path = format!("/api/evaluations/regenerate/{}", job.as_str().unwrap());
        assert_eq!(client.send("GET", &path, ""), 200);
        if field(&client, "status") != "running" {
            break begun.elapsed();
        }
        if shown.elapsed() > Duration::from_secs(2) {
            let done = field(&client, "completed");
            println!("{done} judged, {:.0} MiB", target.memory_mib().unwrap_or(0.0));
            shown = Instant::now();
        }
    };
    assert_eq!(field(&client, "completed"), args.sessions);
    let ideal = args.sessions as f64 * args.delay_ms as f64 / 1000.0 / args.concurrency as f64;
    let took = ended.as_secs_f64();
    let used = target.cpu().zip(cpu).map_or(0.0, |(after, before)| (after - before).as_secs_f64());
    println!(
        "{} sessions in {took:.2} s (started in {:.2} s); ideal {ideal:.2} s; overhead {:.1} %; \
         {:.0} µs of processor time a session; memory {:.0} MiB after",
        args.sessions,
        started.as_secs_f64(),
        (took / ideal - 1.0) * 100.0,
        used * 1e6 / args.sessions as f64,
        target.memory_mib().unwrap_or(0.0)
    );
}

fn field(client: &Client, name: &str) -> serde_json::Value {
    let body: serde_json::Value = serde_json::from_slice(client.body()).unwrap();
    body[name].clone()
}

fn publish(target: &Target, sessions: usize) {
    std::thread::scope(|scope| {
        for part in 0..8 {
            scope.spawn(move || {
                let mut client = target.client();
                for n in (part..sessions).step_by(8) {
                    let user = n % 500;
                    let body = format!(
                        r#"{{"user_id":"user-{user}","session_id":"session-{n}","source":"web",
"interaction_data_list":[{{"role":"User","content":"Where is order {n}?"}},
{{"role":"Assistant","content":"Order {n} left the warehouse this morning."}},
{{"role":"User","content":"Thank you, that is all."}}]}}"#
                    );
                    assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
                }
            });
        }
    });
}
