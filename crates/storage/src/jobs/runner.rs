//! The loop that works through the queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::{Claim, Context, Handler, Outcome, rules};
use crate::db::patiently;
use crate::error::{Code, Error, Result};
use crate::runtime::Runtime;
use crate::subjects::in_flight::InFlightGuard;

/// Works on due jobs until the app stops.
pub struct Runner<C> {
    context: Arc<C>,
    handlers: Arc<BTreeMap<&'static str, Arc<dyn Handler<C>>>>,
    slots: Arc<Semaphore>,
    /// Milliseconds that the last job took.
    pace: Arc<AtomicU64>,
}

/// Jobs that take less than this are claimed ahead, many at a time: taking them one by one costs more than doing them.
const QUICK_MILLISECONDS: u64 = 100;
const AHEAD: usize = 4;

impl<C: Context> Runner<C> {
    pub fn new(context: Arc<C>, handlers: Vec<Arc<dyn Handler<C>>>) -> Self {
        let slots = Arc::new(Semaphore::new(context.jobs.concurrency.max(1)));
        let handlers = Arc::new(handlers.into_iter().map(|h| (h.kind(), h)).collect());
        Runner { context, handlers, slots, pace: Arc::new(AtomicU64::new(u64::MAX)) }
    }

    /// Runs until the app is stopping, then lets what is held finish or gives it back.
    pub async fn run(self) {
        for handler in self.handlers.values() {
            if let Err(error) = handler.schedule(&self.context).await {
                tracing::warn!(kind = handler.kind(), %error, "recurring work is not scheduled");
            }
        }
        let mut found = 0;
        while !self.context.stopping.is_cancelled() {
            // Registered before looking, so that work announced in between is not missed.
            let announced = self.context.db.wait_for_work();
            tokio::pin!(announced);
            // It may be there at once, and is not asked again then.
            let is_announced = futures_util::poll!(announced.as_mut()).is_ready();
            found = match self.claim_and_start(found > 0).await {
                Ok(count) => count,
                Err(error) => {
                    tracing::warn!(%error, "jobs could not be claimed");
                    0
                }
            };
            if found == 0 && !is_announced {
                self.rest(announced).await;
            }
        }
        let _all = self
            .slots
            .acquire_many(u32::try_from(self.context.jobs.concurrency.max(1)).unwrap_or(1))
            .await;
    }

    /// Waits for a slot, claims as many jobs as there are slots (more, if they are quick), and starts them.
    async fn claim_and_start(&self, is_busy: bool) -> Result<usize> {
        let free = tokio::select! {
            slot = self.slots.acquire() => slot.map(drop).map(|()| self.slots.available_permits()),
            () = self.context.stopping.cancelled() => return Ok(0),
        };
        let kinds: Vec<&str> = self.handlers.keys().copied().collect();
        let is_quick = self.pace.load(Ordering::Relaxed) < QUICK_MILLISECONDS;
        let ahead = if is_quick { AHEAD * self.context.jobs.concurrency.max(1) } else { 0 };
        let limit = free.unwrap_or(0).max(1) + ahead;
        let claimed = match is_busy {
            true => rules::claim_due(&self.context, &kinds, limit).await?,
            false => rules::claim(&self.context, &kinds, limit).await?,
        };
        let (count, begun) = (claimed.len(), Instant::now());
        // A job claimed ahead that does not get its turn soon is given back: its lease is not extended.
        let soon = Duration::from_secs_f64(self.context.jobs.lease_seconds as f64 / 3.0);
        for job in claimed {
            let slot = tokio::select! {
                biased;
                slot = self.slots.clone().acquire_owned() => slot.ok(),
                () = tokio::time::sleep(soon.saturating_sub(begun.elapsed())) => None,
                () = self.context.stopping.cancelled() => None,
            };
            let Some(slot) = slot else {
                rules::release(&self.context, &job).await?;
                continue;
            };
            let (context, handlers) = (self.context.clone(), self.handlers.clone());
            let pace = self.pace.clone();
            self.context.spawn(async move {
                let begun = Instant::now();
                work(&context, &handlers, job).await;
                let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                pace.store(took, Ordering::Relaxed);
                drop(slot);
            });
        }
        Ok(count)
    }

    /// Waits until work is announced, the poll interval is over, or the app stops.
    async fn rest(&self, announced: impl Future<Output = ()>) {
        let poll = self.context.jobs.poll_seconds as f64;
        let pause = Duration::from_secs_f64(poll * (0.75 + self.context.ids.fraction() / 2.0));
        tokio::select! {
            () = announced => {}
            () = tokio::time::sleep(pause) => {}
            () = self.context.stopping.cancelled() => {}
        }
    }
}

