//! One provider's limits: calls at once, requests and tokens a minute, and "not before" when the provider said so.
//! Waiting never holds a slot.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

pub struct Limiter {
    slots: Semaphore,
    concurrency: usize,
    state: Mutex<State>,
}

struct State {
    requests: Bucket,
    tokens: Bucket,
    /// The provider asked for silence until then.
    not_before: Option<Instant>,
}

/// A token bucket that holds a minute's worth. A rate of 0 is no limit.
struct Bucket {
    per_minute: f64,
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    fn new(per_minute: u64, now: Instant) -> Self {
        #[allow(clippy::cast_precision_loss)]
        let per_minute = per_minute as f64;
        Bucket { per_minute, level: per_minute, filled_at: now }
    }

    /// Wait until the bucket holds `amount`.
    fn wait(&mut self, amount: f64, now: Instant) -> Duration {
        if self.per_minute <= 0.0 {
            return Duration::ZERO;
        }
        let gained = now.duration_since(self.filled_at).as_secs_f64() * self.per_minute / 60.0;
        self.level = (self.level + gained).min(self.per_minute);
        self.filled_at = now;
        // More than a minute's worth can never be there: a full bucket has to do.
        let missing = amount.min(self.per_minute) - self.level;
        // Rounding must not ask for a wait that changes nothing.
        if missing <= 1e-6 {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(missing * 60.0 / self.per_minute) + Duration::from_millis(1)
    }

    fn take(&mut self, amount: f64) {
        self.level -= amount;
    }
}

impl Limiter {
    pub fn new(concurrency: usize, requests_per_minute: u64, tokens_per_minute: u64) -> Self {
        let now = Instant::now();
        Limiter {
            slots: Semaphore::new(concurrency.max(1)),
            concurrency: concurrency.max(1),
            state: Mutex::new(State {
                requests: Bucket::new(requests_per_minute, now),
                tokens: Bucket::new(tokens_per_minute, now),
                not_before: None,
            }),
        }
    }

    /// Waits for one request of `tokens` to be allowed, then for a slot. Gives the wait back as an error when the
    /// provider asked for more silence than `patience`.
    pub async fn enter(
        &self,
        tokens: u64,
        patience: Duration,
    ) -> Result<SemaphorePermit<'_>, Duration> {
        #[allow(clippy::cast_precision_loss)]
        let tokens = tokens as f64;
        let mut counted = false;
        loop {
            let wait = self.wait(tokens, patience, &mut counted)?;
            if !wait.is_zero() {
                sleep(wait).await;
                continue;
            }
            // The semaphore is never closed.
            let Ok(slot) = self.slots.acquire().await else {
                return Err(patience);
            };
            // The provider may have asked for silence while this call waited for its slot.
            if self.silence().is_zero() {
                return Ok(slot);
            }
        }
    }

    fn wait(
        &self,
        tokens: f64,
        patience: Duration,
        counted: &mut bool,
    ) -> Result<Duration, Duration> {
        let silence = self.silence();
        if silence > patience {
            return Err(silence);
        }
        if !silence.is_zero() || *counted {
            return Ok(silence);
        }
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = state.requests.wait(1.0, now).max(state.tokens.wait(tokens, now));
        if wait.is_zero() {
            state.requests.take(1.0);
            state.tokens.take(tokens);
            *counted = true;
        }
        Ok(wait)
    }

    fn silence(&self) -> Duration {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let until = state.not_before.map(|at| at.saturating_duration_since(Instant::now()));
        until.unwrap_or_default()
    }

    /// Nobody calls before `after` has passed.
    pub fn hold_back(&self, after: Duration) {
        let until = Instant::now() + after;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.not_before = Some(state.not_before.map_or(until, |at| at.max(until)));
    }

    /// Calls under way.
    pub fn in_use(&self) -> usize {
        self.concurrency - self.slots.available_permits().min(self.concurrency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn requests_and_tokens_a_minute_are_kept() {
        let limiter = Limiter::new(100, 60, 0);
        let start = Instant::now();
        for _ in 0..90 {
            let _slot = limiter.enter(10, PATIENCE).await.unwrap();
        }
        let took = start.elapsed().as_secs_f64();
        assert!((29.0..33.0).contains(&took), "60 at once, 30 more at one a second: {took}");

        let limiter = Limiter::new(100, 0, 6000);
        let start = Instant::now();
        for _ in 0..3 {
            let _slot = limiter.enter(4000, PATIENCE).await.unwrap();
        }
        let took = start.elapsed().as_secs_f64();
        assert!((58.0..64.0).contains(&took), "12000 tokens, 6000 of them at once: {took}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_larger_than_a_minute_waits_for_a_full_bucket_not_for_ever() {
        let limiter = Limiter::new(1, 0, 1000);
        for _ in 0..2 {
            let entered =
                tokio::time::timeout(Duration::from_secs(400), limiter.enter(5000, PATIENCE));
            assert!(entered.await.unwrap().is_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_kept_without_a_slot_and_long_silence_is_given_back() {
        let limiter = Limiter::new(1, 0, 0);
        limiter.hold_back(Duration::from_secs(20));
        let start = Instant::now();
        let enter = limiter.enter(1, PATIENCE);
        tokio::pin!(enter);
        assert!(tokio::time::timeout(Duration::from_secs(10), &mut enter).await.is_err());
        assert_eq!(limiter.in_use(), 0);
        let slot = enter.await.unwrap();
        assert!(start.elapsed() >= Duration::from_secs(20));
        assert_eq!(limiter.in_use(), 1);
        drop(slot);
        limiter.hold_back(Duration::from_secs(3600));
        assert!(limiter.enter(1, PATIENCE).await.unwrap_err() > Duration::from_secs(3000));
    }
}
