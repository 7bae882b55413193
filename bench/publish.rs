//! Throughput of publishing: publishes of two turns (or more) at 1, 8 and 32 clients, acknowledged means on disk.
//!
//!   cargo build --release && cargo run --release --example bench_publish
//!   FSYNC=on scripts/with-postgres cargo run --release --example bench_publish -- --postgres
//!   cargo run --release --example bench_publish -- --turns 10
//!   cargo run --release --example bench_publish -- --url http://127.0.0.1:8700 --token …
//!
//! Without --url it starts the release binary itself, on SQLite in a temporary folder or on the PostgreSQL of
//! TEST_POSTGRES_URL, and also prints its memory and how fast it is ready on the filled database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::Instant;

use clap::Parser;
use load::{Run, Target};

#[derive(Parser)]
struct Args {
    /// A running server with the same interface, instead of one that is started here
    #[arg(long)]
    url: Option<String>,
    #[arg(long)]
    token: Option<String>,
    /// Use the PostgreSQL that TEST_POSTGRES_URL names
    #[arg(long)]
    postgres: bool,
    #[arg(long, value_delimiter = ',', default_value = "1,8,32")]
    clients: Vec<usize>,
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Turns of one publish: questions and answers
    #[arg(long, default_value_t = 2)]
    turns: usize,
}

fn main() {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let data_dir = data_dir.to_str().unwrap();
    let postgres = args.postgres.then(|| {
        let key = format!("k1:{}", "ab".repeat(32));
        let url = std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres");
        (url, key)
    });
    let start = || match &postgres {
        Some((url, key)) => {
            Target::start_with(&["--database-url", url], &[("EVENHAND_GOVERNANCE__KEYS", key)])
        }
        None => Target::start_with(&["--data-dir", data_dir], &[]),
    };
    println!("disk: {:.0} fsyncs per second", load::fsyncs_per_second(folder.path()));
    let mut target = match &args.url {
        Some(url) => Target::at(url, args.token.clone()),
        None => start(),
    };
    if let Some(memory) = target.memory_mib() {
        std::thread::sleep(std::time::Duration::from_secs(2));
        println!(
            "memory: {memory:.0} MiB at start, {:.0} MiB idle",
            target.memory_mib().unwrap_or(0.0)
        );
    }
    println!("{}", Run::header());
    for clients in &args.clients {
        let mut run = load::run(&target, *clients, args.seconds, |number, call, client| {
            let body = publish(*clients, number, call, args.turns);
            client.send("POST", "/api/publish_interaction", &body) == 200
        });
        println!("{}", run.row());
    }
    if args.url.is_none() {
        println!("memory: {:.0} MiB after the load", target.memory_mib().unwrap_or(0.0));
        drop(target);
        let begun = Instant::now();
        target = start();
        let listening = begun.elapsed();
        assert_eq!(target.client().send("GET", "/health/ready", ""), 200);
        println!(
            "restart on the filled database: listening after {:.0} ms, ready after {:.0} ms",
            listening.as_secs_f64() * 1000.0,
            begun.elapsed().as_secs_f64() * 1000.0
        );
    }
}

/// Users' questions and the agent's answers; users and sessions vary as they do in production.
fn publish(clients: usize, number: usize, call: usize, turns: usize) -> String {
    // Sessions of three requests; every client has fifty users who come back.
    let (user, session) = (call / 3 % 50, call / 3);
    let question = format!(
        r#"{{"role":"User","content":"Where is order {call}? It should have been here on Tuesday, and nobody answers the phone."}}"#
    );
    let answer = format!(
        r#"{{"role":"Assistant","content":"Order {call} left the warehouse this morning. The carrier says it arrives tomorrow before noon; I have sent you the link to follow it.","tools_used":[{{"tool_name":"look_up_order","tool_data":{{"order":{call}}},"status":"success"}}]}}"#
    );
    let list: Vec<&str> = [&*question, &*answer].into_iter().cycle().take(turns).collect();
    format!(
        r#"{{"user_id":"user-{clients}-{number}-{user}","session_id":"session-{session}","source":"web","agent_version":"v1",
"interaction_data_list":[{}]}}"#,
        list.join(",\n")
    )
}
