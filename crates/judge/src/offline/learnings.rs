//! Learnings by word overlap: with what was asked and answered (relevance), with the answer alone (use).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::session::{is_displeased, tool_failed};
use super::words::{content, covered, heard};
use crate::transcript::{Candidate, Turn};
use crate::words::{DiagnosisCategory, LearningImpact};

/// The share of a learning's words that makes it about a turn.
const RELEVANT: f64 = 0.3;
/// The share of a learning's words found in the answer that counts as use.
const USED: f64 = 0.3;

pub fn relevance(turns: &[Turn], candidates: &[Candidate]) -> Value {
    let verdicts = (1..).zip(candidates).map(|(number, candidate)| {
        let Some(place) = Place::find(turns, candidate) else {
            return json!({"candidate": number, "reason": "The turn is not in the session.", "is_relevant": false});
        };
        let learning = words(&candidate.content);
        let share = covered(&learning, &place.asked.union(&place.answered).cloned().collect());
        let triggered = covered(&words(&candidate.trigger), &place.asked);
        let relevant = share >= RELEVANT || triggered >= RELEVANT;
        let percent = (share.max(triggered) * 100.0).round();
        let reason = format!("{percent} % of its words are in the turn's question or answer.");
        json!({"candidate": number, "reason": reason, "is_relevant": relevant})
    });
    json!({"verdicts": verdicts.collect::<Vec<_>>()})
}

pub fn impact(turns: &[Turn], candidates: &[Candidate]) -> Value {
    let verdicts =
        (1..).zip(candidates).map(|(number, candidate)| one_impact(number, turns, candidate));
    json!({"verdicts": verdicts.collect::<Vec<_>>()})
}

fn one_impact(number: usize, turns: &[Turn], candidate: &Candidate) -> Value {
    let mut verdict = json!({
        "candidate": number, "reason": "The answer does not show it.", "impact": LearningImpact::Neutral,
        "diagnosis_reason": "", "diagnosis_turns": [], "diagnosis_category": "none",
    });
    let Some(place) = Place::find(turns, candidate) else {
        return verdict;
    };
    let learning = words(&candidate.content);
    let used = covered(&learning, &place.answered) >= USED;
    let about = covered(&learning, &place.asked) >= RELEVANT
        || covered(&words(&candidate.trigger), &place.asked) >= RELEVANT;
    let reaction = turns[place.at + 1..].iter().find(|turn| turn.is_user());
    let displeased = reaction.is_some_and(|turn| is_displeased(&turn.content));
    if used {
        let (impact, reason) = match displeased {
            true => (LearningImpact::Negative, "The answer shows it and the user objected."),
            false => (LearningImpact::Positive, "The answer shows it and the user did not object."),
        };
        verdict["impact"] = json!(impact);
        verdict["reason"] = json!(reason);
    }
    if candidate.diagnose {
        let broken = tool_failed(&turns[place.at]);
        let (category, reason, cited) = match (displeased, used, about, reaction) {
            (false, ..) | (_, _, _, None) => {
                (DiagnosisCategory::NoIssue, "Nobody objected to the answer.", vec![])
            }
            (_, _, _, Some(turn)) if broken => (
                DiagnosisCategory::ExternalFailure,
                "A tool failed at this turn and the user objected.",
                vec![turns[place.at].id, turn.id],
            ),
            (_, false, true, Some(turn)) => (
                DiagnosisCategory::ApplicationFailure,
                "It fits the question, the answer does not show it, and the user objected.",
                vec![turns[place.at].id, turn.id],
            ),
            (_, _, _, Some(turn)) => {
                let reason = "The user objected; rules cannot tell why.";
                (DiagnosisCategory::Unknown, reason, vec![turn.id])
            }
        };
        verdict["diagnosis_category"] = json!(category);
        verdict["diagnosis_reason"] = json!(reason);
        verdict["diagnosis_turns"] = json!(cited);
    }
    verdict
}

/// A candidate's turn: what was asked before it and answered there.
struct Place {
    at: usize,
    asked: BTreeSet<String>,
    answered: BTreeSet<String>,
}

impl Place {
    fn find(turns: &[Turn], candidate: &Candidate) -> Option<Place> {
        let at = turns.iter().position(|turn| turn.id == candidate.turn)?;
        let question = turns[..at].iter().rev().find(|turn| turn.is_user());
        Some(Place {
            at,
            asked: question.map(|turn| words(&turn.content)).unwrap_or_default(),
            answered: words(&turns[at].content),
        })
    }
}

fn words(text: &str) -> BTreeSet<String> {
    content(&heard(text).join(" "))
}
