//! Waiting through an outage of the storage.
//!
//! A request that finds the storage away is answered at once, and its client tries again. Background work has nobody
//! who would: what it paid for (a verdict, half an erasure) must not be thrown away because a database restarts. Inside
//! [`patiently`], reads and writes are repeated until the storage answers.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result};

/// Outages beyond this are handed to the caller after all.
const LONGEST: Duration = Duration::from_secs(15 * 60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

tokio::task_local! {
    /// Cancelled when the waiting ends.
    static UNTIL: CancellationToken;
}

/// Runs `work` so that its reads and writes wait through outages, until `stop` is cancelled.
pub async fn patiently<F: Future>(stop: CancellationToken, work: F) -> F::Output {
    UNTIL.scope(stop, work).await
}

/// Hands the patience of this task on to a future that runs on another one.
pub fn as_patient<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let until = UNTIL.try_with(Clone::clone).ok();
    async move {
        match until {
            Some(until) => UNTIL.scope(until, work).await,
            None => work.await,
        }
    }
}

/// Repeats `attempt` as long as the storage is away and this task is patient.
pub(super) async fn outlast<T, F: Future<Output = Result<T>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T> {
    let Ok(until) = UNTIL.try_with(Clone::clone) else {
        return attempt().await;
    };
    let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let result = attempt().await;
        let goes_on = begun.elapsed() < LONGEST && !until.is_cancelled();
        if !goes_on || !result.as_ref().is_err_and(Error::is_outage) {
            return result;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = until.cancelled() => {}
        }
        pause = (2 * pause).min(LONGEST_PAUSE);
    }
}
