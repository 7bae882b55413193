//! What retention costs: a month of sessions is deleted from two years of them, while others publish. And what it would
//! cost everybody if turns and requests were a table per month, which retention could drop.
//!
//!   cargo build --release --bin evenhand --example bench_retention
//!   target/release/examples/bench_retention
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_retention --postgres
//!   FSYNC=on scripts/with-postgres target/release/examples/bench_retention --months 0,24,60
//!
//! Fills a database with sessions of two requests and ten turns over 24 months, with a verdict on each session that will
//! be deleted. Then, month after month: the release binary starts with the retention that makes the oldest month too
//! old, others publish at a steady rate (not in lockstep with the answers: a stall shows in every publish that it hits),
//! and a new month comes. On PostgreSQL autovacuum looks every five seconds, so that a run need not wait for it.
//! `--usual-autovacuum` takes away what the schema sets for it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

mod months;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use base::clock::Clock;
use clap::Parser;
use load::Target;
use load::place::{Place, add_users};

#[derive(Parser)]
struct Args {
    /// PostgreSQL of `scripts/with-postgres` instead of SQLite
    #[arg(long)]
    postgres: bool,
    /// Sessions of the 24 months
    #[arg(long, default_value_t = 200_000)]
    sessions: i64,
    /// Months that come and go
    #[arg(long, default_value_t = 4)]
    cycles: i64,
    /// Others' publishes a second
    #[arg(long, default_value_t = 50)]
    rate: u64,
    /// PostgreSQL's own settings for the tables that grow
    #[arg(long)]
    usual_autovacuum: bool,
    /// Compare tables of so many months instead; 0 is one table
    #[arg(long, value_delimiter = ',')]
    months: Vec<i64>,
    /// Seconds that each line of `--months` runs
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
}

const DAY: i64 = 86_400;
const MONTH: i64 = 30 * DAY;
const MONTHS: i64 = 24;
const USERS: i64 = 20_000;
/// Sessions that are made in one transaction.
const AT_ONCE: i64 = 10_000;
const GROWING: [&str; 3] = ["interactions", "requests", "sessions"];

/// `$1..$2` are numbers of sessions, `$3` the time of the first, `$4` the seconds from one to the next, `$5` the users.
const FILL: [&str; 4] = [
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
        last_received_at, source, agent_version, request_count, interaction_count)
     SELECT 'default', subject, 's' || n, 1, $3 + n * $4, 'r' || n || '-0', $3 + n * $4 + 60, $3 + n * $4 + 60, 'web',
            'v1', 2, 10
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n * 7919 % $5)",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
        agent_version, evaluation_only, content_sha256, answer)
     SELECT 'default', subject, 's' || n, 'r' || n || '-' || r, 1, $3 + n * $4 + r * 60, $3 + n * $4 + r * 60, 'web',
            'v1', FALSE, 'abababababababababababababababababababababababababababababababab', '{\"success\":true}'
     FROM c CROSS JOIN subjects CROSS JOIN (SELECT 0 AS r UNION ALL SELECT 1) AS two
     WHERE user_id = 'user-' || (n * 7919 % $5)",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2),
          turns(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM turns WHERE i < 9)
     INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
        shadow_content, expert_content, user_action, user_action_description, interacted_image_url, image_encoding,
        tools_used, citations, retrieved_learnings, token_count)
     SELECT 'default', subject, 's' || n, 1, 'r' || n || '-' || (i / 5), $3 + n * $4 + (i / 5) * 60, 'User',
            'Where is order ' || n || '-' || i || '? It should have been here on Tuesday, and nobody answers the phone.',
            '', '', 'none', '', '', '', '[]', '[]', '[]', 20
     FROM c CROSS JOIN subjects CROSS JOIN turns WHERE user_id = 'user-' || (n * 7919 % $5)",
    "WITH RECURSIVE c(n) AS (SELECT $1 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < $2)
     INSERT INTO evaluation_results
       (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
        failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
        created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash,
        input_tokens, output_tokens, latency_ms, attempts, flags, source, is_newest, user_group)
     SELECT 'default', subject, 's' || n, 'agent_success', 'v1', 1, n % 4 > 0,
            CASE WHEN n % 4 > 0 THEN '' ELSE 'wrong_answer' END, '', n % 7, CASE WHEN n % 4 > 0 THEN 1 + n % 9 END,
            FALSE, 'not_applicable', $3 + n * $4, $3 + n * $4 + 60, 10, n, 'offline', 'v1', 'abc', 0, 0, 1, 1, '[]',
            'web', TRUE, (n * 7919 % $5) % 32
     FROM c CROSS JOIN subjects WHERE user_id = 'user-' || (n * 7919 % $5)",
];

