//! Rule-based verdict on a session's success. Rules are tried in order; the first that applies decides.

use serde_json::{Value, json};

use super::cues::*;
use super::evidence::{
    complains, complaint_stands, is_content, last_answer, only_apologizes, only_asks, refuses,
    settles, wishes,
};
use super::words::{content, covered, has, heard, plain, sentences};
use crate::transcript::Turn;
use crate::words::FailureType;

/// A turn as the rules hear it.
pub struct Heard {
    pub user: bool,
    /// The spoken text, up to an order to a judge.
    pub text: String,
    pub plain: String,
    /// Each tool's name, and whether its call failed.
    pub tools: Vec<(String, bool)>,
}

pub fn judge(turns: &[Turn]) -> Value {
    let turns: Vec<Heard> = turns.iter().map(hear).filter(|t| !t.is_silent()).collect();
    let corrections = (0..turns.len()).filter(|at| is_correction(&turns, *at)).count();
    let escalated = is_escalated(&turns);
    let failure = failure(&turns, escalated);
    let (kind, why) = failure.unwrap_or((FailureType::None, ""));
    json!({
        "reasoning": if why.is_empty() { "No rule speaks against success." } else { why },
        "number_of_corrections": corrections,
        "is_escalated": escalated,
        "failure_reason": why,
        "failure_type": kind,
        "is_success": failure.is_none(),
    })
}

/// True if a text is a complaint or a correction: for the rules about learnings.
pub fn is_displeased(text: &str) -> bool {
    let plain = plain(&heard(text).join(" "));
    complains(&plain) || has(&plain, POINTING)
}

pub fn tool_failed(turn: &Turn) -> bool {
    turn.tools.iter().any(|tool| failed(&tool.status, &tool.data))
}

impl Heard {
    pub fn is_silent(&self) -> bool {
        self.text.is_empty() && self.tools.is_empty()
    }
}

pub fn hear(turn: &Turn) -> Heard {
    let text = heard(&turn.content).join(" ");
    let tools = turn.tools.iter();
    Heard {
        user: turn.is_user(),
        plain: plain(&text),
        text,
        tools: tools.map(|t| (t.name.to_lowercase(), failed(&t.status, &t.data))).collect(),
    }
}

fn failed(status: &str, data: &Value) -> bool {
    let status = status.trim().to_lowercase();
    let error =
        data.get("error").is_some_and(|e| !e.is_null() && *e != json!(false) && *e != json!(""));
    TOOL_FAILED.contains(&status.as_str()) || error
}

/// Failure type and reason of the session, if a rule finds one.
fn failure(turns: &[Heard], escalated: bool) -> Option<(FailureType, &'static str)> {
    let Some(answer) = last_answer(turns) else {
        return Some((FailureType::SystemError, "The agent never answered."));
    };
    let reply = &turns[answer];
    let last_user = turns.iter().rposition(|turn| turn.user);
    // The user's last word after the answer weighs most.
    if let Some(at) = last_user.filter(|at| *at > answer) {
        let user = &turns[at];
        let is_end = at + 1 == turns.len();
        if has(&user.plain, WRONG_TOOL) {
            return Some((FailureType::WrongTool, "The user says that the wrong tool was used."));
        }
        // "No" to "Is there anything else?" is no complaint.
        let asked = turns[..at].iter().rfind(|turn| !turn.user);
        let declines = JUST_NO.contains(&user.plain.as_str())
            && asked.is_some_and(|turn| has(&turn.plain, ANYTHING_ELSE));
        if complains(&user.plain) && !declines {
            return Some((failure_kind(turns, answer), "The user's last words are a complaint."));
        }
        if is_end && is_content(&user.plain) && wishes(user) {
            return Some((FailureType::SystemError, "The user's last turn was not answered."));
        }
        if settles(user, reply) {
            return None;
        }
        if has(&user.plain, WANTS_PERSON) {
            return Some((FailureType::WrongAnswer, "The user asked for a person and left."));
        }
        if is_end && !is_content(&user.plain) && wants_answer(user) {
            return Some((FailureType::SystemError, "The user's last turn was not answered."));
        }
    }
    if complaint_stands(turns) {
        let why = "The user complained, and did not take it back.";
        return Some((failure_kind(turns, answer), why));
    }
    if escalated {
        return Some((FailureType::MissingTool, "The session was handed to somebody else."));
    }
    if reply.text.is_empty() {
        return Some((
            FailureType::SystemError,
            "The session ends with a tool call and no answer.",
        ));
    }
    if refuses(reply) {
        return Some((
            failure_kind(turns, answer),
            "The agent's last answer says that it could not.",
        ));
    }
    if only_apologizes(reply) {
        return Some((failure_kind(turns, answer), "The agent's last answer is an apology."));
    }
    if reply.tools.iter().any(|(_, failed)| *failed) && !recovered(turns) {
        return Some((FailureType::SystemError, "The last tool call failed."));
    }
    if only_asks(reply) {
        return Some((FailureType::WrongAnswer, "The session ends with a question of the agent."));
    }
    let at = last_user?;
    if repeats(turns, at) {
        return Some((FailureType::WrongAnswer, "The user had to ask the same again."));
    }
    None
}

