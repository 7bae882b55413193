//! Upkeep of the storage: health, disk space, backups, remains of deleted rows, statistics.

use super::{Db, Storage};
use crate::error::{Code, Error, Result};

impl Db {
    /// Fails when the file that is written to is no longer the one that a restart would find (SQLite).
    pub fn check_file(&self) -> Result<()> {
        match &self.storage {
            Storage::Sqlite(db) => db.file.check(),
            _ => Ok(()),
        }
    }

    /// Fails when there is no room for further writes (SQLite). Other engines watch over their own disk.
    pub async fn check_space(&self) -> Result<()> {
        let Storage::Sqlite(db) = &self.storage else { return Ok(()) };
        db.check_space()
            .await
            .map_err(|e| Error::unavailable(format!("The data folder takes no writes: {e}."), 5))
    }

    /// A consistent copy of a running SQLite database.
    pub async fn backup(&self, target: &std::path::Path) -> Result<()> {
        match &self.storage {
            Storage::Sqlite(db) => db.backup(target).await,
            _ => Err(Error::refused(
                Code::BadRequest,
                "backup copies SQLite files; for PostgreSQL use pg_dump or your base backups.",
            )),
        }
    }

    /// Bytes that are in use in the file (SQLite); 0 elsewhere.
    pub async fn live_bytes(&self) -> Result<u64> {
        match &self.storage {
            Storage::Sqlite(db) => db.live_bytes().await,
            _ => Ok(0),
        }
    }

    /// Copies the write-ahead log into the file between others' writes (SQLite), before the log is so long that a write has
    /// to do it.
    pub async fn copy_log(&self) -> Result<()> {
        match &self.storage {
            Storage::Sqlite(db) => db.copy_log().await,
            _ => Ok(()),
        }
    }

    /// Leaves nothing of deleted rows in the file (SQLite) by writing it anew while writers wait. [`Db::empty_log`] has
    /// to follow. Other engines rewrite by themselves.
    pub async fn rewrite_file(&self) -> Result<()> {
        match &self.storage {
            Storage::Sqlite(db) => db.vacuum().await,
            _ => Ok(()),
        }
    }

    /// Pages of the file (SQLite); 0 elsewhere.
    pub async fn page_count(&self) -> Result<i64> {
        match &self.storage {
            Storage::Sqlite(db) => db.page_count().await,
            _ => Ok(0),
        }
    }

    /// Leaves nothing of deleted rows in some of the pages from `first` (1 is the first of the file) to `last` (SQLite),
    /// between others' writes. Gives the page to go on with; none when all are clean. Then [`Db::empty_log`] has to
    /// follow.
    pub async fn zero_gaps(&self, first: i64, last: i64) -> Result<Option<i64>> {
        match &self.storage {
            Storage::Sqlite(db) => db.zero_gaps(first, last).await,
            _ => Ok(None),
        }
    }

    /// Empties the write-ahead log (SQLite); false while a reader still needs what is in it.
    pub async fn empty_log(&self) -> Result<bool> {
        match &self.storage {
            Storage::Sqlite(db) => db.empty_log().await,
            _ => Ok(true),
        }
    }

    /// The engine's own checks of its health: `(check, problem)` pairs, empty when all is well.
    pub async fn self_check(&self) -> Result<Vec<(String, String)>> {
        match &self.storage {
            Storage::None => Ok(Vec::new()),
            Storage::Sqlite(db) => db.self_check().await,
            Storage::Postgres(db) => db.self_check().await,
        }
    }

    /// Runs a statement that PostgreSQL does not want in a transaction.
    pub(crate) async fn outside_transactions(&self, statement: String) -> Result<()> {
        match &self.storage {
            Storage::Postgres(db) => db.outside_transactions(statement).await,
            _ => Err(Error::Internal("only PostgreSQL has statements like this".to_owned())),
        }
    }

    /// Lets the planner know what a table holds now, after many rows came at once (PostgreSQL). Failing is no harm.
    pub async fn refresh_statistics(&self, table: &'static str) {
        if let Storage::Postgres(db) = &self.storage {
            db.analyze(table).await;
        }
    }

    /// Gives the room of deleted rows back, after many of them (PostgreSQL). Failing is no harm.
    pub async fn reclaim_room(&self, table: &'static str) {
        if let Storage::Postgres(db) = &self.storage {
            db.vacuum(table).await;
        }
    }
}
