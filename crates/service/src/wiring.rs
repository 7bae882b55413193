//! The areas put together: opening an installation, installing what they need in its schema, and the background work of
//! all of them. With `router.rs` the only file that knows every area.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base::clock::Clock;
use base::ids::Ids;
use base::private_files;
use futures_util::future::BoxFuture;
use judge::embedder::Embedder;
use judge::{Grader, Keys, llm};
use storage::db::{Db, Engine, PostgresSettings, migrations};
use storage::error::{Error, Result};
use storage::jobs::{self, Handler, Runner};
use storage::runtime::Runtime;
use storage::subjects::audit_head::AuditHead;
use storage::subjects::rekey::{RETIRED, SUBJECT_KEY};
use storage::subjects::{SubjectKeys, audit, rekey, wall};
use storage::{rows, run};

use crate::alerts;
use crate::app::{App, AreaState, Schema};
use crate::config::Settings;
use crate::credentials::people::Provider;
use crate::credentials::{GivenCredentials, RecentCredentials, RecentUse, Refusals};
use crate::evaluation;
use crate::evaluation::effects::RecentEffects;
use crate::evaluation::overview::{KnownSums, Mark, RecentEvidence};
use crate::experiments;
use crate::governance;
use crate::http::{BodyBudget, RateLimits};
use crate::intake::PublishQueue;
use crate::learning_loop;
use crate::learnings::trials::{KnownEpochs, RecentExposures};
use crate::learnings::{self, KnownPlaybooks};
use crate::operations::queue_ages::QueueAges;
use crate::operations::stall_http::StallNotice;
use crate::organization::RecentConfigs;
use crate::placement::placement;
use crate::schema::MIGRATIONS;
use crate::user_tables::USER_TABLES;
use crate::webhooks::{self, ToldPauses};

/// The migration that makes the audit, whose events have a keyed hash.
const AUDIT_KEYED: i64 = 1;

impl App {
    /// Opens the installation that `settings` describe.
    pub async fn open(
        settings: Settings,
        clock: Clock,
        ids: Ids,
        schema: Schema,
    ) -> Result<Arc<App>> {
        let given = GivenCredentials::from_environment().map_err(Error::Internal)?;
        let keys = Keys::from_environment();
        let judge = Grader::from_settings(&settings.judge, &keys, clock.clone(), ids.clone());
        let judge = Arc::new(judge.map_err(Error::Internal)?);
        Self::open_judged(settings, clock, ids, schema, given, judge).await
    }

    /// [`App::open`] with the given credentials as an argument and without the environment's keys for judges.
    pub async fn open_with(
        settings: Settings,
        clock: Clock,
        ids: Ids,
        schema: Schema,
        given: GivenCredentials,
    ) -> Result<Arc<App>> {
        let keys = Keys::default();
        let judge = Grader::from_settings(&settings.judge, &keys, clock.clone(), ids.clone());
        let judge = Arc::new(judge.map_err(Error::Internal)?);
        Self::open_judged(settings, clock, ids, schema, given, judge).await
    }

    /// [`App::open_with`] with a judge of the caller's.
    pub async fn open_judged(
        settings: Settings,
        clock: Clock,
        ids: Ids,
        schema: Schema,
        given: GivenCredentials,
        judge: Arc<Grader>,
    ) -> Result<Arc<App>> {
        llm::install_tls();
        let (db, subject_keys) = open_storage(&settings, &ids, schema).await?;
        let rules = Arc::new(Grader::rules(clock.clone(), ids.clone()));
        let extractor = match settings.learning.extractor.as_str() {
            "rules" => rules.clone(),
            _ => judge.clone(),
        };
        let credentials = match db.engine() {
            Some(Engine::Sqlite) => RecentCredentials::of(&settings.server.data_dir),
            _ => RecentCredentials::default(),
        };
        let audit = &settings.audit;
        let ledger = db.engine().and_then(|_| governance::ledger::path(&settings));
        let audit_head = AuditHead::new(ledger, &audit.anchor_file, &audit.anchor_command);
        let stop_patience = Duration::from_secs(settings.server.stop_seconds);
        let jobs = settings.jobs.clone();
        let app = App {
            runtime: Runtime::new(db, clock, ids, subject_keys, audit_head, jobs, stop_patience),
            extractor,
            embedder: Arc::new(Embedder::open(&settings.embedder).map_err(Error::Internal)?),
            area_state: AreaState::default()
                .with(given)
                .with(credentials)
                .with(Provider::open(&settings.oidc).map_err(Error::Internal)?)
                .with(RecentUse::default())
                .with(Refusals::default())
                .with(RateLimits::new(&settings))
                .with(BodyBudget::new(settings.server.body_budget_bytes))
                .with(RecentConfigs::default())
                .with(evaluation::learned::Models::default())
                .with(KnownPlaybooks::default())
                .with(RecentEvidence::default())
                .with(KnownSums::default())
                .with(StallNotice::default())
                .with(QueueAges::default())
                .with(KnownEpochs::default())
                .with(RecentExposures::default())
                .with(PublishQueue::default())
                .with(RecentEffects::default())
                .with(experiments::Samples::default())
                .with(ToldPauses::default()),
            settings,
            judge,
            rules,
        };
        let app = Arc::new(app);
        if app.db.engine().is_some() {
            app.prepare_schema(schema).await?;
        }
        Ok(app)
    }

