//! Evaluators that are rules: free, exact, run beside the judge, each under its own name.

use sha2::{Digest, Sha256};

use super::grading::LoadedSession;
use crate::evaluation::NewResult;
use crate::judging::Origin;
use crate::organization::{Evaluator, PATTERN_SIZE, Rule};
use crate::sessions::{Interaction, SessionOutcomeKind};
use judge::FailureType;

/// The longest text a pattern is tried on; the rest of a longer turn is left out.
const TEXT: usize = 200_000;

/// The verdicts of all evaluators that have one for this session.
pub fn evaluate_all(material: &LoadedSession) -> Vec<NewResult> {
    let evaluators = material.config.evaluators.iter();
    evaluators.filter_map(|evaluator| evaluate(evaluator, material)).collect()
}

/// Result of one evaluator; `None` when it has no opinion.
pub fn evaluate(evaluator: &Evaluator, material: &LoadedSession) -> Option<NewResult> {
    let turns = &material.transcript.interactions;
    let outcome = material.transcript.outcomes.last().map(|outcome| outcome.outcome);
    let checked = check(&evaluator.rule, turns, outcome)?;
    let described = serde_json::to_vec(&evaluator.rule).unwrap_or_default();
    let origin = Origin {
        judge: "rule".to_owned(),
        prompt_version: "rule".to_owned(),
        rubric_hash: hex::encode(Sha256::digest(described)),
        cost_usd: Some(0.0),
        attempts: 1,
        ..Origin::default()
    };
    Some(NewResult::ruled(evaluator, material, checked, origin))
}

type Checked = (bool, FailureType, String);

fn check(
    rule: &Rule,
    turns: &[Interaction],
    outcome: Option<SessionOutcomeKind>,
) -> Option<Checked> {
    use FailureType::{WrongAnswer, WrongTool};
    let used = |name: &str| {
        turns.iter().flat_map(|turn| turn.tools_used.iter()).any(|tool| tool.tool_name == name)
    };
    Some(match rule {
        Rule::Regex { role, pattern, must_match } => {
            let pattern =
                regex::RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().ok()?;
            let found = turns
                .iter()
                .filter(|turn| has_role(turn, role))
                .any(|turn| pattern.is_match(head(&turn.content)));
            let verb = if *must_match { "no" } else { "a" };
            (found == *must_match, WrongAnswer, format!("{verb} turn of {role} matches"))
        }
        Rule::ToolUsed { tool_name } => {
            (used(tool_name), WrongTool, format!("{tool_name} was not called"))
        }
        Rule::ToolNotUsed { tool_name } => {
            (!used(tool_name), WrongTool, format!("{tool_name} was called"))
        }
        Rule::MaxTurns { max_turns } => {
            let taken = turns.iter().filter(|turn| turn.is_user()).count();
            let within = i64::try_from(taken).unwrap_or(i64::MAX) <= *max_turns;
            (within, WrongAnswer, format!("{taken} user turns, at most {max_turns}"))
        }
        Rule::CustomerOutcome => match outcome? {
            SessionOutcomeKind::Success => (true, FailureType::None, String::new()),
            SessionOutcomeKind::Failure => {
                (false, WrongAnswer, "the customer reported a failure".to_owned())
            }
            SessionOutcomeKind::Unknown => return None,
        },
    })
}

/// `user`, `agent` (everybody else) or a role by its own name.
fn has_role(turn: &Interaction, role: &str) -> bool {
    match role.to_ascii_lowercase().as_str() {
        "user" => turn.is_user(),
        "agent" | "assistant" => !turn.is_user(),
        _ => turn.role.trim().eq_ignore_ascii_case(role),
    }
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT)]
}

#[cfg(test)]
mod tests {
    use sqlx::types::Json;

    use super::*;
    use crate::sessions::ToolUsed;

    fn turn(role: &str, content: &str, tool: Option<&str>) -> Interaction {
        let used = |name: &str| ToolUsed {
            tool_name: name.to_owned(),
            tool_data: serde_json::Map::new(),
            status: "success".to_owned(),
        };
        let text = |text: &str| text.to_owned();
        Interaction {
            interaction_id: 1,
            user_id: "u".into(),
            session_id: text("s"),
            request_id: text("r"),
            created_at: 1,
            role: text(role),
            content: text(content),
            user_action: crate::sessions::UserAction::None,
            user_action_description: String::new(),
            interacted_image_url: String::new(),
            shadow_content: String::new(),
            expert_content: String::new(),
            tools_used: Json(tool.into_iter().map(used).collect()),
            retrieved_learnings: Json(Vec::new()),
            citations: Json(Vec::new()),
            token_count: None,
            usage: None,
        }
    }

    #[test]
    fn each_rule_says_yes_and_no() {
        let turns = [
            turn("User", "refund please", None),
            turn("Assistant", "Your refund is on its way. Order 4711.", Some("refund")),
            turn("user", "thanks", None),
        ];
        let says = |rule: Rule| {
            let outcome = Some(SessionOutcomeKind::Failure);
            check(&rule, &turns, outcome).map(|(success, ..)| success)
        };
        let regex = |role: &str, pattern: &str, must_match| Rule::Regex {
            role: role.to_owned(),
            pattern: pattern.to_owned(),
            must_match,
        };
        assert_eq!(says(regex("agent", r"Order \d+", true)), Some(true));
        assert_eq!(says(regex("user", r"Order \d+", true)), Some(false));
        assert_eq!(says(regex("assistant", "sorry", false)), Some(true));
        assert_eq!(says(regex("Assistant", "refund", false)), Some(false));
        let tool = |name: &str| name.to_owned();
        assert_eq!(says(Rule::ToolUsed { tool_name: tool("refund") }), Some(true));
        assert_eq!(says(Rule::ToolUsed { tool_name: tool("Refund") }), Some(false));
        assert_eq!(says(Rule::ToolNotUsed { tool_name: tool("refund") }), Some(false));
        assert_eq!(says(Rule::ToolNotUsed { tool_name: tool("delete") }), Some(true));
        assert_eq!(says(Rule::MaxTurns { max_turns: 2 }), Some(true));
        assert_eq!(says(Rule::MaxTurns { max_turns: 1 }), Some(false));
        assert_eq!(says(Rule::CustomerOutcome), Some(false));
        let unknown = Some(SessionOutcomeKind::Unknown);
        assert!(check(&Rule::CustomerOutcome, &turns, unknown).is_none());
        assert!(check(&Rule::CustomerOutcome, &turns, None).is_none());
    }
}
