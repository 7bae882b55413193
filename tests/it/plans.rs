//! A request for one person touches that person's rows, however many others there are.

use std::collections::{BTreeMap, BTreeSet};

use base::owner::OrgId;
use serde_json::json;
use service::user_tables::USER_TABLES;
use storage::db::{Engine, statements_sent};

use crate::publish::two_turns;
use crate::support::{Backend, TestApp, until, within};

const USERS: i64 = 10_000;
const PEOPLE_OF_A_WRITE: usize = 250;
/// Rows of one of them: 100 turns, 20 requests, 10 sessions. Everything that an operation may look at, and some more.
const A_PERSONS: i64 = 1500;

/// A million turns. Triggers are left out: they are not what this is about.
const FILL: [&str; 4] = [
    "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
     SELECT 'default', subject, 'u' || u, 'active', 1, 1 FROM people",
    "INSERT INTO sessions (org_id, subject, session_id, epoch, first_request_at, first_request_id, last_request_at,
        last_received_at, source, agent_version, request_count, interaction_count)
     SELECT 'default', subject, 's' || s, 1, 1768000000 + s, 'r-' || u || '-' || s || '-0', 1768000000 + s,
        1768000000, 'web', 'v1', 2, 10
     FROM people, generate_series(1, 10) s",
    "INSERT INTO requests (org_id, subject, session_id, request_id, epoch, created_at, received_at, source,
        agent_version, evaluation_only, content_sha256, answer)
     SELECT 'default', subject, 's' || s, 'r-' || u || '-' || s || '-' || r, 1, 1768000000 + s, 1768000000, 'web',
        'v1', FALSE, '', '{}'
     FROM people, generate_series(1, 10) s, generate_series(0, 1) r",
    "INSERT INTO interactions (org_id, subject, session_id, epoch, request_id, created_at, role, content,
        shadow_content, expert_content, user_action, user_action_description, interacted_image_url, image_encoding,
        tools_used, citations, retrieved_learnings)
     SELECT 'default', subject, 's' || s, 1, 'r-' || u || '-' || s || '-' || (i % 2), 1768000000 + s,
        'User', 'text', '', '', 'none', '', '', '', '[]', '[]', '[]'
     FROM people, generate_series(1, 10) s, generate_series(0, 9) i",
];

