//! Old and new replicas beside each other on one schema step.

use serde_json::{Value, json};
use sqlx::Connection;

use crate::evaluation::talk;
use crate::support::{
    NOW, Process, TEST_KEYS, TestApp, apply, both_backends, new_schema, postgres, until,
};
use service::schema::MIGRATIONS;
use storage::db::migrations::{self, Migration, Migrations};
use storage::db::{Db, Engine};
use storage::subjects::SubjectKeys;

/// A newer program's step that only adds, its own version of the rollups, and a wall that it changed.
const NEWER: &str = "
    ALTER TABLE sessions ADD COLUMN mood TEXT;
    CREATE TABLE moods (org_id TEXT NOT NULL, mood TEXT NOT NULL);
    INSERT INTO schema_migrations (version, name, checksum, applied_at, works_from)
        SELECT 9999, 'moods', '', 1, MAX(version) FROM schema_migrations;
    UPDATE schema_parts SET version = version + 1;
    COMMENT ON FUNCTION subject_wall() IS 'newer';
    DO $$ DECLARE old RECORD; BEGIN
        FOR old IN SELECT tgname, tgrelid::regclass AS of FROM pg_trigger
            WHERE tgname LIKE 'rollup_v%' AND tgrelid::regclass::text LIKE '%cited_rules' LOOP
            EXECUTE format('ALTER TRIGGER %I ON %s RENAME TO %I', old.tgname, old.of, 'rollup_v99_cited');
        END LOOP;
    END $$";
const CONTRACTED: &str = "UPDATE schema_migrations SET works_from = 9999 WHERE version = 9999";

struct Replica {
    process: Process,
    client: reqwest::Client,
}

impl Replica {
    fn start(url: &str) -> Self {
        let mut command =
            Process::command(&["serve", "--listen", "127.0.0.1:0", "--database-url", url]);
        command.env("EVENHAND_JUDGE__MODEL", "offline").env("EVENHAND_LOG__LEVEL", "error");
        Replica { process: Process::start(&mut command), client: reqwest::Client::new() }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.client.post(self.process.url(path)).json(body).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn publish(&self, sessions: std::ops::Range<usize>) {
        for n in sessions {
            let mut body = talk(&format!("u{n}"), "s", n % 3 > 0);
            body["created_at"] = json!(NOW);
            self.post("/api/publish_interaction", &body).await;
        }
    }
}

async fn number(url: &str, query: &'static str) -> i64 {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    let (number,): (i64,) = sqlx::query_as(query).fetch_one(&mut conn).await.unwrap();
    number
}

async fn execute(url: &str, script: &'static str) {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(script).execute(&mut conn).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_replica_goes_on_and_starts_beside_a_newer_one_and_replaces_nothing() {
    let url = new_schema().await;
    let running = Replica::start(&url);
    running.publish(0..10).await;
    execute(&url, NEWER).await;
    // The one that runs goes on, and one that starts now joins it.
    running.publish(10..20).await;
    let started = Replica::start(&url);
    started.publish(20..30).await;
    let newer = "SELECT COUNT(*) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                 WHERE tgname = 'rollup_v99_cited' AND relnamespace = current_schema()::regnamespace";
    assert_eq!(number(&url, newer).await, 1, "the newer trigger is there");
    let wall = "SELECT COUNT(*) FROM pg_proc WHERE proname = 'subject_wall'
                AND pronamespace = current_schema()::regnamespace
                AND obj_description(oid, 'pg_proc') = 'newer'";
    assert_eq!(number(&url, wall).await, 1, "so is the newer function");
    let window = json!({"from_ts": NOW - 1, "to_ts": NOW + 1});
    started.post("/api/evaluations/regenerate", &window).await;
    let counted = "SELECT COALESCE(SUM(n), 0)::bigint FROM (
        SELECT n FROM evaluation_rollups WHERE grain = 3600 UNION ALL SELECT n FROM evaluation_deltas) counted";
    until("30 verdicts are counted", async || number(&url, counted).await == 30).await;
    // After a step that takes something away it may not start.
    execute(&url, CONTRACTED).await;
    let refused = Process::run(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("schema version 9999"), "{said}");
}

#[apply(both_backends)]
async fn parts_of_a_newer_version_are_left_and_older_ones_replaced(t: TestApp) {
    t.app
        .db
        .write("test.parts", (), |tx, ()| {
            Box::pin(async move {
                assert!(migrations::is_outdated(tx, "x", 2).await?, "never made");
                migrations::installed(tx, "x", 2).await?;
                assert!(migrations::may_install(tx, "x", 2).await?);
                assert!(!migrations::is_outdated(tx, "x", 2).await?);
                assert!(migrations::may_install(tx, "x", 3).await?);
                assert!(migrations::is_outdated(tx, "x", 3).await?);
                assert!(!migrations::may_install(tx, "x", 1).await?);
                Ok(())
            })
        })
        .await
        .unwrap();
}

