//! Speed of an experiment's results: 10,000, 100,000 and 1,000,000 evaluated sessions, ten to a user.
//!
//!   cargo build --release && cargo run --release --example bench_experiment_results
//!
//! Fills a SQLite file in bulk, starts the release binary on it and asks for the results: once while every user is
//! still to be summed up, then again and again with nothing changed, then each time after a publish and a search.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use base::clock::Clock;
use base::ids::Ids;
use clap::Parser;
use load::{Client, Target};
use service::app::{App, Schema};
use service::config::Settings;
use service::experiments::assign;
use sqlite::{SqliteConnection, SqliteOptions};

const PERCENTAGE: f64 = 10.0;
const SESSIONS_PER_USER: usize = 10;

#[derive(Parser)]
struct Args {
    #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
    sessions: Vec<usize>,
    /// Times that results are asked for
    #[arg(long, default_value_t = 15)]
    times: usize,
}

fn main() {
    let args = Args::parse();
    println!(
        "| sessions | users | filled in | first look | again p50 | again max | after a change p50 | memory |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for sessions in &args.sessions {
        measure(*sessions, args.times);
    }
}

fn measure(sessions: usize, times: usize) {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().join("data");
    let begun = Instant::now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(fill(&data_dir, sessions / SESSIONS_PER_USER));
    let filled = begun.elapsed();
    let target = Target::start_with(
        &["--data-dir", &data_dir.display().to_string()],
        &[("EVENHAND_SERVER__REQUEST_TIMEOUT_SECONDS", "300")],
    );
    let mut client = target.client();
    let first = results(&mut client, sessions);
    let mut again: Vec<Duration> = (0..times).map(|_| results(&mut client, sessions)).collect();
    let mut changed: Vec<Duration> = (0..times)
        .map(|n| {
            let search =
                format!(r#"{{"user_id":"user-{n}","session_id":"late","query":"refund"}}"#);
            assert_eq!(client.send("POST", "/api/search", &search), 200);
            results(&mut client, sessions)
        })
        .collect();
    again.sort_unstable();
    changed.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "| {sessions} | {} | {:.1} s | {:.0} ms | {:.1} ms | {:.1} ms | {:.1} ms | {:.0} MiB |",
        sessions / SESSIONS_PER_USER,
        filled.as_secs_f64(),
        ms(first),
        ms(again[times / 2]),
        ms(again[times - 1]),
        ms(changed[times / 2]),
        target.memory_mib().unwrap_or(0.0)
    );
}

fn results(client: &mut Client, sessions: usize) -> Duration {
    let begun = Instant::now();
    assert_eq!(client.send("GET", "/api/retrieval_experiments/bench/results", ""), 200);
    let took = begun.elapsed();
    let body: serde_json::Value = serde_json::from_slice(client.body()).unwrap();
    let count = |arm: &str| body[arm]["evaluated_session_count"].as_u64().unwrap();
    assert_eq!(count("treatment") + count("holdout"), sessions as u64);
    took
}