/// Rows and index entries that were read so far.
async fn touched(t: &TestApp) -> i64 {
    t.number(
        "SELECT ((SELECT SUM(seq_tup_read) FROM pg_stat_user_tables
                  WHERE schemaname = current_schema()
                    AND relname IN ('interactions', 'requests', 'sessions', 'subjects'))
               + (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes
                  WHERE schemaname = current_schema()
                    AND relname IN ('interactions', 'requests', 'sessions', 'subjects')))::bigint",
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_persons_reads_and_writes_touch_their_rows_among_a_million() {
    let t = TestApp::new(Backend::Postgres).await;
    // A write has its time limit.
    for first in (1..=USERS).step_by(PEOPLE_OF_A_WRITE) {
        let person = |u: i64| format!("({u}, {})", t.subject_in("default", &format!("u{u}")));
        let people: Vec<_> = (first..first + PEOPLE_OF_A_WRITE as i64).map(person).collect();
        let people = format!("(VALUES {}) AS people (u, subject)", people.join(", "));
        let statements = FILL.map(|statement| statement.replace("people", &people));
        t.app
            .db
            .write("test.fill", statements, |tx, statements| {
                Box::pin(async move {
                    tx.run_script("SET LOCAL session_replication_role = replica".to_owned())
                        .await?;
                    for statement in statements {
                        tx.run_script(statement.clone()).await?;
                    }
                    Ok(())
                })
            })
            .await
            .unwrap();
    }
    for table in ["subjects", "sessions", "requests", "interactions"] {
        t.sql(&format!("ANALYZE {table}")).await.unwrap();
    }
    let calls = [
        ("POST", "/api/publish_interaction", Some(two_turns("u77", "s3"))),
        ("POST", "/api/get_requests", Some(json!({"user_id": "u77"}))),
        ("POST", "/api/get_interactions", Some(json!({"user_id": "u77"}))),
        ("GET", "/api/sessions/u77/s3", None),
        ("GET", "/api/sessions?user_id=u77", None),
        ("POST", "/api/search", Some(json!({"user_id": "u77", "query": "parcel"}))),
    ];
    for (method, path, body) in calls {
        // Counters are flushed when connections end.
        t.app
            .db
            .read("test.flush", (), |tx, ()| {
                Box::pin(async move {
                    tx.run_script("SELECT pg_stat_force_next_flush()".to_owned()).await
                })
            })
            .await
            .unwrap();
        let before = touched(&t).await;
        let replica = t.replica().await;
        let server = replica.serve().await;
        server.call(method, path, body.as_ref()).await.ok();
        drop(server);
        replica.app.stop().await;
        let read = touched(&t).await - before;
        println!("{method} {path}: {read} rows");
        assert!(read < A_PERSONS, "{method} {path} touched {read} rows");
    }
    // Retention looks for the oldest sessions, of which there are ten thousand more.
    let replica = t.replica().await;
    let before = touched(&t).await;
    let org = OrgId::from("default");
    assert_eq!(
        service::sessions::next_organization(&replica.app, "").await.unwrap(),
        Some(org.clone())
    );
    let idle = service::sessions::idle(&replica.app, &org, i64::MIN, 1_768_000_002, 200).await;
    assert_eq!(idle.unwrap().len(), 200);
    replica.app.stop().await;
    // What was read is counted after the connections have ended.
    until("the reads are counted", async || touched(&t).await - before >= 200).await;
    let read = touched(&t).await - before;
    println!("idle sessions: {read} rows");
    assert!(read < A_PERSONS, "looking for old sessions touched {read} rows");
    // Last, because the rows that this reads may be counted late.
    assert!(t.number("SELECT COUNT(*) FROM interactions").await >= 100 * USERS);
}

/// Its own look for them comes once a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_was_empty_has_statistics_seconds_after_it_is_filled() {
    let t = TestApp::new(Backend::Postgres).await;
    let known = "SELECT GREATEST(reltuples, 0)::bigint FROM pg_class
        WHERE oid = 'subjects'::regclass";
    assert_eq!(t.number(known).await, 0);
    t.sql(
        "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
         SELECT 'default', gen_random_uuid(), 'user-' || n, 'active', 1, 1 FROM generate_series(1, 2000) n",
    )
    .await
    .unwrap();
    within(20, "statistics of a table that was filled", async || t.number(known).await == 2000)
        .await;
}

/// PostgreSQL would compile the plans of long statements, which takes longer than to run them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plan_is_compiled() {
    let jit = "SELECT COUNT(*) FROM pg_settings WHERE name = 'jit' AND setting = 'on'";
    let t = TestApp::new(Backend::Postgres).await;
    assert_eq!(t.number(jit).await, 0);
    let pooled = t.replica_with(|s| s.database.pooler = storage::db::Pooler::Transaction).await;
    assert_eq!(pooled.number(jit).await, 0);
    let asked = t.replica_with(|s| s.server.database_url += "?options[jit]=on").await;
    assert_eq!(asked.number(jit).await, 1);
}

/// How SQLite looks something up, as it says it: `SEARCH s USING INDEX name (org_id=? AND subject=?)`.
type Step = (i64, i64, i64, String);

