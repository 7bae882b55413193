//! Bringing a database to the schema that a program knows, and refusing one it does not know.
//!
//! A migration once landed is never edited: its checksum is stored, and a difference stops the program.

use sha2::{Digest, Sha256};

use super::{Db, Engine, Tx};
use crate::error::{Error, Result};
use crate::{row, rows, run};

/// One step of the schema, with its text for both engines.
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

/// The schema that a program works with, in the order of its steps.
#[derive(Clone, Copy)]
pub struct Migrations(pub &'static [Migration]);

impl Migration {
    fn text(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
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
    /// once.
    pub async fn migrate(self, db: &Db, now: i64) -> Result<Vec<i64>> {
        db.write("migrations.apply", (self, now), |tx, (schema, now)| {
            Box::pin(apply(tx, *schema, *now))
        })
        .await
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
        let has = |v: i64| applied.iter().any(|(version, _)| *version == v);
        Ok(self.0.iter().map(|m| m.version).filter(|v| !has(*v)).collect())
    }

    fn check_known(self, engine: Engine, applied: &[(i64, String)]) -> Result<()> {
        for (version, stored) in applied {
            let Some(known) = self.0.iter().find(|m| m.version == *version) else {
                return Err(Error::Internal(format!(
                    "the database has schema version {version}, this binary knows up to {}: \
                     run the newer evenhand that wrote it",
                    self.newest()
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
}

async fn apply(tx: &mut Tx, schema: Migrations, now: i64) -> Result<Vec<i64>> {
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
    schema.check_known(engine, &applied)?;
    let mut done = Vec::new();
    for migration in schema.0 {
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

fn checksum(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
