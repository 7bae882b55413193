//! Rule-based verdict on a session's success. Rules are tried in order; the first that applies decides.

use serde_json::{Value, json};

use super::cues::*;
use super::evidence::{
    complains, complaint_stands, confirms, is_content, is_question, last_answer, only_apologizes,
    refuses, settles, wishes,
};
use super::language::{Language, language};
use super::tools::{changes_state, hands_over};
use super::words::{content, has, heard, plain, sentences};
use crate::detector::{detect, is_quiet, speaks_of_judging};
use crate::transcript::Turn;
use crate::words::{FailureType, Outcome, UndecidedReason};

/// A turn as the rules hear it.
pub struct Heard {
    pub user: bool,
    /// The spoken text, up to an order to a judge.
    pub text: String,
    pub plain: String,
    /// Each tool's name, and whether its call failed.
    pub tools: Vec<(String, bool)>,
    /// The user speaks of being judged: nothing in the turn is evidence of success.
    pub is_flagged: bool,
}

/// Finding of the evidence in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    Failure(FailureType, &'static str),
    Success(&'static str),
    Undecided(UndecidedReason),
}

pub fn judge(turns: &[Turn]) -> Value {
    let turns = hear_all(turns);
    let corrections = (0..turns.len()).filter(|at| is_correction(&turns, *at)).count();
    let finding = find(&turns);
    let (outcome, kind, why, undecided) = match finding {
        Finding::Failure(kind, why) => (Outcome::Failure, kind, why, None),
        Finding::Success(why) => (Outcome::Success, FailureType::None, why, None),
        Finding::Undecided(reason) => (Outcome::Undecided, FailureType::None, "", Some(reason)),
    };
    json!({
        "reasoning": why,
        "number_of_corrections": corrections,
        "is_escalated": is_escalated(&turns),
        "failure_reason": if outcome == Outcome::Failure { why } else { "" },
        "failure_type": kind,
        "undecided_reason": undecided,
        "outcome": outcome,
    })
}

/// The turns in which something was said or done.
pub fn hear_all(turns: &[Turn]) -> Vec<Heard> {
    turns.iter().map(hear).filter(|turn| !turn.is_silent()).collect()
}

/// Whether a text is a complaint or a correction: for the rules about learnings.
pub fn is_displeased(text: &str) -> bool {
    let plain = plain(&heard(text).join(" "));
    complains(&plain) || has(&plain, &POINTING)
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
    let quiet = is_quiet(&turn.content);
    let said = if quiet { sentences(&turn.content) } else { heard(&turn.content) };
    let text = said.join(" ");
    let tools = turn.tools.iter();
    Heard {
        is_flagged: turn.is_user()
            && (speaks_of_judging(&turn.content) || !quiet && !detect(&turn.content).is_empty()),
        user: turn.is_user(),
        plain: plain(&text),
        text,
        tools: tools.map(|t| (t.name.clone(), failed(&t.status, &t.data))).collect(),
    }
}

pub fn failed(status: &str, data: &Value) -> bool {
    let status = status.trim().to_lowercase();
    let error =
        data.get("error").is_some_and(|e| !e.is_null() && *e != json!(false) && *e != json!(""));
    TOOL_FAILED.contains(&status.as_str()) || error
}

/// The rules in order; the first that applies decides.
pub fn find(turns: &[Heard]) -> Finding {
    let failed = |kind, why| Finding::Failure(kind, why);
    let undecided = Finding::Undecided;
    if !turns.iter().any(|turn| turn.user) {
        return undecided(UndecidedReason::NoEvidence);
    }
    let spoken = turns.iter().any(|turn| !turn.user && !turn.text.is_empty());
    let Some(answer) = last_answer(turns).filter(|_| spoken) else {
        return failed(FailureType::SystemError, "The agent never answered.");
    };
    if change_failed(turns) {
        let why = "The last call that should change something failed, and nothing repaired it.";
        return failed(FailureType::SystemError, why);
    }
    let covered = language_of_user(turns).is_covered();
    let reply = &turns[answer];
    // Nothing that the user said last, after the answer, may be read without knowing the language.
    let last_word = turns.iter().rposition(|turn| turn.user).filter(|at| *at > answer && covered);
    if let Some(finding) = last_word.and_then(|at| by_last_word(turns, at, answer)) {
        return finding;
    }
    // Somebody else may have put right what the user complained of.
    if is_escalated(turns) {
        return undecided(UndecidedReason::HandedOver);
    }
    if covered && complaint_stands(turns) {
        let why = "The user complained, and did not take it back.";
        return failed(failure_kind(turns, answer), why);
    }
    if covered && refuses(reply) {
        return failed(
            failure_kind(turns, answer),
            "The agent's last answer says that it could not.",
        );
    }
    if covered && only_apologizes(reply) {
        return failed(failure_kind(turns, answer), "The agent's last answer is an apology.");
    }
    if !covered {
        return undecided(UndecidedReason::LanguageNotCovered);
    }
    undecided(if ends_open(turns, answer) {
        UndecidedReason::Unfinished
    } else {
        UndecidedReason::NoEvidence
    })
}

