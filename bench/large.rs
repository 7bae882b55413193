//! A large SQLite file under steady publishes: cleaning after an erasure, reads of one person, lists, and checks.
//!
//!   cargo build --release --bin evenhand && cargo build --profile bench --example bench_large
//!   target/release/examples/bench_large --gigabytes 5
//!
//! Fills a data folder with sessions of many people, a quarter of them judged, in rounds over all people, so that pages of
//! tables and indexes are split as they are when everybody comes back. Then starts the release binary (or `BINARY`) on
//! it and prints what each piece of work takes while others publish at a steady rate (not in lockstep with the answers: a
//! stall shows in every publish that it hits), the publishes' latency meanwhile, and the largest write-ahead log. Needs
//! the room of the file; `--folder` keeps it for another run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base::clock::Clock;
use clap::Parser;
use load::place::{Place, add_users};
use load::{Client, Target, binary};
use serde_json::Value;

#[derive(Parser)]
struct Args {
    /// Size of the file
    #[arg(long, default_value_t = 1.0)]
    gigabytes: f64,
    /// Publishes a second
    #[arg(long, default_value_t = 50)]
    rate: u64,
    /// Data folder, which is filled unless it is there, and stays
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Seconds until a cleaning that does not end is given up
    #[arg(long, default_value_t = 1800)]
    patience: u64,
    /// Ends after the reads and the lists
    #[arg(long)]
    only_reads: bool,
}

const OPERATOR: &str = "an-operator-credential-for-this-measurement";
const GOVERNOR: &str = "a-governance-bearer-for-this-measurement";

/// People of a file of one gigabyte.
const PEOPLE_OF_A_GIGABYTE: f64 = 20_000.0;
/// Small enough that a write of the fill is no longer than a server's are.
const PEOPLE_OF_A_WRITE: i64 = 256;
const DAYS: i64 = 90;

/// One session of every person of a range of subjects: two requests of four turns. `{low}` and `{high}` bound the
/// subjects, `{n}` is the round, `{now}` the time.
const ROUND: [&str; 4] = [
    "INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
        last_received_at, source, agent_version, request_count, interaction_count)
     SELECT org_id, subject, 'chat-{n}', 1, at, user_id || '-{n}-0', at + 90, at + 90, 'source-' || (u % 5),
        'v' || (u % 3), 2, 8
     FROM people",
    "INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
        agent_version, evaluation_only, content_sha256, answer)
     SELECT org_id, subject, 'chat-{n}', user_id || '-{n}-' || r, 1, at + 90 * r, at + 90 * r, 'source-' || (u % 5),
        'v' || (u % 3), 0, lower(hex(zeroblob(32))),
        '{\"success\":true,\"message\":\"\",\"warnings\":[],\"session_id\":\"chat-{n}\",\"interactions\":4}'
     FROM people, (SELECT 0 AS r UNION ALL SELECT 1)",
    "INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
        shadow_content, expert_content, user_action, user_action_description, interacted_image_url, image_encoding,
        tools_used, citations, retrieved_learnings, token_count)
     SELECT org_id, subject, 'chat-{n}', 1, user_id || '-{n}-' || (t / 4), at + 90 * (t / 4),
        CASE t % 2 WHEN 0 THEN 'User' ELSE 'Assistant' END,
        'About order ' || u || '-{n}-' || t || ': ' || substr({text}, 1 + (u * 31 + t * 7) % 200, 240 + (u + t * 13) % 120),
        '', '', 'none', '', '', '', '[]', '[]', '[]', 80
     FROM people, (WITH RECURSIVE c(t) AS (SELECT 0 UNION ALL SELECT t + 1 FROM c WHERE t < 7) SELECT t FROM c)",
    "INSERT INTO evaluation_results
       (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
        failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
        created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version, rubric_hash,
        input_tokens, output_tokens, latency_ms, attempts, flags, source, is_newest, user_group)
     SELECT org_id, subject, 'chat-{n}', 'agent_success', 'v' || (u % 3), 1, u % 5 > 0,
        CASE WHEN u % 5 > 0 THEN '' ELSE 'wrong_answer' END,
        CASE WHEN u % 5 > 0 THEN '' ELSE 'The answer was about something else than the question.' END,
        u % 7, 1 + u % 9, u % 11 = 0, 'not_applicable', at, at + 600, 8, 8, 'offline', 'v1', 'abc', 0, 0, 1, 1, '[]',
        'source-' || (u % 5), 1, u % 32
     FROM people WHERE (u + {n}) % 4 = 0",
];

