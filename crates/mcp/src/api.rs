//! The way to Evenhand's own interface, and the words of its refusals.

use std::future::Future;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A way to Evenhand's interface.
pub trait Api: Clone + Send + Sync + 'static {
    /// Sends one request. Every answer with a status is an [`Answer`], refusals too; an error says, for people, why
    /// there is none.
    fn call(&self, call: Call) -> impl Future<Output = Result<Answer, String>> + Send;
}

/// One request to the interface.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: Method,
    /// The path with its query, encoded.
    pub path: String,
    /// Sent as JSON.
    pub body: Option<Value>,
    /// The HTTP request that asks for it; none on stdio.
    pub asked_by: Option<Parts>,
}

/// The answer to a [`Call`].
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

impl Call {
    /// The header `Authorization` of the request that asks for it.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.asked_by.as_ref()?.headers.get(header::AUTHORIZATION)
    }

    /// The call as a request to a router in this process, in the name of whoever asks.
    ///
    /// Local mode looks at `Host`, `Origin`, the HTTP version and the headers of proxies, so all headers go on but
    /// those about the body, and cookies: a page in a browser signs in for the dashboard, not for this. Of the
    /// extensions only the address of the peer matters; it is the caller's to copy, because its type is axum's.
    pub fn into_request(self) -> Result<Request<Vec<u8>>, String> {
        let mut request = Request::new(match &self.body {
            Some(body) => body.to_string().into_bytes(),
            None => Vec::new(),
        });
        *request.method_mut() = self.method;
        *request.uri_mut() =
            self.path.parse().map_err(|error| format!("{error}: {}", self.path))?;
        if let Some(asked_by) = self.asked_by {
            *request.version_mut() = asked_by.version;
            *request.headers_mut() = without_body_and_cookies(asked_by.headers);
        }
        if self.body.is_some() {
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        Ok(request)
    }
}

fn without_body_and_cookies(mut headers: HeaderMap) -> HeaderMap {
    let about_the_body = |name: &HeaderName| {
        let name = name.as_str();
        name.starts_with("content-") || name.starts_with("accept") || name == "transfer-encoding"
    };
    let gone: Vec<HeaderName> =
        headers.keys().filter(|name| about_the_body(name)).cloned().collect();
    for name in gone.into_iter().chain([header::COOKIE, header::EXPECT]) {
        headers.remove(name);
    }
    headers
}

/// A text as one segment of a path.
pub(crate) fn segment(text: &str) -> impl std::fmt::Display + '_ {
    const RESERVED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED)
}

/// The interface, asked in the name of whoever sent the request at hand.
pub(crate) struct Client<'a, A> {
    pub api: &'a A,
    pub asked_by: Option<&'a Parts>,
}

impl<A: Api> Client<'_, A> {
    pub async fn get(&self, path: String) -> Result<Value, Failure> {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.send(Method::POST, path.to_owned(), Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        path: String,
        body: Option<Value>,
    ) -> Result<Value, Failure> {
        let call = Call { method, path, body, asked_by: self.asked_by.cloned() };
        let answer = self.api.call(call).await.map_err(Failure::NoAnswer)?;
        if !answer.status.is_success() {
            return Err(Failure::Refused(Refusal::read(&answer)));
        }
        serde_json::from_slice(&answer.body).map_err(|_| {
            let status = answer.status.as_u16();
            Failure::NoAnswer(format!(
                "Something answered {status} that is not Evenhand's interface; check the URL."
            ))
        })
    }
}

/// The reason why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    /// The interface was not reached, or something else answered.
    NoAnswer(String),
}

/// A refusal of the interface: what its problem body says.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Refusal {
    #[serde(skip_deserializing)]
    pub status: u16,
    pub code: String,
    pub detail: String,
    #[serde(default)]
    pub errors: Vec<InputProblem>,
    #[serde(default)]
    pub errors_not_listed: u64,
}

/// A problem with one field.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct InputProblem {
    pub pointer: String,
    pub code: String,
    pub detail: String,
}

impl Refusal {
    fn read(answer: &Answer) -> Self {
        let status = answer.status.as_u16();
        match serde_json::from_slice::<Refusal>(&answer.body) {
            Ok(refusal) => Refusal { status, ..refusal },
            // A proxy's page, or another server.
            Err(_) => Refusal {
                status,
                code: "no_problem_body".to_owned(),
                detail: format!("Something answered {} without saying why.", answer.status),
                errors: Vec::new(),
                errors_not_listed: 0,
            },
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}: {}", self.status, self.code, self.detail);
        for problem in &self.errors {
            text += &format!("\n- {}: {} ({})", problem.pointer, problem.detail, problem.code);
        }
        if self.errors_not_listed > 0 {
            text += &format!("\n- and {} more", self.errors_not_listed);
        }
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            text += "\nThe token is set where this server is configured: EVENHAND_TOKEN for `evenhand mcp`, the \
                     header Authorization for /mcp.";
        }
        text
    }
}

impl Failure {
    fn text_and_data(&self) -> (String, Value) {
        match self {
            Failure::Refused(refusal) => (refusal.text(), json!(refusal)),
            Failure::NoAnswer(reason) => {
                (reason.clone(), json!({"code": "no_answer", "detail": reason}))
            }
        }
    }

    /// As the result of a tool: the model that called it reads why, and can do better.
    pub fn into_result(self) -> CallToolResult {
        let (text, data) = self.text_and_data();
        let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
        result.structured_content = Some(data);
        result
    }
}

/// As the answer to a request that has no result of its own for failures.
impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        let (text, data) = failure.text_and_data();
        let data = Some(data);
        match failure {
            Failure::Refused(refusal) if refusal.status < 500 => {
                ErrorData::invalid_request(text, data)
            }
            _ => ErrorData::internal_error(text, data),
        }
    }
}
