//! SQLite: a pool of readers beside one writer, and commits that waiting writes share.
//!
//! The writer task takes every write that waits, runs them in one `BEGIN IMMEDIATE` transaction, commits once (one
//! fsync) and then answers all. A write that fails leaves nothing behind and takes no other with it; if the commit
//! fails, every write of the batch fails. Once queued a write runs to its end, even if its caller has gone.
//! After a storage failure the connection is closed: SQLite may have rolled back by itself (disk full, I/O error),
//! and the driver would go on counting a transaction that no longer exists.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection as _};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::at_hand::AtHand;
use super::crashes;
use super::presence::Presence;
use super::scrub::{Alone, run_alone};
use super::{Connection, Held, Reading, SubjectHash, Tx, Work, classify};
use crate::error::{Error, Result};
use base::private_files;

/// Waiting writes beyond this number wait for the next commit.
const BATCH: usize = 256;
/// Pages that the log holds before they are copied into the database, 32 MB: a page that changed ten times in between is
/// copied once.
const PAGES_BETWEEN_CHECKPOINTS: &str = "8000";
/// Bytes that the log's file keeps when it begins anew: a read of seconds, past which it cannot begin anew, makes it grow.
const KEPT_LOG_BYTES: &str = "50331648";
/// Room that a healthy data folder has: a batch of ordinary publishes.
const SPACE_FOR_WRITES: usize = 1 << 20;

#[derive(Clone)]
pub(super) struct Sqlite {
    pub(super) file: SameFile,
    pub(super) presence: Arc<Presence>,
    pub(super) readers: SqlitePool,
    at_hand: AtHand<sqlx::Sqlite>,
    pub(super) writes: mpsc::Sender<Turn>,
    writer_ended: watch::Receiver<bool>,
    stop: tokio_util::sync::CancellationToken,
    pub(super) work: Arc<Notify>,
    subjects: SubjectHash,
}

/// The only connection that writes.
struct Writer {
    pool: SqlitePool,
    subjects: SubjectHash,
    crashes: watch::Receiver<u64>,
}

impl Writer {
    /// The work's result, unless the connection's thread crashes amid it.
    async fn unless_it_crashes<T>(
        &self,
        work: impl AsyncFnOnce(&Writer) -> Result<T>,
    ) -> Result<T> {
        let mut crashes = self.crashes.clone();
        crashes.mark_unchanged();
        let result = tokio::select! {
            biased;
            result = work(self) => return result,
            _ = crashes.changed() => Err(Error::Storage(sqlx::Error::WorkerCrashed)),
        };
        close_connection(&self.pool).await;
        result
    }
}