fn main() {
    let args = Args::parse();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load of the machine before: {}", load.trim());
    if !args.months.is_empty() {
        let url = std::env::var("TEST_POSTGRES_URL").expect("run under scripts/with-postgres");
        months::compare(&url, &args.months, args.seconds);
        return;
    }
    let place = Place::new(args.postgres);
    let each = args.sessions / MONTHS;
    // So that nothing grows too old while this runs.
    let now = Clock::System.now();
    let begins = now + DAY - MONTHS * MONTH;
    let history = History { begins, step: MONTH / each };
    let begun = Instant::now();
    fill(&place, &history, 0, each * MONTHS, Some(each * args.cycles));
    println!(
        "{} sessions, {} turns: filled in {:.0} s",
        each * MONTHS,
        each * MONTHS * 10,
        begun.elapsed().as_secs_f64()
    );
    if args.postgres {
        let url = std::env::var("TEST_POSTGRES_URL").unwrap();
        execute(&url, "ALTER SYSTEM SET autovacuum_naptime = '5s'");
        execute(&url, "SELECT pg_reload_conf()");
        for table in GROWING {
            if args.usual_autovacuum {
                let names = "autovacuum_vacuum_scale_factor, autovacuum_vacuum_insert_scale_factor, autovacuum_freeze_min_age";
                execute(&url, &format!("ALTER TABLE {table} RESET ({names})"));
            }
            execute(&url, &format!("VACUUM ANALYZE {table}"));
        }
    }
    println!("size: {}", sizes(&place, args.postgres));
    println!("nothing is deleted:\n{}", serve(&place, 0, begins, args.rate, 10.0));
    for cycle in 1..=args.cycles {
        let boundary = begins + cycle * MONTH;
        // The server's boundary is a whole number of days before its time, which is a little later than ours.
        let days = (now - boundary) / DAY;
        println!("\nmonth {cycle} goes:\n{}", serve(&place, days, boundary, args.rate, 0.0));
        let first = each * (MONTHS + cycle - 1);
        if args.postgres {
            settle();
        }
        println!("size after it: {}", sizes(&place, args.postgres));
        fill(&place, &history, first, first + each, None);
        println!("size with another month: {}", sizes(&place, args.postgres));
    }
}

struct History {
    begins: i64,
    /// Seconds from one session to the next.
    step: i64,
}

/// Makes sessions `from..to`; those before `judged` have a verdict.
fn fill(place: &Place, history: &History, from: i64, to: i64, judged: Option<i64>) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let app = place.open().await;
        if from == 0 {
            add_users(&app, USERS, history.begins).await;
            app.db.refresh_statistics("subjects").await;
        }
        for low in (from..to).step_by(usize::try_from(AT_ONCE).unwrap()) {
            let input = (low, to.min(low + AT_ONCE), history.begins, history.step, judged);
            app.db
                .write("bench.fill", input, |tx, (low, high, begins, step, judged)| {
                    Box::pin(async move {
                        for (place, sql) in FILL.into_iter().enumerate() {
                            let high = match (place, judged) {
                                (3, None) => continue,
                                (3, Some(judged)) if low >= judged => continue,
                                (3, Some(judged)) => high.min(judged),
                                _ => high,
                            };
                            storage::run!(tx, sql, *low, *high, *begins, *step, USERS)?;
                        }
                        Ok(())
                    })
                })
                .await
                .unwrap();
        }
        // Due at the next start, not an hour after the last one.
        app.db
            .write("bench.due", (), |tx, ()| {
                Box::pin(async move {
                    storage::run!(tx, "DELETE FROM jobs WHERE kind = 'delete_old_sessions'")
                })
            })
            .await
            .unwrap();
        service::evaluation::overview::fold_all(&app).await.unwrap();
        app.stop().await;
    });
}

