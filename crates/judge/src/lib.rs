//! Judging: one session, one batch of learnings or one pair of responses in, a checked verdict out; and, by the same
//! discipline, a window of turns in, checked proposals out.
//!
//! - A verdict comes from a judge's structured answer and nowhere else; what does not fit is an error, never a
//!   default. Rows are built from our own list of candidates, never from what a judge names.
//! - The transcript is hostile: see `fence.rs` and `detector.rs`. The judge of success cannot be told the arm or
//!   what was retrieved, because nothing here carries them.
//! - Nothing is stored. [`Grader`] is what the rest of the program calls; it keeps only limits, today's spending
//!   and whether the judge is paused.
//!
//! One judgement goes [`Grader`] (rubric, fence, detector) → [`Discipline`] (limits, retries, pauses, budget) →
//! a [`Judge`] ([`offline`], [`llm`] or [`recorded`]) → [`verdicts`] and [`proposals`] (validation).

mod budget;
mod detector;
mod discipline;
pub mod embedder;
mod failures;
mod fence;
mod grader;
pub mod learned;
mod limiter;
pub mod llm;
pub mod offline;
mod prices;
pub mod prompts;
pub mod proposals;
mod providers;
pub mod recorded;
mod replies;
pub mod settings;
mod transcript;
pub mod verdicts;
mod words;

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

pub use detector::detect;
pub use discipline::{Discipline, Done, Limits};
pub use grader::{BATCH, Graded, Grader, Provenance};
pub use prices::{Price, PriceTable};
pub use providers::{Keys, Provider, Selection, parse_model};
pub use transcript::{Candidate, Context, Flawed, Input, Tool, ToolCall, Turn, Window};
pub use words::{
    BetterRequest, DiagnosisCategory, FailureType, LearningImpact, LearningKind, Outcome,
    UndecidedReason, VerdictFlag,
};

/// One call of a judge: the rubric, the fenced material and the form of the answer.
#[derive(Clone, Debug)]
pub struct Call {
    /// The rubric, rendered: the system message.
    pub system: String,
    /// The material inside its fence. Empty for a judge that does not read text.
    pub user: String,
    /// Flat JSON schema of the answer.
    pub schema: Value,
    pub max_output_tokens: u32,
    /// Tokens of `system` and `user`, counted by us: for limits and for what a failed call may have cost.
    pub input_tokens: u64,
    /// The same material as values, for judges that are rules.
    pub input: Input,
}

/// A judge's answer, with its model, token usage and latency.
#[derive(Clone, Debug)]
pub struct JudgeAnswer {
    pub json: Value,
    /// `provider/model` as the provider reported it, `learned/<number>` or `rules`.
    pub model: String,
    pub usage: Usage,
    /// The provider did not say how many tokens it took: they are our own count.
    pub usage_is_estimated: bool,
    pub latency: Duration,
    /// Finish reason, in the provider's word.
    pub finish_reason: String,
    /// Why it is of no use, though it has to be paid for.
    pub problem: Option<JudgeError>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
}

/// One judge. Implementations neither retry nor wait: [`Discipline`] does.
pub trait Judge: Send + Sync {
    /// Provider whose limits apply: `openai`, `anthropic`, …, or `rules`.
    fn provider(&self) -> &str;

    /// `provider/model` as configured, or `rules`.
    fn label(&self) -> &str;

    /// True if it reads [`Call::user`]. Rules read [`Call::input`] and are spared the rendering.
    fn reads_text(&self) -> bool {
        true
    }

    /// True if its input leaves this machine. Nothing of a person who is being erased is sent any more; a
    /// verdict made here is refused when it is written.
    fn is_elsewhere(&self) -> bool {
        true
    }

    /// The provider's words when it last refused a call, without the key: for whoever sets the judge up, and for no
    /// log.
    fn refusal(&self) -> Option<String> {
        None
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>>;
}

/// Consent to judge the person whose words a call carries.
pub trait Consent: Send + Sync {
    /// Asked right before each call.
    fn is_given(&self) -> BoxFuture<'_, bool>;

