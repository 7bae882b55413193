//! Call discipline of a judge: its provider's rate limits, retries after transient failures, no calls while
//! it is paused or the budget is spent.
//!
//! - No slot is held while anything waits: for a limit, for `Retry-After` or between two attempts.
//! - A refused key, an empty account or an unknown model pause the judge with that reason. While it is paused,
//!   one call at a time goes through every [`Limits::probe_after`] to see whether the cause is gone.
//! - Every call is paid for, also one whose answer was of no use: then at its estimate.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::budget::Budget;
use super::limiter::Limiter;
use super::prices::PriceTable;
use super::{BlockReason, Call, Consent, Judge, JudgeAnswer, JudgeError, JudgeState, Usage};
use base::clock::Clock;
use base::ids::Ids;

/// Concurrency, rate, timeout and retry limits of a provider.
#[derive(Clone, Debug)]
pub struct Limits {
    pub concurrency: usize,
    /// 0 means no limit.
    pub requests_per_minute: u64,
    /// 0 means no limit.
    pub tokens_per_minute: u64,
    /// Timeout of one call.
    pub timeout: Duration,
    /// Calls for one judgement, the first included.
    pub attempts: u32,
    /// The longest a judgement waits for the provider; more is given back to the caller.
    pub patience: Duration,
    pub probe_after: Duration,
    /// US dollars a day; 0 means no limit.
    pub daily_budget_usd: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            concurrency: 4,
            requests_per_minute: 0,
            tokens_per_minute: 0,
            timeout: Duration::from_secs(60),
            attempts: 4,
            patience: Duration::from_secs(60),
            probe_after: Duration::from_secs(60),
            daily_budget_usd: 0.0,
        }
    }
}

/// A judge with its provider's discipline around it.
pub struct Discipline {
    judge: Arc<dyn Judge>,
    limits: Limits,
    limiter: Limiter,
    budget: Budget,
    prices: PriceTable,
    clock: Clock,
    ids: Ids,
    started_at: i64,
    paused: Mutex<Option<Pause>>,
}

#[derive(Clone, Copy)]
struct Pause {
    reason: BlockReason,
    since: i64,
    /// Time of the next probe call.
    probe_at: Instant,
}

/// An answer and what it took.
#[derive(Clone, Debug)]
pub struct Done {
    pub answer: JudgeAnswer,
    /// Calls made, failed ones included.
    pub attempts: u32,
    /// Of all calls; nothing if the model is unpriced.
    pub cost_usd: Option<f64>,
}

async fn withdrawn(consent: Option<&dyn Consent>) {
    match consent {
        Some(consent) => consent.withdrawn().await,
        None => std::future::pending().await,
    }
}

impl Discipline {
    pub fn new(
        judge: Arc<dyn Judge>,
        limits: Limits,
        prices: PriceTable,
        clock: Clock,
        ids: Ids,
    ) -> Self {
        Discipline {
            limiter: Limiter::new(
                limits.concurrency,
                limits.requests_per_minute,
                limits.tokens_per_minute,
            ),
            budget: Budget::new(clock.clone(), limits.daily_budget_usd),
            judge,
            limits,
            prices,
            started_at: clock.now(),
            clock,
            ids,
            paused: Mutex::new(None),
        }
    }

    pub fn judge(&self) -> &dyn Judge {
        self.judge.as_ref()
    }

