//! The canary test: people whose every text is a unique word use every feature; one of them is erased; then every file,
//! log line and metric is searched for every word.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use judge::offline::OfflineJudge;
use judge::{Call, Judge, JudgeAnswer, JudgeError};
use serde_json::json;
use service::governance::canaries::{self, Scanner};
use storage::faults::Fault;
use tracing_subscriber::fmt::MakeWriter;

use super::erase::{Both, pair};
use crate::evaluation::work;
use crate::support::{Backend, NOW, TestApp, apply, both_backends};

/// A person and the words that stand for everything about them.
struct Person<'a> {
    t: &'a TestApp,
    both: &'a Both,
    user: String,
    /// The person in texts and session ids.
    called: String,
    words: Mutex<Vec<String>>,
}

impl<'a> Person<'a> {
    /// Somebody whose texts and session ids name them.
    fn new(t: &'a TestApp, both: &'a Both) -> Self {
        let user = canaries::new(&t.app.ids);
        Person { t, both, called: user.clone(), words: Mutex::new(vec![user.clone()]), user }
    }

    /// Somebody who is called something else in texts and session ids.
    fn under_another_name(t: &'a TestApp, both: &'a Both) -> Self {
        Person { user: canaries::new(&t.app.ids), ..Person::new(t, both) }
    }

    /// A new word.
    fn word(&self) -> String {
        let word = canaries::new(&self.t.app.ids);
        self.words.lock().unwrap().push(word.clone());
        word
    }

    fn session(&self, number: usize) -> String {
        format!("{}-{number}", self.called)
    }
}

/// One feature of the product as somebody uses it.
type Feature = for<'a> fn(&'a Person<'a>) -> BoxFuture<'a, ()>;

/// Every feature that stores something of a person: add yours.
const FEATURES: &[(&str, Feature)] = &[
    ("publish", |p| Box::pin(publish(p))),
    ("outcomes", |p| Box::pin(outcomes(p))),
    ("learnings", |p| Box::pin(learnings(p))),
    ("extraction", |p| Box::pin(extraction(p))),
    ("tuning", |p| Box::pin(tuning(p))),
    ("search", |p| Box::pin(search(p))),
    ("trials", |p| Box::pin(trials(p))),
    ("experiment", |p| Box::pin(experiment(p))),
    ("judge", |p| Box::pin(judge(p))),
    ("label", |p| Box::pin(label(p))),
    ("review queue", |p| Box::pin(review_queue(p))),
    ("grade", |p| Box::pin(grade(p))),
    ("regenerate", |p| Box::pin(regenerate(p))),
    ("imported scores", |p| Box::pin(imported_scores(p))),
    ("experiment results", |p| Box::pin(experiment_results(p))),
    ("questions", |p| Box::pin(questions(p))),
    ("webhooks", |p| Box::pin(webhooks(p))),
    ("export", |p| Box::pin(export(p))),
];

async fn publish(p: &Person<'_>) {
    for number in 0..8 {
        p.both.agent.publish(&json!({
            "user_id": p.user, "session_id": p.session(number), "request_id": p.word(), "source": p.word(), "agent_version": "v1",
            "interaction_data_list": [
                {"role": "User", "content": format!("Where is {}?", p.word()), "user_action": "click",
                 "user_action_description": p.word(), "interacted_image_url": format!("https://example.org/{}", p.word()),
                 "image_encoding": p.word()},
                {"role": "Assistant", "content": p.word(), "shadow_content": p.word(), "expert_content": p.word(),
                 "tools_used": [{"tool_name": p.word(), "tool_data": {"argument": p.word()}, "status": p.word()}],
                 "citations": [{"kind": "profile", "real_id": p.word(), "tag": p.word(), "title": p.word()}]},
            ]
        })).await.ok();
    }
}

async fn outcomes(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/session_outcome",
            &json!({"user_id": p.user, "session_id": p.session(0), "outcome": "success",
        "occurred_at": NOW, "label": p.word(), "metadata": {"note": p.word()}}),
        )
        .await
        .ok();
}

