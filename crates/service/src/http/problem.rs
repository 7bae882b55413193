//! RFC 9457 problem bodies: the one place where an error becomes a response.

use std::collections::BTreeMap;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::openapi::{self, RefOr};

use storage::error::{Code, Error, InputProblem};

/// The body of every error answer.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Problem {
    /// A stable address that names the kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "urn:evenhand:problem:invalid_input")]
    kind: String,
    /// The reason phrase of the status.
    #[schema(example = "Unprocessable Entity")]
    title: &'static str,
    #[schema(example = 422)]
    status: u16,
    /// The fault of this request and the next thing to do about it.
    detail: String,
    code: Code,
    /// The same id as in the header X-Request-Id and in the server's log.
    request_id: String,
    /// For bad input: its problems, each with its place; at most 100.
    errors: Vec<InputProblem>,
    /// Further problems of the same input that `errors` does not list.
    errors_not_listed: usize,
}

/// The specification of a problem answer.
pub fn problem_response(status: u16) -> RefOr<openapi::Response> {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = RefOr::<openapi::Schema>::Ref(openapi::Ref::from_schema_name("Problem"));
    openapi::ResponseBuilder::new()
        .description(code.canonical_reason().unwrap_or("A problem"))
        .content("application/problem+json", openapi::Content::new(Some(body)))
        .build()
        .into()
}

/// The answer of a handler whose judge answered, but not with a verdict, for `responses(…)`.
pub struct BadGateway;

impl utoipa::IntoResponses for BadGateway {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        BTreeMap::from([("502".to_owned(), problem_response(502))])
    }
}

tokio::task_local! {
    /// The id of the request being answered, set by `http::request_id`.
    pub static REQUEST_ID: String;
}

pub fn current_request_id() -> String {
    REQUEST_ID.try_with(Clone::clone).unwrap_or_default()
}

/// An error on its way to the client: what handlers return. `?` makes one of any [`Error`].
#[derive(Debug)]
pub struct HttpError(Error);

pub type Result<T, E = HttpError> = std::result::Result<T, E>;

impl From<Error> for HttpError {
    fn from(error: Error) -> Self {
        HttpError(error)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let request_id = current_request_id();
        let (code, detail, problems, retry_after) = match self.0 {
            Error::Refused { code, detail, problems, retry_after } => {
                (code, detail, problems, retry_after)
            }
            fault => {
                tracing::error!(request_id, error = %fault, "a request failed");
                let detail =
                    format!("An internal error; the server's log has it under {request_id}.");
                (Code::Internal, detail, Default::default(), None)
            }
        };
        let status =
            StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (errors, errors_not_listed) = problems.into_parts();
        let problem = Problem {
            kind: format!("urn:evenhand:problem:{code}"),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail,
            code,
            request_id,
            errors,
            errors_not_listed,
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
