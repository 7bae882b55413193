//! SQLite: a pool of readers beside one writer, and commits that waiting writes share.
//!
//! The writer task takes every write that waits, runs them in one `BEGIN IMMEDIATE` transaction, commits once (one
//! fsync) and then answers all. A write that fails leaves nothing behind and takes no other with it; if the commit
//! fails, every write of the batch fails. Once queued a write runs to its end, even if its caller has gone.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::at_hand::AtHand;
use super::scrub::{Alone, run_alone};
use super::{Held, Reading, Tx, Work, classify};
use crate::error::{Error, Result};

/// Waiting writes beyond this number wait for the next commit.
const BATCH: usize = 256;

#[derive(Clone)]
pub(super) struct Sqlite {
    file: PathBuf,
    pub(super) readers: SqlitePool,
    at_hand: AtHand<sqlx::Sqlite>,
    pub(super) writes: mpsc::Sender<Turn>,
    writer_ended: watch::Receiver<bool>,
    stop: tokio_util::sync::CancellationToken,
    pub(super) work: Arc<Notify>,
}

impl Sqlite {
    pub(super) async fn open(file: &Path, readers: u32) -> Result<Self> {
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
            .disable_statement_logging();
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(options.clone())
            .await
            .map_err(|e| classify(e.into()))?;
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
        let stop_writing = stop.clone();
        // A thread of its own: it hands every statement to SQLite's thread and waits, and on the shared runtime
        // each of those waits would wake other workers for nothing.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || {
                runtime.block_on(write_loop(writer, queue, stop_writing));
                let _ = ended.send(true);
            })
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        let work = Arc::new(Notify::new());
        Ok(Sqlite { file: file.to_owned(), readers, at_hand, writes, writer_ended, stop, work })
    }

    pub(super) async fn read<I, T, F>(&self, reading: Reading, input: &I, work: &F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T>,
    {
        let held = match reading {
            #[allow(clippy::disallowed_methods)] // this is what Db::read stands on
            Reading::Snapshot => self.readers.begin().await.map(Held::Transaction),
            Reading::OneStatement => self.at_hand.take(&self.readers).await.map(Held::Statement),
        };
        let mut tx = Tx::Sqlite(held.map_err(|e| classify(e.into()))?);
        // Dropping the transaction rolls back: a read keeps nothing.
        let result = work(&mut tx, input).await.map_err(classify);
        if let (Ok(_), Tx::Sqlite(Held::Statement(conn))) = (&result, tx) {
            self.at_hand.keep(conn);
        }
        result
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

    pub(super) async fn backup(&self, target: &Path) -> Result<()> {
        let mut conn = self.readers.acquire().await.map_err(|e| classify(e.into()))?;
        sqlx::query("PRAGMA query_only = OFF").execute(&mut *conn).await?;
        let copied = sqlx::query("VACUUM INTO $1")
            .bind(target.to_string_lossy().into_owned())
            .execute(&mut *conn)
            .await;
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
        if !self.file.exists() {
            problems.push(("file".to_owned(), "the database file is gone".to_owned()));
        }
        Ok(problems)
    }

    pub(super) async fn close(&self) {
        self.stop.cancel();
        let _ = self.writer_ended.clone().wait_for(|ended| *ended).await;
        self.at_hand.end();
        self.readers.close().await;
    }
}

/// What waits for the writer.
pub(super) enum Turn {
    Write(Box<dyn Queued>),
    Alone(Alone, oneshot::Sender<Result<bool>>),
}

/// A write waiting for its turn, whatever it gives back.
pub(super) trait Queued: Send {
    /// Runs the body; true means keep what it wrote.
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> futures_util::future::BoxFuture<'a, bool>;
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
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> futures_util::future::BoxFuture<'a, bool> {
        Box::pin(async move {
            // A panic in one write must not take the writer, and with it everyone's writes, down.
            let result = AssertUnwindSafe((self.work)(tx, &self.input))
                .catch_unwind()
                .await
                .unwrap_or_else(|_| Err(Error::Internal("a write panicked".to_owned())));
            let keep = result.is_ok();
            self.result = Some(result.map_err(classify));
            keep
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
    pool: SqlitePool,
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
        // What wants to be alone ends a batch and comes after it.
        let alone = loop {
            match next {
                Some(Turn::Write(write)) => batch.push(write),
                Some(Turn::Alone(what, reply)) => break Some((what, reply)),
                None => break None,
            }
            next = if batch.len() < BATCH { queue.try_recv().ok() } else { None };
        };
        write_batch(&pool, batch).await;
        if let Some((what, reply)) = alone {
            let _ = reply.send(run_alone(&pool, what).await);
        }
    }
    pool.close().await;
}

async fn write_batch(pool: &SqlitePool, mut batch: Vec<Box<dyn Queued>>) {
    if batch.is_empty() {
        return;
    }
    metrics::histogram!("evenhand_sqlite_batch_writes").record(batch.len() as f64);
    let committed = run_batch(pool, &mut batch).await.map_err(|e| e.to_string());
    for write in batch {
        write.settle(committed.clone());
    }
}

/// Runs the writes one after the other and commits once. In the common case all succeed; when one does not, all is
/// rolled back and run again with a SAVEPOINT around each, so that only the failed ones leave nothing behind.
async fn run_batch(pool: &SqlitePool, batch: &mut [Box<dyn Queued>]) -> Result<()> {
    let mut tx = begin(pool).await?;
    let mut all_kept = true;
    for write in batch.iter_mut() {
        all_kept = write.run(&mut tx).await;
        if !all_kept {
            break;
        }
    }
    if !all_kept {
        drop(tx);
        if batch.len() == 1 {
            return Ok(());
        }
        tx = begin(pool).await?;
        for write in batch.iter_mut() {
            crate::run!(&mut tx, "SAVEPOINT one_write")?;
            if !write.run(&mut tx).await {
                crate::run!(&mut tx, "ROLLBACK TO one_write")?;
            }
            crate::run!(&mut tx, "RELEASE one_write")?;
        }
    }
    match tx {
        Tx::Sqlite(held) => held.commit().await,
        Tx::Postgres(_) => Err(Error::Internal("the transaction changed its engine".to_owned())),
    }
}

async fn begin(pool: &SqlitePool) -> Result<Tx> {
    Ok(Tx::Sqlite(Held::Transaction(pool.begin_with("BEGIN IMMEDIATE").await?)))
}