/// Failure type that the reply before the end points to.
fn failure_kind(turns: &[Heard], answer: usize) -> FailureType {
    let reply = &turns[answer];
    if !recovered(turns) {
        FailureType::SystemError
    } else if has(&reply.plain, FOUND_NOTHING) {
        FailureType::InsufficientInfoFromTool
    } else if has(&reply.plain, NO_MEANS) {
        FailureType::MissingTool
    } else {
        FailureType::WrongAnswer
    }
}

/// True if the session's last tool call succeeded, or it had none.
fn recovered(turns: &[Heard]) -> bool {
    turns.iter().flat_map(|turn| &turn.tools).next_back().is_none_or(|(_, failed)| !failed)
}

/// The turn is a question or a request, or too long to be a mere remark.
fn wants_answer(turn: &Heard) -> bool {
    turn.text.contains(['?', '？']) || has(&turn.plain, REQUEST) || content(&turn.text).len() >= 8
}

/// A user turn that points at an earlier response, says it is off, and steers.
pub fn is_correction(turns: &[Heard], at: usize) -> bool {
    let turn = &turns[at];
    let after_an_answer = turns[..at].iter().any(|t| !t.user && !t.text.is_empty());
    let off = has(&turn.plain, POINTING)
        || turn.plain.starts_with(" no ")
        || CONTRAST.iter().any(|contrast| turn.text.to_lowercase().contains(contrast));
    turn.user
        && after_an_answer
        && off
        && (has(&turn.plain, STEERING) || content(&turn.text).len() >= 3)
        && content(&turn.text).len() >= 2
        && !is_content(&turn.plain)
}

fn is_escalated(turns: &[Heard]) -> bool {
    turns.iter().filter(|turn| !turn.user).any(|turn| {
        let by_tool = turn
            .tools
            .iter()
            .any(|(name, failed)| !failed && HANDOVER_TOOLS.iter().any(|part| name.contains(part)));
        // A question is an offer, not yet a hand-over.
        by_tool
            || sentences(&turn.text)
                .iter()
                .any(|sentence| !sentence.ends_with(['?', '？']) && has(&plain(sentence), HANDOVER))
    })
}

/// The user's last turn says again what an earlier one said.
fn repeats(turns: &[Heard], at: usize) -> bool {
    let last = content(&turns[at].text);
    last.len() >= 3
        && turns[..at].iter().filter(|turn| turn.user).any(|turn| {
            let earlier = content(&turn.text);
            covered(&last, &earlier) >= 0.7 && covered(&earlier, &last) >= 0.5
        })
}
