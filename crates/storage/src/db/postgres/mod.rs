//! PostgreSQL: read-committed writes with explicit row locks, repeated when the engine asks for it, or when the
//! connection is lost before the commit.

mod announcements;
mod connections;
mod held;
mod hosts;
mod lent;
mod pooler;
mod statistics;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::{SqlSafeStr as _, SqlStr};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::Typed;
use super::shards::{self, Places, Shard};
use super::{
    Body, Found, Place, Plans, Promise, Reading, SubjectHash, Tx, Work, body, citus, classify,
    typed,
};
use crate::error::{Error, Result};
use base::owner::{OrgId, UserId};
pub(super) use connections::options_of;
use connections::{open, session};
use held::AtPlace;
pub use held::Held;
use hosts::Target;
pub(super) use hosts::{Hosts, is_lost};
pub(super) use lent::Connections;
pub use pooler::Pooler;

const ATTEMPTS: u32 = 6;
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// [`SNAPSHOT`] where a setting holds for a transaction at most.
const SNAPSHOT_WITHOUT_JIT: &str =
    "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL jit = off";
const SNAPSHOT_PLANNED_ONCE: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL plan_cache_mode = force_generic_plan";
const BEGIN: &str = "BEGIN";
const BEGIN_VISIBLE: &str = "BEGIN; SET LOCAL synchronous_commit = off";

/// How long a standby may lag before nobody waits for it any more.
const STANDBY_PATIENCE: Duration = Duration::from_secs(10);

/// The way to PostgreSQL.
#[derive(Clone, Debug)]
pub struct PostgresSettings {
    pub url: String,
    pub connections: u32,
    pub pooler: Pooler,
    /// The way past the pooler, for LISTEN; without one, other replicas' work is found by polling.
    pub direct_url: Option<String>,
    /// A standby for reads that may be a second old.
    pub read_url: Option<String>,
}

#[derive(Clone)]
pub(super) struct Postgres {
    primary: Connections,
    standby: Option<Connections>,
    /// None behind a pooler without a way around it.
    listener: Option<Arc<Target>>,
    keeps_statements: bool,
    /// True if tables are spread over several servers (Citus).
    pub(super) is_spread: bool,
    /// The way past the coordinator, if tables are spread and there is no pooler.
    places: Option<Places>,
    tasks: TaskTracker,
    stop: CancellationToken,
    work: Arc<Notify>,
    subjects: SubjectHash,
}

impl Postgres {
    pub(super) async fn connect(
        settings: &PostgresSettings,
        subjects: SubjectHash,
    ) -> Result<Self> {
        let keeps_statements = settings.pooler == Pooler::None;
        let hosts = Arc::new(Hosts::new(Target::parse(&settings.url, keeps_statements)?));
        let options = hosts.find_patiently().await.map_err(|e| classify(e.into()))?;
        if keeps_statements && pooler::is_there(&options).await.map_err(|e| classify(e.into()))? {
            return Err(Error::Internal(pooler::REFUSAL.to_owned()));
        }
        let is_spread = citus::is_there(&options).await.map_err(|e| classify(e.into()))?;
        let places = (is_spread && keeps_statements)
            .then(|| Places::new(options.clone(), settings.connections));
        let pool = open(&hosts, options, settings.connections, is_spread).await?;
        let standby = match &settings.read_url {
            Some(url) => {
                let hosts = Arc::new(Hosts::new(Target::parse(url, keeps_statements)?));
                // It may be away now and come later.
                let options = match hosts.target.candidates.first() {
                    Some(options) => options.clone(),
                    None => {
                        return Err(Error::Internal(
                            "database.read_url names no server".to_owned(),
                        ));
                    }
                };
                let pool = options_of(&hosts, settings.connections, session(is_spread))
                    .connect_lazy_with(options);
                Some(Connections::new(pool, hosts))
            }
            None => None,
        };
        let listener = match (&settings.direct_url, keeps_statements) {
            (Some(url), _) => Some(url),
            (None, true) => Some(&settings.url),
            (None, false) => None,
        };
        let listener = listener.map(|url| Target::parse(url, true)).transpose()?;
        if listener.is_none() {
            tracing::info!(
                "without database.direct_url, work of other replicas is found by polling"
            );
        }
        let db = Postgres {
            primary: Connections::new(pool, hosts),
            standby,
            listener: listener.map(Arc::new),
            keeps_statements,
            is_spread,
            places,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            work: Arc::new(Notify::new()),
            subjects,
        };
        db.tasks.spawn(db.clone().listen());
        db.tasks.spawn(db.clone().follow_the_primary());
        if !db.is_spread {
            db.tasks.spawn(db.clone().keep_statistics());
        }
        Ok(db)
    }