/// Finding of the user's last turn after the answer, if there is one. It weighs most.
fn by_last_word(turns: &[Heard], at: usize, answer: usize) -> Option<Finding> {
    let (user, reply) = (&turns[at], &turns[answer]);
    if has(&user.plain, &WRONG_TOOL) {
        let why = "The user says that the wrong tool was used.";
        return Some(Finding::Failure(FailureType::WrongTool, why));
    }
    // "No" to "Is there anything else?" is no complaint.
    let asked = turns[..at].iter().rfind(|turn| !turn.user);
    let declines = JUST_NO.contains(&user.plain.as_str())
        && asked.is_some_and(|turn| has(&turn.plain, &ANYTHING_ELSE));
    if complains(&user.plain) && !declines {
        let why = "The user's last words are a complaint.";
        return Some(Finding::Failure(failure_kind(turns, answer), why));
    }
    let is_end = at + 1 == turns.len();
    if is_end && wishes(user) {
        return Some(Finding::Undecided(UndecidedReason::Unfinished));
    }
    // After a refusal or a mere apology there is nothing that could have been done.
    let answered = !refuses(reply) && !only_apologizes(reply);
    if confirms(user) && answered && !complaint_stands(turns) && !is_flagged(turns) {
        return Some(Finding::Success("The user says after the answer that it is done."));
    }
    if is_content(&user.plain) && settles(user, reply) {
        return (!complaint_stands(turns) && !is_escalated(turns))
            .then_some(Finding::Undecided(UndecidedReason::NoEvidence));
    }
    None
}

/// Whether a turn of the user speaks of being judged.
pub fn is_flagged(turns: &[Heard]) -> bool {
    turns.iter().any(|turn| turn.is_flagged)
}

/// Whether the session stops in the middle: the agent asks, or the user agrees or asks and nothing follows.
fn ends_open(turns: &[Heard], answer: usize) -> bool {
    let Some(last) = turns.last() else { return true };
    let asked = turns[answer].text.trim_end().ends_with(['?', '？'])
        && !has(&turns[answer].plain, &ANYTHING_ELSE);
    if last.user { asked || wants_answer(last) } else { asked || last.text.is_empty() }
}

/// The language of what the user said.
pub fn language_of_user(turns: &[Heard]) -> Language {
    let said: Vec<&str> = turns.iter().filter(|t| t.user).map(|t| t.plain.as_str()).collect();
    language(&said.concat())
}

/// Whether the last call that changes something failed, and no later call of a tool that changes something worked.
pub fn change_failed(turns: &[Heard]) -> bool {
    let mut calls = turns.iter().flat_map(|turn| &turn.tools);
    calls.rfind(|(name, _)| changes_state(name)).is_some_and(|(_, failed)| *failed)
}

/// Which kind of failure the reply before the end points to.
pub fn failure_kind(turns: &[Heard], answer: usize) -> FailureType {
    let reply = &turns[answer];
    if !recovered(turns) {
        FailureType::SystemError
    } else if has(&reply.plain, &FOUND_NOTHING) {
        FailureType::InsufficientInfoFromTool
    } else if has(&reply.plain, &NO_MEANS) {
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
    turn.text.contains(['?', '？']) || has(&turn.plain, &REQUEST) || content(&turn.text).len() >= 8
}

/// A user turn that points at an earlier response, says it is off, and steers.
pub fn is_correction(turns: &[Heard], at: usize) -> bool {
    let turn = &turns[at];
    let after_an_answer = turns[..at].iter().any(|t| !t.user && !t.text.is_empty());
    if !turn.user || !after_an_answer {
        return false;
    }
    let lower = turn.text.to_lowercase();
    let off = has(&turn.plain, &POINTING)
        || turn.plain.starts_with(" no ")
        || CONTRAST.iter().any(|contrast| lower.contains(contrast));
    if !off || is_content(&turn.plain) {
        return false;
    }
    let words = content(&turn.text).len();
    words >= 3 || words == 2 && has(&turn.plain, &STEERING)
}

pub fn is_escalated(turns: &[Heard]) -> bool {
    turns.iter().filter(|turn| !turn.user).any(|turn| {
        let by_tool = turn.tools.iter().any(|(name, failed)| !failed && hands_over(name));
        // A question is an offer, not yet a hand-over.
        let in_words = || {
            let mut said = sentences(&turn.text).into_iter();
            said.any(|sentence| !is_question(sentence) && has(&plain(sentence), &HANDOVER))
        };
        by_tool || has(&turn.plain, &HANDOVER) && in_words()
    })
}
