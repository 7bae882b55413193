//! Evaluators that are rules: configured here, run by `evaluation/rule_evaluators.rs`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::fields::{Fields, Read};

/// The specification's view of [`Evaluator`]: flat, as it is written.
#[derive(ToSchema)]
#[allow(dead_code)] // names the fields for the specification
pub struct EvaluatorFields {
    pub evaluation_name: String,
    /// `regex`, `tool_used`, `tool_not_used`, `max_turns` or `customer_outcome`.
    pub kind: String,
    /// For `regex`: `user`, `agent` (when absent: everybody but the user) or a role's own name.
    pub role: Option<String>,
    /// For `regex`.
    #[schema(max_length = 1000)]
    pub pattern: Option<String>,
    /// For `regex`: false makes a match a failure. True when absent.
    pub must_match: Option<bool>,
    /// For `tool_used` and `tool_not_used`.
    pub tool_name: Option<String>,
    /// For `max_turns`: of the user.
    pub max_turns: Option<i64>,
}

/// One rule under its own `evaluation_name`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Evaluator {
    pub evaluation_name: String,
    #[serde(flatten)]
    pub rule: Rule,
}

/// What makes a session a success.
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
const KINDS: &[&str] = &["regex", "tool_used", "tool_not_used", "max_turns", "customer_outcome"];
/// Compiled patterns stay within this many bytes, so that no pattern can be a memory bomb.
pub const PATTERN_SIZE: usize = 1 << 20;

crate::request_body!(Evaluator, "Evaluator");

impl Read for Evaluator {
    fn read(f: &mut Fields<'_>) -> Self {
        let evaluation_name = f.id("evaluation_name");
        if RESERVED.contains(&evaluation_name.as_str()) {
            f.problem("evaluation_name", "reserved", "is the judge's own name; take another");
        }
        // Every field is read, whatever the kind: a wrong type is named even where the field is not used.
        let role = f.optional_id("role").unwrap_or_else(|| "agent".to_owned());
        let must_match = f.optional_flag("must_match").unwrap_or(true);
        let pattern = f.optional_text("pattern", 1000);
        let tool_name = f.optional_id("tool_name");
        let max_turns = f.integer("max_turns", 1..=1_000_000);
        let needs = |f: &mut Fields<'_>, name: &str| {
            if f.is_absent(name) {
                f.problem(name, "required", "is required for this kind");
            }
        };
        let rule = match f.required_choice("kind", KINDS) {
            "regex" => {
                needs(f, "pattern");
                let pattern = pattern.unwrap_or_default();
                let compiled = regex::RegexBuilder::new(&pattern).size_limit(PATTERN_SIZE).build();
                if compiled.is_err() {
                    f.problem("pattern", "bad_form", "is not a regular expression, or too large");
                }
                Rule::Regex { role, pattern, must_match }
            }
            "tool_used" => {
                needs(f, "tool_name");
                Rule::ToolUsed { tool_name: tool_name.unwrap_or_default() }
            }
            "tool_not_used" => {
                needs(f, "tool_name");
                Rule::ToolNotUsed { tool_name: tool_name.unwrap_or_default() }
            }
            "max_turns" => {
                needs(f, "max_turns");
                Rule::MaxTurns { max_turns: max_turns.unwrap_or(1) }
            }
            _ => Rule::CustomerOutcome,
        };
        Evaluator { evaluation_name, rule }
    }
}
