//! A judge that answers from a script: for tests of everything that can happen to a call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::offline::OfflineJudge;
use super::{BlockReason, Call, Input, Judge, JudgeAnswer, JudgeError, Outcome, Usage};

/// Scripted result of one call.
#[derive(Clone, Debug)]
pub enum Scripted {
    /// This answer.
    Ok(Value),
    /// The verdict of the rules, success where they do not decide and a tie of any two responses: for scripts that are
    /// about something else.
    Rules,
    /// This answer, after a while.
    Slow(Duration, Value),
    /// 429, with `Retry-After` or without.
    TooMany(Option<Duration>),
    /// 500, 529, … A status that pauses the judge does.
    Status(u16),
    Truncated,
    /// No JSON, or not the schema's.
    Malformed,
    Refused,
    /// An answer as a model gives it that was talked round: well-formed, but about other things than were asked.
    Injected,
}

/// Plays its script, then what was set with [`RecordedJudge::then`].
pub struct RecordedJudge {
    script: Mutex<VecDeque<Scripted>>,
    after: Scripted,
    calls: Mutex<Vec<Call>>,
    /// Held by every call that is not answered yet, nor given up.
    under_way: Arc<()>,
    latency: Duration,
    label: String,
}

impl RecordedJudge {
    pub fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        RecordedJudge {
            script: Mutex::new(script.into_iter().collect()),
            after: Scripted::Rules,
            calls: Mutex::default(),
            under_way: Arc::default(),
            latency: Duration::ZERO,
            label: "recorded/scripted".to_owned(),
        }
    }

    /// Sets the result of all calls after the end of the script.
    pub fn then(mut self, after: Scripted) -> Self {
        self.after = after;
        self
    }

    /// Every call takes this long.
    pub fn taking(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The label to be priced and shown under.
    pub fn labelled(mut self, label: &str) -> Self {
        label.clone_into(&mut self.label);
        self
    }

    /// Adds to the script.
    pub fn push(&self, next: Scripted) {
        lock(&self.script).push_back(next);
    }

    /// Number of calls made.
    pub fn count(&self) -> usize {
        lock(&self.calls).len()
    }

    /// Number of calls still awaited.
    pub fn under_way(&self) -> usize {
        Arc::strong_count(&self.under_way) - 1
    }

    /// Every request that left, in order.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.calls).clone()
    }

    async fn play(&self, call: &Call) -> Result<JudgeAnswer, JudgeError> {
        let _under_way = self.under_way.clone();
        lock(&self.calls).push(call.clone());
        let next = lock(&self.script).pop_front().unwrap_or_else(|| self.after.clone());
        if !self.latency.is_zero() {
            tokio::time::sleep(self.latency).await;
        }
        let blocked = |reason| Err(JudgeError::Blocked { reason });
        let json = match next {
            Scripted::Ok(json) => json,
            Scripted::Rules => decided(call).await?,
            Scripted::Slow(wait, json) => {
                tokio::time::sleep(wait).await;
                json
            }
            Scripted::TooMany(after) => return Err(JudgeError::RateLimited { after }),
            Scripted::Status(401 | 403) => return blocked(BlockReason::KeyRefused),
            Scripted::Status(402) => return blocked(BlockReason::PaymentNeeded),
            Scripted::Status(404) => return blocked(BlockReason::ModelNotFound),
            Scripted::Status(_) => return Err(JudgeError::Transient { after: None }),
            Scripted::Truncated => return Ok(self.useless(call, JudgeError::Truncated)),
            Scripted::Malformed => return Ok(self.useless(call, JudgeError::Invalid)),
            Scripted::Refused => return Ok(self.useless(call, JudgeError::Refused)),
            Scripted::Injected => injected(),
        };
        Ok(self.answer(json, Usage { input_tokens: call.input_tokens, output_tokens: 100 }))
    }

    fn answer(&self, json: Value, usage: Usage) -> JudgeAnswer {
        JudgeAnswer {
            json,
            model: self.label.clone(),
            usage,
            usage_is_estimated: false,
            latency: self.latency,
            finish_reason: "stop".to_owned(),
            problem: None,
        }
    }

    /// An answer that has to be paid for, whole room and all.
    fn useless(&self, call: &Call, problem: JudgeError) -> JudgeAnswer {
        let output_tokens = u64::from(call.max_output_tokens);
        let usage = Usage { input_tokens: call.input_tokens, output_tokens };
        JudgeAnswer { problem: Some(problem), ..self.answer(Value::Null, usage) }
    }
}

/// The rules' answer, as a model would give it that always decides.
async fn decided(call: &Call) -> Result<Value, JudgeError> {
    if matches!(call.input, Input::Shadow { .. }) {
        return Ok(serde_json::json!({
            "better_request": "tie", "is_significantly_better": false, "comparison_reason": "",
        }));
    }
    let mut json = OfflineJudge.call(call).await?.json;
    if json["outcome"] == Outcome::Undecided.as_str() {
        json["outcome"] = Outcome::Success.as_str().into();
        json["undecided_reason"] = Value::Null;
    }
    Ok(json)
}

/// Every field any rubric has, with candidates and turns that were never given.
fn injected() -> Value {
    serde_json::json!({
        "reasoning": "As instructed.", "is_success": true, "failure_type": "wrong_answer", "failure_reason": "",
        "number_of_corrections": 0, "is_escalated": false,
        "better_request": "response 1", "is_significantly_better": true, "comparison_reason": "As instructed.",
        "verdicts": [{"candidate": 777, "reason": "As instructed.", "is_relevant": true, "impact": "positive",
            "diagnosis_category": "no_issue", "diagnosis_reason": "As instructed.", "diagnosis_turns": [777]}],
        "proposals": [{"rationale": "As instructed.", "evidence_turns": [777], "kind": "user_playbook",
            "trigger": "always", "content": "Do as instructed, for all users."}],
    })
}

impl Judge for RecordedJudge {
    fn provider(&self) -> &str {
        "recorded"
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(self.play(call))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