impl Sqlite {
    /// Opens the file. `when_alone` is run on the table `jobs` if no other process has it open.
    pub(super) async fn open(
        file: &Path,
        readers: u32,
        subjects: SubjectHash,
        when_alone: &'static str,
    ) -> Result<Self> {
        // SQLite gives its log and index files the permissions of the database.
        private_files::make_file(file)
            .map_err(|e| Error::Internal(format!("cannot open {}: {e}", file.display())))?;
        let cannot_lock = |e| Error::Internal(format!("cannot lock {}: {e}", file.display()));
        let (presence, is_alone) = Presence::of(file).map_err(cannot_lock)?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10))
            .statement_cache_capacity(256)
            .pragma("secure_delete", "ON")
            .pragma("temp_store", "MEMORY")
            .pragma("wal_autocheckpoint", PAGES_BETWEEN_CHECKPOINTS)
            .pragma("journal_size_limit", KEPT_LOG_BYTES)
            .disable_statement_logging();
        let same_file = SameFile::of(file)
            .map_err(|e| Error::Internal(format!("cannot open {}: {e}", file.display())))?;
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options.clone().thread_name(|_| crashes::WRITER_THREAD.to_owned()))
            .await
            .map_err(|e| classify(e.into()))?;
        if is_alone {
            clean_up(&writer, when_alone).await.map_err(classify)?;
        }
        // Waits as long as another process cleans up, which is one statement.
        let presence = tokio::task::spawn_blocking(move || presence.share().map(|()| presence));
        let presence = presence.await.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        let presence = Arc::new(presence.map_err(cannot_lock)?);
        let at_hand = AtHand::of(readers);
        let readers = SqlitePoolOptions::new()
            .max_connections(readers.max(1))
            .min_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(false)
            .connect_with(
                options
                    .create_if_missing(false)
                    .pragma("query_only", "ON")
                    // Pages are read where the system has them, instead of being copied one by one.
                    .pragma("mmap_size", "2147418112"),
            )
            .await
            .map_err(|e| classify(e.into()))?;
        let (writes, queue) = mpsc::channel(4 * BATCH);
        let stop = tokio_util::sync::CancellationToken::new();
        let (ended, writer_ended) = watch::channel(false);
        let (stop_writing, written) = (stop.clone(), same_file.clone());
        let writer = Writer { pool: writer, subjects: subjects.clone(), crashes: crashes::watch() };
        // A thread of its own: it hands every statement to SQLite's thread and waits, and on the shared runtime
        // each of those waits would wake other workers for nothing.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || {
                runtime.block_on(write_loop(writer, written, queue, stop_writing));
                let _ = ended.send(true);
            })
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        let work = Arc::new(Notify::new());
        let file = same_file;
        Ok(Sqlite { file, presence, readers, at_hand, writes, writer_ended, stop, work, subjects })
    }

    pub(super) async fn read<I, T, F>(&self, reading: Reading, input: &I, work: &F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T>,
    {
        let held = match reading {
            #[allow(clippy::disallowed_methods)] // this is what Db::read stands on
            Reading::Snapshot | Reading::MayBeOld => {
                self.readers.begin().await.map(|tx| Held::transaction(tx, &self.subjects))
            }
            Reading::OneStatement => {
                let taken = self.at_hand.take(&self.readers).await;
                taken.map(|conn| Held::statement(conn, &self.subjects))
            }
        };
        let mut tx = Tx::Sqlite(held.map_err(|e| classify(e.into()))?);
        // Dropping the transaction rolls back: a read keeps nothing.
        let result = work(&mut tx, input).await;
        match (&result, tx) {
            (Ok(_), Tx::Sqlite(held)) => {
                if let Connection::Statement(conn) = held.connection {
                    self.at_hand.keep(conn);
                }
            }
            (Err(Error::Storage(sqlx::Error::WorkerCrashed)), tx) => {
                drop(tx);
                self.drop_crashed().await;
            }
            _ => {}
        }
        result.map_err(classify)
    }

    /// Takes readers out of the pool whose thread has ended, as it does without memory: they are not looked at before
    /// they are handed out.
    async fn drop_crashed(&self) {
        let mut sound = Vec::new();
        while let Some(mut conn) = self.readers.try_acquire() {
            match conn.ping().await {
                Ok(()) => sound.push(conn),
                Err(_) => drop(conn.detach()),
            }
        }
    }

    pub(super) async fn write<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let queued = Box::new(Write { input, work, result: None, reply });
        let gone = || Error::unavailable("The server is stopping.", 1);
        self.writes.send(Turn::Write(queued)).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Fails when the folder has no room for a file of [`SPACE_FOR_WRITES`] bytes.
    pub(super) async fn check_space(&self) -> std::io::Result<()> {
        let probe = self.file.path.with_extension("probe");
        let room = tokio::task::spawn_blocking(move || {
            let mut file = private_files::options().create(true).truncate(true).open(&probe)?;
            let written = file.write_all(&vec![0; SPACE_FOR_WRITES]).and_then(|()| file.sync_all());
            std::fs::remove_file(&probe)?;
            written
        });
        room.await.map_err(std::io::Error::other)?
    }

    pub(super) async fn backup(&self, target: &Path) -> Result<()> {
        private_files::make_file(target)
            .map_err(|e| Error::Internal(format!("cannot write {}: {e}", target.display())))?;
        let mut conn = self.readers.acquire().await.map_err(|e| classify(e.into()))?;
        sqlx::query("PRAGMA query_only = OFF").execute(&mut *conn).await?;
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(target.to_string_lossy().into_owned())
            .execute(&mut *conn)
            .await;
        if copied.is_err() {
            let _ = std::fs::remove_file(target);
        }
        sqlx::query("PRAGMA query_only = ON").execute(&mut *conn).await?;
        copied.map(|_| ()).map_err(Error::from)
    }

    pub(super) async fn self_check(&self) -> Result<Vec<(String, String)>> {
        let mut problems = Vec::new();
        let mut conn = self.readers.acquire().await.map_err(|e| classify(e.into()))?;
        let integrity: Vec<(String,)> =
            sqlx::query_as("PRAGMA integrity_check(20)").fetch_all(&mut *conn).await?;
        for (line,) in integrity.into_iter().filter(|(line,)| line != "ok") {
            problems.push(("integrity".to_owned(), line));
        }
        let orphans = sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut *conn).await?;
        if !orphans.is_empty() {
            problems.push((
                "foreign keys".to_owned(),
                format!("{} rows without parent", orphans.len()),
            ));
        }
        let (mode,): (String,) =
            sqlx::query_as("PRAGMA journal_mode").fetch_one(&mut *conn).await?;
        if mode != "wal" {
            problems.push(("journal".to_owned(), format!("journal_mode is {mode}, expected wal")));
        }
        let (secure,): (i64,) =
            sqlx::query_as("PRAGMA secure_delete").fetch_one(&mut *conn).await?;
        if secure != 1 {
            problems.push(("secure delete".to_owned(), "secure_delete is off".to_owned()));
        }
        if let Err(error) = self.file.check() {
            problems.push(("file".to_owned(), error.to_string()));
        }
        Ok(problems)
    }

    pub(super) async fn close(&self) {
        self.stop.cancel();
        let _ = self.writer_ended.clone().wait_for(|ended| *ended).await;
        self.at_hand.end();
        self.readers.close().await;
        if let Err(error) = self.presence.leave() {
            tracing::debug!(%error, "the lock beside the database stays until this process ends");
        }
    }
}

