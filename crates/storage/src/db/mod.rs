//! Storage: one SQL text, two drivers.
//!
//! Areas reach the database through [`Db::read`] and [`Db::write`] only. Both run a named transaction: it is
//! timed and counted under its name, reads see one snapshot, writes are durable when they return, and a write
//! once handed over runs to its end whether or not the caller still waits. What differs between the engines
//! lives in `dialect.rs`, in `sqlite/` (one writer, shared commits) and in `postgres/` (retries).

mod body;
mod changes;
pub mod citus;
mod dialect;
mod locks;
pub mod migrations;
mod patience;
mod postgres;
mod presence;
mod scrub;
mod shards;
mod sqlite;
mod statements;
mod subject;
mod upkeep;

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Code, Error, Result};
use base::owner::{OrgId, UserId};
pub use base::words::TextTerm;
use body::{Body, Found, body, typed};
pub use changes::{Changes, Value};
pub use dialect::{
    Engine, Objects, Sequence, TextSink, WALL_MESSAGE, checked, composed, like_pattern,
    statements_sent,
};
pub use patience::{as_patient, patiently};
use postgres::Held;
pub use postgres::{Pooler, PostgresSettings};
pub use shards::Place;
use sqlite::OnSqlite;
pub use statements::{Arguments, BindOrganization, BindUser, BindValue, Bound, Decode};
pub use subject::{Subject, SubjectHash};

/// A transaction of either engine. SQL runs on it through the [`rows!`](crate::rows), [`row!`](crate::row)
/// and [`run!`](crate::run) macros.
pub enum Tx {
    Sqlite(OnSqlite),
    Postgres(Held),
}

/// The future of a transaction's body.
pub type Work<'t, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 't>>;

/// The storage of one installation. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    storage: Storage,
    /// Time of the last committed write; None after one that failed, and before the first.
    last_commit: Arc<Mutex<Option<Instant>>>,
    /// Time of the last read or write that found the storage away.
    last_outage: Arc<Mutex<Option<Instant>>>,
}

#[derive(Clone, Copy)]
enum Reading {
    Snapshot,
    OneStatement,
    /// One statement that may read for some milliseconds.
    ManyRows,
    /// A snapshot that may be a second old: of a standby, if there is one.
    MayBeOld(Plans),
}

/// How often PostgreSQL plans the statements of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plans {
    /// For the parameters of each call, while that pays.
    ByParameters,
    /// Once for every connection, whatever the parameters.
    Once,
}

/// The promise of a write that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// It survives a crash of the database.
    Durable,
    /// It is there for everybody, and may be lost in a crash of the database.
    Visible,
}

#[derive(Clone)]
enum Storage {
    None,
    Sqlite(Box<sqlite::Sqlite>),
    Postgres(Box<postgres::Postgres>),
}

impl Db {
    /// No storage at all: every call answers `storage_not_configured`.
    pub fn none() -> Self {
        Self::on(Storage::None)
    }

    /// Opens (and makes, if it is not there) the SQLite file. If nobody else has it open, leases of processes that
    /// were killed are ended.
    pub async fn sqlite(
        file: &std::path::Path,
        readers: u32,
        subjects: SubjectHash,
    ) -> Result<Self> {
        let open = sqlite::Sqlite::open(file, readers, subjects, crate::jobs::END_LEASES);
        Ok(Self::on(Storage::Sqlite(Box::new(open.await?))))
    }

    pub async fn postgres(settings: &PostgresSettings, subjects: SubjectHash) -> Result<Self> {
        let connect = postgres::Postgres::connect(settings, subjects);
        Ok(Self::on(Storage::Postgres(Box::new(connect.await?))))
    }

    fn on(storage: Storage) -> Self {
        Db { storage, last_commit: Arc::default(), last_outage: Arc::default() }
    }

    pub fn engine(&self) -> Option<Engine> {
        match &self.storage {
            Storage::None => None,
            Storage::Sqlite(_) => Some(Engine::Sqlite),
            Storage::Postgres(_) => Some(Engine::Postgres),
        }
    }

    /// True if tables are spread over several servers (Citus).
    pub fn is_spread(&self) -> bool {
        matches!(&self.storage, Storage::Postgres(db) if db.is_spread)
    }

