//! Evaluators that are rules: configured here, run by `evaluation/rule_evaluators.rs`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::fields::{Fields, Read};

/// One rule under its own `evaluation_name`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct Evaluator {
    pub evaluation_name: String,
    #[serde(flatten)]
    pub rule: Rule,
}

/// What makes a session a success.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
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
const RESERVED: &[&str] = &["agent_success"];
const KINDS: &[&str] = &["regex", "tool_used", "tool_not_used", "max_turns", "customer_outcome"];
/// Compiled patterns stay within this many bytes, so that no pattern can be a memory bomb.
pub const PATTERN_SIZE: usize = 1 << 20;

impl Read for Evaluator {
    fn read(f: &mut Fields<'_>) -> Self {
        let evaluation_name = f.id("evaluation_name");
        if RESERVED.contains(&evaluation_name.as_str()) {
            f.problem("evaluation_name", "reserved", "is the judge's own name; take another");
        }
        let rule = match f.required_choice("kind", KINDS) {
            "regex" => {
                let role = f.optional_id("role").unwrap_or_else(|| "agent".to_owned());
                let must_match = f.optional_flag("must_match").unwrap_or(true);
                let text = f.required("pattern", |f| f.optional_text("pattern", 1000));
                let compiled = regex::RegexBuilder::new(&text).size_limit(PATTERN_SIZE).build();
                if compiled.is_err() {
                    f.problem("pattern", "bad_form", "is not a regular expression, or too large");
                }
                Rule::Regex { role, pattern: text, must_match }
            }
            "tool_used" => Rule::ToolUsed { tool_name: f.id("tool_name") },
            "tool_not_used" => Rule::ToolNotUsed { tool_name: f.id("tool_name") },
            "max_turns" => {
                Rule::MaxTurns { max_turns: f.required_integer("max_turns", 1..=1_000_000) }
            }
            _ => Rule::CustomerOutcome,
        };
        Evaluator { evaluation_name, rule }
    }
}