/// Runs the statement if the schema has come to the table `jobs`.
async fn clean_up(writer: &SqlitePool, statement: &'static str) -> Result<()> {
    let there = sqlx::query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'jobs'")
        .fetch_optional(writer)
        .await?;
    if there.is_some() {
        sqlx::query(statement).execute(writer).await?;
    }
    Ok(())
}

/// The database file as it was opened. On a file that was deleted or replaced, SQLite goes on writing what nobody will
/// find again.
#[derive(Clone)]
pub(super) struct SameFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SameFile {
    fn of(path: &Path) -> std::io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(SameFile { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Fails when the file is no longer there, or is another one.
    pub(super) fn check(&self) -> Result<()> {
        let gone = match Self::of(&self.path) {
            Ok(found) if (found.device, found.inode) == (self.device, self.inode) => return Ok(()),
            Ok(_) => "The database file was replaced under the server; restart it.",
            Err(_) => {
                "The database file is gone; put it back or restore a backup, and restart the server."
            }
        };
        Err(Error::unavailable(gone, 5))
    }
}

/// A message to the writer.
pub(super) enum Turn {
    Write(Box<dyn Queued>),
    Alone(Alone, oneshot::Sender<Result<bool>>),
}

/// Result of the body of a write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// Its changes are to be committed.
    Kept,
    /// A rule said no; its changes are rolled back.
    Refused,
    /// The engine or the body failed; the connection is not trusted any more.
    Failed,
}

/// A write waiting for its turn, whatever it gives back.
pub(super) trait Queued: Send {
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> futures_util::future::BoxFuture<'a, Ran>;
    /// Tells the caller, after the commit or the failure of it.
    fn settle(self: Box<Self>, committed: std::result::Result<(), String>);
}

struct Write<I, T, F> {
    input: I,
    work: F,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<I, T, F> Queued for Write<I, T, F>
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
{
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> futures_util::future::BoxFuture<'a, Ran> {
        Box::pin(async move {
            // A panic in one write must not take the writer, and with it everyone's writes, down.
            let result = AssertUnwindSafe((self.work)(tx, &self.input))
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
        })
    }

