//! The canary test: people whose every text is a unique word use every feature; one of them is erased; then every file,
//! log line and metric is searched for every word.

pub mod features;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use judge::offline::OfflineJudge;
use judge::{Call, Judge, JudgeAnswer, JudgeError};
use serde_json::json;
use service::governance::canaries::Scanner;
use storage::faults::Fault;
use tracing_subscriber::fmt::MakeWriter;

use self::features::{FEATURES, Person};
use super::erase::{Both, pair};
use crate::support::{Backend, TestApp, apply, both_backends};

/// A judge that says a person's own words back, and now and then fails.
#[derive(Default)]
pub struct Quoting(AtomicUsize);

impl Judge for Quoting {
    fn provider(&self) -> &str {
        "quoting"
    }

    fn label(&self) -> &str {
        "quoting/judge"
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(async move {
            if self.0.fetch_add(1, Ordering::SeqCst) % 7 == 6 {
                return Err(JudgeError::Refused);
            }
            let word = call.user.split("Where is ").nth(1).and_then(|rest| rest.split('?').next());
            let mut answer = OfflineJudge.call(call).await?;
            if answer.json.get("is_success").is_some() {
                answer.json = json!({"reasoning": "r", "is_success": false, "failure_type": "wrong_answer",
                    "failure_reason": word.unwrap_or("none"), "number_of_corrections": 0, "is_escalated": false});
            }
            if answer.json.get("content").is_some() {
                answer.json = json!({"rationale": word, "trigger": "prices", "content": "Quote every price with its tax"});
            }
            let turn =
                call.user.split("\"id\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
            let turn: Option<i64> = turn.and_then(|id| id.trim().parse().ok());
            for verdict in answer.json["verdicts"].as_array_mut().into_iter().flatten() {
                if verdict.get("impact").is_some() {
                    verdict["impact"] = json!("negative");
                    verdict["diagnosis_category"] = json!("content_defect");
                    verdict["diagnosis_reason"] = json!(word.unwrap_or("none"));
                    verdict["diagnosis_turns"] = json!([turn]);
                }
            }
            Ok(answer)
        })
    }
}

/// Everything that was logged.
#[derive(Clone, Default)]
pub struct Log(pub Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

/// Every table, index and large value of the test's database, as PostgreSQL keeps them in files.
async fn postgres_files(t: &TestApp, scanner: &Scanner) -> BTreeSet<usize> {
    outside_transaction(t, "CHECKPOINT").await;
    let rows: Vec<(String,)> = t.app.db.read("test.files", (), |tx, ()| Box::pin(async move {
        storage::rows!(tx, (String,),
            "SELECT current_setting('data_directory') || '/' || pg_relation_filepath(c.oid) FROM pg_class c
             WHERE pg_relation_filepath(c.oid) IS NOT NULL AND (relnamespace = current_schema()::regnamespace OR c.oid IN (
                 SELECT x.oid FROM pg_class o JOIN pg_class x ON x.oid = o.reltoastrelid
                 WHERE o.relnamespace = current_schema()::regnamespace))")
    })).await.unwrap();
    assert!(rows.len() > 40, "{} files", rows.len());
    rows.iter().flat_map(|(path,)| scanner.find_in_file(path.as_ref()).unwrap()).collect()
}

async fn outside_transaction(t: &TestApp, statement: &str) {
    use sqlx::Connection;
    let mut conn = sqlx::PgConnection::connect(&t.settings().server.database_url).await.unwrap();
    #[allow(clippy::disallowed_types)]
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned())).execute(&mut conn).await.unwrap();
}

/// The rewrite that the date on a certificate waits for. A transaction of somebody else's that began before the erasure
/// makes the engine keep what was deleted for a while.
async fn rewrite(t: &TestApp, scanner: &Scanner) {
    let tables = t
        .app
        .db
        .read("test.tables", (), |tx, ()| Box::pin(tx.names_of(storage::db::Objects::Tables)))
        .await
        .unwrap();
    for _ in 0..40 {
        for table in &tables {
            outside_transaction(t, &format!("VACUUM FULL {table}")).await;
        }
        if find(t, scanner).await.is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}

fn dump(t: &TestApp) -> Vec<u8> {
    let url = &t.settings().server.database_url;
    let dump = std::process::Command::new("pg_dump").arg(url).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    dump.stdout
}

/// Canaries found in the files, and on PostgreSQL also in a dump.
async fn find(t: &TestApp, scanner: &Scanner) -> BTreeSet<usize> {
    match t.backend {
        Backend::Sqlite => scanner.find_in_folder(&t.settings().server.data_dir).unwrap(),
        Backend::Postgres => {
            let mut found = postgres_files(t, scanner).await;
            found.extend(scanner.find(&dump(t)));
            found
        }
    }
}

/// Log lines of every crate of this workspace.
pub const EVERYTHING_OF_OURS: &str = "service=trace,storage=trace,judge=trace,base=trace";

async fn nothing_is_left(backend: Backend, vacuum_up_to_mib: u64) {
    let log = Log::default();
    tracing_subscriber::fmt().with_env_filter(EVERYTHING_OF_OURS).with_writer(log.clone()).init();
    let metrics = service::telemetry::init_metrics().unwrap();
    let t = TestApp::with(backend, |s| s.governance.vacuum_up_to_mib = vacuum_up_to_mib).await;
    let t = t.taught_by(Arc::new(Quoting::default())).await;
    let both = Both::new(&t).await;
    both.agent.post("/api/update_config", &json!({"learning": {"min_users": 4}})).await.ok();
    let people: Vec<Person> = (0..4).map(|_| Person::new(&t, &both)).collect();
    for (name, feature) in FEATURES {
        for person in &people {
            feature(person).await;
        }
        let words: usize = people.iter().map(|p| p.words.lock().unwrap().len()).sum();
        assert!(words > 0, "{name}");
    }
    let scanners: Vec<(Scanner, usize)> = people
        .iter()
        .map(|person| {
            let words = person.words.lock().unwrap();
            (Scanner::new(&words).unwrap(), words.len())
        })
        .collect();
    for (scanner, words) in &scanners {
        let found = find(&t, scanner).await;
        let missing: Vec<usize> = (0..*words).filter(|word| !found.contains(word)).collect();
        assert!(missing.len() * 100 <= *words, "the control: {missing:?} of {words} are missing");
    }
    let exports = async || {
        let mut texts = Vec::new();
        for person in &people[2..] {
            let body = pair(&person.user, "export");
            texts.push(both.governor.post("/api/governance/export-user", &body).await.text);
        }
        texts
    };
    let others = exports().await;
    let playbooks = t.number("SELECT COUNT(*) FROM agent_playbooks").await;
    let aggregated = async || {
        let found = both.agent.post("/api/get_agent_playbooks", &json!({})).await.ok();
        let found = found["agent_playbooks"].as_array().unwrap().clone();
        found.into_iter().find(|p| p["playbook_metadata"]["origin"] == "aggregation").unwrap()
    };
    let before = aggregated().await;
    assert_eq!(before["source_user_count"], 4, "{before}");
    let drafted = "SELECT COUNT(*) FROM tuning_proposals WHERE epoch IS NULL AND content <> ''";
    assert_eq!(t.number(drafted).await, 1);
    for person in &people[..2] {
        let erased = both.erase(&person.user, "dsr").await;
        assert_eq!(erased["shared_texts_masked"], 5, "{erased}");
        for target in [
            "agent_playbook_sources",
            "learning_streams",
            "learning_windows",
            "learning_proposals",
            "tuning_proposals",
            "tuning_evidence",
        ] {
            assert!(erased["deleted_counts"][target].as_i64() > Some(0), "{target}: {erased}");
        }
    }
    if backend == Backend::Postgres {
        rewrite(&t, &scanners[0].0).await;
    }
    for (number, (scanner, words)) in scanners.iter().enumerate() {
        let found = find(&t, scanner).await;
        if number < 2 {
            let words = people[number].words.lock().unwrap();
            let found: Vec<&String> = found.iter().map(|place| &words[*place]).collect();
            assert!(found.is_empty(), "of an erased person: {found:?}");
        } else {
            let live = scanner.find(others[number - 2].as_bytes());
            assert!(
                live.is_subset(&found) && live.len() * 100 >= words * 95,
                "of the others: {} of {words}",
                found.len()
            );
        }
        assert!(scanner.find(&log.0.lock().unwrap()).is_empty(), "in the log");
        assert!(scanner.find(metrics.render().as_bytes()).is_empty(), "in the metrics");
    }
    assert_eq!(exports().await, others, "to the byte");
    assert!(!log.0.lock().unwrap().is_empty());
    assert_eq!(t.number("SELECT COUNT(*) FROM agent_playbooks").await, playbooks);
    let after = aggregated().await;
    assert_eq!((&after["content"], &after["source_user_count"]), (&before["content"], &json!(2)));
    assert_eq!(t.number(drafted).await, 0, "what was drafted from the erased");
    assert_eq!(t.mismatches().await, 0);
}

/// Tables, each with a query for the names and contents of all its columns.
pub async fn tables_to_read(t: &TestApp) -> Vec<(String, &'static str)> {
    let db = &t.app.db;
    let tables = db
        .read("test.tables", (), |tx, ()| Box::pin(tx.names_of(storage::db::Objects::Tables)))
        .await
        .unwrap();
    let mut queries = Vec::new();
    for table in tables {
        let name: &'static str = Box::leak(table.clone().into_boxed_str());
        let columns =
            db.read("test.columns", name, |tx, name| Box::pin(tx.columns_of(name))).await.unwrap();
        let of_column = columns.iter().map(|(column, kind)| {
            let bytes = match (t.backend, kind.as_str()) {
                (Backend::Sqlite, _) => format!("CAST(\"{column}\" AS BLOB)"),
                (Backend::Postgres, "bytea") => format!("\"{column}\""),
                (Backend::Postgres, _) => format!("convert_to(CAST(\"{column}\" AS TEXT), 'UTF8')"),
            };
            format!(
                "SELECT CAST('{column}' AS TEXT), {bytes} FROM {table} WHERE \"{column}\" IS NOT NULL"
            )
        });
        let query = of_column.collect::<Vec<_>>().join(" UNION ALL ");
        queries.push((table, &*Box::leak(query.into_boxed_str())));
    }
    queries
}

/// The columns that canaries stand in, with the canaries.
pub async fn columns_with(
    t: &TestApp,
    tables: &[(String, &'static str)],
    scanner: &Scanner,
) -> BTreeMap<String, BTreeSet<usize>> {
    let mut found: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (table, query) in tables {
        let values: Vec<(String, Vec<u8>)> = t
            .app
            .db
            .read("test.contents", *query, |tx, query| {
                Box::pin(async move { storage::rows!(tx, (String, Vec<u8>), query) })
            })
            .await
            .unwrap_or_else(|e| panic!("{table}: {e}"));
        for (column, value) in values {
            let canaries = scanner.find(&value);
            if !canaries.is_empty() {
                found.entry(format!("{table}.{column}")).or_default().extend(canaries);
            }
        }
    }
    found
}

#[apply(both_backends)]
async fn a_user_id_stands_in_the_table_of_subjects_alone(t: TestApp) {
    let t = t.taught_by(Arc::new(Quoting::default())).await;
    let both = Both::new(&t).await;
    both.agent.post("/api/update_config", &json!({"learning": {"min_users": 4}})).await.ok();
    let people: Vec<Person> = (0..4).map(|_| Person::under_another_name(&t, &both)).collect();
    let users: Vec<String> = people.iter().map(|person| person.user.clone()).collect();
    let (scanner, tables) = (Scanner::new(&users).unwrap(), tables_to_read(&t).await);
    let named = |people: std::ops::Range<usize>| {
        BTreeMap::from([("subjects.user_id".to_owned(), people.collect::<BTreeSet<_>>())])
    };
    for (name, feature) in FEATURES {
        for person in &people {
            feature(person).await;
        }
        assert_eq!(columns_with(&t, &tables, &scanner).await, named(0..4), "after {name}");
    }
    // The control: what the people are called in their texts is found.
    let called: Vec<String> = people.iter().map(|person| person.called.clone()).collect();
    let texts = columns_with(&t, &tables, &Scanner::new(&called).unwrap()).await;
    for column in ["sessions.session_id", "webhook_deliveries.body", "agent_playbooks.content"] {
        assert_eq!(texts[column], (0..4).collect(), "{column}");
    }
    // It stays there until the end of an erasure, and goes with it.
    t.app.faults.arm("erase.after_deletes", Fault::Error(1));
    let begun = both.governor.post("/api/governance/erase-user", &pair(&users[0], "dsr")).await;
    assert_ne!(begun.status, 200, "{}", begun.text);
    assert_eq!(columns_with(&t, &tables, &scanner).await, named(0..4), "amid an erasure");
    both.erase(&users[0], "dsr").await;
    assert_eq!(columns_with(&t, &tables, &scanner).await, named(1..4), "after an erasure");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_the_erased_in_sqlite_written_anew() {
    nothing_is_left(Backend::Sqlite, 32).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_the_erased_in_sqlite_cleaned_page_by_page() {
    nothing_is_left(Backend::Sqlite, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_the_erased_in_postgres() {
    nothing_is_left(Backend::Postgres, 32).await;
}
