//! Model, tokens, cost and latency of a call. The conventions have different names for them, none of which means anything
//! else in another one, so that one list serves all.

use super::attributes::Attributes;
use super::wire::Span;
use crate::Usage;
use crate::usage::{amount, count};

/// The model that answered, or else the one that was asked for.
const MODEL: [&str; 7] = [
    "gen_ai.response.model",
    "ai.response.model",
    "llm.response.model",
    "llm.model_name",
    "gen_ai.request.model",
    "ai.model.id",
    "llm.request.model",
];

const INPUT_TOKENS: [&str; 6] = [
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "llm.usage.prompt_tokens",
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
];

const OUTPUT_TOKENS: [&str; 6] = [
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "llm.usage.completion_tokens",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
];

const COST: [&str; 3] = ["gen_ai.usage.cost", "gen_ai.usage.total_cost", "llm.cost.total"];

pub(super) fn of(attributes: &Attributes<'_>, span: &Span) -> Usage {
    let tokens = |keys: &[&str]| keys.iter().find_map(|key| count(&attributes.value(key)?));
    let (began, ended) = (span.start_time_unix_nano, span.end_time_unix_nano);
    let duration = ended.checked_sub(began).filter(|_| began > 0);
    Usage {
        model: attributes.first_id(&MODEL),
        input_tokens: tokens(&INPUT_TOKENS),
        output_tokens: tokens(&OUTPUT_TOKENS),
        cost_usd: COST.iter().find_map(|key| amount(&attributes.value(key)?)),
        latency_ms: duration.map(|nanoseconds| nanoseconds / 1_000_000),
    }
}
