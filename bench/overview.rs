//! Latency of the overview as results pile up: 1,000 to 1,000,000 over 90 days.
//!
//!   cargo build --release --bin evenhand --example bench_overview
//!   target/release/examples/bench_overview
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_overview --postgres
//!
//! Fills a database through the triggers that keep the sums (5 sources, 3 agent versions, 200 rules cited by a third
//! of the sessions, shadow comparisons on a tenth), starts the release binary on it and asks, one request after the
//! other, for the last 90 days: without source sets, with three, with the lists of sessions, and without source sets
//! when a verdict has changed since the question before (`changed`): then nothing that was counted is known.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use std::time::Instant;

use base::clock::Clock;
use clap::Parser;
use load::Client;
use load::place::{Place, add_users, ask};
use service::evaluation::overview;

#[derive(Parser)]
struct Args {
    /// Results, smallest first
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,100000,1000000")]
    sizes: Vec<i64>,
    #[arg(long, default_value_t = 300)]
    requests: usize,
    /// PostgreSQL of `scripts/with-postgres` instead of SQLite
    #[arg(long)]
    postgres: bool,
}

const PATH: &str = "/api/get_evaluation_overview";
const USERS: i64 = 20_000;
const FILL: [&str; 4] = [
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO evaluation_results
       (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
        failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
        created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash,
        input_tokens, output_tokens, latency_ms, attempts, flags, source, is_newest, user_group)
     SELECT 'default', subject, 'session-' || n, 'agent_success', 'v' || (n % 3), 1, n % 4 > 0,
            CASE WHEN n % 4 > 0 THEN '' WHEN n % 20 = 0 THEN 'system_error' ELSE 'wrong_answer' END,
            CASE WHEN n % 4 > 0 THEN '' ELSE 'The answer was about something else than the question.' END,
            n % 7, CASE WHEN n % 4 > 0 THEN 1 + n % 9 END, n % 11 = 0, 'not_applicable',
            $3 - (n * 7919 + n / 977) % 7776000, $3, 4, n, 'offline', 'v1', 'abc', 0, 0, 1, 1, '[]',
            'source-' || (n % 5), TRUE, (n % $4) % 32
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n % $4)",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO cited_rules
       (org_id, subject, session_id, kind, rule_id, epoch, title, source, created_at, is_success)
     SELECT 'default', subject, 'session-' || n, 'agent_playbook',
            'rule-' || (((n / 3) * 31 + k) % 200), 1, 'How to answer questions about parcels', 'source-' || (n % 5),
            $3 - (n * 7919 + n / 977) % 7776000, n % 4 > 0
     FROM c CROSS JOIN subjects CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 7) AS cited
     WHERE user_id = 'user-' || (n % $4) AND n % 3 = 0",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO shadow_verdicts
       (org_id, subject, session_id, interaction_id, judge_prompt_version, epoch, agent_version,
        service_is_request_1, better_request, is_significantly_better, comparison_reason, order_consistent,
        created_at, judged_at, judge, rubric_hash, input_tokens, output_tokens, latency_ms, attempts)
     SELECT 'default', subject, 'session-' || n, n, 'v1', 1, 'v' || (n % 3), n % 2 = 0,
            CASE n % 3 WHEN 0 THEN '1' WHEN 1 THEN '2' ELSE 'tie' END, FALSE, 'close', n % 10 > 0,
            $3 - (n * 7919 + n / 977) % 7776000, $3, 'offline', 'abc', 0, 0, 1, 2
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n % $4) AND n % 10 = 0",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO shadow_sessions
       (org_id, subject, session_id, judge_prompt_version, epoch, source, created_at, regular_vs_shadow, user_group)
     SELECT 'default', subject, 'session-' || n, 'v1', 1, 'source-' || (n % 5),
            $3 - (n * 7919 + n / 977) % 7776000,
            CASE n % 3 WHEN 0 THEN 'regular_is_better' WHEN 1 THEN 'tied' ELSE 'shadow_is_better' END, (n % $4) % 32
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n % $4) AND n % 10 = 0",
];

/// Tables that are filled here faster than an engine looks at them.
const FILLED: [&str; 8] = [
    "evaluation_results",
    "evaluation_rollups",
    "cited_rules",
    "rule_rollups",
    "shadow_verdicts",
    "shadow_turn_rollups",
    "shadow_sessions",
    "shadow_session_rollups",
];