/// Runs the server with a retention, until no session is older than `before` and for `seconds` at least; gives what
/// others' publishes took.
fn serve(place: &Place, days: i64, before: i64, rate: u64, seconds: f64) -> String {
    let retention = days.to_string();
    let target = place.serve_with(&[
        ("EVENHAND_GOVERNANCE__RETENTION_DAYS", &retention),
        ("EVENHAND_LEARNING__EXTRACTOR", "off"),
    ]);
    let (stop, latencies) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let cpu = target.cpu().unwrap_or_default();
    let begun = Instant::now();
    let took = std::thread::scope(|scope| {
        for thread in 0..rate.div_ceil(10) {
            let (target, stop, latencies) = (&target, &stop, &latencies);
            scope.spawn(move || steady(target, thread, stop, latencies));
        }
        let mut client = target.client();
        while begun.elapsed().as_secs_f64() < seconds || has_sessions(&mut client, before) {
            std::thread::sleep(Duration::from_millis(100));
        }
        let took = begun.elapsed();
        stop.store(true, Ordering::Relaxed);
        took
    });
    let mut latencies = latencies.into_inner().unwrap();
    latencies.sort_unstable();
    let at = |share: f64| {
        latencies[((latencies.len() as f64 * share) as usize).min(latencies.len() - 1)]
            .as_secs_f64()
            * 1e3
    };
    format!(
        "  {:.1} s, server's processor time {:.1} s; others' publishes: {} of them, p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
        took.as_secs_f64(),
        target.cpu().unwrap_or_default().saturating_sub(cpu).as_secs_f64(),
        latencies.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    )
}

fn has_sessions(client: &mut load::Client, before: i64) -> bool {
    let path = format!("/api/sessions?order=oldest&limit=1&to={before}");
    assert_eq!(client.send("GET", &path, ""), 200);
    let answer: serde_json::Value = serde_json::from_slice(client.body()).unwrap();
    !answer["sessions"].as_array().expect("sessions").is_empty()
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
        let body = format!(
            r#"{{"user_id":"user-{thread}","session_id":"new-{number}","source":"web","agent_version":"v1","interaction_data_list":[
{{"role":"User","content":"Where is order {number}? It should have been here on Tuesday."}},{{"role":"Assistant","content":"It arrives tomorrow."}}]}}"#
        );
        assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
        latencies.lock().unwrap().push(due.elapsed());
    }
}

/// Lets autovacuum have its turns.
fn settle() {
    std::thread::sleep(Duration::from_secs(30));
}

fn sizes(place: &Place, postgres: bool) -> String {
    if !postgres {
        return format!("file {} MiB", place.file_bytes() >> 20);
    }
    let url = std::env::var("TEST_POSTGRES_URL").unwrap();
    let each = GROWING.map(|table| {
        let size = query(
            &url,
            &format!(
                "SELECT format('%s MiB and indexes %s MiB, %s dead rows, %s autovacuums',
                        pg_table_size('{table}') / 1048576, pg_indexes_size('{table}') / 1048576, n_dead_tup,
                        autovacuum_count)
                 FROM pg_stat_user_tables WHERE relid = '{table}'::regclass"
            ),
        );
        format!("\n  {table}: {}", size.unwrap_or_default())
    });
    each.concat()
}

/// The first value of a statement's first row.
fn query(url: &str, statement: &str) -> Option<String> {
    use sqlx::Row;
    let rows = on_postgres(url, statement);
    rows.first().and_then(|row| row.try_get::<String, _>(0).ok())
}

fn execute(url: &str, statements: &str) {
    drop(on_postgres(url, statements));
}

fn on_postgres(url: &str, statements: &str) -> Vec<sqlx::postgres::PgRow> {
    use sqlx::Connection;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
        #[allow(clippy::disallowed_types)]
        let statements = sqlx::AssertSqlSafe(statements.to_owned());
        sqlx::raw_sql(statements).fetch_all(&mut conn).await.unwrap()
    })
}