    pub(super) async fn read(
        &self,
        reading: Reading,
        place: Option<&Place>,
        body: &dyn Body,
    ) -> Result<Found> {
        if let Some(place) = place {
            match self.read_at(place, body).await {
                Err(Error::Storage(cause)) if shards::is_astray(&cause) => {
                    self.leave(&cause, Some(place));
                }
                result => return result.map_err(classify),
            }
        }
        if let (Reading::MayBeOld(_), Some(standby)) = (reading, &self.standby) {
            match self.read_once(standby, reading, body).await {
                Err(Error::Storage(error)) => {
                    // A standby that is away, or whose replay gets in the way of a long read: the primary answers.
                    tracing::debug!(%error, "the standby did not answer");
                    if is_lost(&error) {
                        standby.distrust();
                    }
                }
                result => return result.map_err(classify),
            }
        }
        let mut attempt = 1;
        loop {
            match self.read_once(&self.primary, reading, body).await {
                Err(Error::Storage(error)) if is_lost(&error) => {
                    self.distrust();
                    // A connection that broke while idle shows itself at its first use: a read may go again.
                    if attempt >= 3 || matches!(error, sqlx::Error::PoolTimedOut) {
                        return Err(classify(error.into()));
                    }
                    attempt += 1;
                }
                result => return result.map_err(classify),
            }
        }
    }

    async fn read_at(&self, place: &Place, body: &dyn Body) -> Result<Found> {
        let mut tx = self.begin_at(SNAPSHOT, place.shard()).await?;
        let found = body.run(&mut tx).await?;
        let_go(tx)?;
        Ok(found)
    }

    async fn read_once(
        &self,
        server: &Connections,
        reading: Reading,
        body: &dyn Body,
    ) -> Result<Found> {
        let lent = match reading {
            // A statement that is prepared and run is two steps, between which a pooler may change the connection.
            Reading::OneStatement | Reading::ManyRows if self.keeps_statements => {
                server.lend().await?
            }
            Reading::MayBeOld(Plans::Once) if self.keeps_statements && !self.is_spread => {
                server.begin(SqlStr::from_static(SNAPSHOT_PLANNED_ONCE)).await?
            }
            _ if self.keeps_statements => server.begin(SqlStr::from_static(SNAPSHOT)).await?,
            _ => server.begin(SqlStr::from_static(SNAPSHOT_WITHOUT_JIT)).await?,
        };
        let mut tx = self.tx(Held::new(lent, &self.subjects));
        let found = body.run(&mut tx).await?;
        let_go(tx)?;
        Ok(found)
    }

    fn tx(&self, held: Held) -> Tx {
        let Postgres { keeps_statements, is_spread, .. } = *self;
        Tx::Postgres(Held { keeps_statements, is_spread, ..held })
    }

    pub(super) async fn place_of(&self, org_id: &OrgId, user_id: &UserId) -> Option<Place> {
        let places = self.places.as_ref()?;
        let subject = self.subjects.subject(org_id, user_id);
        match places.find(subject) {
            Ok(place) => place,
            Err(()) => {
                let look = body((), |tx, ()| Box::pin(shards::look(tx)));
                match self.read_typed(Reading::Snapshot, look).await {
                    Ok(found) => places.learn(found),
                    Err(error) => tracing::debug!(%error, "places are not known"),
                }
                places.find(subject).ok().flatten()
            }
        }
    }

    /// What one statement gives now.
    pub(super) async fn read_now<I, T, F>(&self, input: I, work: F) -> Result<T>
    where
        I: Send + Sync,
        T: Send + 'static,
        F: for<'t> Fn(&'t mut Tx, &'t I) -> Work<'t, T> + Send + Sync,
    {
        self.read_typed(Reading::OneStatement, body(input, work)).await
    }

    async fn read_typed<I, T, F>(&self, reading: Reading, body: Typed<I, T, F>) -> Result<T>
    where
        T: 'static,
        Typed<I, T, F>: Body,
    {
        typed(self.read(reading, None, &body).await?)
    }

