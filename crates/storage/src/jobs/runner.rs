//! The loop that works through the queue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

use super::{Claim, Context, Handler, Outcome, rules};
use crate::error::{Code, Error, Result};
use crate::runtime::Runtime;
use crate::subjects::in_flight::InFlightGuard;

/// Works on due jobs until the app stops.
pub struct Runner<C> {
    context: Arc<C>,
    handlers: Arc<BTreeMap<&'static str, Arc<dyn Handler<C>>>>,
    slots: Arc<Semaphore>,
}

impl<C: Context> Runner<C> {
    pub fn new(context: Arc<C>, handlers: Vec<Arc<dyn Handler<C>>>) -> Self {
        let slots = Arc::new(Semaphore::new(context.jobs.concurrency.max(1)));
        let handlers = Arc::new(handlers.into_iter().map(|h| (h.kind(), h)).collect());
        Runner { context, handlers, slots }
    }

    /// Runs until the app is stopping, then lets what is held finish or gives it back.
    pub async fn run(self) {
        for handler in self.handlers.values() {
            if let Err(error) = handler.schedule(&self.context).await {
                tracing::warn!(kind = handler.kind(), %error, "recurring work is not scheduled");
            }
        }
        while !self.context.stopping.is_cancelled() {
            // Registered before looking, so that work announced in between is not missed.
            let announced = self.context.db.wait_for_work();
            tokio::pin!(announced);
            let _ = futures_util::poll!(announced.as_mut());
            match self.claim_and_start().await {
                Ok(0) => self.rest(announced).await,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "jobs could not be claimed");
                    self.rest(announced).await;
                }
            }
        }
        let _all = self
            .slots
            .acquire_many(u32::try_from(self.context.jobs.concurrency.max(1)).unwrap_or(1))
            .await;
    }

    /// Waits for a slot, claims as many jobs as there are slots, and starts them.
    async fn claim_and_start(&self) -> Result<usize> {
        let free = tokio::select! {
            slot = self.slots.acquire() => slot.map(drop).map(|()| self.slots.available_permits()),
            () = self.context.stopping.cancelled() => return Ok(0),
        };
        let kinds: Vec<&str> = self.handlers.keys().copied().collect();
        let claimed = rules::claim(&self.context, &kinds, free.unwrap_or(0).max(1)).await?;
        let count = claimed.len();
        for job in claimed {
            let Ok(slot) = self.slots.clone().acquire_owned().await else {
                break;
            };
            let (context, handlers) = (self.context.clone(), self.handlers.clone());
            self.context.spawn(async move {
                work(&context, &handlers, job).await;
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
    let result = tokio::select! {
        result = handler.run(context, &job) => Some(result),
        () = erased(person.as_ref()) => Some(Err(Error::LeaseLost)),
        () = lease_lost(context, &job) => Some(Err(Error::LeaseLost)),
        () = stop_is_pressing(context) => None,
    };
    let (outcome, ended) = match result {
        Some(Ok(Outcome::Closed)) => ("done", Ok(())),
        Some(Ok(Outcome::Done)) => ("done", close(context, &job).await),
        Some(Err(Error::LeaseLost)) => ("lost", Ok(())),
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
    loop {
        tokio::time::sleep(third).await;
        match rules::extend(runtime, job).await {
            Ok(false) => return,
            Err(error) if error.code() == Code::SubjectErased => return,
            _ => {}
        }
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