/// True if a step goes through all of an organization's rows in one of these tables, by an index or without.
fn is_a_walk(
    step: &str,
    plan: &[Step],
    statement: &str,
    indexes: &BTreeMap<String, String>,
) -> bool {
    let of_people = |table: &str| USER_TABLES.iter().any(|of_user| of_user.table == table);
    let words: Vec<&str> = step.split_whitespace().collect();
    let index = words.iter().position(|word| *word == "INDEX").and_then(|at| words.get(at + 1));
    if let Some(table) = index.and_then(|index| indexes.get(*index)) {
        let looked_up = step.split_once('(').map_or("", |(_, columns)| columns);
        let is_key = |column: &str| column.contains("=?") && !column.starts_with("org_id=");
        return of_people(table) && !looked_up.split(" AND ").any(is_key);
    }
    let Some(name) = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next()) else {
        return false;
    };
    let is_made = |(.., step): &Step| {
        [format!("CO-ROUTINE {name}"), format!("MATERIALIZE {name}")].contains(step)
    };
    let is_read_as = |table: &str| {
        let is_named = |before: &str| statement.contains(&format!("{before} {table} {name} "));
        name == table || is_named("FROM") || is_named("JOIN")
    };
    !plan.iter().any(is_made) && USER_TABLES.iter().any(|of_user| is_read_as(of_user.table))
}

/// SQLite does not know how many rows a person has, and would read everybody's where an index has them in the order
/// that is asked for.
#[tokio::test]
async fn on_sqlite_what_is_asked_of_a_person_is_found_by_their_key() {
    let t = TestApp::new(Backend::Sqlite).await;
    let server = t.serve().await;
    let before: BTreeSet<_> = statements_sent(Engine::Sqlite).into_iter().collect();
    let session = json!({"user_id": "u77", "session_id": "s3"});
    let of_user = json!({"user_id": "u77"});
    for (method, path, body) in [
        ("POST", "/api/publish_interaction", Some(two_turns("u77", "s3"))),
        ("POST", "/api/get_requests", Some(of_user.clone())),
        ("POST", "/api/get_interactions", Some(of_user.clone())),
        ("POST", "/api/search_interactions", Some(json!({"user_id": "u77", "query": "parcel"}))),
        ("GET", "/api/sessions/u77/s3", None),
        ("GET", "/api/sessions?user_id=u77&count=true", None),
        ("GET", "/api/sessions?user_id=u77&order=oldest&start_time=1&end_time=9999999999", None),
        ("GET", "/api/sessions?user_id=u77&text=parcel&count=true", None),
        ("GET", "/api/sessions?session_ids=s3,s4&count=true", None),
        ("GET", "/api/sessions/export?user_id=u77", None),
        ("POST", "/api/get_session_outcomes", Some(of_user.clone())),
        ("POST", "/api/get_session_outcomes", Some(json!({"session_ids": ["s3"]}))),
        ("POST", "/api/get_agent_success_evaluation_results", Some(session.clone())),
        ("POST", "/api/get_agent_success_evaluation_results", Some(of_user.clone())),
        ("POST", "/api/get_retrieved_learning_evaluation_results", Some(session)),
        ("GET", "/api/evaluations/decisions?user_id=u77&session_id=s3", None),
        ("GET", "/api/evaluations/decisions?session_id=s3", None),
        ("GET", "/api/evaluations/labels?user_id=u77&session_id=s3", None),
        ("POST", "/api/search", Some(json!({"user_id": "u77", "query": "parcel"}))),
        ("POST", "/api/get_profiles", Some(of_user.clone())),
        ("POST", "/api/get_user_playbooks", Some(of_user)),
        ("GET", "/api/get_all_profiles?user_id=u77", None),
    ] {
        let answer = server.call(method, path, body.as_ref()).await;
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text);
    }
    let indexes: Vec<(String, String)> =
        t.list("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'").await;
    let indexes = indexes.into_iter().collect();
    let (mut looked_at, mut walks) = (0, Vec::new());
    for statement in statements_sent(Engine::Sqlite) {
        let is_one = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"]
            .iter()
            .any(|word| statement.trim_start().starts_with(word));
        if before.contains(statement) || !is_one {
            continue;
        }
        looked_at += 1;
        let plan: Vec<Step> = t.list(&format!("EXPLAIN QUERY PLAN {statement}")).await;
        let steps = plan.iter().map(|(.., step)| step);
        let walked = steps.filter(|step| is_a_walk(step, &plan, statement, &indexes));
        walks.extend(walked.map(|step| format!("{step}\n{statement}")));
    }
    assert!(walks.is_empty(), "{}", walks.join("\n\n"));
    assert!(looked_at > 40, "{looked_at} statements");
}