    /// Runs on a task of its own, so that a caller who goes away does not cut the write short.
    pub(super) async fn write(
        &self,
        promise: Promise,
        mut place: Option<Place>,
        body: Arc<dyn Body>,
    ) -> Result<Found> {
        let db = self.clone();
        let task = self.tasks.spawn(async move {
            let mut attempt = 1;
            loop {
                match db.write_once(promise, place.as_ref(), &*body).await {
                    Err(Failed::Before(Error::Storage(cause)))
                        if place.is_some() && shards::is_astray(&cause) =>
                    {
                        db.leave(&cause, place.take().as_ref());
                    }
                    Err(Failed::Before(Error::Storage(cause)))
                        if attempt < ATTEMPTS && db.is_worth_repeating(&cause) =>
                    {
                        metrics::counter!("evenhand_transaction_retries_total").increment(1);
                        tokio::time::sleep(Duration::from_millis(2 << attempt)).await;
                        attempt += 1;
                    }
                    Err(Failed::Before(error) | Failed::AtCommit(error)) => {
                        if let Error::Storage(cause) = &error
                            && is_lost(cause)
                        {
                            match &place {
                                Some(_) => db.leave(cause, place.as_ref()),
                                None => db.distrust(),
                            }
                        }
                        return Err(classify(error));
                    }
                    Ok(found) => return Ok(found),
                }
            }
        });
        task.await.unwrap_or_else(|_| Err(Error::Internal("a write panicked".to_owned())))
    }

    async fn write_once(
        &self,
        promise: Promise,
        place: Option<&Place>,
        body: &dyn Body,
    ) -> std::result::Result<Found, Failed> {
        let before = Failed::Before;
        let begin = match promise {
            Promise::Durable => BEGIN,
            Promise::Visible => BEGIN_VISIBLE,
        };
        let mut tx = match place {
            Some(place) => self.begin_at(BEGIN, place.shard()).await,
            None => {
                let begun = self.primary.begin(SqlStr::from_static(begin)).await;
                begun.map(|begun| self.tx(Held::new(begun, &self.subjects)))
            }
        }
        .map_err(|e| before(e.into()))?;
        let found = body.run(&mut tx).await.map_err(before)?;
        match tx {
            Tx::Postgres(held) => match held.connection.commit().await {
                Ok(()) => Ok(found),
                // The engine said no, so that nothing is committed; otherwise nobody knows.
                Err(error @ sqlx::Error::Database(_)) => Err(before(error.into())),
                Err(error) => Err(Failed::AtCommit(error.into())),
            },
            Tx::Sqlite(_) => {
                Err(before(Error::Internal("the transaction changed its engine".to_owned())))
            }
        }
    }

    /// A transaction on the server of a shard, which stays there until it ends.
    async fn begin_at(&self, begin: &'static str, shard: &Arc<Shard>) -> sqlx::Result<Tx> {
        #[allow(clippy::disallowed_types)] // a number in a compiled-in text
        let begin = sqlx::AssertSqlSafe(format!("{begin}; SELECT hold_place({})", shard.number));
        let begun = shard.server.begin(begin.into_sql_str()).await?;
        let at = Box::new(AtPlace { shard: shard.clone(), coordinator: self.clone() });
        Ok(Tx::Postgres(Held { at: Some(at), ..Held::new(begun, &self.subjects) }))
    }

    /// After trouble at a place: what is known about places is learned anew.
    fn leave(&self, cause: &sqlx::Error, place: Option<&Place>) {
        tracing::debug!(error = %cause, "over the coordinator");
        metrics::counter!("evenhand_places_left_total").increment(1);
        if let Some(places) = &self.places {
            places.forget();
        }
        if let Some(place) = place {
            place.shard().server.distrust();
        }
    }

    /// Serialization failure, deadlock, or a unique index that caught two writers racing: the second run reads
    /// what the first writer left and answers from it. A connection that was lost is replaced.
    fn is_worth_repeating(&self, error: &sqlx::Error) -> bool {
        if matches!(error, sqlx::Error::PoolTimedOut) {
            return false;
        }
        if is_lost(error) {
            self.distrust();
            return true;
        }
        let code = error.as_database_error().and_then(|e| e.code());
        matches!(code.as_deref(), Some("40001" | "40P01" | "23505"))
    }

    /// Drops the connections there are: the server they lead to is gone, or takes no writes any more.
    fn distrust(&self) {
        self.primary.distrust();
    }

