//! Two responses by how much of the question they take up.

use serde_json::{Value, json};

use super::cues::{COULD_NOT, UNABLE};
use super::words::{content, covered, has, heard, plain};
use crate::transcript::Turn;
use crate::words::BetterRequest;

/// Differences below this are a tie.
const BETTER: f64 = 0.15;
const MUCH_BETTER: f64 = 0.4;

pub fn judge(turns: &[Turn], response_1: &str, response_2: &str) -> Value {
    let (one, two) = (score(turns, response_1), score(turns, response_2));
    let difference = (one - two).abs();
    let better = match () {
        () if difference < BETTER => BetterRequest::Tie,
        () if one > two => BetterRequest::First,
        () => BetterRequest::Second,
    };
    let percent = |score: f64| (score.max(0.0) * 100.0).round();
    let reason = format!(
        "Response 1 takes up {} % of the question's words, response 2 {} %.",
        percent(one),
        percent(two)
    );
    json!({
        "comparison_reason": reason,
        "better_request": better,
        "is_significantly_better": better != BetterRequest::Tie && difference >= MUCH_BETTER,
    })
}

/// The share of the question's words in a response; half for one that says it cannot, nothing for silence.
fn score(turns: &[Turn], response: &str) -> f64 {
    let text = heard(response).join(" ");
    let question = turns.iter().rev().find(|turn| turn.is_user());
    let asked = question.map(|turn| content(&heard(&turn.content).join(" "))).unwrap_or_default();
    if text.trim().is_empty() {
        return -BETTER;
    }
    let share = covered(&asked, &content(&text));
    let text = plain(&text);
    if has(&text, COULD_NOT) || has(&text, UNABLE) { share / 2.0 } else { share }
}
