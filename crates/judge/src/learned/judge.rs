//! A model behind the trait of all judges.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::features::{Meaning, last_exchange_heard, sketch_heard};
use super::model::Model;
use crate::detector::detect;
use crate::embedder::Embedder;
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
    embedder: Arc<Embedder>,
}

impl LearnedJudge {
    /// Verdicts are labelled `learned/<number>`. The embedder is asked if the model was trained with its vectors.
    pub fn new(model: Model, number: u64, embedder: Arc<Embedder>) -> Self {
        LearnedJudge { model, label: format!("learned/{number}"), embedder }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    async fn session(&self, turns: &[Turn]) -> Result<Value, JudgeError> {
        let heard = hear_all(turns);
        let mut sketch = sketch_heard(turns, &heard);
        let last_exchange = last_exchange_heard(&heard);
        if let Some(name) = self.model.embedder().filter(|_| !last_exchange.is_empty()) {
            let vector = self.embedder.embed_query(&last_exchange).await;
            // Without it the model would be less sure than its report card says.
            let vector = vector.map_err(|_| JudgeError::Transient { after: None })?;
            sketch.meaning = Meaning::new(name, vector);
        }
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
        Ok(json!({
            "reasoning": why,
            "failure_reason": if failed { why.as_str() } else { "" },
            "failure_type": kind,
            "outcome": outcome,
            "undecided_reason": undecided,
            "probability": said.probability,
            "number_of_corrections":
                (0..heard.len()).filter(|at| is_correction(&heard, *at)).count(),
            "is_escalated": is_escalated(&heard),
        }))
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
        Box::pin(async move {
            Ok(JudgeAnswer {
                json: self.session(turns).await?,
                model: self.label.clone(),
                usage: Usage::default(),
                usage_is_estimated: false,
                problem: None,
                latency: Duration::ZERO,
                finish_reason: "learned".to_owned(),
            })
        })
    }
}
