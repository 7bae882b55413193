//! Copying SQLite's write-ahead log into the database beside the writer.
//!
//! By itself SQLite copies a log that has become long in the commit that made it long, and everybody's writes wait until
//! thousands of pages are written and synced. A connection of its own copies them while the writer goes on; the writer
//! is left with what came in the meantime, after which the log begins anew.

use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::SqlitePool;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::scrub::Alone;
use super::sqlite::Turn;
use crate::error::Result;

/// Pages that are not copied yet when copying begins, 16 MB: a page that changed ten times in between is copied once.
const MANY: i64 = 4_000;
/// Pages that the writer copies by itself, in a few milliseconds.
const FEW: i64 = 400;
/// Times that what came in the meantime is copied before the writer gets the rest, however much it is.
const ROUNDS: usize = 4;
/// Between looks at the log while there are writes.
const LOOKS: Duration = Duration::from_millis(100);
/// Between two tries while somebody reads what the log was when it was shorter.
const WHILE_READ: Duration = Duration::from_secs(1);

/// Copies the log when it has become long, as long as there is a writer. `commits` is told of what it commits.
pub(super) async fn keep_log_short(
    pool: SqlitePool,
    writer: mpsc::WeakSender<Turn>,
    commits: Arc<Notify>,
    stop: CancellationToken,
) {
    let work = async {
        let mut pause = LOOKS;
        loop {
            commits.notified().await;
            tokio::time::sleep(pause).await;
            let Some(writes) = writer.upgrade() else { return };
            pause = match copy_if_long(&pool, &writes).await {
                Ok(true) => LOOKS,
                Ok(false) => WHILE_READ,
                Err(error) => {
                    // The commits copy a log that goes on growing, and tell of what is wrong with the disk.
                    tracing::debug!(%error, "the write-ahead log was not copied");
                    WHILE_READ
                }
            };
        }
    };
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

/// False if a reader kept pages from being copied.
async fn copy_if_long(pool: &SqlitePool, writes: &mpsc::Sender<Turn>) -> Result<bool> {
    let mut left = checkpoint(pool, "PRAGMA wal_checkpoint(NOOP)").await?;
    if left < MANY {
        return Ok(true);
    }
    for _ in 0..ROUNDS {
        let before = left;
        left = checkpoint(pool, "PRAGMA wal_checkpoint(PASSIVE)").await?;
        let came = checkpoint(pool, "PRAGMA wal_checkpoint(NOOP)").await?;
        if left >= before {
            return Ok(false);
        }
        left = came;
        if left <= FEW {
            break;
        }
    }
    let (reply, answer) = oneshot::channel();
    if writes.send(Turn::Alone(Alone::CopyLog, reply)).await.is_ok() {
        let _ = answer.await;
    }
    Ok(true)
}

/// Runs a checkpoint that waits for nobody, and gives the pages of the log that are not in the database afterwards.
pub(super) async fn checkpoint(pool: &SqlitePool, statement: &'static str) -> Result<i64> {
    let (_busy, pages, copied): (i64, i64, i64) = sqlx::query_as(statement).fetch_one(pool).await?;
    Ok(pages - copied)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

    async fn open(file: &std::path::Path) -> SqlitePool {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .pragma("wal_autocheckpoint", "0");
        SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap()
    }

    async fn fill(pool: &SqlitePool, pages: i64) {
        sqlx::query("INSERT INTO t SELECT zeroblob(4096 * $1)")
            .bind(pages)
            .execute(pool)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_long_log_is_copied_beside_a_reader_of_the_newest_and_not_of_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let (writer, copier, reader) = (open(&file).await, open(&file).await, open(&file).await);
        sqlx::query("CREATE TABLE t (b BLOB)").execute(&writer).await.unwrap();
        let (writes, mut queue) = mpsc::channel(8);
        let asked = tokio::spawn(async move {
            let mut turns = 0;
            while let Some(Turn::Alone(Alone::CopyLog, reply)) = queue.recv().await {
                turns += 1;
                let _ = reply.send(Ok(true));
            }
            turns
        });
        let left = async || checkpoint(&copier, "PRAGMA wal_checkpoint(NOOP)").await.unwrap();

        fill(&writer, MANY / 2).await;
        assert!(copy_if_long(&copier, &writes).await.unwrap());
        assert!(left().await > MANY / 2, "a short one is left alone");

        let mut old = reader.begin().await.unwrap();
        sqlx::query("SELECT COUNT(*) FROM t").fetch_one(&mut *old).await.unwrap();
        fill(&writer, MANY).await;
        // What the reader sees can be copied, and nothing after it.
        copy_if_long(&copier, &writes).await.unwrap();
        assert!(!copy_if_long(&copier, &writes).await.unwrap());
        assert!(left().await >= MANY);
        old.rollback().await.unwrap();

        assert!(copy_if_long(&copier, &writes).await.unwrap());
        assert_eq!(left().await, 0);
        drop(writes);
        assert!(asked.await.unwrap() >= 1, "the writer copies the rest");
    }
}