    /// Runs `work` on one consistent snapshot. Nothing it writes is kept.
    pub fn read<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::Snapshot, None, input, work)
    }

    /// [`Db::read`] of what a person owns, at their place, and of what every server has a copy of; the rest by
    /// [`Tx::read_afar`]. Without a place, or where it cannot be used, it is a read like any other.
    pub fn read_at<I, T, F>(
        &self,
        name: &'static str,
        place: Option<&Place>,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::Snapshot, place, input, work)
    }

    /// [`Db::read`] for `work` that is a single statement: it sees one snapshot without a transaction around it,
    /// and costs a third of one. For what happens on every request.
    pub fn lookup<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::OneStatement, None, input, work)
    }

    /// [`Db::lookup`] of thousands of rows: other work of the thread goes on meanwhile.
    pub fn lookup_many<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::ManyRows, None, input, work)
    }

    /// [`Db::read`] where an answer may be a second old: overviews, lists and exports. `database.read_url` leads it to
    /// a standby; without one, or when that does not answer, it is a read like any other.
    pub fn read_standby<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::MayBeOld(Plans::ByParameters), None, input, work)
    }

    /// [`Db::read_standby`] of statements that take less time than to plan them, whatever their parameters: PostgreSQL
    /// plans each once for every connection. Citus must know the parameters to plan.
    pub fn read_standby_planned<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_as(name, Reading::MayBeOld(Plans::Once), None, input, work)
    }

    async fn read_as<I, T, F>(
        &self,
        name: &'static str,
        reading: Reading,
        place: Option<&Place>,
        input: I,
        work: F,
    ) -> Result<T>
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        typed(self.read_body(name, reading, place, &body(input, work)).await?)
    }

    fn read_body<'a>(
        &'a self,
        name: &'static str,
        reading: Reading,
        place: Option<&'a Place>,
        body: &'a dyn Body,
    ) -> Work<'a, Found> {
        let once = async move || {
            let started = Instant::now();
            let result = match &self.storage {
                Storage::None => Err(no_storage()),
                Storage::Sqlite(db) => db.read(reading, body).await,
                Storage::Postgres(db) => db.read(reading, place, body).await,
            };
            self.note(name, started, &result);
            result
        };
        Box::pin(async move { patience::outlast(|| once()).await })
    }

    /// Runs `work` and commits. When this returns `Ok`, what was written is on disk. `work` may run more than
    /// once (after a serialization failure) and must not have effects outside the transaction.
    pub fn write<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        self.write_as(name, Promise::Durable, None, input, work)
    }

    /// [`Db::write`] for what touches nothing but rows of people at this place, and tables of which every server has a
    /// copy. Without a place, or where it cannot be used, it is a write like any other.
    pub fn write_at<I, T, F>(
        &self,
        name: &'static str,
        place: Option<Place>,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        self.write_as(name, Promise::Durable, place, input, work)
    }

    /// The place of a person's rows; none if all rows are on one server, or all writes go over the coordinator.
    pub async fn place_of(&self, org_id: &OrgId, user_id: &UserId) -> Option<Place> {
        match &self.storage {
            Storage::Postgres(db) => db.place_of(org_id, user_id).await,
            _ => None,
        }
    }

    /// [`Db::write`] for what a crash of the database may undo, such as a lease: PostgreSQL does not wait for its disk.
    pub fn write_soon<I, T, F>(
        &self,
        name: &'static str,
        input: I,
        work: F,
    ) -> impl Future<Output = Result<T>> + Send
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        self.write_as(name, Promise::Visible, None, input, work)
    }

    async fn write_as<I, T, F>(
        &self,
        name: &'static str,
        promise: Promise,
        place: Option<Place>,
        input: I,
        work: F,
    ) -> Result<T>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync + 'static,
    {
        typed(self.write_body(name, promise, place, Arc::new(body(input, work))).await?)
    }

    /// The body is shared with the task that writes: after an outage the same is handed over again.
    fn write_body(
        &self,
        name: &'static str,
        promise: Promise,
        place: Option<Place>,
        body: Arc<dyn Body>,
    ) -> Work<'_, Found> {
        let once = async move || {
            let (started, body) = (Instant::now(), body.clone());
            let result = match &self.storage {
                Storage::None => Err(no_storage()),
                Storage::Sqlite(db) => db.write(body).await,
                Storage::Postgres(db) => db.write(promise, place.clone(), body).await,
            };
            self.note(name, started, &result);
            let mut last_commit = self.last_commit.lock().unwrap_or_else(PoisonError::into_inner);
            match &result {
                Ok(_) => *last_commit = Some(Instant::now()),
                Err(error) if error.is_storage_failure() => *last_commit = None,
                Err(_) => {}
            }
            result
        };
        Box::pin(async move { patience::outlast(|| once()).await })
    }

    fn note(&self, name: &'static str, started: Instant, result: &Result<Found>) {
        record(name, started, result);
        if result.as_ref().is_err_and(Error::is_outage) {
            let mut last = self.last_outage.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(Instant::now());
        }
    }

    /// True if some read or write found the storage away, at most this long ago.
    pub fn was_away_within(&self, period: Duration) -> bool {
        let last = self.last_outage.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|at| at.elapsed() < period)
    }

    /// True if the last write was committed, at most this long ago.
    pub fn committed_within(&self, period: Duration) -> bool {
        let last_commit = self.last_commit.lock().unwrap_or_else(PoisonError::into_inner);
        last_commit.is_some_and(|at| at.elapsed() < period)
    }

    /// Waits until the standby that is read from has what was written so far; false if it does not get there.
    pub async fn await_standby(&self) -> Result<bool> {
        match &self.storage {
            Storage::Postgres(db) => db.await_standby().await,
            _ => Ok(true),
        }
    }

    /// Wakes [`Db::wait_for_work`] in every process on this storage (PostgreSQL) or in this one (SQLite).
    pub async fn announce_work(&self) {
        match &self.storage {
            Storage::None => {}
            Storage::Sqlite(db) => db.work.notify_waiters(),
            Storage::Postgres(db) => db.announce().await,
        }
    }

    /// Returns when some process announced work. A hint only: callers poll behind it.
    pub async fn wait_for_work(&self) {
        match &self.storage {
            Storage::None => std::future::pending().await,
            Storage::Sqlite(db) => db.work.notified().await,
            Storage::Postgres(db) => db.wait().await,
        }
    }

    /// Other users of this database, in words; none if this program is alone. On PostgreSQL sessions under the name that this
    /// program gave its own count as its own.
    pub async fn others(&self) -> Result<Option<String>> {
        match &self.storage {
            Storage::None => Ok(None),
            Storage::Sqlite(db) => {
                let has_others = db.presence.has_others();
                let has_others = has_others.map_err(|e| Error::Internal(e.to_string()))?;
                Ok(has_others.then(|| "another process has the database open".to_owned()))
            }
            Storage::Postgres(db) => {
                let sessions = db.other_sessions().await?;
                let named: Vec<String> =
                    sessions.iter().map(|(name, count)| format!("{count} of {name:?}")).collect();
                Ok((!named.is_empty())
                    .then(|| format!("sessions are connected: {}", named.join(", "))))
            }
        }
    }

    /// Finishes the writes under way and closes all connections.
    pub async fn close(&self) {
        match &self.storage {
            Storage::None => {}
            Storage::Sqlite(db) => db.close().await,
            Storage::Postgres(db) => db.close().await,
        }
    }
}

