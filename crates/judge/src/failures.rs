//! Meaning of a provider's refusal: from its status, its headers and its own words to a cause with a name. The words
//! are looked at and not passed on: they can hold keys and content.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{BlockReason, JudgeError, Unsupported};

/// An answer that is none.
pub struct Failure<'a> {
    pub status: u16,
    pub headers: Option<&'a HeaderMap>,
    pub body: &'a str,
}

/// The provider's words: message, code and type in one text, in lower case.
struct Said {
    text: String,
    retry_after: Option<Duration>,
    /// It is a page and not an answer of a program.
    is_page: bool,
}

impl Failure<'_> {
    pub fn cause(&self) -> JudgeError {
        let said = said(self.body);
        let after = self.headers.and_then(retry_after).or(said.retry_after);
        let blocked = |reason| JudgeError::Blocked { reason };
        let has = |words: &[&str]| words.iter().any(|word| said.text.contains(word));
        match self.status {
            300..400 => blocked(BlockReason::Redirected),
            // A page comes from something in between: one that may pass, or one that bars the way.
            408 | 500.. if said.is_page => JudgeError::Transient { after },
            _ if said.is_page && self.status != 404 && self.status != 429 => {
                blocked(BlockReason::NotAnApi)
            }
            // Several providers say these under several statuses: Gemini a wrong key under 400, OpenAI an empty account
            // under 429, Anthropic under 400.
            400..=499 if has(WRONG_KEY) => blocked(BlockReason::KeyRefused),
            400..=499 if has(NO_CREDIT) => blocked(BlockReason::PaymentNeeded),
            400..=499 if has(WRONG_REGION) => blocked(BlockReason::RegionRefused),
            400..=499 if has(CONTENT_REFUSED) => JudgeError::Refused,
            400..=499 if has(TOO_LONG) => JudgeError::ContextTooLong,
            413 => JudgeError::ContextTooLong,
            400 | 404 | 422 if has(NO_MODEL) => blocked(BlockReason::ModelNotFound),
            400 | 404 | 405 | 415 | 422 | 501 if has(NO_SCHEMA) => {
                JudgeError::Unsupported { what: Unsupported::StructuredOutput }
            }
            400 | 422 if has(NO_TEMPERATURE) => {
                JudgeError::Unsupported { what: Unsupported::Temperature }
            }
            401 | 403 => blocked(BlockReason::KeyRefused),
            402 => blocked(BlockReason::PaymentNeeded),
            // A provider that knows the path says what it does not find; Gemini and Anthropic only ever miss the model.
            404 if said.text.is_empty() || said.is_page || has(NO_PATH) => {
                blocked(BlockReason::AddressNotFound)
            }
            404 => blocked(BlockReason::ModelNotFound),
            405 => blocked(BlockReason::AddressNotFound),
            429 => JudgeError::RateLimited { after },
            408 | 409 | 425 | 499 | 500.. => JudgeError::Transient { after },
            _ => JudgeError::RequestRefused,
        }
    }

    /// The provider's message for a person, cut to length.
    pub fn message(&self) -> String {
        let value: Option<Value> = serde_json::from_str(self.body).ok();
        let message = value.as_ref().and_then(|value| {
            let error = value.get(0).unwrap_or(value);
            let error = error.get("error").unwrap_or(error);
            let text = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
            text.as_str().map(str::to_owned)
        });
        let message = message.unwrap_or_else(|| self.body.trim().to_owned());
        format!("{} {}", self.status, message.chars().take(300).collect::<String>())
    }
}

/// The error object in an answer that came with status 200, as OpenRouter and some gateways send it.
pub fn inside(body: &Value) -> Option<JudgeError> {
    let error = [body.get("error"), body.pointer("/choices/0/error")];
    let error = error.into_iter().flatten().find(|error| !error.is_null())?;
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    let status = status.and_then(|status| u16::try_from(status).ok());
    let text = serde_json::json!({"error": error}).to_string();
    let guessed = || match said(&text).text {
        text if ["rate", "too many"].iter().any(|word| text.contains(word)) => 429,
        text if text.contains("overloaded") || text.contains("unavailable") => 503,
        _ => 400,
    };
    let status = status.filter(|status| (400..600).contains(status)).unwrap_or_else(guessed);
    Some(Failure { status, headers: None, body: &text }.cause())
}

const WRONG_KEY: &[&str] = &[
    "api key not valid",
    "api_key_invalid",
    "api key expired",
    "invalid api key",
    "invalid_api_key",
    "incorrect api key",
    "invalid x-api-key",
    "authentication_error",
    "api key was reported as leaked",
    "no auth credentials",
    "user not found",
    "unauthorized",
    "missing bearer",
];
const NO_CREDIT: &[&str] = &[
    "insufficient_quota",
    "credit balance is too low",
    "insufficient credits",
    "billing_not_active",
    "billing hard limit",
    "billing_hard_limit",
    "exceeded your current quota, please check your plan and billing details. for more information on this error",
    "payment required",
    "requires more credits",
    "prepayment credits are depleted",
];
const WRONG_REGION: &[&str] =
    &["unsupported_country", "location is not supported", "not available in your region"];
