//! Bringing a database to the schema that a program knows, and refusing one it does not know.
//!
//! A migration once landed is never edited: its checksum is stored, and a difference stops the program.
//!
//! On PostgreSQL what follows the line `-- concurrently` in a migration are indexes that are built after its commit,
//! while everybody goes on writing.
//!
//! Replicas of the version before go on beside those of a new one for a while: a step that only adds (it expands) says
//! so, and they may even start on it; a step that takes something away (it contracts) stops them. What a program makes
//! anew at every start (triggers and their functions) carries a version, and only an older one is ever replaced.

use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{Db, Engine, Tx, locks};
use crate::error::{Error, Result};
use crate::{row, rows, run};

/// The line after which a migration's indexes follow.
const CONCURRENTLY: &str = "-- concurrently\n";

/// Tries at the locks of a migration, some seconds each.
const LOCK_ATTEMPTS: u32 = 20;

/// One step of the schema, with its text for both engines.
#[derive(Clone, Copy)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
    /// The oldest schema whose programs can work with this one: that of the step before if it expands, its own if not.
    pub works_from: i64,
}

/// The schema that a program works with, in the order of its steps.
#[derive(Clone, Copy)]
pub struct Migrations(pub &'static [Migration]);

impl Migration {
    pub fn text(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }

    /// The part that is applied in one transaction.
    fn script(&self, engine: Engine) -> &'static str {
        let text = self.text(engine);
        text.split_once(CONCURRENTLY).map_or(text, |(script, _)| script)
    }

    /// `(name, statement)` of the indexes that are built afterwards.
    fn indexes(&self, engine: Engine) -> Vec<(String, &'static str)> {
        let later = self.text(engine).split_once(CONCURRENTLY).map_or("", |(_, later)| later);
        let statements = later.split(';').map(str::trim).filter(|statement| !statement.is_empty());
        let name = |statement: &str| {
            let (before, _) = statement.split_once(" ON ").unwrap_or((statement, ""));
            before.split_whitespace().last().unwrap_or_default().to_owned()
        };
        statements.map(|statement| (name(statement), statement)).collect()
    }

    /// Lines for people who plan an upgrade: whether replicas of the version before go on, and what the step locks.
    pub fn in_words(&self, engine: Engine) -> Vec<String> {
        let beside = match self.works_from < self.version {
            true => format!("replicas of schema {} go on beside it", self.works_from),
            false => "replicas of older schemas must be stopped before".to_owned(),
        };
        let mut lines = vec![format!("{}: {beside}", self.name)];
        if engine == Engine::Sqlite {
            lines.push("  writers wait until the commit".to_owned());
            return lines;
        }
        lines.extend(locks::of_script(self.text(engine)).into_iter().map(|lock| match lock.mode {
            "" => format!("  {} {}", lock.table, lock.effect),
            mode => format!("  {mode} on {}: {}", lock.table, lock.effect),
        }));
        lines
    }
}