    /// The storage alone, as it is: nothing is brought up to date.
    pub async fn open_database(settings: &Settings, ids: &Ids) -> Result<Db> {
        Ok(open_storage(settings, ids, Schema::MustBeCurrent).await?.0)
    }

    async fn prepare_schema(self: &Arc<Self>, schema: Schema) -> Result<()> {
        evaluation::overview::prepare();
        match schema {
            Schema::Migrate => {
                let applied = MIGRATIONS.migrate(&self.db, self.clock.now()).await?;
                if !applied.is_empty() {
                    tracing::info!(versions = ?applied, "the schema was brought up to date");
                }
                let brings_key = applied.contains(&AUDIT_KEYED);
                let input = (self.clone(), self.key_checks(), brings_key);
                self.db
                    .write("governance.prepare", input, |tx, (app, checks, brings_key)| {
                        Box::pin(async move {
                            migrations::take_turns(tx).await?;
                            if tx.is_spread() {
                                placement().establish(tx).await?;
                                experiments::install_on_shards(tx).await?;
                            }
                            wall::install(tx, USER_TABLES).await?;
                            evaluation::overview::install(tx, Mark::new(&app.ids)).await?;
                            check_keys(tx, checks).await?;
                            remember_keys(tx, checks).await?;
                            if *brings_key {
                                audit::seal_plain(tx, &app.subject_keys, app.clock.now()).await?;
                            }
                            Ok(())
                        })
                    })
                    .await?;
                // At no other time is a missing one made: that it is missing has to show.
                if brings_key {
                    self.sign_audit_head().await;
                }
                Ok(())
            }
            Schema::MustBeCurrent | Schema::BetweenKeys => {
                let missing = MIGRATIONS.missing(&self.db).await?;
                if missing.is_empty() {
                    return Ok(());
                }
                Err(Error::Internal(format!(
                    "the database lacks schema versions {missing:?}; run `evenhand migrate` first"
                )))
            }
        }
    }

    /// Fails when these are not the governance keys that the database was used with.
    pub async fn check_governance_keys(&self) -> Result<()> {
        self.db
            .read("governance.check_keys", self.key_checks(), |tx, checks| {
                Box::pin(check_keys(tx, checks))
            })
            .await
    }

    /// Lets the database know these keys, so that it refuses others under the same names.
    pub async fn remember_governance_keys(&self) -> Result<()> {
        self.db
            .write("governance.remember_keys", self.key_checks(), |tx, checks| {
                Box::pin(remember_keys(tx, checks))
            })
            .await
    }

    fn key_checks(&self) -> Vec<(String, String)> {
        let keys = &self.subject_keys;
        let checks = keys.check_values().map(|(id, value)| (format!("{CHECK}{id}"), value));
        checks.chain([(SUBJECT_KEY.to_owned(), keys.subject_key_id().to_owned())]).collect()
    }
}

async fn open_storage(settings: &Settings, ids: &Ids, schema: Schema) -> Result<(Db, SubjectKeys)> {
    let server = &settings.server;
    let given_keys = &settings.governance.keys;
    if server.storage == "none" {
        let keys = format!("none:{}", ids.key_hex());
        return Ok((Db::none(), SubjectKeys::parse(&keys).map_err(Error::Internal)?));
    }
    if let Some(postgres) = settings.postgres() {
        if given_keys.is_empty() {
            return Err(Error::Internal(
                "PostgreSQL needs governance.keys, the same on every replica. Make one with \
                 `openssl rand -hex 32` and set EVENHAND_GOVERNANCE__KEYS=k1:<that>"
                    .to_owned(),
            ));
        }
        let keys = SubjectKeys::parse(given_keys).map_err(Error::Internal)?;
        return Database::Postgres(postgres).open(keys, schema).await;
    }
    let folder = &server.data_dir;
    let (file, key_file) = (folder.join("evenhand.db"), folder.join("governance.key"));
    if schema != Schema::Migrate && !file.is_file() {
        return Err(Error::Internal(format!(
            "there is no database in {}; `evenhand serve` makes one",
            folder.display()
        )));
    }
    // A new key for a database with history would open the barrier for everyone erased under the old one.
    if given_keys.is_empty() && file.is_file() && !key_file.is_file() {
        return Err(Error::Internal(format!(
            "{} is missing; restore it from where you keep it",
            key_file.display()
        )));
    }
    private_files::make_folder(folder).map_err(|e| {
        Error::Internal(format!("cannot make the folder {}: {e}", folder.display()))
    })?;
    let keys = if given_keys.is_empty() {
        SubjectKeys::load_or_create(&key_file, ids)
    } else {
        SubjectKeys::parse(given_keys)
    };
    let keys = keys.map_err(Error::Internal)?;
    Database::Sqlite(file, settings.database.readers).open(keys, schema).await
}

