//! The lease queue: work that must happen even if the process dies.
//!
//! - A job is `open` until it is `done`, `dead` or `cancelled`. "Leased" is not a state: a crash needs no
//!   repair, the lease simply ends. Attempts are counted at the claim, so crashes count; past the maximum the
//!   job is dead with its reason.
//! - Enqueue in the transaction that makes the work necessary ([`enqueue`]). Claim in a short transaction, work
//!   outside any, and close the job in the transaction that writes the result ([`finish`]), guarded by the
//!   lease's token: a worker that lost its lease cannot write.
//! - An open job with a dedupe key is unique; enqueueing again moves it ([`OnDuplicate::Move`]). A move that
//!   arrives while the job runs is not lost: the job opens again when the worker finishes.
//! - A job that gathers ([`gather`]) adds up what enqueueing brings and is due when it is enough. Its worker takes a
//!   part, and says in the same transaction how it goes on ([`go_on`], [`finish_anyway`]).
//! - A parent is a job whose children carry its id; its progress is counted from them ([`children`]).

mod prune;
mod recurring;
mod rules;
mod runner;
mod sql;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::db::{Changes, Subject};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::subjects::SubjectWrite;
use base::owner::{OrgId, UserId};

pub use recurring::Recurring;
pub use rules::{
    NewChild, add_finish, cancel, cancel_children, child_costs, children, claim, claim_one,
    close_child, dead, enqueue, enqueue_children, extend, fail, failed_children, find, finish,
    finish_anyway, gather, give_up, go_on, hold, is_due, latest, lock_held, newest, oldest_due_age,
    oldest_due_age_of, open_children, plan, postpone, record_gauges, release, remember, retry,
    summary,
};
pub use runner::{Runner, drive, run_until_idle, run_until_idle_by};
pub(crate) use sql::END_LEASES;

/// Work to be enqueued.
pub struct NewJob<'a> {
    pub kind: &'static str,
    pub org_id: &'a OrgId,
    /// The person whose data the work touches; it ends with them.
    pub subject: Option<&'a SubjectWrite>,
    pub parent_id: Option<&'a str>,
    pub payload: Value,
    pub dedupe_key: Option<String>,
    pub on_duplicate: OnDuplicate,
    pub run_at: i64,
    pub max_attempts: i64,
}

/// An enqueueing that is decided and goes with other changes in one hand-over; a duplicate is moved.
#[derive(Clone, Serialize)]
pub struct Planned {
    job_id: String,
    org_id: OrgId,
    /// That of the organization for its own work.
    subject: Subject,
    epoch: Option<i64>,
    kind: &'static str,
    payload: Value,
    dedupe_key: String,
    run_at: i64,
    max_attempts: i64,
    now: i64,
    /// The weight that is added to a job that gathers.
    weight: i64,
    #[serde(skip)]
    gathering: Option<Gathering>,
}

impl Planned {
    /// Adds the statements of enqueueings to a list of changes: those that move in one, those that gather in one for
    /// each way of gathering. All are in the order of their keys, so that two lists do not wait for each other in a
    /// circle.
    pub fn add_all(planned: &[Planned], changes: &mut Changes<'_>) -> Result<()> {
        let mut alike: BTreeMap<Option<Gathering>, BTreeMap<_, Planned>> = BTreeMap::new();
        for one in planned {
            let key = (&one.org_id, one.kind, one.dedupe_key.as_str());
            let others = alike.entry(one.gathering).or_default();
            let both = others.remove(&key).map_or_else(|| one.clone(), |first| first.and(one));
            others.insert(key, both);
        }
        for (gathering, planned) in &alike {
            let planned: Vec<&Planned> = planned.values().collect();
            match gathering {
                Some(gathering) => sql::add_gathers(changes, &planned, *gathering)?,
                None => sql::add_moves(changes, &planned)?,
            }
        }
        Ok(())
    }

    /// This enqueueing and a later one of the same job.
    fn and(&self, later: &Planned) -> Planned {
        let weight = self.weight + later.weight;
        let is_enough = self.gathering.is_some_and(|gathering| weight >= gathering.enough);
        let run_at = if is_enough { later.now } else { later.run_at };
        Planned { weight, run_at, ..later.clone() }
    }
}

/// Batching of a job: enqueueing adds weight, and the job is due when it has enough, or at its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gathering {
    /// Due at once from this weight on.
    pub enough: i64,
    /// Takes the new payload; otherwise the open job keeps its own.
    pub speaks: bool,
    /// Also moves a job that waits after a failure, which otherwise keeps its time.
    pub insists: bool,
}

/// The treatment of a new job when an open one has the same kind and dedupe key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Take the new time and payload.
    Move,
    /// Leave it as it is.
    Keep,
}

/// A job that this worker holds.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Claim {
    pub job_id: String,
    pub org_id: OrgId,
    /// That of the organization for its own work.
    subject: Subject,
    pub user_id: Option<UserId>,
    pub epoch: Option<i64>,
    pub kind: String,
    pub parent_id: Option<String>,
    pub payload: sqlx::types::Json<Value>,
    pub run_at: i64,
    pub attempts: i64,
    pub max_attempts: i64,
    pub lease_token: String,
    moves: i64,
}