/// The steps of a newer version: one that only adds, in a table that everybody uses, and an index.
fn with_a_later_step() -> Migrations {
    let newest = MIGRATIONS.newest();
    let later = Migration {
        version: newest + 1,
        name: "later",
        works_from: newest,
        sqlite: "",
        postgres: "ALTER TABLE jobs SET (fillfactor = 60);\n\
            -- concurrently\n\
            CREATE INDEX CONCURRENTLY IF NOT EXISTS jobs_later ON jobs (kind, job_id);\n",
    };
    let steps: Vec<Migration> = MIGRATIONS.0.iter().copied().chain([later]).collect();
    Migrations(steps.leak())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_waits_for_a_lock_without_stopping_everybody_else() {
    let url = new_schema().await;
    let plan = || {
        let plan = Process::run(&["migrate", "--plan", "--database-url", &url]);
        String::from_utf8_lossy(&plan.stdout).into_owned()
    };
    let said = plan();
    assert!(said.contains("0001_schema: replicas of older schemas must be stopped"), "{said}");
    assert!(said.contains("  jobs is new"), "{said}");
    assert!(Process::run(&["migrate", "--database-url", &url]).status.success());
    assert!(plan().contains("nothing is missing"));
    let hash = SubjectKeys::parse(TEST_KEYS).unwrap().subject_hash();
    let db = Db::postgres(&postgres(&url, 2), hash).await.unwrap();
    let steps = with_a_later_step();
    let missing = steps.plan(&db).await.unwrap();
    let said: Vec<String> =
        missing.iter().flat_map(|step| step.in_words(Engine::Postgres)).collect();
    let beside = "  SHARE UPDATE EXCLUSIVE on jobs: nobody waits";
    let header = format!("later: replicas of schema {} go on beside it", MIGRATIONS.newest());
    assert_eq!(said, [&header, beside, beside], "its parameters and its index");
    // A long transaction holds the table.
    let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("BEGIN; LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        .execute(&mut conn)
        .await
        .unwrap();
    let other = db.clone();
    let migrating = tokio::spawn(async move { steps.migrate(&other, NOW).await });
    let gave_up = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'
                   AND relation = 'jobs'::regclass";
    until("it waits", async || number(&url, gave_up).await > 0).await;
    until("it lets others go before", async || number(&url, gave_up).await == 0).await;
    sqlx::raw_sql("COMMIT").execute(&mut conn).await.unwrap();
    assert_eq!(migrating.await.unwrap().unwrap(), [MIGRATIONS.newest() + 1]);
    assert!(steps.missing(&db).await.unwrap().is_empty());
    assert!(plan().contains("nothing is missing"), "the version before goes on");
    // The index that it builds beside everybody's work; one that was left half built is built anew.
    let valid =
        "SELECT COUNT(*) FROM pg_index WHERE indexrelid = to_regclass('jobs_later') AND indisvalid";
    assert_eq!(number(&url, valid).await, 1);
    let half =
        "UPDATE pg_index SET indisvalid = FALSE WHERE indexrelid = to_regclass('jobs_later')";
    execute(&url, half).await;
    assert_eq!(number(&url, valid).await, 0);
    assert!(steps.migrate(&db, NOW).await.unwrap().is_empty());
    assert_eq!(number(&url, valid).await, 1);
    db.close().await;
}

/// Tables of millions of rows are looked at before a fifth of them is dead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_step_lets_autovacuum_come_sooner_and_nobody_waits() {
    let url = new_schema().await;
    let hash = SubjectKeys::parse(TEST_KEYS).unwrap().subject_hash();
    let db = Db::postgres(&postgres(&url, 2), hash).await.unwrap();
    let (first, _) = MIGRATIONS.0.split_at(1);
    assert_eq!(Migrations(first).migrate(&db, NOW).await.unwrap(), [1]);
    let sooner = "SELECT COUNT(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace
                  AND relname IN ('interactions', 'requests', 'sessions')
                  AND 'autovacuum_vacuum_scale_factor=0.02' = ANY (reloptions)";
    assert_eq!(number(&url, sooner).await, 0);
    let second = MIGRATIONS.plan(&db).await.unwrap()[0].in_words(Engine::Postgres);
    let lines = ["interactions", "requests", "sessions"]
        .map(|table| format!("  SHARE UPDATE EXCLUSIVE on {table}: nobody waits"));
    assert_eq!(second[0], "0002_autovacuum: replicas of schema 1 go on beside it");
    assert_eq!(second[1..], lines);
    MIGRATIONS.migrate(&db, NOW).await.unwrap();
    assert_eq!(number(&url, sooner).await, 3);
    db.close().await;
}
