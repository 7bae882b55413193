//! The table: what a provider answers, and what becomes of it.

use std::time::Duration;

use judge::{BlockReason, JudgeError, Provider};
use serde_json::json;

use super::forms::{answers, anthropic, changed, gemini, good, openai, without};
use crate::stub::Script;
use Becomes::{Estimated, Free, Paid, Pause, Verdict};

/// Reaction to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Becomes {
    /// A verdict after so many calls.
    Verdict(u32),
    /// A verdict, its tokens counted by us.
    Estimated,
    /// This error, of a call that cost nothing.
    Free(JudgeError),
    /// This error, of a call that has to be paid for.
    Paid(JudgeError),
    /// A pause that begins with this call.
    Pause(BlockReason),
}

const TRANSIENT: JudgeError = JudgeError::Transient { after: None };

fn limited(seconds: Option<f64>) -> Becomes {
    Free(JudgeError::RateLimited { after: seconds.map(Duration::from_secs_f64) })
}

/// Name, provider, what it answers (then the good answer), and what becomes of it.
pub fn quirks() -> Vec<(&'static str, Provider, Vec<Script>, Becomes)> {
    use Provider::{Anthropic, Gemini, Openai, Openrouter};
    let one = |name, provider, script, becomes| (name, provider, vec![script], becomes);
    let fenced = format!("```json\n{}\n```", good());
    let thinking = format!("<think>Perhaps {{\"is_success\": false}}.</think>\n{}", good());
    let two = format!("{} or {}", good(), good());
    let mut loose = good();
    loose["failure_type"] = json!("None");
    loose["is_success"] = json!("true");
    let mut torn = good();
    torn["failure_type"] = json!("wrong_answer");
    let limit = "Rate limit reached for gpt-5-mini";
    let later = "Wed, 21 Oct 2015 07:28:30 GMT";
    let too_long = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000.";
    let keyless =
        json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let delay = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]);
    vec![
        // Keys.
        one(
            "openai: wrong key",
            Openai,
            openai(401, "Incorrect API key provided", "invalid_api_key"),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "anthropic: wrong key",
            Anthropic,
            anthropic(401, "authentication_error", "invalid x-api-key"),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "gemini: wrong key under 400",
            Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                keyless,
            ),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "gemini: expired key",
            Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "API key expired. Please renew the API key.",
                json!([]),
            ),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "gemini: leaked key",
            Gemini,
            gemini(403, "PERMISSION_DENIED", "Your API key was reported as leaked.", json!([])),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "openrouter: wrong key",
            Openrouter,
            Script::json(
                401,
                json!({"error": {"message": "No auth credentials found", "code": 401}}),
            ),
            Pause(BlockReason::KeyRefused),
        ),
        one(
            "anthropic: key without permission",
            Anthropic,
            anthropic(403, "permission_error", "Your API key does not have permission"),
            Pause(BlockReason::KeyRefused),
        ),
        // Money.
        one(
            "openai: no credit under 429",
            Openai,
            openai(429, "You exceeded your current quota", "insufficient_quota"),
            Pause(BlockReason::PaymentNeeded),
        ),
        one(
            "anthropic: no credit under 400",
            Anthropic,
            anthropic(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the API.",
            ),
            Pause(BlockReason::PaymentNeeded),
        ),
        one(
            "openrouter: no credit",
            Openrouter,
            Script::json(402, json!({"error": {"message": "Insufficient credits", "code": 402}})),
            Pause(BlockReason::PaymentNeeded),
        ),
        // Models and addresses.
        one(
            "openai: unknown model",
            Openai,
            openai(
                404,
                "The model `gpt-9` does not exist or you do not have access to it.",
                "model_not_found",
            ),
            Pause(BlockReason::ModelNotFound),
        ),
        one(
            "anthropic: unknown model",
            Anthropic,
            anthropic(404, "not_found_error", "model: claude-9"),
            Pause(BlockReason::ModelNotFound),
        ),
        one(
            "gemini: unknown model",
            Gemini,
            gemini(
                404,
                "NOT_FOUND",
                "models/gemini-9 is not found for API version v1beta",
                json!([]),
            ),
            Pause(BlockReason::ModelNotFound),
        ),
        one(
            "openrouter: unknown model under 400",
            Openrouter,
            Script::json(
                400,
                json!({"error": {"message": "openai/gpt-9 is not a valid model ID", "code": 400}}),
            ),
            Pause(BlockReason::ModelNotFound),
        ),
        one(
            "ollama: model not pulled",
            Openai,
            Script::json(404, json!({"error": "model 'qwen3' not found, try pulling it first"})),
            Pause(BlockReason::ModelNotFound),
        ),
        one(
            "a path that is not there",
            Openai,
            Script {
                status: 404,
                headers: vec![("content-type", "text/plain".to_owned())],
                body: "404 page not found".to_owned(),
            },
            Pause(BlockReason::AddressNotFound),
        ),
        one(
            "a page that is not there",
            Openai,
            Script::page(404),
            Pause(BlockReason::AddressNotFound),
        ),
        one(
            "a redirect",
            Openai,
            Script::json(308, json!({})).with("location", "https://elsewhere/v1"),
            Pause(BlockReason::Redirected),
        ),
        one(
            "a sign-in page with status 200",
            Openai,
            Script::page(200),
            Pause(BlockReason::NotAnApi),
        ),
        one(
            "a proxy that bars the way",
            Anthropic,
            Script::page(403),
            Pause(BlockReason::NotAnApi),
        ),
        one(
            "openai: region",
            Openai,
            openai(
                403,
                "Country, region, or territory not supported",
                "unsupported_country_region_territory",
            ),
            Pause(BlockReason::RegionRefused),
        ),
        one(
            "gemini: region",
            Gemini,
            gemini(
                400,
                "FAILED_PRECONDITION",
                "User location is not supported for the API use.",
                json!([]),
            ),
            Pause(BlockReason::RegionRefused),
        ),
        // Failures that pass.
        one(
            "openai: rate limit in seconds",
            Openai,
            openai(429, limit, "rate_limit_exceeded").with("retry-after", "7"),
            limited(Some(7.0)),
        ),
        one(
            "openai: rate limit in milliseconds",
            Openai,
            openai(429, limit, "rate_limit_exceeded").with("retry-after-ms", "1500"),
            limited(Some(1.5)),
        ),
        one(
            "anthropic: rate limit until a date",
            Anthropic,
            anthropic(429, "rate_limit_error", "slow down")
                .with("date", "Wed, 21 Oct 2015 07:28:00 GMT")
                .with("retry-after", later),
            limited(Some(30.0)),
        ),
        one(
            "gemini: rate limit with retryDelay",
            Gemini,
            gemini(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted", delay),
            limited(Some(37.0)),
        ),
        one(
            "openrouter: rate limit inside status 200",
            Openrouter,
            Script::json(200, json!({"error": {"message": "Rate limit exceeded", "code": 429}})),
            limited(None),
        ),
        one(
            "anthropic: overloaded",
            Anthropic,
            anthropic(529, "overloaded_error", "Overloaded"),
            Free(TRANSIENT),
        ),
        one(
            "gemini: unavailable",
            Gemini,
            gemini(503, "UNAVAILABLE", "The model is overloaded.", json!([])),
            Free(TRANSIENT),
        ),
        one(
            "openai: server error",
            Openai,
            openai(500, "The server had an error", "server_error"),
            Free(TRANSIENT),
        ),
        one("a gateway's page with 502", Openai, Script::page(502), Free(TRANSIENT)),
        one(
            "openrouter: provider failed inside a choice",
            Openrouter,
            Script::json(
                200,
                json!({"choices": [{"error": {"code": 502, "message": "Provider disconnected"}}]}),
            ),
            Free(TRANSIENT),
        ),
        one(
            "llama.cpp: loading",
            Openai,
            Script::json(
                503,
                json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}),
            ),
            Free(TRANSIENT),
        ),
        one(
            "an answer that breaks off",
            Openai,
            Script { body: "{\"choices\": [".to_owned(), ..Script::json(200, json!({})) },
            Free(TRANSIENT),
        ),
        // Too long: shortened once.
        one(
            "openai: context too long",
            Openai,
            openai(400, too_long, "context_length_exceeded"),
            Verdict(1),
        ),
        one(
            "anthropic: prompt too long",
            Anthropic,
            anthropic(
                400,
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            Verdict(1),
        ),
        one(
            "anthropic: request too large",
            Anthropic,
            anthropic(413, "request_too_large", "Request exceeds the maximum size"),
            Verdict(1),
        ),
        one(
            "gemini: too many tokens",
            Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "The input token count exceeds the maximum number of tokens allowed 1048576.",
                json!([]),
            ),
            Verdict(1),
        ),
        one(
            "vllm: context too long",
            Openai,
            Script::json(
                400,
                json!({"object": "error", "message": too_long, "type": "BadRequestError", "code": 400}),
            ),
            Verdict(1),
        ),
        (
            "context too long twice",
            Openai,
            vec![openai(400, too_long, "context_length_exceeded"); 2],
            Free(JudgeError::ContextTooLong),
        ),
        // No structured output: asked in words.
        one(
            "openai: no json_schema",
            Openai,
            openai(
                400,
                "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
                "",
            ),
            Verdict(2),
        ),
        one(
            "anthropic: no output_config",
            Anthropic,
            anthropic(
                400,
                "invalid_request_error",
                "output_config: Extra inputs are not permitted",
            ),
            Verdict(2),
        ),
        one(
            "gemini: no responseJsonSchema",
            Gemini,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Invalid JSON payload received. Unknown name \"responseJsonSchema\"",
                json!([]),
            ),
            Verdict(2),
        ),
        one(
            "openrouter: no provider with structured outputs",
            Openrouter,
            Script::json(
                404,
                json!({"error": {"message": "No endpoints found that support structured outputs", "code": 404}}),
            ),
            Verdict(2),
        ),
        one(
            "a server that names the field",
            Openai,
            Script::json(
                422,
                json!({"detail": [{"loc": ["body", "response_format"], "msg": "extra fields not permitted"}]}),
            ),
            Verdict(2),
        ),
        one(
            "openai: no temperature",
            Openai,
            openai(
                400,
                "Unsupported value: 'temperature' does not support 0 with this model.",
                "unsupported_value",
            ),
            Verdict(2),
        ),
        // Content.
        one(
            "azure: content filter under 400",
            Openai,
            openai(
                400,
                "The response was filtered due to the prompt triggering content management policy",
                "content_filter",
            ),
            Free(JudgeError::Refused),
        ),
        one(
            "openrouter: moderation",
            Openrouter,
            Script::json(
                403,
                json!({"error": {"message": "openai/gpt-5-mini requires moderation. Your input was flagged for \"x\".", "code": 403}}),
            ),
            Free(JudgeError::Refused),
        ),
        one(
            "openai: refusal",
            Openai,
            changed(Openai, "/choices/0/message/refusal", json!("I cannot.")),
            Paid(JudgeError::Refused),
        ),
        one(
            "openai: filtered answer",
            Openai,
            changed(Openai, "/choices/0/finish_reason", json!("content_filter")),
            Paid(JudgeError::Refused),
        ),
        one(
            "anthropic: refusal",
            Anthropic,
            changed(Anthropic, "/stop_reason", json!("refusal")),
            Paid(JudgeError::Refused),
        ),
        one(
            "gemini: unsafe",
            Gemini,
            changed(Gemini, "/candidates/0/finishReason", json!("SAFETY")),
            Paid(JudgeError::Refused),
        ),
        one(
            "gemini: blocked prompt",
            Gemini,
            Script::json(
                200,
                json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 0}}),
            ),
            Paid(JudgeError::Refused),
        ),
        // Answers.
        one("openai: in a code fence", Openai, answers(Openai, &fenced), Verdict(1)),
        one(
            "anthropic: with words around",
            Anthropic,
            answers(Anthropic, &format!("Here it is: {} Bye.", good())),
            Verdict(1),
        ),
        one("openai: behind a thinking block", Openai, answers(Openai, &thinking), Verdict(1)),
        one(
            "gemini: thoughts as a part",
            Gemini,
            changed(
                Gemini,
                "/candidates/0/content/parts",
                json!([{"thought": true, "text": "{\"is_success\": false}"}, {"text": good().to_string()}]),
            ),
            Verdict(1),
        ),
        one(
            "openai: content as parts",
            Openai,
            changed(
                Openai,
                "/choices/0/message/content",
                json!([{"type": "text", "text": good().to_string()}]),
            ),
            Verdict(1),
        ),
        one(
            "gemini: none, and flags as words",
            Gemini,
            answers(Gemini, &loose.to_string()),
            Verdict(1),
        ),
        one(
            "json sent as text",
            Openai,
            answers(Openai, &good().to_string()).with("content-type", "text/plain"),
            Verdict(1),
        ),
        one("openai: two objects", Openai, answers(Openai, &two), Paid(JudgeError::Invalid)),
        one(
            "anthropic: no object",
            Anthropic,
            answers(Anthropic, "It went well."),
            Paid(JudgeError::Invalid),
        ),
        one(
            "gemini: another object",
            Gemini,
            answers(Gemini, "{\"verdict\": \"good\"}"),
            Paid(JudgeError::Invalid),
        ),
        one(
            "openai: a contradiction",
            Openai,
            answers(Openai, &torn.to_string()),
            Paid(JudgeError::Contradiction),
        ),
        one("openai: empty", Openai, answers(Openai, ""), Paid(JudgeError::Empty)),
        one(
            "gemini: no candidates",
            Gemini,
            Script::json(
                200,
                json!({"usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 0}}),
            ),
            Paid(JudgeError::Empty),
        ),
        (
            "anthropic: cut off twice",
            Anthropic,
            vec![changed(Anthropic, "/stop_reason", json!("max_tokens")); 2],
            Paid(JudgeError::Truncated),
        ),
        one(
            "gemini: cut off once",
            Gemini,
            changed(Gemini, "/candidates/0/finishReason", json!("MAX_TOKENS")),
            Verdict(2),
        ),
        // Tokens that nobody counted.
        one("openai: no usage", Openai, without(Openai, "usage"), Estimated),
        one(
            "openai: usage of zeros",
            Openai,
            changed(Openai, "/usage", json!({"prompt_tokens": 0, "completion_tokens": 0})),
            Estimated,
        ),
        one("anthropic: no usage", Anthropic, without(Anthropic, "usage"), Estimated),
        one("gemini: no usage", Gemini, without(Gemini, "usageMetadata"), Estimated),
        // Unforeseen answers.
        one(
            "openai: some other 400",
            Openai,
            openai(400, "messages[1] is invalid", "invalid_value"),
            Free(JudgeError::RequestRefused),
        ),
        one(
            "gemini: some other 400",
            Gemini,
            gemini(400, "INVALID_ARGUMENT", "Request contains an invalid argument.", json!([])),
            Free(JudgeError::RequestRefused),
        ),
    ]
}
