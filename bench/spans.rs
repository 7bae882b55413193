//! Throughput of OpenTelemetry spans: export requests of 512 calls of a model, as the exporters send them, and the same
//! requests once more, as they do after a lost answer.
//!
//!   cargo build --release && cargo run --release --example bench_spans
//!   FSYNC=on scripts/with-postgres cargo run --release --example bench_spans -- --postgres
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base::clock::Clock;
use clap::Parser;
use load::place::Place;
use serde_json::{Value, json};

#[derive(Parser)]
struct Args {
    /// Use the PostgreSQL that TEST_POSTGRES_URL names
    #[arg(long)]
    postgres: bool,
    /// Exporters that send at the same time
    #[arg(long, default_value_t = 4)]
    clients: usize,
    #[arg(long, default_value_t = 20_000)]
    spans: usize,
    /// Spans of one request; 512 is the default of OpenTelemetry's exporters
    #[arg(long, default_value_t = 512)]
    batch: usize,
}

/// Calls of one session.
const CALLS: usize = 4;

fn main() {
    let args = Args::parse();
    let place = Place::new(args.postgres);
    let target = place.serve();
    let numbers: Vec<usize> = (0..args.spans).collect();
    let an_hour_ago = Duration::from_secs(u64::try_from(Clock::System.now()).unwrap() - 3600);
    let bodies: Vec<String> =
        numbers.chunks(args.batch).map(|numbers| request(numbers, an_hour_ago)).collect();
    for round in ["first time", "once more"] {
        let (begun, cpu) = (Instant::now(), target.cpu());
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..args.clients {
                scope.spawn(|| {
                    let mut client = target.client();
                    while let Some(body) = bodies.get(next.fetch_add(1, Ordering::Relaxed)) {
                        assert_eq!(client.send("POST", "/v1/traces", body), 200);
                        assert_eq!(client.body(), b"{}", "every span is stored");
                    }
                });
            }
        });
        let seconds = begun.elapsed().as_secs_f64();
        let cpu = target.cpu().zip(cpu).map(|(after, before)| after - before);
        println!(
            "{round}: {:.0} spans/s at {} clients, {:.3} ms of processor time a span",
            args.spans as f64 / seconds,
            args.clients,
            cpu.map_or(0.0, |cpu| cpu.as_secs_f64() * 1000.0) / args.spans as f64
        );
    }
}

fn request(numbers: &[usize], begun: Duration) -> String {
    let spans: Vec<Value> = numbers.iter().map(|number| span(*number, begun)).collect();
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

/// A call of a model: the person's words and the answer.
fn span(number: usize, begun: Duration) -> Value {
    let session = number / CALLS;
    let text = |role: &str, content: String| {
        json!([{"role": role, "parts": [{"type": "text", "content": content}]}]).to_string()
    };
    let attribute = |key: &str, value: String| json!({"key": key, "value": {"stringValue": value}});
    let question = format!("Where is order {number}? It should have been here on Tuesday.");
    let answer =
        format!("Order {number} left the warehouse today; it arrives tomorrow before noon.");
    let start = (begun + Duration::from_millis(number as u64)).as_nanos();
    json!({
        "traceId": format!("{:032x}", session + 1), "spanId": format!("{:016x}", number + 1), "name": "chat",
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": (start + 900_000).to_string(),
        "attributes": [
            attribute("gen_ai.operation.name", "chat".to_owned()),
            attribute("gen_ai.request.model", "model-1".to_owned()),
            attribute("user.id", format!("user-{}", session % 500)),
            attribute("session.id", format!("session-{session}")),
            attribute("gen_ai.input.messages", text("user", question)),
            attribute("gen_ai.output.messages", text("assistant", answer)),
        ],
    })
}