/// What is known of every person of a range: a fact and their words in the index.
const LEARNINGS: [&str; 2] = [
    "INSERT INTO learning_scopes (org_id, subject, epoch, scope) SELECT org_id, subject, 1, u + 1 FROM people",
    "INSERT INTO profiles (org_id, subject, profile_id, epoch, content, last_modified_timestamp,
        generated_from_request_id, profile_time_to_live, expiration_timestamp, source, status, tags,
        source_interaction_ids, revision, terms)
     SELECT org_id, subject, 'profile-' || u, 1, 'Wants parcels left with the neighbour at number ' || u, at, '',
        'infinity', 9999999999, '', 'current', '[]', '[]', 1,
        'p' || (u + 1) || 'xwant p' || (u + 1) || 'xparcel p' || (u + 1) || 'xneighbour p' || (u + 1) || 'x' || u
     FROM people",
];

const TEXT: &str = "the parcel was announced for tuesday and did not come, and nobody answers the phone at the depot; \
    the driver left no card, so the next delivery is on thursday between nine and noon unless another day is asked \
    for, and the money of the first order is paid back to the same card within five working days as the terms say; \
    whoever moved in the meantime gives the new address on the page of the order, where the invoice is as well, and \
    what arrived broken is collected from the door without any charge if it is reported within two weeks of the day";

fn main() {
    let args = Args::parse();
    let place = match &args.folder {
        Some(folder) => Place::at(folder.clone()),
        None => Place::new(false),
    };
    let file = place.data_dir().join("evenhand.db");
    let people = fill(&place, &file, args.gigabytes);
    println!(
        "disk: {:.0} fsyncs per second; file: {:.2} GB, {people} people",
        load::fsyncs_per_second(place.data_dir()),
        length(&file) as f64 / 1e9
    );

    let begun = Instant::now();
    let environment =
        [("EVENHAND_DASHBOARD_KEY", OPERATOR), ("EVENHAND_GOVERNANCE_BEARER", GOVERNOR)];
    let mut target = place.serve_with(&environment);
    target.token = Some(OPERATOR.to_owned());
    let mut client = target.client();
    while client.send("GET", "/health/ready", "") != 200 {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("start to ready: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);
    ask(&target, people, 1);

    let load = Load::default();
    std::thread::scope(|scope| {
        for thread in 0..args.rate.div_ceil(10) {
            let (target, load) = (&target, &load);
            scope.spawn(move || publish_steadily(target, thread, people, load));
        }
        let (load, log) = (&load, place.data_dir().join("evenhand.db-wal"));
        scope.spawn(move || watch(&log, load));
        // Ends the threads above if anything below fails, too.
        let _end = End(&load.stop);
        std::thread::sleep(Duration::from_secs(3));
        load.measured("publishes alone", || std::thread::sleep(Duration::from_secs(20)));
        load.measured("reads and lists", || ask(&target, people, 200));
        if args.only_reads {
            return;
        }
        let purge_id = load.measured("an erasure", || erase(&target, people));
        let patience = Duration::from_secs(args.patience);
        load.measured("physical cleaning", || until_physical(&target, &purge_id, patience));
        load.measured("doctor", || doctor(place.data_dir()));
    });
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// Fills the file unless it has its size; gives how many people are in it.
fn fill(place: &Place, file: &Path, gigabytes: f64) -> i64 {
    let people = (gigabytes * PEOPLE_OF_A_GIGABYTE) as i64;
    let wanted = (gigabytes * 1e9) as u64;
    if length(file) * 10 >= wanted * 9 {
        return people;
    }
    let begun = Instant::now();
    let now = Clock::System.now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let app = place.open().await;
        add_users(&app, people, now).await;
        let mut round = 0;
        while length(file) < wanted {
            let parts = (people / PEOPLE_OF_A_WRITE).clamp(1, 256);
            for part in 0..parts {
                let script = script(round, part, parts, now);
                app.db
                    .write("bench.fill", script, |tx, script| {
                        Box::pin(async move { tx.run_script(script.clone()).await })
                    })
                    .await
                    .unwrap();
            }
            round += 1;
        }
        service::evaluation::overview::fold_all(&app).await.unwrap();
        println!("filled with {} turns", people * round * 8);
        app.stop().await;
    });
    println!("in {:.0} s", begun.elapsed().as_secs_f64());
    people
}

/// The statements that add one session to everybody in a range of subjects.
fn script(round: i64, part: i64, parts: i64, now: i64) -> String {
    let (low, high) = (part * 65_536 / parts, (part + 1) * 65_536 / parts);
    let bound = match high {
        65_536 => String::new(),
        high => format!("AND subject < X'{high:04X}'"),
    };
    // Sessions come in the order of time, those of one round within a few days, as they do in life.
    let first = now - DAYS * 86_400 + round * 7 * 86_400;
    let people = format!(
        "(SELECT org_id, subject, user_id, CAST(substr(user_id, 6) AS INTEGER) AS u,
            min({first} + (CAST(substr(user_id, 6) AS INTEGER) * 7919) % 604800, {now} - 600) AS at
          FROM subjects WHERE org_id = 'default' AND user_id LIKE 'user-%' AND subject >= X'{low:04X}' {bound}
          ORDER BY org_id, subject)"
    );
    let learnings: &[&str] = if round == 0 { &LEARNINGS } else { &[] };
    let mut script = String::new();
    for statement in ROUND.iter().chain(learnings) {
        let statement = statement
            .replace("FROM people", &format!("FROM {people} AS people"))
            .replace("{text}", &format!("'{TEXT}'"))
            .replace("{n}", &round.to_string());
        writeln!(script, "{statement};").unwrap();
    }
    if round == 0 {
        script.push_str(
            "UPDATE sequences SET next = 1 + max(next, (SELECT max(profile_no) FROM profiles)) WHERE name = 'profiles';
             UPDATE sequences SET next = 1 + max(next, (SELECT max(scope) FROM learning_scopes)) WHERE name = 'scopes';",
        );
    }
    script
}