fn main() {
    let args = Args::parse();
    let place = Place::new(args.postgres);
    let now = Clock::System.now();
    println!(
        "{:>9} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>11}",
        "results",
        "fill µs",
        "p50 ms",
        "p95 ms",
        "changed",
        "sets p50",
        "sets p95",
        "with ids ms",
        "memory MiB"
    );
    let mut filled = 0;
    for size in args.sizes {
        let begun = Instant::now();
        fill(&place, filled, size, now);
        let each = begun.elapsed().as_secs_f64() * 1e6 / (size - filled) as f64;
        filled = size;
        measure(&place, size, now, each, args.requests);
    }
}

/// Adds results `from..to`; the sums follow by triggers, and are folded.
fn fill(place: &Place, from: i64, to: i64, now: i64) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let app = place.open().await;
        add_users(&app, USERS, now).await;
        for low in (from..to).step_by(50_000) {
            let high = to.min(low + 50_000);
            app.db
                .write("bench.fill", (low, high, now), |tx, (low, high, now)| {
                    Box::pin(async move {
                        for sql in FILL {
                            storage::run!(tx, sql, *low, *high, *now, USERS)?;
                        }
                        Ok(())
                    })
                })
                .await
                .unwrap();
        }
        // Results come at random times here: a large batch writes each line once.
        while app
            .db
            .write("bench.fold", overview::Mark::new(&app.ids), |tx, mark| {
                Box::pin(overview::fold(tx, 250_000, *mark))
            })
            .await
            .unwrap()
            > 0
        {}
        overview::fold_all(&app).await.unwrap();
        for table in FILLED {
            app.db.refresh_statistics(table).await;
        }
        overview::look_after_tables(&app).await;
        app.stop().await;
    });
}

fn measure(place: &Place, size: i64, now: i64, fill: f64, requests: usize) {
    let target = place.serve();
    let mut client = target.client();
    let window = format!("\"from_ts\":{},\"to_ts\":{now}", now - 90 * 86_400 + 12_345);
    let sets = r#""source_sets":[{"label":"a","sources":["source-0"]},{"label":"b","sources":["source-1","source-2"]},{"label":"c","sources":["source-3"]}]"#;
    let plain = format!("{{{window},\"include_session_ids\":false}}");
    let with_sets = format!("{{{window},\"include_session_ids\":false,{sets}}}");
    let with_ids = format!("{{{window},{sets}}}");
    // Connections and statements of a server that has just started are new to it.
    for body in [&plain, &with_sets] {
        ask(&mut client, "POST", PATH, body, 50);
    }
    let before = target.memory_mib().unwrap_or(0.0);
    let (p50, p95) = ask(&mut client, "POST", PATH, &plain, requests);
    let changed = after_changes(place, &mut client, &plain);
    let (sets_p50, sets_p95) = ask(&mut client, "POST", PATH, &with_sets, requests);
    let (ids, _) = ask(&mut client, "POST", PATH, &with_ids, 5);
    let grown = target.memory_mib().unwrap_or(0.0) - before;
    println!(
        "{size:>9} {fill:>9.0} {p50:>10.2} {p95:>10.2} {changed:>10.2} {sets_p50:>10.2} {sets_p95:>10.2} {ids:>12.1} {grown:>+11.1}"
    );
}

/// Median of questions of which each comes after a change of a verdict, in milliseconds.
fn after_changes(place: &Place, client: &mut Client, body: &str) -> f64 {
    const CHANGE: &str = "UPDATE evaluation_results SET is_escalated = NOT is_escalated
         WHERE result_id = (SELECT MAX(result_id) FROM evaluation_results)";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let app = runtime.block_on(place.open());
    let mut times: Vec<f64> = (0..50)
        .map(|_| {
            let change = app.db.write("bench.change", (), |tx, ()| {
                Box::pin(async move { storage::run!(tx, CHANGE) })
            });
            assert_eq!(runtime.block_on(change).unwrap(), 1);
            ask(client, "POST", PATH, body, 1).0
        })
        .collect();
    runtime.block_on(app.stop());
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}
