//! Latency of the list of effects as records of found playbooks pile up.
//!
//!   cargo build --release --bin evenhand --example bench_effects
//!   target/release/examples/bench_effects
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_effects --postgres
//!
//! Fills a database with sessions of 20,000 users over 12 weeks in which three of 500 playbooks were found each, all of
//! them judged, starts the release binary on it and asks for the list: the first time, as after an erasure, then again and
//! again; and for one playbook in detail.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use base::clock::Clock;
use clap::Parser;
use load::place::{Place, add_users, ask};

#[derive(Parser)]
struct Args {
    /// Records, smallest first
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
    sizes: Vec<i64>,
    #[arg(long, default_value_t = 100)]
    requests: usize,
    /// PostgreSQL of `scripts/with-postgres` instead of SQLite
    #[arg(long)]
    postgres: bool,
}

const LIST: &str = "/api/learnings/effects?limit=1000";
const USERS: i64 = 20_000;
const PLAYBOOKS: i64 = 500;
const FOUND_EACH: i64 = 3;
/// Of sessions `$1` to `$2`, before `$3`, of `$4` users, finding some of `$5` playbooks.
const FILL: [&str; 2] = [
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO evaluation_results
       (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
        failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
        interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
        latency_ms, attempts, flags, source, is_newest, user_group)
     SELECT 'default', subject, 'session-' || n, 'agent_success', 'v1', 1, (n * 7919) % 5 > 0, '', '', 0,
            FALSE, 'not_applicable', $3 - (n * 7919) % 7257600, $3, 4, n, 'offline', 'v1', 'abc', 0, 0, 1, 1, '[]',
            'web', TRUE, (n % $4) % 32
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n % $4) AND $5 > 0",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO trial_exposures
       (org_id, subject, session_id, agent_playbook_id, epoch_no, epoch, withheld, found_rank, found_at)
     SELECT 'default', subject, 'session-' || n, 1 + (n * 31 + k * 17) % $5, 1, 1,
            ((n % $4) * 31 + (1 + (n * 31 + k * 17) % $5) * 101) % 5 = 0, 1 + k, $3 - (n * 7919) % 7257600
     FROM c CROSS JOIN subjects CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2) found
     WHERE user_id = 'user-' || (n % $4)",
];

fn main() {
    let args = Args::parse();
    let place = Place::new(args.postgres);
    println!(
        "{:>9} {:>10} {:>8} {:>8} {:>10} {:>11}",
        "records", "first ms", "p50 ms", "p95 ms", "one p50", "memory MiB"
    );
    let mut filled = 0;
    for size in args.sizes {
        fill(&place, filled, size / FOUND_EACH);
        filled = size / FOUND_EACH;
        measure(&place, size, args.requests);
    }
}

/// Adds sessions `from..to`.
fn fill(place: &Place, from: i64, to: i64) {
    let (runtime, now) = (tokio::runtime::Runtime::new().unwrap(), Clock::System.now());
    runtime.block_on(async {
        let app = place.open().await;
        add_users(&app, USERS, now).await;
        app.db
            .write("bench.epochs", now, |tx, now| {
                Box::pin(async move {
                    storage::run!(
                        tx,
                        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < $2)
                         INSERT INTO trial_epochs
                           (org_id, agent_playbook_id, epoch_no, digest, share, is_settled, planned_users, started_at)
                         SELECT 'default', n, 1, 'digest', 2000, FALSE, 2000, $1 - 7257600 FROM c WHERE TRUE
                         ON CONFLICT DO NOTHING",
                        *now,
                        PLAYBOOKS
                    )
                })
            })
            .await
            .unwrap();
        for low in (from..to).step_by(50_000) {
            let input = (low, to.min(low + 50_000), now);
            app.db
                .write("bench.fill", input, |tx, (low, high, now)| {
                    Box::pin(async move {
                        for sql in FILL {
                            storage::run!(tx, sql, *low, *high, *now, USERS, PLAYBOOKS)?;
                        }
                        Ok(())
                    })
                })
                .await
                .unwrap();
        }
        service::evaluation::overview::fold_all(&app).await.unwrap();
        for table in ["evaluation_results", "trial_exposures"] {
            app.db.refresh_statistics(table).await;
        }
        app.stop().await;
    });
}

fn measure(place: &Place, size: i64, requests: usize) {
    let target = place.serve();
    let mut client = target.client();
    let (first, _) = ask(&mut client, "GET", LIST, "", 1);
    let (p50, p95) = ask(&mut client, "GET", LIST, "", requests);
    let (one, _) = ask(&mut client, "GET", "/api/learnings/effects/7", "", 10);
    let memory = target.memory_mib().unwrap_or(0.0);
    println!("{size:>9} {first:>10.1} {p50:>8.2} {p95:>8.2} {one:>10.1} {memory:>11.0}");
}
