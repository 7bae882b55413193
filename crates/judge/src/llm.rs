//! A language model as judge, through `genai`. One call is one HTTP request: no streaming, no tools, no history.
//!
//! The crate's errors carry requests and answers; none of them is printed or passed on. What happened is read from
//! the status, the headers and the finish reason.

use std::time::Duration;

use futures_util::future::BoxFuture;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatResponse, ChatResponseFormat, JsonSpec, StopReason,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget, webc};
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::time::Instant;

use super::providers::Provider;
use super::{BlockReason, Call, Judge, JudgeAnswer, JudgeError, Usage};

pub struct LlmJudge {
    client: Client,
    provider: Provider,
    model: String,
    label: String,
    base_url: String,
    key: Option<SecretString>,
    temperature: Option<f64>,
}

impl LlmJudge {
    /// `timeout` is for one request; the crate has none of its own. A negative temperature is not sent.
    pub fn new(
        provider: Provider,
        model: &str,
        base_url: &str,
        key: Option<SecretString>,
        timeout: Duration,
        temperature: f64,
    ) -> Result<Self, String> {
        install_tls();
        let http = reqwest::Client::builder()
            .connect_timeout(timeout.min(Duration::from_secs(10)))
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("evenhand/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|_| "no HTTP client could be set up for the judge".to_owned())?;
        let client = Client::builder().with_reqwest(http).build();
        Ok(LlmJudge {
            client: client.map_err(|_| "the judge's client could not be set up".to_owned())?,
            provider,
            model: model.to_owned(),
            label: format!("{}/{model}", provider.as_str()),
            base_url: base_url.to_owned(),
            key,
            temperature: (temperature >= 0.0).then_some(temperature),
        })
    }

    /// Endpoint, key and kind of interface are always given: the crate guesses none of them from the model's name,
    /// and so a gateway's model is never taken for another provider's.
    fn target(&self) -> ServiceTarget {
        let adapter = match self.provider {
            Provider::Openai => AdapterKind::OpenAI,
            Provider::Anthropic => AdapterKind::Anthropic,
            Provider::Gemini => AdapterKind::Gemini,
            Provider::Openrouter => AdapterKind::OpenRouter,
        };
        // A server of one's own that wants no key ignores this one.
        let key = self.key.as_ref().map_or("none", |key| key.expose_secret());
        ServiceTarget {
            endpoint: Endpoint::from_owned(self.base_url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(adapter, self.model.as_str()),
        }
    }

    fn options(&self, call: &Call) -> ChatOptions {
        let name = call.input.kind().as_str();
        let form = JsonSpec::new(name, call.schema.clone());
        let mut options = ChatOptions::default()
            .with_max_tokens(call.max_output_tokens)
            .with_response_format(ChatResponseFormat::JsonSpec(form))
            .with_capture_raw_body(true);
        if let Some(temperature) = self.temperature {
            options = options.with_temperature(temperature);
        }
        if self.provider != Provider::Gemini {
            // The crate reads endings such as "-max" as an effort and drops them from the name; put it back.
            options.extra_body = Some(json!({"model": self.model}));
        }
        options
    }

    async fn ask(&self, call: &Call) -> Result<JudgeAnswer, JudgeError> {
        let request = ChatRequest::new(vec![ChatMessage::user(call.user.as_str())])
            .with_system(call.system.as_str());
        let started = Instant::now();
        let response =
            self.client.exec_chat(self.target(), request, Some(&self.options(call))).await;
        let response = response.map_err(|error| self.failure(&error))?;
        self.read(&response, started.elapsed())
    }

    fn read(&self, response: &ChatResponse, latency: Duration) -> Result<JudgeAnswer, JudgeError> {
        match &response.stop_reason {
            Some(StopReason::MaxTokens(_)) => return Err(JudgeError::Truncated),
            Some(StopReason::ContentFilter(_)) => return Err(JudgeError::Refused),
            _ => {}
        }
        let raw = response.captured_raw_body.as_ref();
        let refusal = raw.and_then(|body| body.pointer("/choices/0/message/refusal"));
        if refusal.is_some_and(|refusal| refusal.is_string()) {
            return Err(JudgeError::Refused);
        }
        // The structured answer is the whole content. Text around it means that it is none.
        let text = response.content.joined_texts().ok_or(JudgeError::Invalid)?;
        let json = serde_json::from_str(text.trim()).map_err(|_| JudgeError::Invalid)?;
        let count = |tokens: Option<i32>| tokens.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let reported = &response.provider_model_iden.model_name;
        Ok(JudgeAnswer {
            json,
            model: format!("{}/{reported}", self.provider.as_str()),
            usage: Usage {
                input_tokens: count(response.usage.prompt_tokens),
                output_tokens: count(response.usage.completion_tokens),
            },
            latency,
            finish_reason: response.stop_reason.as_ref().map_or("", |r| r.raw()).to_owned(),
        })
    }

    fn failure(&self, error: &genai::Error) -> JudgeError {
        let Some(status) = error.status() else {
            return match error {
                genai::Error::WebModelCall { webc_error: webc::Error::Reqwest(_), .. } => {
                    JudgeError::Transient { after: None }
                }
                // Gemini's way to decline before it begins.
                genai::Error::ChatResponseGeneration { response_body, .. }
                    if response_body.pointer("/promptFeedback/blockReason").is_some() =>
                {
                    JudgeError::Refused
                }
                _ => JudgeError::Invalid,
            };
        };
        let status = status.as_u16();
        let after = error.headers().and_then(retry_after);
        tracing::debug!(status, provider = self.provider.as_str(), "the judge's provider failed");
        let blocked = |reason| JudgeError::Blocked { reason };
        match status {
            401 | 403 => blocked(BlockReason::KeyRefused),
            402 => blocked(BlockReason::PaymentNeeded),
            404 => blocked(BlockReason::ModelNotFound),
            // Two providers say "no credit left" under another status.
            400 | 429 if is_out_of_credit(error) => blocked(BlockReason::PaymentNeeded),
            429 => JudgeError::RateLimited { after },
            408 | 409 | 425 | 500.. => JudgeError::Transient { after },
            _ => JudgeError::Invalid,
        }
    }
}

impl Judge for LlmJudge {
    fn provider(&self) -> &str {
        self.provider.as_str()
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(self.ask(call))
    }
}

/// Seconds from `retry-after-ms` or `retry-after`. A date in the latter is rare and left to the backoff.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| -> Option<f64> {
        let value: f64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Some(Duration::from_secs_f64(seconds.min(86_400.0)))
}

fn is_out_of_credit(error: &genai::Error) -> bool {
    let genai::Error::WebModelCall {
        webc_error: webc::Error::ResponseFailedStatus { body, .. },
        ..
    } = error
    else {
        return false;
    };
    body.contains("insufficient_quota") || body.contains("credit balance is too low")
}

/// reqwest takes the process's provider of cryptography; the one sqlx uses is here already.
pub fn install_tls() {
    // Fails only if one is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
