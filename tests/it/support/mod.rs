//! Test support: an app per test on either engine, a server around it, and the real binary.

mod cluster;
mod contract;
mod databases;
mod model;
mod pgbouncer;
mod process;
mod provider;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::clock::Clock;
use base::ids::Ids;
use judge::{Grader, Judge, Limits, PriceTable};
use rstest_reuse::template;
use service::app::{App, Schema};
use service::config::Settings;
use service::credentials::{self, GivenCredentials, Role};
use storage::db::{Engine, Pooler, PostgresSettings};
use tempfile::TempDir;

pub use cluster::Cluster;
use databases::new_database;
pub use databases::new_schema;
pub use model::{Calls, Model, digits_after};
pub use pgbouncer::Pgbouncer;
pub use process::Process;
pub use provider::{CLIENT_ID, Provider};
pub use rstest_reuse::apply;
pub use server::{Answer, Server, patient_client};

/// 2026-01-15 12:00:00 UTC, a Thursday: when every test begins.
pub const NOW: i64 = 1_768_478_400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

/// An installation of its own: a temporary folder, or a database in the tests' PostgreSQL.
pub struct TestApp {
    pub app: Arc<App>,
    pub backend: Backend,
    settings: Settings,
    clock: Clock,
    _folder: Arc<TempDir>,
}

impl TestApp {
    pub async fn new(backend: Backend) -> Self {
        Self::with(backend, |_| {}).await
    }

    /// With settings of the test's own.
    pub async fn with(backend: Backend, change: impl FnOnce(&mut Settings)) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let mut settings = Settings::defaults().unwrap();
        settings.server.listen = "127.0.0.1:0".to_owned();
        settings.server.data_dir = folder.path().join("data");
        settings.server.stop_seconds = 3;
        settings.server.header_timeout_seconds = 5;
        if backend == Backend::Postgres {
            settings.server.database_url = new_database().await;
            settings.governance.keys = TEST_KEYS.to_owned();
            settings.database.connections = 8;
        }
        change(&mut settings);
        let clock = Clock::manual(NOW);
        let app = open(&settings, &clock, 1).await;
        TestApp { app, backend, settings, clock, _folder: folder }
    }

    /// Another process on the same storage, as a second replica or after a restart would be. Shares the clock.
    pub async fn replica(&self) -> TestApp {
        self.replica_with(|_| {}).await
    }

    /// A replica, or a restart, with other settings.
    pub async fn replica_with(&self, change: impl FnOnce(&mut Settings)) -> TestApp {
        let mut settings = self.settings.clone();
        change(&mut settings);
        TestApp {
            app: open(&settings, &self.clock, 1000 + next()).await,
            backend: self.backend,
            settings,
            clock: self.clock.clone(),
            _folder: self._folder.clone(),
        }
    }

    /// The same installation with a judge of the test's own. It is asked once per judgement and never waits, and
    /// for judgements only: nothing is learned.
    pub async fn judged_by(&self, judge: Arc<dyn Judge>) -> TestApp {
        self.with_judge(judge, "off").await
    }

    /// The same installation with a model of the test's own that judges and extracts learnings.
    pub async fn taught_by(&self, model: Arc<dyn Judge>) -> TestApp {
        self.with_judge(model, "judge").await
    }

    async fn with_judge(&self, judge: Arc<dyn Judge>, extractor: &str) -> TestApp {
        let mut settings = self.settings.clone();
        settings.learning.extractor = extractor.to_owned();
        let patience = std::time::Duration::from_secs(1);
        let prices = PriceTable::load(None).unwrap();
        let limits = Limits {
            attempts: 1,
            concurrency: 64,
            patience,
            daily_budget_usd: settings.judge.budget(prices.find(judge.label()).is_some()),
            ..Limits::default()
        };
        let ids = Ids::seeded(self.clock.clone(), 5000 + next());
        let grader = Grader::new(judge, limits, prices, 24_000, self.clock.clone(), ids.clone());
        let app = App::open_judged(
            settings.clone(),
            self.clock.clone(),
            ids,
            Schema::Migrate,
            GivenCredentials::default(),
            Arc::new(grader),
        )
        .await
        .unwrap();
        TestApp {
            app,
            backend: self.backend,
            settings,
            clock: self.clock.clone(),
            _folder: self._folder.clone(),
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// A new credential's token.
    pub async fn key(&self, org: &str, role: Role) -> String {
        credentials::create(&self.app, &org.into(), credentials::NewCredential::of(role, "test"))
            .await
            .unwrap()
            .1
    }

    pub async fn serve(&self) -> Server {
        Server::start(self.app.clone()).await
    }

    /// Runs a statement of the test's own, past every rule of the areas.
    pub async fn sql(&self, statement: &str) -> storage::error::Result<u64> {
        let statement: &'static str = Box::leak(statement.to_owned().into_boxed_str());
        self.app
            .db
            .write("test.sql", statement, |tx, statement| {
                Box::pin(async move { storage::run!(tx, statement) })
            })
            .await
    }

    /// The one number that a query of the test's own gives.
    pub async fn number(&self, query: &str) -> i64 {
        let query: &'static str = Box::leak(query.to_owned().into_boxed_str());
        self.app
            .db
            .read("test.number", query, |tx, query| {
                Box::pin(async move { storage::row!(tx, (i64,), query) })
            })
            .await
            .unwrap()
            .unwrap()
            .0
    }

    /// The rows that a query of the test's own gives.
    pub async fn list<T: storage::db::Decode + 'static>(&self, query: &str) -> Vec<T> {
        let query: &'static str = Box::leak(query.to_owned().into_boxed_str());
        self.app
            .db
            .read("test.list", query, |tx, query| {
                Box::pin(async move { storage::rows!(tx, T, query) })
            })
            .await
            .unwrap()
    }

    /// The subject of a user of the organization `org`, as SQL.
    pub fn subject(&self, user_id: &str) -> String {
        self.subject_in("org", user_id)
    }

    /// The subject of a user, as SQL.
    pub fn subject_in(&self, org_id: &str, user_id: &str) -> String {
        let hash = self.app.subject_keys.subject_hash();
        let digits = hash.subject(&org_id.into(), &user_id.into());
        match self.app.db.engine() {
            Some(Engine::Postgres) => format!("CAST('{digits}' AS UUID)"),
            _ => format!("x'{digits}'"),
        }
    }

    /// Rows of sessions that do not agree with each other, or that hang in the air: always 0.
    pub async fn mismatches(&self) -> i64 {
        let recount = self
            .app
            .db
            .read("test.recount", (), |tx, ()| Box::pin(service::sessions::recount_mismatches(tx)))
            .await
            .unwrap();
        let orphan_turns = self
            .number(
                "SELECT COUNT(*) FROM interactions i WHERE NOT EXISTS (SELECT 1 FROM requests r
                 WHERE r.org_id = i.org_id AND r.subject = i.subject AND r.session_id = i.session_id
                   AND r.request_id = i.request_id)",
            )
            .await;
        let orphan_outcomes = self
            .number(
                "SELECT COUNT(*) FROM session_outcomes o WHERE NOT EXISTS (SELECT 1 FROM sessions s
                 WHERE s.org_id = o.org_id AND s.subject = o.subject AND s.session_id = o.session_id)",
            )
            .await;
        let empty_sessions =
            self.number("SELECT COUNT(*) FROM sessions WHERE request_count < 1").await;
        recount + orphan_turns + orphan_outcomes + empty_sessions
    }
}