impl Claim {
    /// The payload the job was enqueued with. Returned from a handler, the error ends the job as dead.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        read(&self.payload, &self.kind)
    }
}

/// An unreadable payload is not quoted: it may hold personal data.
fn read<T: DeserializeOwned>(payload: &Value, kind: &str) -> Result<T> {
    T::deserialize(payload).map_err(|_| Error::UnreadablePayload(kind.to_owned()))
}

/// A payload as it is stored. One that JSON cannot hold becomes null, which ends the job as dead when it is read.
pub fn stored<T: Serialize>(payload: &T) -> Value {
    serde_json::to_value(payload).unwrap_or_default()
}

/// A held job as it is now, locked until the transaction ends.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct HeldJob {
    pub payload: sqlx::types::Json<Value>,
    pub weight: i64,
    moves: i64,
}

impl HeldJob {
    /// True if it was enqueued again since it was claimed.
    pub fn was_moved_since(&self, claim: &Claim) -> bool {
        self.moves != claim.moves
    }
}

/// Next run of a held job.
pub struct GoOn<'a> {
    pub run_at: i64,
    pub weight: i64,
    pub payload: Value,
    /// Error for which it waits, if something failed.
    pub error: Option<&'a str>,
}

base::vocabulary! {
    /// State of a job.
    pub enum JobState {
        Open = "open",
        Done = "done",
        /// It used up its attempts, or gave up.
        Dead = "dead",
        Cancelled = "cancelled",
    }
}

base::vocabulary! {
    /// State of a job in the queue.
    pub enum QueueState {
        /// Not due yet.
        Waiting = "waiting",
        Due = "due",
        Running = "running",
        Done = "done",
        Dead = "dead",
        Cancelled = "cancelled",
    }
}

/// A job as others see it.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct JobView {
    pub job_id: String,
    pub state: JobState,
    pub run_at: i64,
    pub attempts: i64,
    pub lease_until: Option<i64>,
    pub last_error: Option<String>,
    pub finished_at: Option<i64>,
}

/// A job with what it remembers, as those who started it see it.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct StartedJob {
    pub state: JobState,
    pub created_at: i64,
    pub finished_at: Option<i64>,
    pub last_error: Option<String>,
    payload: sqlx::types::Json<Value>,
}

impl StartedJob {
    /// Payload of a job of this kind.
    pub fn payload<T: DeserializeOwned>(&self, kind: &str) -> Result<T> {
        read(&self.payload, kind)
    }
}

/// An open child, for the parent that works on it.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Child {
    pub job_id: String,
    pub(crate) subject: Subject,
    pub user_id: Option<UserId>,
    pub epoch: Option<i64>,
    pub kind: String,
    pub payload: sqlx::types::Json<Value>,
}

impl Child {
    /// Payload of the child.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T> {
        read(&self.payload, &self.kind)
    }
}

/// Numbers of a parent's children by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Children {
    pub open: i64,
    pub done: i64,
    pub dead: i64,
    pub cancelled: i64,
}

/// One line of the operators' summary.
#[derive(Debug, Serialize, sqlx_macros::FromRow, utoipa::ToSchema)]
pub struct JobCount {
    pub kind: String,
    pub state: QueueState,
    pub count: i64,
}

/// A job that gave up: nothing of the person it may have been about.
#[derive(Debug, Serialize, sqlx_macros::FromRow, utoipa::ToSchema)]
pub struct DeadJob {
    pub job_id: String,
    pub kind: String,
    pub attempts: i64,
    /// Reason of the last attempt's failure, in the server's own words.
    pub last_error: Option<String>,
    pub created_at: i64,
    /// When it gave up.
    pub finished_at: i64,
}

/// The context of handlers: the runtime, and whatever the program above adds to it.
pub trait Context: std::ops::Deref<Target = Runtime> + Send + Sync + 'static {}

impl<C: std::ops::Deref<Target = Runtime> + Send + Sync + 'static> Context for C {}

/// The end of a handler's run.
pub enum Outcome {
    /// The handler called [`finish`] in the transaction that wrote its result.
    Closed,
    /// There was nothing to write; the runner closes the job.
    Done,
}

/// Knows how to do one kind of work in a context `C`. Must be safe to run again after a crash in the middle.
pub trait Handler<C>: Send + Sync {
    fn kind(&self) -> &'static str;
    fn run<'a>(&'a self, context: &'a Arc<C>, job: &'a Claim) -> BoxFuture<'a, Result<Outcome>>;

    /// Called when a runner starts: for work that recurs, or that was missed.
    fn schedule<'a>(&'a self, _context: &'a Arc<C>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// Settings of the queue's workers.
#[derive(Clone, Debug, serde::Deserialize)]
pub struct JobSettings {
    pub concurrency: usize,
    pub lease_seconds: i64,
    pub poll_seconds: u64,
    pub keep_finished_days: i64,
}

/// The handlers of the queue itself.
pub fn handlers<C: Context>() -> Vec<Arc<dyn Handler<C>>> {
    vec![Arc::new(prune::Prune)]
}