const CONTENT_REFUSED: &[&str] = &[
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleaipolicy",
    "requires moderation",
    "flagged for",
    "blocked by content",
    "output blocked by",
    "violat",
];
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "context length",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "input token count",
    "request too large",
    "request_too_large",
    "exceed_context_size",
    "string_above_max_length",
    "larger than the context",
    "reduce the length",
    "payload too large",
    "request entity too large",
];
const NO_MODEL: &[&str] = &[
    "model_not_found",
    "no such model",
    "is not a valid model",
    "model not found",
    "unknown model",
    "try pulling it",
    "no endpoints found for",
    "does not exist or you do not have access",
    "deploymentnotfound",
    "is not found for api version",
    "invalid model",
    "model_decommissioned",
    "has been decommissioned",
];
const NO_SCHEMA: &[&str] = &[
    "response_format",
    "json_schema",
    "responsejsonschema",
    "response_json_schema",
    "response_schema",
    "responseschema",
    "output_config",
    "output_format",
    "structured output",
    "json mode is not",
    "guided",
    "grammar",
    "no endpoints found that support",
    "no endpoints found that can handle the requested parameters",
];
const NO_TEMPERATURE: &[&str] = &["temperature"];
const NO_PATH: &[&str] = &[
    "page not found",
    "invalid url",
    "unknown url",
    "no route",
    "cannot post",
    "unknown_url",
    "unknown request url",
];

fn said(body: &str) -> Said {
    let trimmed = body.trim_start();
    let Ok(value) = serde_json::from_str::<Value>(trimmed) else {
        let text: String = trimmed.chars().take(2000).collect::<String>().to_lowercase();
        let is_page = ["<!doctype", "<html", "<head", "<body", "<?xml"]
            .iter()
            .any(|start| text.starts_with(start));
        return Said { text, retry_after: None, is_page };
    };
    // Gemini sends a list when it was asked for a stream.
    let value = value.get(0).unwrap_or(&value);
    let error = value.get("error").unwrap_or(value);
    let mut texts = Vec::new();
    let mut add = |value: &Value| match value {
        Value::String(text) => texts.push(text.to_lowercase()),
        Value::Array(_) | Value::Object(_) => texts.push(value.to_string().to_lowercase()),
        _ => {}
    };
    add(if error.is_string() { error } else { &Value::Null });
    // "param" names what an OpenAI-compatible server takes offence at.
    for name in [
        "message",
        "code",
        "type",
        "status",
        "param",
        "detail",
        "innererror",
        "metadata",
        "details",
    ] {
        add(error.get(name).unwrap_or(&Value::Null));
    }
    let details = error.get("details").and_then(Value::as_array);
    let delay = details.into_iter().flatten().find_map(|detail| detail.get("retryDelay")?.as_str());
    let seconds = delay.and_then(|delay| delay.strip_suffix('s')?.parse().ok());
    Said { text: texts.join("\n"), retry_after: seconds.and_then(bounded), is_page: false }
}

fn bounded(seconds: f64) -> Option<Duration> {
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(86_400.0)))
}

/// From `retry-after-ms`, or `retry-after` as seconds or as a date, which is read by the answer's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    let until = || Some(unix_seconds(text("retry-after")?)? - unix_seconds(text("date")?)?);
    number("retry-after-ms")
        .map(|ms| ms / 1000.0)
        .or_else(|| number("retry-after"))
        .or_else(|| until().map(|seconds| seconds.max(0.0)))
        .and_then(bounded)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as unix seconds.
fn unix_seconds(date: &str) -> Option<f64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = date.split_once(", ")?;
    let [day, month, year, time, "GMT"] = rest.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let month = i64::try_from(MONTHS.find(month)? / 3 + 1).ok()?;
    let (day, year): (i64, i64) = (day.parse().ok()?, year.parse().ok()?);
    let [hours, minutes, seconds] = time.split(':').collect::<Vec<_>>()[..] else { return None };
    let clock: i64 = hours.parse::<i64>().ok()? * 3600
        + minutes.parse::<i64>().ok()? * 60
        + seconds.parse::<i64>().ok()?;
    // Days since 1970 with years that begin in March, so that the leap day is the last (Hinnant, 2013).
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    #[allow(clippy::cast_precision_loss)] // far below 2^53
    let seconds = (days * 86_400 + clock) as f64;
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_as_seconds_milliseconds_dates_and_delays() {
        let headers = |list: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in list {
                headers.insert(*name, value.parse().unwrap());
            }
            headers
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:51:07 GMT");
        for (list, seconds) in [
            (vec![("retry-after", "7")], Some(7.0)),
            (vec![("retry-after-ms", "1500"), ("retry-after", "2")], Some(1.5)),
            (vec![date, later], Some(90.0)),
            (vec![later], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "-3")], None),
        ] {
            let found = retry_after(&headers(&list)).map(|wait| wait.as_secs_f64());
            assert_eq!(found, seconds, "{list:?}");
        }
        assert_eq!(unix_seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777.0));
        assert_eq!(unix_seconds("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800.0));
        let gemini = r#"{"error": {"code": 429, "details": [{"retryDelay": "37.5s"}]}}"#;
        assert_eq!(said(gemini).retry_after, Some(Duration::from_millis(37_500)));
    }
}
