//! Checked proposals of a model: learnings from a window of turns, and better wordings of a learning.
//!
//! A proposal stands on turns that were shown. One that cites none of them, or nothing that the user said or an
//! expert wrote, is refused with the reason: what tools return and what the agent claims teach nothing by themselves.

use std::collections::BTreeSet;

use base::vocabulary::Vocabulary;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::offline::words::plain;
use super::transcript::Window;
use super::verdicts::{read, reason};
use super::{JudgeError, LearningKind};

/// Proposals of one window that are looked at.
const PROPOSALS: usize = 20;
const CONTENT: usize = 2000;
const TRIGGER: usize = 1000;

/// A learning that was proposed, and why it is refused, if it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// A profile or a user playbook.
    pub kind: LearningKind,
    pub content: String,
    pub trigger: String,
    pub rationale: String,
    /// Turns of the window, each once, ascending.
    pub evidence: Vec<i64>,
    pub refused: Option<&'static str>,
}

/// A better wording. Empty content: none could be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edit {
    pub rationale: String,
    pub trigger: String,
    pub content: String,
}

#[derive(Deserialize)]
struct RawProposals {
    proposals: Vec<RawProposal>,
}

#[derive(Deserialize)]
struct RawProposal {
    rationale: String,
    evidence_turns: Vec<i64>,
    /// Words of a cited turn. The first rubric did not ask for them.
    #[serde(default)]
    quote: Option<String>,
    kind: String,
    trigger: String,
    content: String,
}

/// A kind that one person's turns can teach: agent playbooks come from several people.
fn proposed_kind(word: &str) -> Option<LearningKind> {
    LearningKind::parse(word).filter(|kind| *kind != LearningKind::AgentPlaybook)
}

#[derive(Deserialize)]
struct RawEdit {
    rationale: String,
    trigger: String,
    content: String,
}

pub fn extraction(json: &Value, window: &Window) -> Result<Vec<Proposal>, JudgeError> {
    let raw: RawProposals = read(json)?;
    let shown: BTreeSet<i64> = window.turns.iter().map(|turn| turn.id).collect();
    let spoken: BTreeSet<i64> = window
        .turns
        .iter()
        .filter(|turn| turn.is_user())
        .map(|turn| turn.id)
        .chain(window.experts.iter().map(|(turn, _)| *turn))
        .collect();
    raw.proposals
        .into_iter()
        .take(PROPOSALS)
        .map(|raw| {
            let kind = proposed_kind(&raw.kind).ok_or(JudgeError::Invalid)?;
            let cited: BTreeSet<i64> = raw.evidence_turns.into_iter().collect();
            let evidence: Vec<i64> = cited.intersection(&shown).copied().collect();
            let content = reason(&raw.content);
            let too_long =
                content.chars().count() > CONTENT || raw.trigger.chars().count() > TRIGGER;
            let refused = if content.is_empty() {
                Some("it says nothing")
            } else if too_long {
                Some("it is too long")
            } else if evidence.is_empty() {
                Some("it cites no turn of the window")
            } else if spoken.is_disjoint(&cited) {
                Some("it cites nothing that the user said or an expert wrote")
            } else if raw.quote.is_some_and(|quote| !is_quoted(&quote, &cited, window)) {
                Some("its quote is not in what the user said or an expert wrote")
            } else {
                None
            };
            let trigger =
                if kind == LearningKind::Profile { String::new() } else { reason(&raw.trigger) };
            let rationale = reason(&raw.rationale);
            Ok(Proposal { kind, content, trigger, rationale, evidence, refused })
        })
        .collect()
}

/// Whether the user, or an expert, wrote these words in a cited turn; case, blanks and marks apart.
fn is_quoted(quote: &str, cited: &BTreeSet<i64>, window: &Window) -> bool {
    let quote = plain(quote);
    let said =
        window.turns.iter().filter(|turn| turn.is_user()).map(|turn| (turn.id, &turn.content));
    let written = window.experts.iter().map(|(turn, text)| (*turn, text));
    !quote.trim().is_empty()
        && said
            .chain(written)
            .any(|(turn, text)| cited.contains(&turn) && plain(text).contains(&quote))
}

pub fn edit(json: &Value) -> Result<Edit, JudgeError> {
    let raw: RawEdit = read(json)?;
    let (content, trigger) = (reason(&raw.content), reason(&raw.trigger));
    if content.chars().count() > CONTENT || trigger.chars().count() > TRIGGER {
        return Err(JudgeError::Invalid);
    }
    Ok(Edit { rationale: reason(&raw.rationale), trigger, content })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Turn;

    #[test]
    fn a_proposal_stands_on_what_the_user_said_or_an_expert_wrote() {
        let turn = |id, role: &str| Turn { id, role: role.to_owned(), ..Turn::default() };
        let window = Window {
            turns: vec![turn(1, "User"), turn(2, "Assistant"), turn(3, "Assistant")],
            experts: vec![(3, "better".to_owned())],
            sessions: vec![3],
        };
        let entry = |cited: Value, content: &str| {
            json!({"rationale": "r", "evidence_turns": cited,
            "kind": "user_playbook", "trigger": "t", "content": content})
        };
        let answer = json!({"proposals": [
            entry(json!([2, 1, 1, 99]), "a"), entry(json!([3]), "b"), entry(json!([2]), "c"),
            entry(json!([99]), "d"), entry(json!([]), "e"), entry(json!([1]), " \0"),
        ]});
        let found = extraction(&answer, &window).unwrap();
        assert_eq!(found[0].evidence, [1, 2]);
        let refused: Vec<bool> = found.iter().map(|p| p.refused.is_some()).collect();
        assert_eq!(refused, [false, false, true, true, true, true]);
        let quoting = |quote: &str| {
            let mut said = window.clone();
            said.turns[0].content = "Please always quote prices with tax!".to_owned();
            let mut proposal = entry(json!([1]), "a");
            proposal["quote"] = json!(quote);
            extraction(&json!({"proposals": [proposal]}), &said).unwrap()[0].refused
        };
        assert_eq!(quoting("always quote PRICES, with tax"), None);
        for invented in ["", "always quote prices without tax", "better"] {
            assert!(quoting(invented).is_some(), "{invented}");
        }
        let other = json!({"proposals": [{"rationale": "", "evidence_turns": [1], "kind": "agent_playbook",
            "trigger": "", "content": "for all"}]});
        assert_eq!(extraction(&other, &window), Err(JudgeError::Invalid));
    }
}
