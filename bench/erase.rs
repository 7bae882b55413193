//! Time to erase one very large user on SQLite, its effect on others, and the cost of an export.
//!
//!   cargo build --release --bin evenhand --example bench_erase && target/release/examples/bench_erase
//!
//! One user with a million interactions (--interactions) among others; then an export of that user is read while the
//! server's memory is watched, and the user is erased while others publish at a steady rate (not in lockstep with the
//! answers: a stall shows in every publish that it hits).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use load::Target;

const BEARER: &str = "a-governance-bearer-for-this-measurement";
const AGENT: &str = "an-agent-credential-for-this-measurement";

#[derive(Parser)]
struct Args {
    #[arg(long, default_value_t = 1_000_000)]
    interactions: usize,
    /// Interactions per publish
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// Other people's publishes a second
    #[arg(long, default_value_t = 50)]
    rate: u64,
}

fn main() {
    let args = Args::parse();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let environment = [
        ("EVENHAND_GOVERNANCE_BEARER", BEARER),
        ("EVENHAND_AGENT_KEY", AGENT),
        // A million interactions at once are not learned from.
        ("EVENHAND_LEARNING__EXTRACTOR", "off"),
    ];
    let mut target = Target::start_with(&["--data-dir", data.to_str().unwrap()], &environment);
    target.token = Some(AGENT.to_owned());

    let begun = Instant::now();
    let mut client = target.client();
    for number in 0..args.interactions / args.batch {
        let body = publish("large", number, args.batch);
        assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
        assert_eq!(
            client.send("POST", "/api/publish_interaction", &publish("other", number, 4)),
            200
        );
    }
    let size = std::fs::metadata(data.join("evenhand.db")).unwrap().len() >> 20;
    println!(
        "{} interactions in {:.0} s, {size} MiB",
        args.interactions,
        begun.elapsed().as_secs_f64()
    );

    let before = target.memory_mib().unwrap();
    let (mut most, begun) = (before, Instant::now());
    let bytes = export(&target, || most = most.max(target.memory_mib().unwrap()));
    println!(
        "export: {} MiB in {:.1} s, memory {before:.0} → {most:.0} MiB",
        bytes >> 20,
        begun.elapsed().as_secs_f64()
    );

    let (stop, latencies) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let erased = std::thread::scope(|scope| {
        for thread in 0..args.rate.div_ceil(10) {
            let (target, stop, latencies) = (&target, &stop, &latencies);
            scope.spawn(move || steady(target, thread, stop, latencies));
        }
        std::thread::sleep(Duration::from_secs(2));
        latencies.lock().unwrap().clear();
        let erased = erase(&target);
        stop.store(true, Ordering::Relaxed);
        erased
    });
    let mut latencies = latencies.into_inner().unwrap();
    latencies.sort_unstable();
    let at = |share: f64| {
        latencies[((latencies.len() as f64 * share) as usize).min(latencies.len() - 1)]
            .as_secs_f64()
            * 1e3
    };
    println!("erased in {:.1} s", erased.as_secs_f64());
    println!(
        "others' publishes meanwhile: {} of them, p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
        latencies.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

/// Ten publishes a second, each due at its time whether or not the one before it was answered in time.
fn steady(target: &Target, thread: u64, stop: &AtomicBool, latencies: &Mutex<Vec<Duration>>) {
    let mut client = target.client();
    let start = Instant::now();
    for number in 0.. {
        let due = start + Duration::from_millis(100 * number + 7 * thread);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let body = publish(&format!("p{thread}"), usize::try_from(number).unwrap(), 2);
        assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
        latencies.lock().unwrap().push(due.elapsed());
    }
}

fn publish(user: &str, number: usize, turns: usize) -> String {
    let turn = |n: usize| {
        format!(
            r#"{{"role":"User","content":"Where is order {number}-{n}? It should have been here on Tuesday, and nobody answers the phone."}}"#
        )
    };
    let turns: Vec<String> = (0..turns).map(turn).collect();
    format!(
        r#"{{"user_id":"{user}","session_id":"s{}","source":"web","agent_version":"v1","interaction_data_list":[{}]}}"#,
        number / 4,
        turns.join(",")
    )
}

/// Asks until the erasure is complete.
fn erase(target: &Target) -> Duration {
    let begun = Instant::now();
    let mut governor = Target::at(&target.address, Some(BEARER.to_owned())).client();
    loop {
        let body = r#"{"user_id":"large","request_id":"bench"}"#;
        match governor.send("POST", "/api/governance/erase-user", body) {
            200 => break,
            202 => {}
            status => panic!("{status}: {}", String::from_utf8_lossy(governor.body())),
        }
    }
    println!("{}", String::from_utf8_lossy(governor.body()));
    begun.elapsed()
}

/// Reads an export without keeping it; `look` is called now and then.
fn export(target: &Target, mut look: impl FnMut()) -> u64 {
    let body = r#"{"user_id":"large","request_id":"bench"}"#;
    let mut stream = TcpStream::connect(&target.address).unwrap();
    let request = format!(
        "POST /api/governance/export-user HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {BEARER}\r\nContent-Length: {}\r\n\r\n{body}",
        target.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let (mut buffer, mut bytes, mut seen) = (vec![0; 1 << 16], 0, 0);
    loop {
        let read = stream.read(&mut buffer).unwrap();
        if read == 0 {
            return bytes;
        }
        bytes += read as u64;
        if bytes - seen > 8 << 20 {
            seen = bytes;
            look();
        }
    }
}