/// A database that is to be opened.
enum Database {
    Sqlite(PathBuf, u32),
    Postgres(PostgresSettings),
}

impl Database {
    /// Opens it with the keys as it knows them: which one subjects are made with, and who stands under earlier ones.
    async fn open(self, keys: SubjectKeys, schema: Schema) -> Result<(Db, SubjectKeys)> {
        let db = self.connect(&keys).await?;
        let standing =
            db.read("governance.standing", (), |tx, ()| Box::pin(rekey::standing(tx))).await?;
        if let (Some(to), true) = (&standing.under_way, schema != Schema::BetweenKeys) {
            db.close().await;
            return Err(Error::Internal(format!(
                "people's rows are on their way to the governance key {to}; run `evenhand governance rekey` again: it \
                 goes on where it was interrupted"
            )));
        }
        let subject_key = standing.subject_key.unwrap_or_else(|| keys.subject_key_id().to_owned());
        if subject_key == keys.subject_key_id() && standing.behind.is_empty() {
            return Ok((db, keys));
        }
        db.close().await;
        let keys = keys
            .making_subjects_with(&subject_key, standing.behind)
            .map_err(|problem| Error::Internal(format!("{problem}; {GIVE_KEYS}")))?;
        Ok((self.connect(&keys).await?, keys))
    }

    async fn connect(&self, keys: &SubjectKeys) -> Result<Db> {
        match self {
            Database::Sqlite(file, readers) => {
                Db::sqlite(file, *readers, keys.subject_hash()).await
            }
            Database::Postgres(settings) => Db::postgres(settings, keys.subject_hash()).await,
        }
    }
}

/// The facts that hold check values of governance keys, before their ids.
const CHECK: &str = "governance_key/";

const GIVE_KEYS: &str = "give the right governance keys, old ones first (governance.key beside the SQLite file, or \
    EVENHAND_GOVERNANCE__KEYS)";

/// A key id must mean the same key on every replica and after every restore, and a key that references were
/// made with must stay, unless a rekey retired it: without it, people erased under it would count as new.
async fn check_keys(tx: &mut storage::db::Tx, checks: &[(String, String)]) -> Result<()> {
    let stored = rows!(
        tx,
        (String, String),
        "SELECT key, value FROM installation
         WHERE key LIKE 'governance_key/%' OR key LIKE 'retired_key/%' OR key = 'subject_key'"
    )?;
    let stored: BTreeMap<String, String> = stored.into_iter().collect();
    let is_retired = |id: &str| stored.contains_key(&format!("{RETIRED}{id}"));
    if let Some(subject_key) = stored.get(SUBJECT_KEY) {
        let given = checks.iter().filter_map(|(key, _)| key.strip_prefix(CHECK));
        if given.take_while(|id| *id != subject_key.as_str()).any(|id| !is_retired(id)) {
            return Err(Error::Internal(format!(
                "the first governance key must be {subject_key}: people's rows are found by it; \
                 give the keys in the order in which they were added"
            )));
        }
    }
    for (key, value) in &stored {
        let Some(id) = key.strip_prefix(CHECK) else { continue };
        let problem = match checks.iter().find(|(given, _)| given == key) {
            Some((_, given)) if given == value => continue,
            Some(_) => "is not the key this database was used with",
            None if is_retired(id) => continue,
            None => "was used with this database and is not given",
        };
        return Err(Error::Internal(format!("{key} {problem}; {GIVE_KEYS}")));
    }
    Ok(())
}

async fn remember_keys(tx: &mut storage::db::Tx, checks: &[(String, String)]) -> Result<()> {
    for (key, value) in checks {
        run!(
            tx,
            "INSERT INTO installation (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            key,
            value
        )?;
    }
    Ok(())
}

/// Every kind of background work this binary can do.
pub fn job_handlers() -> Vec<Arc<dyn Handler<App>>> {
    let mut handlers = own_handlers();
    handlers.extend(webhooks::delivery_handlers());
    handlers
}

/// Works on everything until the app stops. Deliveries have workers of their own: they wait for other programs, and
/// nothing else waits for them.
pub fn spawn_workers(app: &Arc<App>) {
    for handlers in [own_handlers(), webhooks::delivery_handlers()] {
        app.spawn(Runner::new(app.clone(), handlers).run());
    }
}

/// Work that waits for nobody but the judge.
fn own_handlers() -> Vec<Arc<dyn Handler<App>>> {
    let mut handlers = jobs::handlers();
    handlers.extend(learnings::handlers());
    handlers.extend(learning_loop::handlers());
    handlers.extend(evaluation::handlers());
    handlers.extend(experiments::handlers());
    handlers.extend(governance::handlers());
    handlers.extend(webhooks::handlers());
    handlers.extend(alerts::handlers());
    handlers
}

/// Puts the state of every area into the metrics.
pub fn record_gauges(app: &Arc<App>) -> BoxFuture<'_, ()> {
    Box::pin(async move {
        jobs::record_gauges(app).await;
        evaluation::record_gauges(app).await;
        governance::record_gauges(app).await;
    })
}