/// What the publishes in the background are told and tell.
#[derive(Default)]
struct Load {
    stop: AtomicBool,
    latencies: Mutex<Vec<Duration>>,
    largest_log: AtomicU64,
}

struct End<'l>(&'l AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Load {
    /// Does something, and says what it did to the publishes and to the log.
    fn measured<T>(&self, what: &str, work: impl FnOnce() -> T) -> T {
        self.latencies.lock().unwrap().clear();
        self.largest_log.store(0, Ordering::Relaxed);
        let begun = Instant::now();
        let result = work();
        let elapsed = begun.elapsed().as_secs_f64();
        let mut latencies = std::mem::take(&mut *self.latencies.lock().unwrap());
        latencies.sort_unstable();
        println!(
            "{what}: {elapsed:.1} s; {} publishes meanwhile, p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms; largest log {:.1} MB",
            latencies.len(),
            at(&latencies, 0.5),
            at(&latencies, 0.99),
            at(&latencies, 1.0),
            self.largest_log.load(Ordering::Relaxed) as f64 / 1e6
        );
        result
    }
}

/// A percentile of sorted times, in milliseconds.
fn at(sorted: &[Duration], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

fn watch(log: &Path, load: &Load) {
    while !load.stop.load(Ordering::Relaxed) {
        load.largest_log.fetch_max(length(log), Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Ten publishes a second of people who were there before, each due at its time.
fn publish_steadily(target: &Target, thread: u64, people: i64, load: &Load) {
    let mut client = target.client();
    let start = Instant::now();
    for number in 0.. {
        let due = start + Duration::from_millis(100 * number + 7 * thread);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if load.stop.load(Ordering::Relaxed) {
            return;
        }
        // Nobody whom `ask` and `erase` are about: those are the even ones.
        let user = 1 + 2 * ((number * 7919 + thread * 31) % (people as u64 / 2));
        let body = format!(
            r#"{{"user_id":"user-{user}","session_id":"new-{number}","source":"source-1","agent_version":"v1",
"interaction_data_list":[{{"role":"User","content":"Where is order {number}? {TEXT}"}},
{{"role":"Assistant","content":"It left the warehouse this morning: {TEXT}"}}]}}"#
        );
        assert_eq!(client.send("POST", "/api/publish_interaction", &body), 200);
        load.latencies.lock().unwrap().push(due.elapsed());
    }
}

/// The requests of the session page and the lists, for another person each time; without a word about the first.
fn ask(target: &Target, people: i64, times: usize) {
    let mut client = target.client();
    let now = Clock::System.now();
    let (from, to) = (now - 30 * 86_400, now + 60);
    let page = move |user: i64| {
        let key = format!(r#""user_id":"user-{user}","session_id":"chat-1""#);
        let query = format!("user_id=user-{user}&session_id=chat-1");
        [
            ("GET", format!("/api/sessions/user-{user}/chat-1"), String::new()),
            (
                "POST",
                "/api/get_agent_success_evaluation_results".to_owned(),
                format!("{{{key},\"limit\":50}}"),
            ),
            (
                "POST",
                "/api/get_retrieved_learning_evaluation_results".to_owned(),
                format!("{{{key},\"limit\":1000}}"),
            ),
            ("GET", format!("/api/evaluations/decisions?{query}"), String::new()),
            ("GET", format!("/api/evaluations/labels?{query}"), String::new()),
        ]
    };
    let list = move |filter: &str| {
        (
            "GET",
            format!("/api/sessions?limit=50&start_time={from}&end_time={to}{filter}"),
            String::new(),
        )
    };
    let one = |request: (&'static str, String, String)| vec![request];
    type Requests<'r> = Box<dyn Fn(i64) -> Vec<(&'static str, String, String)> + 'r>;
    let mut kinds: Vec<(&str, usize, Requests<'_>)> = vec![
        (
            "session page, its five requests together",
            times,
            Box::new(move |user| page(user).into()),
        ),
        ("session page, the session", times, Box::new(move |user| one(page(user)[0].clone()))),
        (
            "get_requests of a user",
            times,
            Box::new(move |user| {
                let body = format!(r#"{{"user_id":"user-{user}"}}"#);
                one(("POST", "/api/get_requests".to_owned(), body))
            }),
        ),
        (
            "profiles of a user",
            times,
            Box::new(move |user| {
                let body = format!(r#"{{"user_id":"user-{user}"}}"#);
                one(("POST", "/api/get_profiles".to_owned(), body))
            }),
        ),
        (
            "search of a user",
            times,
            Box::new(move |user| {
                let body = format!(r#"{{"user_id":"user-{user}","query":"parcel neighbour"}}"#);
                one(("POST", "/api/search".to_owned(), body))
            }),
        ),
        (
            "session list of a user",
            times,
            Box::new(move |user| one(list(&format!("&user_id=user-{user}&count=true")))),
        ),
        ("session list", times, Box::new(move |_| one(list("")))),
        ("session list, counted", times / 10, Box::new(move |_| one(list("&count=true")))),
        (
            "session list, failures, counted",
            times / 10,
            Box::new(move |_| one(list("&verdict=failure&count=true"))),
        ),
        (
            "session list, a common text",
            times / 10,
            Box::new(move |_| one(list("&text=thursday&count=true"))),
        ),
        (
            "session list, a rare text",
            times.div_ceil(100),
            Box::new(move |user| one(list(&format!("&text=order%20{user}-1-3&count=true")))),
        ),
        (
            "session list, a text that nobody wrote",
            times.div_ceil(100),
            Box::new(move |_| one(list("&text=zebra%20crossing&count=true"))),
        ),
        (
            "session list, a text that nobody wrote, of a user",
            times,
            Box::new(move |user| {
                one(list(&format!("&text=zebra%20crossing&count=true&user_id=user-{user}")))
            }),
        ),
    ];
    if times == 1 {
        kinds.truncate(7);
    }
    for (what, times, requests) in kinds {
        let mut taken = Vec::new();
        for number in 0..times as i64 {
            let user = 2 * ((number * 104_729 + 17) % (people / 2));
            let begun = Instant::now();
            for (method, path, body) in requests(user) {
                let status = client.send(method, &path, &body);
                assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(client.body()));
            }
            taken.push(begun.elapsed());
        }
        taken.sort_unstable();
        if times > 1 {
            println!(
                "  {what}: p50 {:.1} ms, p95 {:.1} ms, max {:.1} ms of {times}",
                at(&taken, 0.5),
                at(&taken, 0.95),
                at(&taken, 1.0)
            );
        }
    }
}

/// Asks until the erasure of somebody is complete; gives its id.
fn erase(target: &Target, people: i64) -> String {
    let mut governor = governor(target);
    // In a folder that was kept, those of earlier runs are erased already.
    let user = 2 * (Clock::System.now() % (people / 2));
    let body = format!(r#"{{"user_id":"user-{user}","request_id":"bench"}}"#);
    loop {
        match governor.send("POST", "/api/governance/erase-user", &body) {
            200 => break,
            202 => {}
            status => panic!("{status}: {}", String::from_utf8_lossy(governor.body())),
        }
    }
    let erased = json(&governor);
    println!("  {}", erased["deleted_counts"]);
    erased["purge_id"].as_str().unwrap().to_owned()
}

fn governor(target: &Target) -> Client {
    Target::at(&target.address, Some(GOVERNOR.to_owned())).client()
}

fn json(client: &Client) -> Value {
    serde_json::from_slice(client.body()).unwrap()
}

/// Until the certificate of an erasure says that the bytes are gone.
fn until_physical(target: &Target, purge_id: &str, patience: Duration) {
    let mut governor = governor(target);
    let path = format!("/api/governance/purge-operations/{purge_id}/certificate");
    let begun = Instant::now();
    while begun.elapsed() < patience {
        assert_eq!(governor.send("GET", &path, ""), 200);
        if json(&governor)["certificate"]["level"] == "physical" {
            return;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("  it did not end");
}

fn doctor(data_dir: &Path) {
    let out = Command::new(binary())
        .args(["doctor", "--data-dir"])
        .arg(data_dir)
        .env("EVENHAND_GOVERNANCE__KEYS", Place::KEYS)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    println!("  {}", text.trim_end().lines().next_back().unwrap_or_default());
    for line in text.lines().filter(|line| line.starts_with("PROBLEM")) {
        println!("  {line}");
    }
}