/// Runs one claimed job to its end: closed, failed, given back, or lost.
async fn work<C: Context>(
    context: &Arc<C>,
    handlers: &BTreeMap<&'static str, Arc<dyn Handler<C>>>,
    job: Claim,
) {
    let Some(handler) = handlers.get(job.kind.as_str()) else {
        return;
    };
    // Refused while their erasure begins: the job goes with the person.
    let user_id = job.user_id.as_ref();
    let Ok(person) = user_id.map(|user| context.in_flight.enter(&job.org_id, user)).transpose()
    else {
        return;
    };
    // A database that restarts ends no work: what the handler reads and writes waits for it.
    let patient = patiently(context.stopping.clone(), handler.run(context, &job));
    let result = tokio::select! {
        result = patient => Some(result),
        () = erased(person.as_ref()) => Some(Err(Error::LeaseLost)),
        () = lease_lost(context, &job) => Some(Err(Error::LeaseLost)),
        () = stop_is_pressing(context) => None,
    };
    let (outcome, ended) = match result {
        Some(Ok(Outcome::Closed)) => ("done", Ok(())),
        Some(Ok(Outcome::Done)) => {
            ("done", patiently(context.stopping.clone(), close(context, &job)).await)
        }
        Some(Err(Error::LeaseLost)) => ("lost", Ok(())),
        // Not the job's fault: the attempt does not count.
        Some(Err(error)) if error.is_outage() => ("released", rules::release(context, &job).await),
        Some(Err(error)) => {
            tracing::warn!(kind = job.kind, job_id = job.job_id, attempt = job.attempts, %error, "a job failed");
            ("failed", rules::fail(context, &job, &error).await)
        }
        None => ("released", rules::release(context, &job).await),
    };
    metrics::counter!("evenhand_jobs_ended_total", "kind" => job.kind.clone(), "outcome" => outcome)
        .increment(1);
    if let Err(error) = ended {
        tracing::warn!(kind = job.kind, job_id = job.job_id, %error, "a job's end was not recorded; its lease runs out");
    }
}

async fn close(runtime: &Runtime, job: &Claim) -> Result<()> {
    let input = (job.clone(), runtime.clock.now());
    runtime
        .db
        .write("jobs.finish", input, |tx, (job, now)| Box::pin(rules::finish(tx, job, *now)))
        .await
}

/// Returns when the job's person is being erased.
async fn erased(person: Option<&InFlightGuard>) {
    match person {
        Some(person) => person.cancelled().await,
        None => std::future::pending().await,
    }
}

/// Keeps the lease while the job runs; returns when it is lost, or when the barrier refuses to have it kept.
async fn lease_lost(runtime: &Runtime, job: &Claim) {
    let third = Duration::from_secs_f64((runtime.jobs.lease_seconds as f64 / 3.0).max(0.5));
    let mut pause = third;
    loop {
        tokio::time::sleep(pause).await;
        pause = match rules::extend(runtime, job).await {
            Ok(true) => third,
            Ok(false) => return,
            Err(error) if error.code() == Code::SubjectErased => return,
            // Others may take the job soon after the storage is back.
            Err(_) => third.min(Duration::from_secs(1)),
        };
    }
}

/// Returns when a graceful stop has waited for most of its time.
async fn stop_is_pressing(runtime: &Runtime) {
    runtime.stopping.cancelled().await;
    tokio::time::sleep(runtime.stop_patience.saturating_sub(Duration::from_secs(2))).await;
}

/// Runs a job that the caller claimed itself, as the runner would.
pub async fn drive<C: Context>(context: &Arc<C>, handler: Arc<dyn Handler<C>>, job: Claim) {
    let handlers = BTreeMap::from([(handler.kind(), handler)]);
    work(context, &handlers, job).await;
}

/// Works through everything that is due, one job after the other, and gives how many jobs ran. For tests and
/// for commands that want the work done before they return.
pub async fn run_until_idle<C: Context>(
    context: &Arc<C>,
    handlers: &[Arc<dyn Handler<C>>],
) -> Result<usize> {
    run_until_idle_by(context, handlers, 1).await
}

/// [`run_until_idle`], so many jobs at a time.
pub async fn run_until_idle_by<C: Context>(
    context: &Arc<C>,
    handlers: &[Arc<dyn Handler<C>>],
    at_a_time: usize,
) -> Result<usize> {
    let handlers: BTreeMap<_, _> = handlers.iter().map(|h| (h.kind(), h.clone())).collect();
    let kinds: Vec<&str> = handlers.keys().copied().collect();
    let handlers = Arc::new(handlers);
    let mut ran = 0;
    loop {
        // More than are worked on: who is done early takes the next one.
        let claimed = rules::claim(context, &kinds, 4 * at_a_time.max(4)).await?;
        if claimed.is_empty() {
            return Ok(ran);
        }
        ran += claimed.len();
        // Each is a task of its own, so that all cores work.
        let each = claimed.into_iter().map(|job| {
            let (worker, handlers) = (context.clone(), handlers.clone());
            let work = async move { work(&worker, &handlers, job).await };
            AbortOnDropHandle::new(context.spawn(work))
        });
        for done in stream::iter(each).buffer_unordered(at_a_time).collect::<Vec<_>>().await {
            done.map_err(|e| Error::Internal(format!("a job ended badly: {e}")))?;
        }
    }
}