impl Migrations {
    /// The names of all migrations, in order.
    pub fn names(self) -> Vec<&'static str> {
        self.0.iter().map(|m| m.name).collect()
    }

    /// The newest schema version.
    pub fn newest(self) -> i64 {
        self.0.last().map_or(0, |m| m.version)
    }

    /// Applies the missing ones in one transaction and gives their versions. Safe to run from several processes at
    /// once. Waiting for a lock, it does not keep others waiting behind it: it gives up soon and tries again.
    pub async fn migrate(self, db: &Db, now: i64) -> Result<Vec<i64>> {
        let mut attempt = 1;
        loop {
            let applied = db
                .write("migrations.apply", (self, now), |tx, (schema, now)| {
                    Box::pin(apply(tx, *schema, *now))
                })
                .await;
            match applied {
                Err(Error::Storage(error))
                    if attempt < LOCK_ATTEMPTS && is_lock_timeout(&error) =>
                {
                    tracing::warn!(attempt, "a table to be changed is in use; trying again");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    attempt += 1;
                }
                Ok(applied) => {
                    self.build_indexes(db).await?;
                    return Ok(applied);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Builds the indexes that are missing, or that somebody who was interrupted left half built.
    async fn build_indexes(self, db: &Db) -> Result<()> {
        let engine = db.engine().unwrap_or(Engine::Sqlite);
        for (name, statement) in self.0.iter().flat_map(|step| step.indexes(engine)) {
            if is_valid(db, &name).await? == Some(false) && !is_being_built(db, &name).await? {
                db.outside_transactions(format!("DROP INDEX CONCURRENTLY IF EXISTS {name}"))
                    .await?;
            }
            if is_valid(db, &name).await?.is_none() {
                let built = db.outside_transactions(statement.to_owned()).await;
                // Another replica may have been quicker.
                if let (Err(error), None) = (built, is_valid(db, &name).await?) {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The steps that a database lacks.
    pub async fn plan(self, db: &Db) -> Result<Vec<&'static Migration>> {
        let missing = self.missing(db).await?;
        Ok(self.0.iter().filter(|step| missing.contains(&step.version)).collect())
    }

    /// The versions that a database lacks; an error if it has one that is not among these.
    pub async fn missing(self, db: &Db) -> Result<Vec<i64>> {
        let applied = db
            .read("migrations.list", (), |tx, ()| {
                Box::pin(async move {
                    if has_table(tx).await? { list(tx).await } else { Ok(Vec::new()) }
                })
            })
            .await?;
        let engine = db.engine().unwrap_or(Engine::Sqlite);
        self.check_known(engine, &applied)?;
        let has = |v: i64| applied.iter().any(|(version, ..)| *version == v);
        Ok(self.0.iter().map(|m| m.version).filter(|v| !has(*v)).collect())
    }

    fn check_known(self, engine: Engine, applied: &[Applied]) -> Result<()> {
        for (version, stored, works_from) in applied {
            let Some(known) = self.0.iter().find(|m| m.version == *version) else {
                if *works_from <= self.newest() {
                    continue;
                }
                return Err(Error::Internal(format!(
                    "the database has schema version {version}, this binary knows up to {}: \
                     run the newer evenhand that wrote it",
                    self.newest()
                )));
            };
            if checksum(known.text(engine)) != *stored {
                return Err(Error::Internal(format!(
                    "migration {} was applied with other contents: this database was made by another build. Start \
                     with an empty one, or run the build that made it; its sessions move over with \
                     `GET /api/sessions/export` and `evenhand import jsonl`",
                    known.name
                )));
            }
        }
        Ok(())
    }
}

async fn apply(tx: &mut Tx, schema: Migrations, now: i64) -> Result<Vec<i64>> {
    let engine = tx.engine();
    if engine == Engine::Postgres {
        run!(tx, "SET LOCAL lock_timeout = '5s'")?;
    }
    take_turns(tx).await?;
    // Asked for first: PostgreSQL puts a notice about IF NOT EXISTS into the log at every start.
    if !has_table(tx).await? {
        run!(
            tx,
            "CREATE TABLE schema_migrations (
               version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,
               works_from BIGINT NOT NULL)"
        )?;
    }
    let applied = list(tx).await?;
    schema.check_known(engine, &applied)?;
    let mut done = Vec::new();
    for migration in schema.0 {
        if applied.iter().any(|(version, ..)| *version == migration.version) {
            continue;
        }
        let script = migration.script(engine).to_owned();
        // Citus takes one command at a time on tables that are spread already.
        match tx.is_spread() && !applied.is_empty() {
            true => tx.run_on_shards(script).await?,
            false => tx.run_script(script).await?,
        }
        run!(
            tx,
            "INSERT INTO schema_migrations (version, name, checksum, applied_at, works_from)
             VALUES ($1, $2, $3, $4, $5)",
            migration.version,
            migration.name,
            checksum(migration.text(engine)),
            now,
            migration.works_from
        )?;
        done.push(migration.version);
    }
    Ok(done)
}

/// Replicas that start together change the schema one after the other.
pub async fn take_turns(tx: &mut Tx) -> Result<()> {
    if tx.engine() == Engine::Postgres {
        let _ = row!(tx, (bool,), "SELECT pg_advisory_xact_lock(7229301) IS NULL")?;
    }
    Ok(())
}

async fn has_table(tx: &mut Tx) -> Result<bool> {
    let tables = tx.names_of(super::Objects::Tables).await?;
    Ok(tables.iter().any(|table| table == "schema_migrations"))
}

/// Version, checksum, and the oldest schema whose programs can go on.
type Applied = (i64, String, i64);

async fn list(tx: &mut Tx) -> Result<Vec<Applied>> {
    rows!(
        tx,
        Applied,
        "SELECT version, checksum, works_from FROM schema_migrations ORDER BY version"
    )
}

/// Whether an index can be used; none if it is not there.
async fn is_valid(db: &Db, index: &str) -> Result<Option<bool>> {
    let found = db.read("migrations.index", index.to_owned(), |tx, index| {
        let sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)";
        Box::pin(async move { row!(tx, (bool,), sql, index) })
    });
    Ok(found.await?.map(|(valid,)| valid))
}

async fn is_being_built(db: &Db, index: &str) -> Result<bool> {
    let found = db.read("migrations.index_progress", index.to_owned(), |tx, index| {
        let sql =
            "SELECT TRUE FROM pg_stat_progress_create_index WHERE index_relid = to_regclass($1)";
        Box::pin(async move { row!(tx, (bool,), sql, index) })
    });
    Ok(found.await?.is_some())
}

fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|e| e.code()).is_some_and(|code| code == "55P03")
}

/// True if this program may (re)make a part of the schema that carries a version: nobody newer has made it.
pub async fn may_install(tx: &mut Tx, part: &str, version: i64) -> Result<bool> {
    let found = row!(tx, (i64,), "SELECT version FROM schema_parts WHERE part = $1", part)?;
    Ok(found.is_none_or(|(installed,)| installed <= version))
}

/// True if the part was made by an older program, or never.
pub async fn is_outdated(tx: &mut Tx, part: &str, version: i64) -> Result<bool> {
    let found = row!(tx, (i64,), "SELECT version FROM schema_parts WHERE part = $1", part)?;
    Ok(found.is_none_or(|(installed,)| installed < version))
}

/// Notes which version of a part is there.
pub async fn installed(tx: &mut Tx, part: &str, version: i64) -> Result<()> {
    run!(
        tx,
        "INSERT INTO schema_parts (part, version) VALUES ($1, $2)
         ON CONFLICT (part) DO UPDATE SET version = excluded.version",
        part,
        version
    )?;
    Ok(())
}

fn checksum(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
