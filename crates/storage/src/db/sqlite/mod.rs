//! SQLite: readers beside one writer.
//!
//! Statements run on the thread that asks for them. A read runs on the thread of its request, which the runtime is told
//! may be busy for a while; writes run on the writer's thread, in commits that they share (`writer.rs`).

mod readers;
mod writer;

use std::future::poll_fn;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use sqlite::{SqliteArgument, SqliteArguments, SqliteConnection, SqliteOptions};
use sqlx::{Arguments as _, FromRow};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::presence::Presence;
use super::{Body, Found, Reading, Subject, SubjectHash, TextSink, Tx, classify};
use crate::error::{Error, Result};
use base::owner::OrgId;
use base::private_files;
use readers::{Reader, Readers};
pub(super) use writer::Turn;
use writer::{BATCH, Write, Writer};

/// Pages that the log holds before they are copied into the database, 32 MB: a page that changed ten times in between is
/// copied once.
const PAGES_BETWEEN_CHECKPOINTS: &str = "8000";
/// Bytes that the log's file keeps when it begins anew: a read of seconds, past which it cannot begin anew, makes it grow.
const KEPT_LOG_BYTES: &str = "50331648";
/// Room that a healthy data folder has: a batch of ordinary publishes.
const SPACE_FOR_WRITES: usize = 1 << 20;
/// Texts that a stream is ahead of its receiver.
const STREAMED: usize = 64;

#[derive(Clone)]
pub(super) struct Sqlite {
    pub(super) file: SameFile,
    pub(super) presence: Arc<Presence>,
    readers: Readers,
    pub(super) writes: mpsc::Sender<Turn>,
    writer_ended: watch::Receiver<bool>,
    stop: CancellationToken,
    pub(super) work: Arc<Notify>,
    subjects: SubjectHash,
}

/// A connection that a transaction, or a single statement, has for itself.
pub struct OnSqlite {
    connection: Option<SqliteConnection>,
    pub(super) subjects: SubjectHash,
}

impl OnSqlite {
    fn new(connection: SqliteConnection, subjects: &SubjectHash) -> Self {
        OnSqlite { connection: Some(connection), subjects: subjects.clone() }
    }

    pub(super) fn connection(&mut self) -> Result<&mut SqliteConnection> {
        self.connection.as_mut().ok_or_else(lost)
    }

    /// Hands the texts of a query about a person to `sink`. A thread finds them as fast as they are taken.
    pub(super) async fn stream_texts(
        &mut self,
        query: String,
        org_id: OrgId,
        subject: Subject,
        sink: &mut dyn TextSink,
    ) -> Result<()> {
        let mut connection = self.connection.take().ok_or_else(lost)?;
        let mut person = SqliteArguments::default();
        person
            .add(org_id.as_str())
            .and_then(|()| person.add(subject))
            .map_err(sqlx::Error::Encode)?;
        let (sender, mut texts) = mpsc::channel(STREAMED);
        let finding = on_a_thread(move || {
            let found = connection.each_row(&query, person, &mut |row| {
                let (text,) = FromRow::from_row(&row)?;
                sender.blocking_send(text).map_err(|_| sqlx::Error::WorkerCrashed)
            });
            (connection, found)
        });
        let taking = async move {
            while let Some(text) = texts.recv().await {
                sink.take(text).await?;
            }
            Ok(())
            // The end of the channel is that of the thread, also after an error.
        };
        let (found, taken): (_, Result<()>) = futures_util::future::join(finding, taking).await;
        let (connection, found) = found?;
        self.connection = Some(connection);
        taken.and(Ok(found?))
    }
}

/// A statement after one that was cut short.
fn lost() -> Error {
    Error::Internal("the transaction has lost its connection".to_owned())
}

async fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| Error::Internal(format!("a task of SQLite ended: {e}")))
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
        let options = SqliteOptions::new(file)
            .pragma("journal_mode", "WAL")
            .pragma("synchronous", "FULL")
            .pragma("foreign_keys", "ON")
            .pragma("secure_delete", "ON")
            .pragma("temp_store", "MEMORY")
            .pragma("wal_autocheckpoint", PAGES_BETWEEN_CHECKPOINTS)
            .pragma("journal_size_limit", KEPT_LOG_BYTES);
        let same_file = SameFile::of(file)
            .map_err(|e| Error::Internal(format!("cannot open {}: {e}", file.display())))?;
        let mut connection = options.open().map_err(|e| classify(e.into()))?;
        if is_alone {
            clean_up(&mut connection, when_alone).map_err(|e| classify(e.into()))?;
        }
        // Waits as long as another process cleans up, which is one statement.
        let presence = tokio::task::spawn_blocking(move || presence.share().map(|()| presence));
        let presence = presence.await.unwrap_or_else(|e| Err(std::io::Error::other(e)));
        let presence = Arc::new(presence.map_err(cannot_lock)?);
        let reading = options
            .clone()
            .pragma("query_only", "ON")
            // Pages are read where the system has them, instead of being copied one by one.
            .pragma("mmap_size", "2147418112");
        let readers = Readers::open(reading, readers).map_err(classify)?;
        let (writes, queue) = mpsc::channel(4 * BATCH);
        let stop = CancellationToken::new();
        let (ended, writer_ended) = watch::channel(false);
        let writer = Writer::new(options, connection, same_file.clone(), subjects.clone());
        // It waits for the disk, which a thread that serves others must not.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        let stop_writing = stop.clone();
        std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || {
                runtime.block_on(writer.run(queue, stop_writing));
                let _ = ended.send(true);
            })
            .map_err(|e| Error::Internal(format!("the writer cannot start: {e}")))?;
        let (file, work) = (same_file, Arc::new(Notify::new()));
        Ok(Sqlite { file, presence, readers, writes, writer_ended, stop, work, subjects })
    }

    pub(super) async fn read(&self, reading: Reading, body: &dyn Body) -> Result<Found> {
        let Reader { connection, turn } = self.readers.take().await.map_err(classify)?;
        let mut tx = Tx::Sqlite(OnSqlite::new(connection, &self.subjects));
        let mut ended = Ok(0);
        let result = match reading {
            Reading::OneStatement => body.run(&mut tx).await,
            Reading::ManyRows => may_take_long(body.run(&mut tx)).await,
            Reading::Snapshot | Reading::MayBeOld(_) => {
                may_take_long(async {
                    crate::run!(&mut tx, "BEGIN")?;
                    let result = body.run(&mut tx).await;
                    ended = crate::run!(&mut tx, "ROLLBACK");
                    result
                })
                .await
            }
        };
        // A connection that failed is closed, and so is one that may still be in a transaction.
        let is_sound = ended.is_ok() && !result.as_ref().is_err_and(Error::is_storage_failure);
        if let (true, Tx::Sqlite(OnSqlite { connection: Some(connection), .. })) = (is_sound, tx) {
            turn.give_back(connection);
        }
        result.map_err(classify)
    }

    pub(super) async fn write(&self, body: Arc<dyn Body>) -> Result<Found> {
        let (reply, answer) = oneshot::channel();
        let queued = Turn::Write(Write::new(body, reply));
        let gone = || Error::unavailable("The server is stopping.", 1);
        self.writes.send(queued).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Runs `work` on a reader, outside of any transaction, on a thread where it may take its time.
    pub(super) async fn on_a_reader<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SqliteConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Reader { mut connection, turn } = self.readers.take().await.map_err(classify)?;
        let (connection, result) = on_a_thread(move || {
            let result = work(&mut connection);
            (connection, result)
        })
        .await?;
        if result.is_ok() {
            turn.give_back(connection);
        }
        result.map_err(classify)
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
        let target = target.to_owned();
        self.on_a_reader(move |conn| {
            conn.run("PRAGMA query_only = OFF")?;
            let path = target.to_string_lossy().into_owned();
            let copied = conn.execute("VACUUM INTO $1", [SqliteArgument::Text(path)].into());
            if copied.is_err() {
                let _ = std::fs::remove_file(&target);
            }
            conn.run("PRAGMA query_only = ON")?;
            Ok(copied.map(drop)?)
        })
        .await
    }

    pub(super) async fn self_check(&self) -> Result<Vec<(String, String)>> {
        let mut problems = self.on_a_reader(find_problems).await?;
        if let Err(error) = self.file.check() {
            problems.push(("file".to_owned(), error.to_string()));
        }
        Ok(problems)
    }

    pub(super) async fn close(&self) {
        self.stop.cancel();
        let _ = self.writer_ended.clone().wait_for(|ended| *ended).await;
        self.readers.close().await;
        if let Err(error) = self.presence.leave() {
            tracing::debug!(%error, "the lock beside the database stays until this process ends");
        }
    }
}

