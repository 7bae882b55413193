//! PostgreSQL: read-committed writes with explicit row locks, repeated when the engine asks for it.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions, Transaction};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::at_hand::AtHand;
use super::{Held, Reading, Tx, Work, classify};
use crate::error::{Error, Result};

const ATTEMPTS: u32 = 6;
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
const CHANNEL: &str = "evenhand_work";

#[derive(Clone)]
pub(super) struct Postgres {
    pool: PgPool,
    at_hand: AtHand<sqlx::Postgres>,
    tasks: TaskTracker,
    stop: CancellationToken,
    work: Arc<Notify>,
}

impl Postgres {
    pub(super) async fn connect(url: &str, connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)?
            .statement_cache_capacity(256)
            .application_name("evenhand")
            .disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(connections.max(2))
            .min_connections(1)
            .acquire_timeout(Duration::from_secs(10))
            .test_before_acquire(false)
            .connect_with(options)
            .await
            .map_err(|e| classify(e.into()))?;
        let db = Postgres {
            pool,
            at_hand: AtHand::of(connections),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            work: Arc::new(Notify::new()),
        };
        db.tasks.spawn(db.clone().listen());
        Ok(db)
    }

    pub(super) async fn read<I, T, F>(&self, reading: Reading, input: &I, work: &F) -> Result<T>
    where
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T>,
    {
        let mut attempt = 1;
        loop {
            let held = match reading {
                Reading::Snapshot => self.begin_snapshot().await.map(Held::Transaction),
                Reading::OneStatement => self.at_hand.take(&self.pool).await.map(Held::Statement),
            };
            let result = match held {
                Ok(held) => {
                    let mut tx = Tx::Postgres(held);
                    let result = work(&mut tx, input).await;
                    if let (Ok(_), Tx::Postgres(Held::Statement(conn))) = (&result, tx) {
                        self.at_hand.keep(conn);
                    }
                    result
                }
                Err(error) => Err(error.into()),
            };
            match result {
                // A connection that broke while idle shows itself at its first use: a read may go again.
                Err(Error::Storage(sqlx::Error::Io(_))) if attempt < 3 => {
                    self.at_hand.give_back();
                    attempt += 1;
                }
                result => return result.map_err(classify),
            }
        }
    }

    /// On a task of its own: a caller who goes away in the middle of it would leave a connection behind that is in a
    /// transaction nobody knows of.
    async fn begin_snapshot(&self) -> sqlx::Result<Transaction<'static, sqlx::Postgres>> {
        let pool = self.pool.clone();
        let begun = self.tasks.spawn(async move { pool.begin_with(SNAPSHOT).await });
        begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
    }

    /// Runs on a task of its own, so that a caller who goes away does not cut the write short.
    pub(super) async fn write<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        let pool = self.pool.clone();
        // In a box: a task of its own type for every write in the program takes long to compile.
        let writing: BoxFuture<'static, Result<T>> = Box::pin(async move {
            let mut attempt = 1;
            loop {
                let result = write_once(&pool, &input, &work).await;
                match result {
                    Err(Error::Storage(cause)) if attempt < ATTEMPTS && is_repeatable(&cause) => {
                        metrics::counter!("evenhand_transaction_retries_total").increment(1);
                        tokio::time::sleep(Duration::from_millis(2 << attempt)).await;
                        attempt += 1;
                    }
                    result => return result.map_err(classify),
                }
            }
        });
        let task = self.tasks.spawn(writing);
        task.await.unwrap_or_else(|_| Err(Error::Internal("a write panicked".to_owned())))
    }

    pub(super) async fn self_check(&self) -> Result<Vec<(String, String)>> {
        let mut problems = Vec::new();
        let mut conn = self.pool.acquire().await.map_err(|e| classify(e.into()))?;
        for (setting, wanted) in [("fsync", "on"), ("full_page_writes", "on")] {
            let (value,): (String,) = sqlx::query_as("SELECT current_setting($1)")
                .bind(setting)
                .fetch_one(&mut *conn)
                .await?;
            if value != wanted {
                let problem = format!("{setting} is {value}: a crash of the server can lose data");
                problems.push((setting.to_owned(), problem));
            }
        }
        let (commit,): (String,) = sqlx::query_as("SELECT current_setting('synchronous_commit')")
            .fetch_one(&mut *conn)
            .await?;
        if commit == "off" {
            problems.push((
                "synchronous_commit".to_owned(),
                "is off: an acknowledged write can be lost".to_owned(),
            ));
        }
        Ok(problems)
    }

    pub(super) async fn announce(&self) {
        self.work.notify_waiters();
        if let Err(error) =
            sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL).execute(&self.pool).await
        {
            tracing::debug!(%error, "other replicas were not woken; they poll");
        }
    }

    pub(super) async fn wait(&self) {
        self.work.notified().await;
    }

    /// Passes on what other replicas announce; connects again when the connection is lost.
    async fn listen(self) {
        let forward = async {
            loop {
                if let Ok(mut listener) = PgListener::connect_with(&self.pool).await
                    && listener.listen(CHANNEL).await.is_ok()
                {
                    while listener.recv().await.is_ok() {
                        self.work.notify_waiters();
                    }
                }
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = forward => {}
        }
    }

    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.at_hand.end();
        self.pool.close().await;
    }
}

async fn write_once<I, T, F>(pool: &PgPool, input: &I, work: &F) -> Result<T>
where
    F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T>,
{
    let mut tx = Tx::Postgres(Held::Transaction(pool.begin_with("BEGIN").await?));
    let value = work(&mut tx, input).await?;
    match tx {
        Tx::Postgres(held) => held.commit().await?,
        Tx::Sqlite(_) => {
            return Err(Error::Internal("the transaction changed its engine".to_owned()));
        }
    }
    Ok(value)
}

/// Serialization failure, deadlock, or a unique index that caught two writers racing: the second run reads
/// what the first writer left and answers from it.
fn is_repeatable(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|e| e.code());
    matches!(code.as_deref(), Some("40001" | "40P01" | "23505"))
}
