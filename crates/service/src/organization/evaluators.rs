//! Evaluators that are rules: configured here, run by `evaluation/rule_evaluators.rs`.

use serde::{Deserialize, Serialize};

use crate::http::fields::{Fields, Read};

base::vocabulary! {
    pub enum RuleKind {
        Regex = "regex",
        ToolUsed = "tool_used",
        ToolNotUsed = "tool_not_used",
        MaxTurns = "max_turns",
        CustomerOutcome = "customer_outcome",
    }
}

/// One rule under its own `evaluation_name`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Evaluator {
    pub evaluation_name: String,
    #[serde(flatten)]
    pub rule: Rule,
}

/// Success rule of an evaluator.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// Some turn of the role matches the pattern; with `must_match` false, none does.
    Regex { role: String, pattern: String, must_match: bool },
    /// The tool was called.
    ToolUsed { tool_name: String },
    /// The tool was not called.
    ToolNotUsed { tool_name: String },
    /// The user took at most so many turns.
    MaxTurns { max_turns: i64 },
    /// The customer reported success. Without a report there is no verdict.
    CustomerOutcome,
}

/// Names that a rule cannot take: they are the judge's.
const RESERVED: &[&str] = &["agent_success", "shadow_comparison"];
/// Compiled patterns stay within this many bytes, so that no pattern can be a memory bomb.
pub const PATTERN_SIZE: usize = 1 << 20;

crate::request_body!(Evaluator, "Evaluator");

impl Read for Evaluator {
    fn read(f: &mut Fields<'_>) -> Self {
        let evaluation_name: String = f.id("evaluation_name");
        if RESERVED.contains(&evaluation_name.as_str()) {
            f.problem("evaluation_name", "reserved", "is the judge's own name; take another");
        }
        // Every field is read, whatever the kind: a wrong type is named even where the field is not used.
        let role = f
            .about("For `regex`: `user`, `agent` (when absent: everybody but the user) or a role's own name.")
            .optional_id("role")
            .unwrap_or_else(|| "agent".to_owned());
        let must_match =
            f.about("For `regex`: false makes a match a failure.").flag_or("must_match", true);
        let pattern = f.about("For `regex`.").optional_text("pattern", 1000);
        let tool_name = f.about("For `tool_used` and `tool_not_used`.").optional_id("tool_name");
        let max_turns =
            f.about("For `max_turns`: of the user.").integer("max_turns", 1..=1_000_000);
        let needs = |f: &mut Fields<'_>, name: &str| {
            if f.is_absent(name) {
                f.problem(name, "required", "is required for this kind");
            }
        };
        let rule = match f
            .required("kind", |f| f.word("kind").map(Some))
            .unwrap_or(RuleKind::CustomerOutcome)
        {
            RuleKind::Regex => {
                needs(f, "pattern");
                let pattern = pattern.unwrap_or_default();
                let compiled = regex::RegexBuilder::new(&pattern).size_limit(PATTERN_SIZE).build();
                if compiled.is_err() {
                    f.problem("pattern", "bad_form", "is not a regular expression, or too large");
                }
                Rule::Regex { role, pattern, must_match }
            }
            RuleKind::ToolUsed => {
                needs(f, "tool_name");
                Rule::ToolUsed { tool_name: tool_name.unwrap_or_default() }
            }
            RuleKind::ToolNotUsed => {
                needs(f, "tool_name");
                Rule::ToolNotUsed { tool_name: tool_name.unwrap_or_default() }
            }
            RuleKind::MaxTurns => {
                needs(f, "max_turns");
                Rule::MaxTurns { max_turns: max_turns.unwrap_or(1) }
            }
            RuleKind::CustomerOutcome => Rule::CustomerOutcome,
        };
        Evaluator { evaluation_name, rule }
    }
}