    /// Calls under way.
    pub fn in_use(&self) -> usize {
        self.limiter.in_use()
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Cost of a call in US dollars; `None` if the model is unpriced. Rules cost nothing.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<f64> {
        if !self.judge.reads_text() {
            return Some(0.0);
        }
        let price = self.prices.find(model).or_else(|| self.prices.find(self.judge.label()));
        price.map(|price| price.cost(usage))
    }

    pub fn state(&self) -> JudgeState {
        if let Some(pause) = *self.pause() {
            return JudgeState::Paused { reason: pause.reason, since: pause.since };
        }
        if self.is_unpriced() {
            return JudgeState::Paused { reason: BlockReason::Unpriced, since: self.started_at };
        }
        if self.budget.is_spent() {
            // Spent somewhere between midnight and now.
            let midnight = self.clock.now().div_euclid(86_400) * 86_400;
            return JudgeState::Paused { reason: BlockReason::BudgetSpent, since: midnight };
        }
        JudgeState::Running
    }

    /// Calls the judge until there is an answer or no use in going on.
    pub async fn call(
        &self,
        call: &Call,
        consent: Option<&dyn Consent>,
    ) -> Result<Done, JudgeError> {
        let mut call = call.clone();
        let (mut attempts, mut cost, mut widened) = (0, Some(0.0), false);
        let mut left_out = 0;
        loop {
            let result = self.once(&call, consent, &mut cost, &mut attempts).await;
            let error = match result {
                Ok(answer) => return Ok(Done { answer, attempts, cost_usd: cost }),
                Err(error) => error,
            };
            match error {
                JudgeError::Truncated if !widened => {
                    widened = true;
                    call.max_output_tokens = call.max_output_tokens.saturating_mul(2);
                }
                // The judge leaves out what the server does not know from now on: a schema, a temperature.
                JudgeError::Unsupported { .. } if left_out < 2 => left_out += 1,
                JudgeError::Transient { after } | JudgeError::RateLimited { after }
                    if attempts < self.limits.attempts =>
                {
                    let asked = after.unwrap_or_default();
                    let wait =
                        asked.mul_f64(1.0 + self.ids.fraction() / 10.0).max(self.backoff(attempts));
                    if wait > self.limits.patience {
                        return Err(error);
                    }
                    sleep(wait).await;
                }
                error => return Err(error),
            }
        }
    }

    /// One call, in a slot of its own that it gives back at once.
    async fn once(
        &self,
        call: &Call,
        consent: Option<&dyn Consent>,
        cost: &mut Option<f64>,
        attempts: &mut u32,
    ) -> Result<JudgeAnswer, JudgeError> {
        self.gate()?;
        let consent = consent.filter(|_| self.judge.is_elsewhere());
        let room = u64::from(call.max_output_tokens);
        let most = Usage { input_tokens: call.input_tokens, output_tokens: room };
        let reserved = self.reserve(most)?;
        let (answer, timed_out) = {
            let tokens = call.input_tokens + room;
            let entered = self.limiter.enter(tokens, self.limits.patience).await;
            let _slot = entered.map_err(|after| JudgeError::RateLimited { after: Some(after) })?;
            // As late as can be: while this waited, the person may have been erased.
            if let Some(consent) = consent
                && !consent.is_given().await
            {
                return Err(JudgeError::Withdrawn);
            }
            *attempts += 1;
            let answered = async {
                tokio::select! {
                    answer = self.judge.call(call) => answer,
                    () = withdrawn(consent) => Err(JudgeError::Withdrawn),
                }
            };
            match timeout(self.limits.timeout, answered).await {
                Ok(answer) => (answer, false),
                Err(_) => (Err(JudgeError::Transient { after: None }), true),
            }
        };
        let spent = match &answer {
            Ok(answer) => self.cost(&answer.model, answer.usage),
            // It may have read everything before we hung up.
            Err(error) if timed_out || matches!(error, JudgeError::Withdrawn) => {
                self.cost(self.judge.label(), Usage { output_tokens: 0, ..most })
            }
            // A call that was refused costs nothing.
            Err(_) => Some(0.0),
        };
        let answer = answer.and_then(|answer| match answer.problem {
            Some(problem) => Err(problem),
            None => Ok(answer),
        });
        let outcome = answer.as_ref().map_or_else(JudgeError::code, |_| "ok");
        metrics::counter!("evenhand_judge_calls_total",
            "provider" => self.judge.provider().to_owned(), "kind" => call.input.kind().as_str(),
            "outcome" => outcome)
        .increment(1);
        reserved.settle(spent.unwrap_or(0.0));
        *cost = cost.zip(spent).map(|(before, now)| before + now);
        match &answer {
            Ok(answer) => {
                metrics::histogram!("evenhand_judge_call_seconds",
                    "provider" => self.judge.provider().to_owned())
                .record(answer.latency.as_secs_f64());
                self.resume();
            }
            Err(JudgeError::Blocked { reason }) => self.block(*reason),
            Err(JudgeError::RateLimited { after }) => {
                if let Some(after) = after {
                    self.limiter.hold_back(*after);
                }
            }
            Err(JudgeError::Transient { .. } | JudgeError::NeedsModel | JudgeError::Withdrawn) => {}
            // The provider is there and takes the key.
            Err(_) => self.resume(),
        }
        answer
    }

    /// Lets a call through, unless the judge is paused and nobody needs to look whether it still has to be.
    fn gate(&self) -> Result<(), JudgeError> {
        if self.is_unpriced() {
            return Err(JudgeError::Blocked { reason: BlockReason::Unpriced });
        }
        if let Some(pause) = self.pause().as_mut() {
            let now = Instant::now();
            if pause.reason == BlockReason::KeyMissing || now < pause.probe_at {
                return Err(JudgeError::Blocked { reason: pause.reason });
            }
            // This call is the probe; the others wait for the next one.
            pause.probe_at = now + self.limits.probe_after;
        }
        Ok(())
    }

    fn reserve(&self, most: Usage) -> Result<super::budget::Reservation<'_>, JudgeError> {
        let amount = self.cost(self.judge.label(), most).unwrap_or(0.0);
        let blocked = JudgeError::Blocked { reason: BlockReason::BudgetSpent };
        self.budget.reserve(amount).ok_or(blocked)
    }

    /// A budget cannot be kept with a model nobody knows the price of.
    fn is_unpriced(&self) -> bool {
        self.budget.is_limited() && self.cost(self.judge.label(), Usage::default()).is_none()
    }

    /// Pauses the judge, or keeps it paused.
    pub(super) fn block(&self, reason: BlockReason) {
        let mut paused = self.pause();
        let probe_at = Instant::now() + self.limits.probe_after;
        let same = paused.filter(|pause| pause.reason == reason);
        if same.is_none() {
            tracing::error!(reason = reason.code(), "the judge is paused: {reason}");
        }
        let since = same.map_or_else(|| self.clock.now(), |pause| pause.since);
        *paused = Some(Pause { reason, since, probe_at });
    }

    fn resume(&self) {
        if let Some(pause) = self.pause().take() {
            tracing::info!(was = pause.reason.code(), "the judge works again");
        }
    }

    fn pause(&self) -> MutexGuard<'_, Option<Pause>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Doubles from a second, half of it random, so that those who failed together do not return together.
    fn backoff(&self, attempts: u32) -> Duration {
        let most = 2f64.powi(i32::try_from(attempts.min(6)).unwrap_or(6) - 1);
        Duration::from_secs_f64(most * (0.5 + self.ids.fraction() / 2.0))
    }
}