/// A session a line, written by SQL itself. Triggers rest meanwhile; at the end everyone is marked.
async fn fill(data_dir: &std::path::Path, users: usize) {
    let mut settings = Settings::defaults().unwrap();
    settings.server.data_dir = data_dir.to_owned();
    let ids = Ids::system(Clock::System);
    let app = App::open(settings, Clock::System, ids, Schema::Migrate).await.unwrap();
    let (now, hash) = (Clock::System.now(), app.subject_keys.subject_hash());
    app.stop().await;
    let options = SqliteOptions::new(data_dir.join("evenhand.db"));
    let mut conn = options.pragma("synchronous", "OFF").open().unwrap();
    let triggers: Vec<(String, String)> =
        conn.fetch("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").unwrap();
    run(&mut conn, "BEGIN");
    for (name, _) in &triggers {
        run(&mut conn, &format!("DROP TRIGGER {name}"));
    }
    let started = now - 28 * 86_400;
    run(
        &mut conn,
        &format!("INSERT INTO experiments (org_id, experiment_id, number, holdout_percentage, planned_users,
         margin_percentage_points, started_at, ended_at) VALUES ('default', 'bench', 1, {PERCENTAGE}, 5000, 2, {started}, NULL)"),
    );
    let people =
        "CREATE TEMP TABLE people (n INTEGER PRIMARY KEY, subject BLOB, user_id TEXT, arm TEXT)";
    run(&mut conn, people);
    let everyone: Vec<usize> = (0..users).collect();
    for some in everyone.chunks(500) {
        let rows = some.iter().map(|n| {
            let (org, user) = ("default".into(), format!("user-{n}").into());
            let arm = assign(&org, "bench", &user, PERCENTAGE);
            format!("({n}, x'{}', '{user}', '{}')", hash.subject(&org, &user), arm.as_str())
        });
        let rows: Vec<String> = rows.collect();
        run(&mut conn, &format!("INSERT INTO people VALUES {}", rows.join(",")));
    }
    let each = format!(
        "FROM people p, (WITH RECURSIVE c(s) AS (SELECT 0 UNION ALL SELECT s + 1 FROM c WHERE s < {})
                         SELECT s FROM c) ORDER BY p.subject, s",
        SESSIONS_PER_USER - 1
    );
    // Sessions spread over four weeks, three sources; four of five succeed, treatment a little more often.
    let at = format!("{started} + 3600 + (p.n * 7919 + s * 241920) % 2400000");
    let session = "'session-' || p.n || '-' || s";
    for statement in [
        "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
         SELECT 'default', subject, user_id, 'active', 1, 1 FROM people ORDER BY subject".to_owned(),
        format!("INSERT INTO sessions SELECT 'default', p.subject, {session}, 1, {at}, 'r', {at}, {at}, NULL,
                 'source-' || (s % 3), 'v1', 1, 2 {each}"),
        format!("INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
                 agent_version, evaluation_only, retrieval_experiment_id, retrieval_experiment_arm, content_sha256, answer)
                 SELECT 'default', p.subject, {session}, 'r-' || p.n || '-' || s, 1, {at}, {at},
                 'source-' || (s % 3), 'v1', 0, 'bench', p.arm, '', '[]' {each}"),
        format!("INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
                 shadow_content, expert_content, user_action, user_action_description, interacted_image_url,
                 image_encoding, tools_used, citations, retrieved_learnings, token_count)
                 SELECT 'default', p.subject, {session}, 1, 'r-' || p.n || '-' || s, {at}, 'Assistant', 'Done.', '',
                 '', 'none', '', '', '', '[]', '[]', '[]', 40 + (p.n + s) % 60 {each}"),
        format!("INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch,
                 is_success, failure_type, failure_reason, number_of_corrections, user_turns_to_resolution,
                 is_escalated, learning_status, created_at, evaluated_at, interaction_count, last_interaction_id,
                 judge, prompt_version, rubric_hash, input_tokens, output_tokens, latency_ms, attempts, flags)
                 SELECT 'default', p.subject, {session}, 'agent_success', 'v1', 1,
                 (p.n * 31 + s * 17) % 100 < CASE p.arm WHEN 'treatment' THEN 82 ELSE 78 END, '', '',
                 (p.n + s) % 3, 1 + (p.n + s) % 4, (p.n + s) % 11 = 0, 'complete', {at}, {at}, 1, 1, 'offline', 'v1',
                 '', 0, 0, 0, 1, '[]' {each}"),
        format!("INSERT INTO experiment_exposures SELECT 'default', p.subject, {session}, 'bench', 1, 1, p.arm,
                 {started}, {at}, 1, 3, CASE p.arm WHEN 'treatment' THEN 3 ELSE 0 END, 0, 0 {each}"),
        "INSERT INTO experiment_stale_users SELECT 'default', 'bench', subject, 1, 1 FROM people".to_owned(),
    ] {
        run(&mut conn, &statement);
    }
    for (_, sql) in &triggers {
        run(&mut conn, sql);
    }
    run(&mut conn, "COMMIT");
    run(&mut conn, "PRAGMA wal_checkpoint(TRUNCATE)");
}

fn run(conn: &mut SqliteConnection, sql: &str) {
    conn.run(sql).unwrap();
}