    pub(super) async fn self_check(&self) -> Result<Vec<(String, String)>> {
        let look = body((), |tx, ()| {
            Box::pin(async move {
                let mut problems = Vec::new();
                for (setting, wanted) in [("fsync", "on"), ("full_page_writes", "on")] {
                    let value = setting_of(tx, setting).await?;
                    if value != wanted {
                        let problem =
                            format!("{setting} is {value}: a crash of the server can lose data");
                        problems.push((setting.to_owned(), problem));
                    }
                }
                if setting_of(tx, "synchronous_commit").await? == "off" {
                    problems.push((
                        "synchronous_commit".to_owned(),
                        "is off: an acknowledged write can be lost".to_owned(),
                    ));
                }
                Ok(problems)
            })
        });
        self.read_typed(Reading::Snapshot, look).await
    }

    /// Names and number of the sessions of this database and role that are not this program's, as it calls itself now.
    /// Those that Citus opens for itself do not count.
    pub(super) async fn other_sessions(&self) -> Result<Vec<(String, i64)>> {
        self.read_now((), |tx, ()| {
            Box::pin(async move {
                crate::rows!(
                    tx,
                    (String, i64),
                    "SELECT application_name::text, COUNT(*) FROM pg_stat_activity
                      WHERE datname = current_database() AND usename = current_user
                        AND backend_type = 'client backend' AND application_name NOT LIKE 'citus%'
                        AND application_name <> current_setting('application_name')
                      GROUP BY 1 ORDER BY 1"
                )
            })
        })
        .await
    }

    #[allow(clippy::disallowed_types)] // migrations, and names that are compiled in
    pub(super) async fn outside_transactions(&self, statement: String) -> Result<()> {
        let statement = sqlx::AssertSqlSafe(statement);
        let run = async {
            let mut lent = self.primary.lend().await?;
            sqlx::raw_sql(statement).execute(&mut *lent).await?;
            lent.let_go()
        };
        run.await.map_err(|e: sqlx::Error| classify(e.into()))
    }

    pub(super) async fn await_standby(&self) -> Result<bool> {
        let Some(standby) = &self.standby else { return Ok(true) };
        let ask = body((), |tx, ()| {
            Box::pin(async move {
                crate::row!(tx, (String,), "SELECT pg_current_wal_flush_lsn()::text")
            })
        });
        let written = self.read_typed(Reading::Snapshot, ask).await?;
        let Some((written,)) = written else { return Ok(true) };
        let compare = body(written, |tx, written| {
            Box::pin(async move {
                let sql = "SELECT COALESCE(pg_last_wal_replay_lsn() >= $1::pg_lsn, TRUE)";
                crate::row!(tx, (bool,), sql, written)
            })
        });
        let begun = Instant::now();
        while begun.elapsed() < STANDBY_PATIENCE {
            let has_it = self.read_once(standby, Reading::Snapshot, &compare).await;
            match has_it.and_then(typed) {
                Ok(Some((true,))) => return Ok(true),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the standby did not answer"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(false)
    }

    /// After trouble, asks the servers which of them takes writes now, and leads new connections there.
    async fn follow_the_primary(self) {
        let follow = async {
            loop {
                self.primary.hosts.trouble.notified().await;
                loop {
                    match self.primary.hosts.find().await {
                        Ok(options) => break self.primary.pool.set_connect_options(options),
                        Err(error) => tracing::debug!(%error, "no server takes writes"),
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        };
        self.until_stopped(follow).await;
    }

    async fn until_stopped(&self, work: impl Future<Output = ()>) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = work => {}
        }
    }

    pub(super) async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        if let Some(places) = &self.places {
            places.close().await;
        }
        if let Some(standby) = &self.standby {
            standby.close().await;
        }
        self.primary.close().await;
    }
}

/// Step at which a write failed.
enum Failed {
    /// Nothing was committed.
    Before(Error),
    /// It may have been committed.
    AtCommit(Error),
}

/// Gives back the connection of a read that succeeded.
fn let_go(tx: Tx) -> Result<()> {
    match tx {
        Tx::Postgres(held) => Ok(held.connection.let_go()?),
        Tx::Sqlite(_) => Ok(()),
    }
}

async fn setting_of(tx: &mut Tx, name: &str) -> Result<String> {
    let found = crate::row!(tx, (String,), "SELECT current_setting($1)", name)?;
    Ok(found.map(|(value,)| value).unwrap_or_default())
}