    /// Returns when it is no longer given: a call under way is given up.
    fn withdrawn(&self) -> BoxFuture<'_, ()>;
}

/// Reason for a missing verdict. Texts carry neither content nor keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The provider or the way there failed; later may be better.
    #[error("the judge's provider failed or did not answer in time")]
    Transient { after: Option<Duration> },
    #[error("the judge's provider asks for fewer requests")]
    RateLimited { after: Option<Duration> },
    /// No call can succeed until somebody acts (or, for the budget, a day has passed).
    #[error("the judge is paused: {reason}")]
    Blocked { reason: BlockReason },
    #[error("the answer was cut off, even with more room")]
    Truncated,
    #[error("the answer does not fit the rubric's schema")]
    Invalid,
    #[error("the answer contradicts itself")]
    Contradiction,
    #[error("the answer is empty")]
    Empty,
    #[error("the session is too long for the model, even shortened")]
    ContextTooLong,
    #[error("the provider refuses the request as it is; `evenhand judge test` shows its words")]
    RequestRefused,
    /// The call goes out again without it.
    #[error("the provider does not support {}", what.code())]
    Unsupported { what: Unsupported },
    #[error("the judge declined to answer")]
    Refused,
    /// Rules do not compare responses, and there is no model that could.
    #[error("comparing two responses needs a model; set a key or judge.model")]
    NeedsModel,
    /// The person is being erased: nothing of theirs is sent any more.
    #[error("the user is being erased")]
    Withdrawn,
}

impl JudgeError {
    /// Stable and machine-readable.
    pub fn code(&self) -> &'static str {
        match self {
            JudgeError::Transient { .. } => "transient",
            JudgeError::RateLimited { .. } => "rate_limited",
            JudgeError::Blocked { .. } => "blocked",
            JudgeError::Truncated => "truncated",
            JudgeError::Invalid => "invalid",
            JudgeError::Contradiction => "contradiction",
            JudgeError::Empty => "empty",
            JudgeError::ContextTooLong => "context_too_long",
            JudgeError::RequestRefused => "request_refused",
            JudgeError::Unsupported { .. } => "unsupported",
            JudgeError::Refused => "refused",
            JudgeError::NeedsModel => "needs_model",
            JudgeError::Withdrawn => "withdrawn",
        }
    }

    /// Delay before a retry, if the provider gave one or it is known.
    pub fn after(&self) -> Option<Duration> {
        match self {
            JudgeError::Transient { after } | JudgeError::RateLimited { after } => *after,
            _ => None,
        }
    }

    /// True if no call succeeds until somebody acts: waiting costs no attempt.
    pub fn is_pause(&self) -> bool {
        matches!(self, JudgeError::Blocked { .. } | JudgeError::NeedsModel)
    }

    /// True if the same call may succeed later, unchanged.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            JudgeError::Transient { .. }
                | JudgeError::RateLimited { .. }
                | JudgeError::Blocked { .. }
                | JudgeError::NeedsModel
        )
    }
}

/// A part of a call that some servers do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsupported {
    StructuredOutput,
    Temperature,
}

impl Unsupported {
    pub fn code(self) -> &'static str {
        match self {
            Unsupported::StructuredOutput => "structured_output",
            Unsupported::Temperature => "temperature",
        }
    }
}

/// Why the judge is paused, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockReason {
    #[error("the configured model needs an API key, and none is set")]
    KeyMissing,
    #[error("the provider refuses the API key")]
    KeyRefused,
    #[error("the provider's account has no credit left")]
    PaymentNeeded,
    #[error("the provider knows no such model; check judge.model and judge.base_url")]
    ModelNotFound,
    #[error("there is no such interface at the configured address; check judge.base_url")]
    AddressNotFound,
    #[error(
        "the configured address sends the call elsewhere; set judge.base_url to where it leads"
    )]
    Redirected,
    #[error("a web page answers at the configured address; check judge.base_url and proxies")]
    NotAnApi,
    #[error("the provider does not serve this region")]
    RegionRefused,
    #[error("today's budget (judge.daily_budget_usd) is spent")]
    BudgetSpent,
    #[error(
        "judge.daily_budget_usd is set, but the model has no price; add it to judge.prices_file"
    )]
    Unpriced,
}

impl BlockReason {
    pub fn code(self) -> &'static str {
        match self {
            BlockReason::KeyMissing => "key_missing",
            BlockReason::KeyRefused => "key_refused",
            BlockReason::PaymentNeeded => "payment_needed",
            BlockReason::ModelNotFound => "model_not_found",
            BlockReason::AddressNotFound => "address_not_found",
            BlockReason::Redirected => "redirected",
            BlockReason::NotAnApi => "not_an_api",
            BlockReason::RegionRefused => "region_refused",
            BlockReason::BudgetSpent => "budget_spent",
            BlockReason::Unpriced => "unpriced",
        }
    }
}

/// Running or paused, for the dashboard and `/health/ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeState {
    Running,
    /// `since` is in unix seconds.
    Paused {
        reason: BlockReason,
        since: i64,
    },
}
