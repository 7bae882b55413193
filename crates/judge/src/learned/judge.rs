//! A model behind the trait of all judges.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::features::sketch_heard;
use super::model::Model;
use crate::detector::detect;
use crate::offline::OfflineJudge;
use crate::offline::evidence::last_answer;
use crate::offline::session::{
    Finding, failure_kind, find, hear_all, is_correction, is_escalated, is_flagged,
};
use crate::transcript::{Input, Turn};
use crate::words::{FailureType, Outcome, UndecidedReason};
use crate::{Call, Judge, JudgeAnswer, JudgeError, Usage};

/// Judges sessions by a model that was trained here; of learnings it knows what the rules know.
pub struct LearnedJudge {
    model: Model,
    label: String,
}

impl LearnedJudge {
    /// Verdicts are labelled `learned/<number>`.
    pub fn new(model: Model, number: u64) -> Self {
        LearnedJudge { model, label: format!("learned/{number}") }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    fn session(&self, turns: &[Turn]) -> Value {
        let heard = hear_all(turns);
        let sketch = sketch_heard(turns, &heard);
        let said = self.model.predict(&sketch);
        let finding = find(&heard);
        let (outcome, undecided) = match said.outcome {
            Outcome::Success if is_flagged(&heard) || is_contested(turns, finding) => {
                (Outcome::Undecided, Some(UndecidedReason::Contested))
            }
            Outcome::Undecided => (Outcome::Undecided, Some(UndecidedReason::Unsure)),
            outcome => (outcome, None),
        };
        let failed = outcome == Outcome::Failure;
        let kind = match finding {
            _ if !failed => FailureType::None,
            Finding::Failure(kind, _) => kind,
            _ => {
                last_answer(&heard).map_or(FailureType::SystemError, |at| failure_kind(&heard, at))
            }
        };
        let reasons = self.model.reasons(&sketch, !failed, 3);
        let named: Vec<&str> = reasons.into_iter().map(|(name, _)| name).collect();
        let why = format!(
            "{:.0} % likely a success. Most telling: {}.",
            said.probability * 100.0,
            named.join("; ")
        );
        json!({
            "reasoning": why,
            "failure_reason": if failed { why.as_str() } else { "" },
            "failure_type": kind,
            "outcome": outcome,
            "undecided_reason": undecided,
            "probability": said.probability,
            "number_of_corrections":
                (0..heard.len()).filter(|at| is_correction(&heard, *at)).count(),
            "is_escalated": is_escalated(&heard),
        })
    }
}

/// Whether a success is not to be believed without a person: words are cheap for whoever writes them.
fn is_contested(turns: &[Turn], finding: Finding) -> bool {
    matches!(finding, Finding::Failure(..))
        || turns.iter().flat_map(Turn::texts).any(|text| !detect(&text).is_empty())
}

impl Judge for LearnedJudge {
    fn provider(&self) -> &str {
        "learned"
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn reads_text(&self) -> bool {
        false
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        let Input::Session { turns } = &call.input else {
            return OfflineJudge.call(call);
        };
        let answer = JudgeAnswer {
            json: self.session(turns),
            model: self.label.clone(),
            usage: Usage::default(),
            usage_is_estimated: false,
            problem: None,
            latency: Duration::ZERO,
            finish_reason: "learned".to_owned(),
        };
        Box::pin(std::future::ready(Ok(answer)))
    }
}
