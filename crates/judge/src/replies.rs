//! A provider's answer, read from its own form: text, tokens, why it stopped.

use serde_json::Value;

use super::Usage;
use super::providers::Provider;

/// An answer of any provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    pub model: Option<String>,
    /// Nothing if the provider does not say.
    pub usage: Option<Usage>,
    pub finish: String,
    pub is_refusal: bool,
}

impl Reply {
    pub fn read(provider: Provider, body: &Value) -> Reply {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
        let count = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64);
        let usage = |input: Option<u64>, output: Option<u64>| {
            let usage = Usage { input_tokens: input?, output_tokens: output? };
            // A session without a token is none: some servers send zeros for "not counted".
            (usage.input_tokens > 0).then_some(usage)
        };
        match provider {
            Provider::Openai | Provider::Openrouter => {
                let refusal =
                    text("/choices/0/message/refusal").is_some_and(|text| !text.is_empty());
                Reply {
                    text: parts(body.pointer("/choices/0/message/content")),
                    model: text("/model").map(str::to_owned),
                    usage: usage(count("/usage/prompt_tokens"), count("/usage/completion_tokens")),
                    finish: text("/choices/0/finish_reason").unwrap_or_default().to_owned(),
                    is_refusal: refusal,
                }
            }
            Provider::Anthropic => {
                // Tokens that were read from the cache or written to it are not part of the input's count.
                let cached = count("/usage/cache_read_input_tokens").unwrap_or(0)
                    + count("/usage/cache_creation_input_tokens").unwrap_or(0);
                let input = count("/usage/input_tokens").map(|tokens| tokens + cached);
                Reply {
                    text: parts(body.get("content")),
                    model: text("/model").map(str::to_owned),
                    usage: usage(input, count("/usage/output_tokens")),
                    finish: text("/stop_reason").unwrap_or_default().to_owned(),
                    is_refusal: false,
                }
            }
            Provider::Gemini => {
                // Thoughts are charged as output and not among the candidates' tokens.
                let thoughts = count("/usageMetadata/thoughtsTokenCount").unwrap_or(0);
                let output = count("/usageMetadata/candidatesTokenCount");
                let output = output.or((thoughts > 0).then_some(0)).map(|tokens| tokens + thoughts);
                Reply {
                    text: parts(body.pointer("/candidates/0/content/parts")),
                    model: text("/modelVersion").map(str::to_owned),
                    usage: usage(count("/usageMetadata/promptTokenCount"), output),
                    finish: text("/candidates/0/finishReason").unwrap_or_default().to_owned(),
                    is_refusal: text("/promptFeedback/blockReason").is_some(),
                }
            }
        }
    }

    pub fn is_truncated(&self) -> bool {
        matches!(self.finish.as_str(), "length" | "max_tokens" | "MAX_TOKENS" | "incomplete")
    }

    pub fn ran_out_of_context(&self) -> bool {
        matches!(self.finish.as_str(), "model_context_window_exceeded" | "model_length")
    }

    pub fn is_refused(&self) -> bool {
        const REASONS: &[&str] = &[
            "content_filter",
            "refusal",
            "SAFETY",
            "RECITATION",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "LANGUAGE",
        ];
        self.is_refusal || REASONS.contains(&self.finish.as_str())
    }
}

/// A text, or the texts of a list of parts; thoughts and everything else in the list are left out.
fn parts(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let is_text = |part: &&Value| {
                part.get("thought") != Some(&Value::Bool(true))
                    && part.get("type").is_none_or(|kind| kind == "text" || kind == "output_text")
            };
            let texts = parts.iter().filter(is_text).filter_map(|part| part.get("text")?.as_str());
            texts.collect()
        }
        _ => String::new(),
    }
}

/// The object in an answer: the whole text, or the only object in it, in a code fence or behind a thinking block. Two
/// objects are none: nobody can say which of them is the answer.
pub fn only_object(text: &str) -> Option<Value> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let text = ["</think>", "</thinking>", "</reasoning>", "</thought>"]
        .iter()
        .find_map(|end| text.rsplit_once(end))
        .map_or(text, |(_, answer)| answer);
    let mut found: Option<Value> = None;
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let mut values = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value @ Value::Object(_))) => {
                if found.replace(value).is_some() {
                    return None;
                }
                rest = &rest[at + values.byte_offset()..];
            }
            _ => rest = &rest[at + 1..],
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_found_whole_fenced_or_behind_thoughts_and_only_if_it_is_the_only_one() {
        let object = json!({"is_success": true, "inner": {"a": [1]}});
        for text in [
            object.to_string(),
            format!("```json\n{object}\n```"),
            format!("Here is the verdict:\n\n{object}\nI hope it helps."),
            format!("<think>It may be {{\"is_success\": false}} or not.</think>\n{object}"),
            format!("{{braces}} are fine. {object}"),
        ] {
            assert_eq!(only_object(&text), Some(object.clone()), "{text}");
        }
        for text in [
            format!("{object} {object}"),
            format!("{{\"is_success\": false}} was said, but {object}"),
            "[1, 2]".to_owned(),
            "{\"is_success\": tr".to_owned(),
            String::new(),
        ] {
            assert_eq!(only_object(&text), None, "{text}");
        }
    }

    #[test]
    fn usage_is_read_with_caches_and_thoughts_and_zeros_are_none() {
        let usage = |provider, body: Value| Reply::read(provider, &body).usage;
        let read = |input_tokens, output_tokens| Some(Usage { input_tokens, output_tokens });
        let body = json!({"usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7}});
        assert_eq!(usage(Provider::Anthropic, body), read(95, 7));
        let counts =
            json!({"promptTokenCount": 9, "candidatesTokenCount": 3, "thoughtsTokenCount": 4});
        assert_eq!(usage(Provider::Gemini, json!({"usageMetadata": counts})), read(9, 7));
        let body = json!({"usage": {"prompt_tokens": 0, "completion_tokens": 0}});
        assert_eq!(usage(Provider::Openai, body), None);
        assert_eq!(usage(Provider::Openai, json!({"usage": null})), None);
    }
}
