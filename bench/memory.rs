//! Memory of the server: idle, for each connection, for each organization, and minute by minute under load.
//!
//!   cargo build --release && cargo run --release --example bench_memory
//!   cargo run --release --example bench_memory -- --minutes 60
//!
//! The load is publishes and searches as fast as they are answered. Memory is what cannot be dropped (`RssAnon`);
//! pages of the program file come on top and are shared with the system's cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::Duration;

use base::owner::OrgId;
use clap::Parser;
use load::Target;
use load::place::Place;
use service::credentials::{self, NewCredential, Role};

#[derive(Parser)]
struct Args {
    /// Use the PostgreSQL that TEST_POSTGRES_URL names
    #[arg(long)]
    postgres: bool,
    /// Connections that are opened and do nothing
    #[arg(long, default_value_t = 1000)]
    connections: usize,
    /// Organizations that publish one session and search once
    #[arg(long, default_value_t = 500)]
    organizations: usize,
    /// Minutes of load
    #[arg(long, default_value_t = 3)]
    minutes: usize,
    /// Clients of the load; the benchmark of publishing has 32
    #[arg(long, default_value_t = 64)]
    clients: usize,
}

fn main() {
    let args = Args::parse();
    let place = Place::new(args.postgres);
    let tokens = make_organizations(&place, args.organizations);
    let mut target = place.serve();
    std::thread::sleep(Duration::from_secs(3));
    let memory = |target: &Target| target.memory_mib().unwrap();
    let idle = memory(&target);
    println!("idle: {idle:.1} MiB");

    target.token = tokens.first().cloned();
    let mut connections: Vec<_> = (0..args.connections).map(|_| target.client()).collect();
    for client in &mut connections {
        assert_eq!(client.send("GET", "/health/live", ""), 200);
    }
    report("connection", args.connections, memory(&target) - idle);
    drop(connections);

    let before = memory(&target);
    for token in &tokens {
        target.token = Some(token.clone());
        let mut client = target.client();
        assert_eq!(client.send("POST", "/api/publish_interaction", &publish(0, 0)), 200);
        assert_eq!(client.send("POST", "/api/search", SEARCH), 200);
    }
    report("organization", tokens.len(), memory(&target) - before);

    println!("{:>7} {:>12} {:>12}", "minute", "per second", "MiB");
    for minute in 1..=args.minutes {
        let run = load::run(&target, args.clients, 60.0, |number, call, client| match call % 4 {
            3 => client.send("POST", "/api/search", SEARCH) == 200,
            _ => {
                let body = publish(number, minute * 1_000_000 + call);
                client.send("POST", "/api/publish_interaction", &body) == 200
            }
        });
        assert_eq!(run.failures, 0);
        let rate = run.latencies.len() as f64 / run.elapsed.as_secs_f64();
        println!("{minute:>7} {rate:>12.0} {:>12.1}", memory(&target));
    }
}

fn report(what: &str, count: usize, mib: f64) {
    println!("{count} {what}s: {mib:.1} MiB, {:.1} KiB each", mib * 1024.0 / count.max(1) as f64);
}

const SEARCH: &str = r#"{"query":"where is my order","user_id":"user-0-0"}"#;

fn publish(number: usize, call: usize) -> String {
    let (user, session) = (call / 3 % 50, call / 3);
    format!(
        r#"{{"user_id":"user-{number}-{user}","session_id":"session-{session}","source":"web","agent_version":"v1",
"interaction_data_list":[{{"role":"User","content":"Where is order {call}?"}},
{{"role":"Assistant","content":"Order {call} arrives tomorrow before noon."}}]}}"#
    )
}

/// Tokens of as many organizations, each of its own.
fn make_organizations(place: &Place, count: usize) -> Vec<String> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let app = place.open().await;
        let mut tokens = Vec::with_capacity(count);
        for number in 0..count {
            let org_id: OrgId = format!("organization-{number}").as_str().into();
            let new = NewCredential::of(Role::Agent, "load");
            let (_, token) = credentials::create(&app, &org_id, new).await.unwrap();
            tokens.push(token);
        }
        app.stop().await;
        tokens
    })
}
