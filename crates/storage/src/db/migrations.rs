//! Bringing a database to the schema this binary knows, and refusing one it does not know.
//!
//! `migrations/{sqlite,postgres}/NNNN_name.sql` carry the same numbers and names on both engines. A migration
//! once landed is never edited: its checksum is stored, and a difference stops the program.

use sha2::{Digest, Sha256};

use super::{Db, Engine, Tx};
use crate::error::{Error, Result};
use crate::{row, rows, run};

struct Migration {
    version: i64,
    name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal;)*) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../migrations/postgres/", $name, ".sql")),
        },)*]
    };
}

const MIGRATIONS: &[Migration] = migrations! {
    1 "0001_foundation";
    2 "0002_learnings";
    3 "0003_evaluation";
    4 "0004_experiments";
    5 "0005_overview";
    6 "0006_governance";
    7 "0007_learning_loop";
    8 "0008_experiment_attribution";
};

impl Migration {
    fn text(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }
}

/// The names of all migrations, in order.
pub fn names() -> Vec<&'static str> {
    MIGRATIONS.iter().map(|m| m.name).collect()
}

/// The schema version this binary works with.
pub fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |m| m.version)
}

/// Applies what is missing in one transaction and gives the versions that were applied. Safe to run from
/// several processes at once.
pub async fn migrate(db: &Db, now: i64) -> Result<Vec<i64>> {
    db.write("migrations.apply", now, |tx, now| Box::pin(apply(tx, *now))).await
}

/// The versions that a database lacks; an error if it has one this binary does not know.
pub async fn missing(db: &Db) -> Result<Vec<i64>> {
    let applied = db
        .read("migrations.list", (), |tx, ()| {
            Box::pin(
                async move { if has_table(tx).await? { list(tx).await } else { Ok(Vec::new()) } },
            )
        })
        .await?;
    let engine = db.engine().unwrap_or(Engine::Sqlite);
    check_known(engine, &applied)?;
    let has = |v: i64| applied.iter().any(|(version, _)| *version == v);
    Ok(MIGRATIONS.iter().map(|m| m.version).filter(|v| !has(*v)).collect())
}

async fn apply(tx: &mut Tx, now: i64) -> Result<Vec<i64>> {
    let engine = tx.engine();
    take_turns(tx).await?;
    // Asked for first: PostgreSQL puts a notice about IF NOT EXISTS into the log at every start.
    if !has_table(tx).await? {
        run!(
            tx,
            "CREATE TABLE schema_migrations (
               version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)"
        )?;
    }
    let applied = list(tx).await?;
    check_known(engine, &applied)?;
    let mut done = Vec::new();
    for migration in MIGRATIONS {
        if applied.iter().any(|(version, _)| *version == migration.version) {
            continue;
        }
        tx.run_script(migration.text(engine).to_owned()).await?;
        run!(
            tx,
            "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)",
            migration.version,
            migration.name,
            checksum(migration.text(engine)),
            now
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

async fn list(tx: &mut Tx) -> Result<Vec<(i64, String)>> {
    rows!(tx, (i64, String), "SELECT version, checksum FROM schema_migrations ORDER BY version")
}

fn check_known(engine: Engine, applied: &[(i64, String)]) -> Result<()> {
    for (version, stored) in applied {
        let Some(known) = MIGRATIONS.iter().find(|m| m.version == *version) else {
            return Err(Error::Internal(format!(
                "the database has schema version {version}, this binary knows up to {}: \
                 run the newer evenhand that wrote it",
                newest()
            )));
        };
        if checksum(known.text(engine)) != *stored {
            return Err(Error::Internal(format!(
                "migration {} was applied with other contents: this database was made by another build",
                known.name
            )));
        }
    }
    Ok(())
}

fn checksum(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
