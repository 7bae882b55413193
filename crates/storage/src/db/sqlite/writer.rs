//! The one connection that writes, and commits that waiting writes share.
//!
//! The writer takes every write that waits, runs them in one `BEGIN IMMEDIATE` transaction, commits once (one fsync) and
//! then answers all. A write that fails leaves nothing behind and takes no other with it; if the commit fails, every
//! write of the batch fails. Once queued a write runs to its end, even if its caller has gone. After a storage failure
//! the connection is closed: SQLite may have rolled back by itself (disk full, I/O error).

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use sqlite::{SqliteConnection, SqliteOptions};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::super::scrub::{Alone, run_alone};
use super::super::{Body, Found, SubjectHash, Tx, classify};
use super::{OnSqlite, SameFile, lost};
use crate::error::{Error, Result};

/// Waiting writes beyond this number wait for the next commit.
pub(super) const BATCH: usize = 256;

/// A message to the writer.
pub(in crate::db) enum Turn {
    Write(Write),
    Alone(Alone, oneshot::Sender<Result<bool>>),
}

/// Result of the body of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// Its changes are to be committed.
    Kept,
    /// A rule said no; its changes are rolled back.
    Refused,
    /// The engine or the body failed; the connection is not trusted any more.
    Failed,
}

/// A write waiting for its turn.
pub(in crate::db) struct Write {
    body: Arc<dyn Body>,
    result: Option<Result<Found>>,
    reply: oneshot::Sender<Result<Found>>,
}

impl Write {
    pub(super) fn new(body: Arc<dyn Body>, reply: oneshot::Sender<Result<Found>>) -> Self {
        Write { body, result: None, reply }
    }

    async fn run(&mut self, tx: &mut Tx) -> Ran {
        // A panic in one write must not take the writer, and with it everyone's writes, down.
        let result = AssertUnwindSafe(async { self.body.run(tx).await })
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Error::Internal("a write panicked".to_owned())));
        let result = result.map_err(classify);
        let ran = match &result {
            Ok(_) => Ran::Kept,
            Err(error) if error.is_storage_failure() => Ran::Failed,
            Err(_) => Ran::Refused,
        };
        self.result = Some(result);
        ran
    }

    /// Tells the caller, after the commit or the failure of it.
    fn settle(self, committed: std::result::Result<(), String>) {
        let result = match (self.result, committed) {
            (Some(Ok(found)), Ok(())) => Ok(found),
            (Some(Err(error)), _) => Err(error),
            (_, Err(reason)) => {
                tracing::error!(reason, "a batch of writes was not committed");
                Err(Error::unavailable("The write was not committed; try again.", 1))
            }
            (None, Ok(())) => Err(Error::Internal("a write was never run".to_owned())),
        };
        // The caller may have hung up; the write stands all the same.
        let _ = self.reply.send(result);
    }
}

/// The only connection that writes.
pub(super) struct Writer {
    options: SqliteOptions,
    /// None after a failure, until the next transaction opens a new one.
    connection: Option<SqliteConnection>,
    file: SameFile,
    subjects: SubjectHash,
}

impl Writer {
    pub(super) fn new(
        options: SqliteOptions,
        connection: SqliteConnection,
        file: SameFile,
        subjects: SubjectHash,
    ) -> Self {
        Writer { options, connection: Some(connection), file, subjects }
    }

    /// Writes what comes until `stop`, and then what has come.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Turn>, stop: CancellationToken) {
        loop {
            let first = tokio::select! {
                biased;
                next = queue.recv() => next,
                () = stop.cancelled() => {
                    queue.close();
                    queue.recv().await
                }
            };
            let Some(first) = first else { break };
            let (mut batch, mut next) = (Vec::new(), Some(first));
            // A message that must run alone ends the batch and comes after it.
            let alone = loop {
                match next {
                    Some(Turn::Write(write)) => batch.push(write),
                    Some(Turn::Alone(what, reply)) => break Some((what, reply)),
                    None => break None,
                }
                next = if batch.len() < BATCH { queue.try_recv().ok() } else { None };
            };
            self.write_batch(batch).await;
            if let Some((what, reply)) = alone {
                let _ = reply.send(self.run_alone(what));
            }
        }
        if let Some(Err(error)) = self.connection.map(SqliteConnection::end) {
            tracing::warn!(%error, "the writer's connection did not close cleanly");
        }
    }

    async fn write_batch(&mut self, mut batch: Vec<Write>) {
        if batch.is_empty() {
            return;
        }
        metrics::histogram!("evenhand_sqlite_batch_writes").record(batch.len() as f64);
        let committed = match self.file.check() {
            Ok(()) => self.run_batch(&mut batch).await,
            Err(error) => Err(error),
        };
        let committed = committed.map_err(|e| e.to_string());
        for write in batch {
            write.settle(committed.clone());
        }
    }

    /// Runs the writes one after the other and commits once. In the common case all succeed; when one does not, all is
    /// rolled back and run again with a SAVEPOINT around each, so that only the failed ones leave nothing behind.
    async fn run_batch(&mut self, batch: &mut [Write]) -> Result<()> {
        match self.run_together(batch).await? {
            Ran::Kept => Ok(()),
            Ran::Refused | Ran::Failed if batch.len() == 1 => Ok(()),
            Ran::Refused | Ran::Failed => self.run_apart(batch).await,
        }
    }

    /// Commits if every write is kept; stops at the first that is not, with everything rolled back.
    async fn run_together(&mut self, batch: &mut [Write]) -> Result<Ran> {
        let mut tx = self.begin()?;
        for write in batch.iter_mut() {
            match write.run(&mut tx).await {
                Ran::Kept => {}
                Ran::Refused => {
                    self.end(tx, "ROLLBACK")?;
                    return Ok(Ran::Refused);
                }
                // The connection is closed with the transaction.
                Ran::Failed => return Ok(Ran::Failed),
            }
        }
        self.end(tx, "COMMIT")?;
        Ok(Ran::Kept)
    }

    /// Commits the writes that are kept. A failure after which SQLite has rolled back everything fails the batch.
    async fn run_apart(&mut self, batch: &mut [Write]) -> Result<()> {
        let mut tx = self.begin()?;
        for write in batch.iter_mut() {
            crate::run!(&mut tx, "SAVEPOINT one_write")?;
            if write.run(&mut tx).await != Ran::Kept {
                crate::run!(&mut tx, "ROLLBACK TO one_write")?;
            }
            crate::run!(&mut tx, "RELEASE one_write")?;
        }
        self.end(tx, "COMMIT")
    }

    fn begin(&mut self) -> Result<Tx> {
        let mut connection = self.take()?;
        connection.run("BEGIN IMMEDIATE")?;
        Ok(Tx::Sqlite(OnSqlite::new(connection, &self.subjects)))
    }

    /// Ends the transaction, and keeps the connection if that succeeds.
    fn end(&mut self, tx: Tx, how: &'static str) -> Result<()> {
        let Tx::Sqlite(OnSqlite { connection: Some(mut connection), .. }) = tx else {
            return Err(lost());
        };
        connection.run(how)?;
        self.connection = Some(connection);
        Ok(())
    }

    fn run_alone(&mut self, what: Alone) -> Result<bool> {
        let mut connection = self.take()?;
        let result = run_alone(&mut connection, what);
        if result.is_ok() {
            self.connection = Some(connection);
        }
        result
    }

    fn take(&mut self) -> Result<SqliteConnection> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Ok(self.options.open()?),
        }
    }
}
