//! A language model as judge, through `genai`. One call is one HTTP request: no streaming, no tools, no history.
//!
//! The crate's errors carry requests and answers; none of them is printed or passed on. What happened is read from
//! the status, the headers and the body (`failures.rs`), what was answered from the body in the provider's own form
//! (`replies.rs`). What a server turned out not to support is left out of later calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponseFormat, JsonSpec};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget, webc};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::failures::{self, Failure};
use super::providers::Provider;
use super::replies::{Reply, only_object};
use super::transcript::tokens;
use super::{BlockReason, Call, Judge, JudgeAnswer, JudgeError, Unsupported, Usage};

pub struct LlmJudge {
    client: Client,
    provider: Provider,
    model: String,
    label: String,
    base_url: String,
    key: Option<SecretString>,
    temperature: Option<f64>,
    /// The server takes no schema: it is asked in words, and the answer is checked all the same.
    without_schema: AtomicBool,
    without_temperature: AtomicBool,
    /// The provider's words when it last refused a call.
    refusal: Mutex<Option<String>>,
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
            without_schema: AtomicBool::new(false),
            without_temperature: AtomicBool::new(false),
            refusal: Mutex::default(),
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
        let mut options = ChatOptions::default()
            .with_max_tokens(call.max_output_tokens)
            .with_capture_raw_body(true);
        if !self.without_schema.load(Ordering::Relaxed) {
            let form = JsonSpec::new(call.input.kind().as_str(), call.schema.clone());
            options = options.with_response_format(ChatResponseFormat::JsonSpec(form));
        }
        if let Some(temperature) = self.temperature
            && !self.without_temperature.load(Ordering::Relaxed)
        {
            options = options.with_temperature(temperature);
        }
        if self.provider != Provider::Gemini {
            // The crate reads endings such as "-max" as an effort and drops them from the name; put it back.
            options.extra_body = Some(json!({"model": self.model}));
        }
        // A deployment of Azure wants its key under a name of its own.
        if self.base_url.contains("/openai/deployments/")
            && let Some(key) = &self.key
        {
            let header = ("api-key".to_owned(), key.expose_secret().to_owned());
            options = options.with_extra_headers(Headers::from(header));
        }
        options
    }

    async fn ask(&self, call: &Call) -> Result<JudgeAnswer, JudgeError> {
        let user = match self.without_schema.load(Ordering::Relaxed) {
            true => format!(
                "{}\n\nAnswer with one JSON object of this schema, and nothing else:\n{}",
                call.user, call.schema
            ),
            false => call.user.clone(),
        };
        let request =
            ChatRequest::new(vec![ChatMessage::user(user)]).with_system(call.system.as_str());
        let started = Instant::now();
        let response =
            self.client.exec_chat(self.target(), request, Some(&self.options(call))).await;
        let body = match response {
            Ok(response) => response.captured_raw_body,
            Err(genai::Error::ChatResponseGeneration { response_body, .. }) => Some(*response_body),
            Err(error) => match self.body_of_another_type(&error) {
                Some(body) => Some(body),
                None => return Err(self.failure(&error)),
            },
        };
        let body = body.unwrap_or(Value::Null);
        if let Some(error) = failures::inside(&body) {
            self.remember(&error, Some(body.to_string()));
            return Err(error);
        }
        Ok(self.read(call, &Reply::read(self.provider, &body), started.elapsed()))
    }

    fn read(&self, call: &Call, reply: &Reply, latency: Duration) -> JudgeAnswer {
        let json = only_object(&reply.text);
        let problem = match &json {
            _ if reply.is_refused() => Some(JudgeError::Refused),
            _ if reply.ran_out_of_context() => Some(JudgeError::ContextTooLong),
            _ if reply.is_truncated() => Some(JudgeError::Truncated),
            Some(_) => None,
            None if reply.text.trim().is_empty() => Some(JudgeError::Empty),
            None => Some(JudgeError::Invalid),
        };
        let counted = || Usage {
            input_tokens: call.input_tokens,
            output_tokens: u64::try_from(tokens(&reply.text)).unwrap_or(u64::MAX),
        };
        let model = reply.model.as_deref().filter(|model| !model.is_empty());
        JudgeAnswer {
            json: json.unwrap_or(Value::Null),
            model: format!("{}/{}", self.provider.as_str(), model.unwrap_or(&self.model)),
            usage: reply.usage.unwrap_or_else(counted),
            usage_is_estimated: reply.usage.is_none(),
            latency,
            finish_reason: reply.finish.clone(),
            problem,
        }
    }

    /// JSON that was sent as some other type of content, which the crate does not read.
    fn body_of_another_type(&self, error: &genai::Error) -> Option<Value> {
        let genai::Error::WebModelCall { webc_error, .. } = error else { return None };
        match webc_error {
            webc::Error::ResponseFailedNotJson { body, .. } => serde_json::from_str(body).ok(),
            _ => None,
        }
    }

    fn failure(&self, error: &genai::Error) -> JudgeError {
        let genai::Error::WebModelCall { webc_error, .. } = error else {
            return JudgeError::RequestRefused;
        };
        let (status, body, headers) = match webc_error {
            webc::Error::Reqwest(_) => return JudgeError::Transient { after: None },
            webc::Error::ResponseFailedStatus { status, body, headers } => {
                (status.as_u16(), body.as_str(), Some(headers.as_ref()))
            }
            webc::Error::ResponseFailedNotJson { body, .. } => {
                self.remember(&JudgeError::Invalid, Some(body.clone()));
                return JudgeError::Blocked { reason: BlockReason::NotAnApi };
            }
            // An answer that broke off on its way.
            webc::Error::ResponseFailedInvalidJson { .. } => {
                return JudgeError::Transient { after: None };
            }
            webc::Error::JsonValueExt(_) => return JudgeError::Invalid,
        };
        tracing::debug!(status, provider = self.provider.as_str(), "the judge's provider failed");
        let failure = Failure { status, headers, body };
        let mut cause = failure.cause();
        // A field that was not sent cannot have been refused.
        if let JudgeError::Unsupported { what } = cause {
            let (off, sent) = match what {
                Unsupported::StructuredOutput => (&self.without_schema, true),
                Unsupported::Temperature => (&self.without_temperature, self.temperature.is_some()),
            };
            if !sent || off.swap(true, Ordering::Relaxed) {
                cause = JudgeError::RequestRefused;
            }
        }
        self.remember(&cause, Some(failure.message()));
        cause
    }

    /// Keeps the provider's words, without the key, for whoever sets the judge up.
    fn remember(&self, cause: &JudgeError, said: Option<String>) {
        let key = self.key.as_ref().map_or("", |key| key.expose_secret());
        let said = said.map(|said| {
            let said: String = said.chars().take(400).collect();
            let said = if key.is_empty() { said } else { said.replace(key, "[key]") };
            format!("{}: {said}", cause.code())
        });
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = said;
    }
}

impl Judge for LlmJudge {
    fn provider(&self) -> &str {
        self.provider.as_str()
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<JudgeAnswer, JudgeError>> {
        Box::pin(self.ask(call))
    }
}

/// reqwest takes the process's provider of cryptography; the one sqlx uses is here already.
pub fn install_tls() {
    // Fails only if one is installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