async fn questions(p: &Person<'_>) {
    for _ in 0..2 {
        let question = json!({"user_id": p.user, "question_text": format!("Who is {}?", p.word()), "args": {"name": p.word()},
            "tags": [p.word()], "answer_format": p.word(), "dedup_key": p.word()});
        let asked = p.both.agent.post("/api/pending_tool_calls", &question).await.ok();
        let resolve = format!("/api/pending_tool_calls/{}/resolve", asked["id"].as_str().unwrap());
        p.both.agent.post(&resolve, &json!({"result": {"answer": p.word()}})).await.ok();
    }
}

/// A message about a session that its receiver never takes.
async fn webhooks(p: &Person<'_>) {
    let events = [service::webhooks::EventType::SessionFailed];
    crate::webhooks::refused_receiver(p.t, "org", &events).await;
    let mut body = crate::evaluation::talk(&p.user, &p.session(9), false);
    body["session_finished"] = json!(true);
    p.both.agent.publish(&body).await.ok();
    let outcome = json!({"user_id": p.user, "session_id": p.session(9), "outcome": "failure", "occurred_at": NOW});
    p.both.agent.post("/api/session_outcome", &outcome).await.ok();
    // The judge fails now and then, never twice in a row.
    for _ in 0..2 {
        work(p.t).await;
        p.t.clock().advance(60);
    }
    let whose = p.t.subject(&p.user);
    let theirs = format!("SELECT COUNT(*) FROM webhook_deliveries WHERE subject = {whose}");
    assert!(p.t.number(&theirs).await > 0, "deliveries wait");
}

async fn learnings(p: &Person<'_>) {
    for _ in 0..5 {
        p.both.agent.post("/api/add_user_profile", &json!({"user_profiles": [{"user_id": p.user,
            "content": format!("likes {}", p.word()), "tags": [p.word()], "custom_features": {"note": p.word()}}]})).await.ok();
        let taught = p.word();
        let added = p
            .both
            .agent
            .post(
                "/api/add_user_playbook",
                &json!({"user_playbooks": [{"user_id": p.user, "content": taught,
            "trigger": p.word(), "rationale": p.word(), "playbook_name": p.word()}]}),
            )
            .await
            .ok();
        // The organization's own playbook stays; what links it to the person goes, and what is theirs in its text.
        let text = format!("be brief about {taught}, as {} wishes", p.called);
        p.both.agent.post("/api/add_agent_playbook", &json!({"agent_playbooks": [{"content": text, "tags": [taught],
            "rationale": format!("asked in {}", p.session(3)), "source_windows": [{"user_playbook_id": added["ids"][0], "source_interaction_ids": [1]}]}]})).await.ok();
    }
    // Changed, so that the index holds older words too.
    let profiles = p.both.agent.post("/api/get_profiles", &json!({"user_id": p.user})).await.ok();
    let id = &profiles["user_profiles"][0]["profile_id"];
    p.both
        .agent
        .put(
            "/api/update_user_profile",
            &json!({"user_id": p.user, "profile_id": id, "content": p.word()}),
        )
        .await
        .ok();
}

/// Teaches what the others teach too, in words of one's own, and changes one's mind.
async fn extraction(p: &Person<'_>) {
    for number in 20..22 {
        let taught = format!(
            "We use {} for all our invoices. When I ask about {}, always quote prices with tax.",
            p.word(),
            p.word()
        );
        let turns = json!([{"role": "User", "content": taught}]);
        p.both.agent.publish(&json!({"user_id": p.user, "session_id": p.session(number), "session_finished": true,
            "agent_version": "v1", "interaction_data_list": turns})).await.ok();
        work(p.t).await;
    }
    // At last in words that can be shared.
    let turns = json!([{"role": "User", "content": "Always quote prices with tax."}]);
    p.both
        .agent
        .publish(&json!({"user_id": p.user, "session_id": p.session(22), "session_finished": true,
        "agent_version": "v1", "interaction_data_list": turns}))
        .await
        .ok();
    work(p.t).await;
    p.t.clock().advance(30);
    work(p.t).await;
}