pub const TEST_KEYS: &str = "k1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

async fn open(settings: &Settings, clock: &Clock, seed: u64) -> Arc<App> {
    let ids = Ids::seeded(clock.clone(), seed);
    let given = GivenCredentials::default();
    App::open_with(settings.clone(), clock.clone(), ids, Schema::Migrate, given).await.unwrap()
}

fn next() -> u64 {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    COUNTER.fetch_add(1, Ordering::SeqCst)
}

/// The plain way to a PostgreSQL.
pub fn postgres(url: &str, connections: u32) -> PostgresSettings {
    let pooler = Pooler::None;
    PostgresSettings { url: url.to_owned(), connections, pooler, direct_url: None, read_url: None }
}

/// How often a test of random histories tries: so often, or as often as `ROUNDS` says.
pub fn rounds(usual: usize) -> usize {
    std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(usual)
}

/// Waits until something is so; `what` says what was waited for when it never is.
pub async fn until(what: &str, done: impl AsyncFnMut() -> bool) {
    within(60, what, done).await;
}

/// Waits so many seconds at most until something is so.
pub async fn within(seconds: u64, what: &str, mut done: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !done().await {
        assert!(begun.elapsed().as_secs() < seconds, "not within {seconds} s: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Watches for so many seconds that something stays so.
pub async fn throughout(seconds: u64, what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = std::time::Instant::now();
    while begun.elapsed().as_secs() < seconds {
        assert!(holds().await, "no longer after {:?}: {what}", begun.elapsed());
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Notes that a test had nothing to test here, and why. `make test` prints the notes after the tests, whose
/// own output nobody sees when they pass.
pub fn not_run(test: &str, why: &str) {
    use std::io::Write;
    let notes = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-run");
    let mut notes = std::fs::File::options().create(true).append(true).open(notes).unwrap();
    notes.write_all(format!("{test}: {why}\n").as_bytes()).unwrap();
    println!("NOT RUN: {test}: {why}");
}

/// Schedules work of one kind, as a runner does when it starts.
pub async fn schedule(app: &Arc<App>, kind: &str) {
    let handlers = service::wiring::job_handlers();
    let handler = handlers.iter().find(|handler| handler.kind() == kind).expect("a known kind");
    handler.schedule(app).await.unwrap();
}

/// One test text, two tests: `#[apply(both_backends)]` on `async fn name(t: TestApp)`.
#[template]
#[rstest::rstest]
#[case::sqlite(crate::support::TestApp::new(crate::support::Backend::Sqlite))]
#[case::postgres(crate::support::TestApp::new(crate::support::Backend::Postgres))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_backends(
    #[future(awt)]
    #[case]
    t: TestApp,
) {
}
