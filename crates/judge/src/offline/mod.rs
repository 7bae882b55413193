//! The judge that needs no model and no key: rules over words. Deterministic, free, and honest about what it is:
//! every verdict is labelled `rules`, and without evidence there is none.
//!
//! It reads what people said, not what the material says about itself: from a sentence that speaks to a judge to
//! the end of that turn nothing is heard, tools are heard by their status only, and claims of the agent never count
//! as the user's. So no order inside a transcript changes its verdict.

pub(crate) mod cues;
pub(crate) mod evidence;
mod extraction;
mod facts;
mod imperatives;
pub(crate) mod language;
mod learnings;
mod pasted;
pub(crate) mod session;
mod speech;
mod standing;
pub(crate) mod tools;
mod withdrawal;
pub(crate) mod words;

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::transcript::Input;
use super::{Call, Judge, JudgeAnswer, JudgeError, Usage};

/// The judge's name on verdicts of these rules.
pub const NAME: &str = "rules";

/// True if verdicts or proposals under this name come from the rules, also under their older name.
pub fn is_rules(judge: &str) -> bool {
    matches!(judge, NAME | "offline")
}

pub struct OfflineJudge;

/// The same rules, answering as slowly as a model does: for load tests.
pub struct SlowOfflineJudge(pub Duration);

impl Judge for SlowOfflineJudge {
    fn provider(&self) -> &str {
        NAME
    }

    fn label(&self) -> &str {
        NAME
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(async move {
            let due = tokio::time::Instant::now() + self.0;
            let answer = OfflineJudge.call(call).await;
            // The timer rounds up to its next millisecond, and wakes up to one later.
            tokio::time::sleep_until(due - Duration::from_millis(1)).await;
            answer
        })
    }
}

impl Judge for OfflineJudge {
    fn provider(&self) -> &str {
        NAME
    }

    fn label(&self) -> &str {
        NAME
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        let json = match &call.input {
            Input::Session { turns } => session::judge(turns),
            Input::Relevance { turns, candidates } => learnings::relevance(turns, candidates),
            Input::Impact { turns, candidates } => learnings::impact(turns, candidates),
            // At chance against people, whatever the rules: a comparison waits for a model.
            Input::Shadow { .. } => {
                return Box::pin(std::future::ready(Err(JudgeError::NeedsModel)));
            }
            Input::Extraction(window) => extraction::propose(window),
            // Rules cannot write: the learning is proposed for archiving.
            Input::Edit(_) => serde_json::json!({"rationale": "", "trigger": "", "content": ""}),
        };
        let answer = JudgeAnswer {
            json,
            model: NAME.to_owned(),
            usage: Usage::default(),
            usage_is_estimated: false,
            problem: None,
            latency: Duration::ZERO,
            finish_reason: "rules".to_owned(),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}