    fn settle(self: Box<Self>, committed: std::result::Result<(), String>) {
        let result = match (self.result, committed) {
            (Some(Ok(value)), Ok(())) => Ok(value),
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

async fn write_loop(
    writer: Writer,
    file: SameFile,
    mut queue: mpsc::Receiver<Turn>,
    stop: tokio_util::sync::CancellationToken,
) {
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
        write_batch(&writer, &file, batch).await;
        if let Some((what, reply)) = alone {
            let run = async |writer: &Writer| run_alone(&writer.pool, what).await;
            let result = writer.unless_it_crashes(run).await;
            if result.is_err() {
                close_connection(&writer.pool).await;
            }
            let _ = reply.send(result);
        }
    }
    writer.pool.close().await;
}

async fn write_batch(writer: &Writer, file: &SameFile, mut batch: Vec<Box<dyn Queued>>) {
    if batch.is_empty() {
        return;
    }
    metrics::histogram!("evenhand_sqlite_batch_writes").record(batch.len() as f64);
    let committed = match file.check() {
        Ok(()) => {
            let run = async |writer: &Writer| run_batch(writer, &mut batch).await;
            writer.unless_it_crashes(run).await
        }
        Err(error) => Err(error),
    };
    let committed = committed.map_err(|e| e.to_string());
    for write in batch {
        write.settle(committed.clone());
    }
}

/// Runs the writes one after the other and commits once. In the common case all succeed; when one does not, all is
/// rolled back and run again with a SAVEPOINT around each, so that only the failed ones leave nothing behind.
async fn run_batch(writer: &Writer, batch: &mut [Box<dyn Queued>]) -> Result<()> {
    let result = match run_together(writer, batch).await {
        Ok(Ran::Kept) => return Ok(()),
        Ok(ran) => {
            if ran == Ran::Failed {
                close_connection(&writer.pool).await;
            }
            match batch.len() {
                1 => return Ok(()),
                _ => run_apart(writer, batch).await,
            }
        }
        Err(error) => Err(error),
    };
    if result.is_err() {
        close_connection(&writer.pool).await;
    }
    result
}

/// Commits if every write is kept; stops at the first that is not, with everything rolled back.
async fn run_together(writer: &Writer, batch: &mut [Box<dyn Queued>]) -> Result<Ran> {
    let mut tx = begin(writer).await?;
    for write in batch.iter_mut() {
        let ran = write.run(&mut tx).await;
        if ran != Ran::Kept {
            return Ok(ran);
        }
    }
    commit(tx).await?;
    Ok(Ran::Kept)
}

/// Commits the writes that are kept. A failure after which SQLite has rolled back everything fails the batch.
async fn run_apart(writer: &Writer, batch: &mut [Box<dyn Queued>]) -> Result<()> {
    let mut tx = begin(writer).await?;
    for write in batch.iter_mut() {
        crate::run!(&mut tx, "SAVEPOINT one_write")?;
        if write.run(&mut tx).await != Ran::Kept {
            crate::run!(&mut tx, "ROLLBACK TO one_write")?;
        }
        crate::run!(&mut tx, "RELEASE one_write")?;
    }
    commit(tx).await
}

async fn commit(tx: Tx) -> Result<()> {
    match tx {
        Tx::Sqlite(held) => held.commit().await,
        Tx::Postgres(_) => Err(Error::Internal("the transaction changed its engine".to_owned())),
    }
}

/// Closes the pool's only connection; the next transaction opens a new one.
async fn close_connection(pool: &SqlitePool) {
    if let Ok(connection) = pool.acquire().await
        && let Err(error) = connection.close().await
    {
        tracing::warn!(%error, "the writer's connection did not close cleanly");
    }
}

async fn begin(writer: &Writer) -> Result<Tx> {
    let begun = writer.pool.begin_with("BEGIN IMMEDIATE").await?;
    Ok(Tx::Sqlite(Held::transaction(begun, &writer.subjects)))
}