/// Meets a playbook that hurts: everybody's, and one's own.
async fn tuning(p: &Person<'_>) {
    let ask = json!({"user_id": p.user});
    let own = p.both.agent.post("/api/get_user_playbooks", &ask).await.ok();
    let everybodys = p.both.agent.post("/api/get_agent_playbooks", &json!({})).await.ok();
    let served = json!([
        {"kind": "user_playbook", "learning_id": own["user_playbooks"][0]["user_playbook_id"].to_string()},
        {"kind": "agent_playbook", "learning_id": everybodys["agent_playbooks"][0]["agent_playbook_id"].to_string()}]);
    for number in 30..37 {
        let asked = format!("Where is {}?", p.word());
        p.both.agent.publish(&json!({"user_id": p.user, "session_id": p.session(number), "session_finished": true,
            "agent_version": "v1", "interaction_data_list": [{"role": "User", "content": asked},
                {"role": "Assistant", "content": "In Spain.", "retrieved_learnings": served}]})).await.ok();
    }
    for _ in 0..3 {
        work(p.t).await;
        p.t.clock().advance(120);
    }
}

async fn search(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/search",
            &json!({"user_id": p.user, "session_id": p.session(0), "query": p.word()}),
        )
        .await
        .ok();
    p.words.lock().unwrap().pop();
}

/// The record of what was found names the session.
async fn trials(p: &Person<'_>) {
    let playbook = json!({"content": "Check before a refund.", "agent_version": "v1", "playbook_status": "approved"});
    let added = json!({"agent_playbooks": [playbook]});
    p.both.agent.post("/api/add_agent_playbook", &added).await.ok();
    let config = json!({"learning_trials": {"enabled": true}});
    p.both.agent.post("/api/update_config", &config).await.ok();
    let query = json!({"user_id": p.user, "session_id": p.word(), "query": "check refund"});
    p.both.program.post("/api/search", &query).await.ok();
}

async fn experiment(p: &Person<'_>) {
    let start = json!({"experiment_id": "exp", "holdout_percentage": 50});
    let started = p.both.agent.post("/api/retrieval_experiments", &start).await;
    assert!(matches!(started.status, 200 | 409), "{}", started.text);
    let query = json!({"user_id": p.user, "session_id": p.session(9), "query": "refund"});
    p.both.agent.post("/api/search", &query).await.ok();
}

/// The sums behind the results name sources and agent versions.
async fn experiment_results(p: &Person<'_>) {
    p.both.agent.get("/api/retrieval_experiments/exp/results").await.ok();
}

async fn imported_scores(p: &Person<'_>) {
    let score = json!({"scorer_name": p.word(), "user_id": p.user, "session_id": p.session(1), "value": 4, "ts": NOW,
        "source_run_id": p.word()});
    p.both.agent.post("/api/imported_scores", &score).await.ok();
}

async fn judge(p: &Person<'_>) {
    p.t.clock().advance(601);
    work(p.t).await;
}

async fn label(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/evaluations/labels",
            &json!({"labels": [{"user_id": p.user, "session_id": p.session(1), "is_success": true,
        "note": p.word()}]}),
        )
        .await
        .ok();
}

async fn review_queue(p: &Person<'_>) {
    let queue = json!({"limit": 200});
    p.both.agent.post("/api/evaluations/review_queue", &queue).await.ok();
}

async fn grade(p: &Person<'_>) {
    let grade = json!({"user_id": p.user, "session_id": p.session(2), "agent_version": "v1", "refresh": true});
    // The judge fails now and then, never twice in a row.
    let mut answer = p.both.agent.post("/api/evaluations/grade_on_demand", &grade).await;
    if answer.status == 502 {
        answer = p.both.agent.post("/api/evaluations/grade_on_demand", &grade).await;
    }
    answer.ok();
}

async fn regenerate(p: &Person<'_>) {
    p.both
        .agent
        .post("/api/evaluations/regenerate", &json!({"from_ts": NOW - 10, "to_ts": NOW + 100_000}))
        .await
        .ok();
    work(p.t).await;
}

async fn export(p: &Person<'_>) {
    p.both.governor.post("/api/governance/export-user", &pair(&p.user, "export")).await.ok();
}

/// A judge that says a person's own words back, and now and then fails.
#[derive(Default)]
struct Quoting(AtomicUsize);

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
    let drafted = "SELECT COUNT(*) FROM tuning_proposals WHERE subject IS NULL AND content <> ''";
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
async fn tables_to_read(t: &TestApp) -> Vec<(String, &'static str)> {
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
async fn columns_with(
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