/// Tells the runtime that this may keep its thread busy for long, so that another one serves the rest.
async fn may_take_long<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let has_other_threads = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    poll_fn(|context| match has_other_threads {
        true => tokio::task::block_in_place(|| work.as_mut().poll(context)),
        false => work.as_mut().poll(context),
    })
    .await
}

/// Runs the statement if the schema has come to the table `jobs`.
fn clean_up(connection: &mut SqliteConnection, statement: &'static str) -> sqlx::Result<()> {
    let there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'jobs'";
    match connection.count_rows(there)? {
        0 => Ok(()),
        _ => connection.run(statement),
    }
}

/// The engine's own checks of its health.
fn find_problems(conn: &mut SqliteConnection) -> Result<Vec<(String, String)>> {
    let mut problems = Vec::new();
    for (line,) in conn.fetch::<(String,)>("PRAGMA integrity_check(20)")? {
        if line != "ok" {
            problems.push(("integrity".to_owned(), line));
        }
    }
    let orphans = conn.count_rows("PRAGMA foreign_key_check")?;
    if orphans > 0 {
        problems.push(("foreign keys".to_owned(), format!("{orphans} rows without parent")));
    }
    let mode: Vec<(String,)> = conn.fetch("PRAGMA journal_mode")?;
    if let Some((mode,)) = mode.iter().find(|(mode,)| mode != "wal") {
        problems.push(("journal".to_owned(), format!("journal_mode is {mode}, expected wal")));
    }
    let secure: Vec<(i64,)> = conn.fetch("PRAGMA secure_delete")?;
    if secure != [(1,)] {
        problems.push(("secure delete".to_owned(), "secure_delete is off".to_owned()));
    }
    Ok(problems)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{body, typed};
    use super::*;

    #[test]
    fn what_takes_long_leaves_its_thread_s_other_work_to_another_one() {
        let one_thread = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build();
        let runtime = one_thread.unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let long = runtime
            .spawn(may_take_long(async move { receiver.recv_timeout(Duration::from_secs(20)) }));
        runtime.spawn(async move { sender.send(()) });
        let came = runtime.block_on(long).unwrap();
        assert_eq!(came, Ok(()), "the thread did nothing else meanwhile");
    }

    /// What a read leaves behind in its connection, if the connection is used again: `cache_size` after it.
    async fn cache_after(reading: Reading, end: fn() -> Result<()>) -> i64 {
        let folder = tempfile::tempdir().unwrap();
        let (file, hash) = (folder.path().join("test.db"), SubjectHash::new(&[1; 32]));
        let db = Sqlite::open(&file, 1, hash, "SELECT 1").await.unwrap();
        let change = body(end, |tx, end| {
            Box::pin(async move {
                crate::run!(tx, "PRAGMA cache_size = 77")?;
                end()
            })
        });
        assert_eq!(db.read(reading, &change).await.is_err(), end().is_err());
        let look = body((), |tx, ()| {
            Box::pin(async move { crate::row!(tx, (i64,), "PRAGMA cache_size") })
        });
        let found = db.read(Reading::Snapshot, &look).await.unwrap();
        db.close().await;
        let (size,) = typed::<Option<(i64,)>>(found).unwrap().unwrap();
        size
    }

    #[tokio::test]
    async fn a_connection_is_used_again_unless_it_failed() {
        fn refused() -> Result<()> {
            Err(Error::refused(crate::error::Code::BadRequest, "no"))
        }
        fn failed() -> Result<()> {
            Err(Error::unavailable("The disk failed.", 1))
        }
        for reading in [Reading::Snapshot, Reading::OneStatement, Reading::ManyRows] {
            assert_eq!(cache_after(reading, || Ok(())).await, 77);
            assert_eq!(cache_after(reading, refused).await, 77);
            assert_ne!(cache_after(reading, failed).await, 77);
        }
    }
}