fn no_storage() -> Error {
    Error::refused(
        Code::StorageNotConfigured,
        "This server was started with --storage none; start it with --data-dir or --database-url.",
    )
}

fn record(name: &'static str, started: Instant, result: &Result<Found>) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(Error::Refused { .. }) => "refused",
        Err(_) => "error",
    };
    metrics::histogram!("evenhand_transaction_seconds", "name" => name, "outcome" => outcome)
        .record(started.elapsed().as_secs_f64());
}

/// Turns what a driver reports into what a caller can act on.
fn classify(error: Error) -> Error {
    let Error::Storage(cause) = &error else {
        return error;
    };
    if dialect::refused_by_wall(cause) {
        return Error::refused(
            Code::SubjectErased,
            "This user is being erased or was erased; nothing is written for them.",
        );
    }
    if dialect::is_unavailable(cause) {
        tracing::warn!(error = %cause, "storage is not reachable");
        return Error::unavailable("The storage engine does not answer; try again shortly.", 1);
    }
    error
}

/// Rows that came as one text from `{json_rows:…}`, their columns in the order of the fields.
pub fn listed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Result<Vec<T>> {
    serde_json::from_str(text)
        .map_err(|e| Error::Internal(format!("a statement gave odd rows: {e}")))
}

/// A column of such rows that holds JSON, `CAST(… AS TEXT)`.
pub fn json_text<'de, T, D>(deserializer: D) -> std::result::Result<T, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let text: Option<std::borrow::Cow<'de, str>> = serde::Deserialize::deserialize(deserializer)?;
    serde_json::from_str(text.as_deref().unwrap_or("null")).map_err(serde::de::Error::custom)
}

/// A column of such rows that holds JSON: a text on SQLite, a value on PostgreSQL.
pub fn json_column<'de, T, D>(deserializer: D) -> std::result::Result<T, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: serde::Deserializer<'de>,
{
    let value: serde_json::Value = serde::Deserialize::deserialize(deserializer)?;
    match value {
        serde_json::Value::String(text) => serde_json::from_str(&text),
        value => serde_json::from_value(value),
    }
    .map_err(serde::de::Error::custom)
}

/// A column of such rows that is true or false, which SQLite gives as 1 or 0.
pub fn flag<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<bool, D::Error> {
    let value: serde_json::Value = serde::Deserialize::deserialize(deserializer)?;
    Ok(value == true || value == 1)
}
