//! `/auth/oidc`: to the provider, and back from it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::SignInProblem;
use super::attempt::{ATTEMPT_SECONDS, Attempt};
use super::provider::{Provider, Unproven};
use super::sessions::{self, SignInError};
use crate::app::App;
use crate::config::oidc::CALLBACK;
use crate::credentials::browser::SIGNED_IN_SECONDS;
use crate::credentials::sign_in_http::{SignInRate, cookie_value, set_cookie};
use crate::http::Result;
use storage::error::{Code, Error};

/// Holds an attempt. SameSite=Lax: it comes along when the provider sends the browser back.
const ATTEMPT_COOKIE: &str = "evenhand_sign_in";
/// Bytes of a query that are read: a code can be long.
const QUERY_LENGTH: usize = 8192;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/auth/oidc/start", get(start)).route(CALLBACK, get(come_back))
}

/// Sends the browser to the provider.
async fn start(
    State(app): State<Arc<App>>,
    _within_rate: SignInRate,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let provider = provider(&app)?;
    let return_to = parameter(query.as_deref(), "return_to").unwrap_or_default();
    let attempt = Attempt::new(&app, &return_to);
    match provider.begin(app.clock.now(), &attempt).await {
        Ok(address) => {
            Ok(lead_to(&address, [attempt_cookie(&app, &attempt.seal(&app)?, ATTEMPT_SECONDS)]))
        }
        Err(unproven) => Ok(lead_to(&problem_page(&unproven), [])),
    }
}

/// Takes the browser back from the provider, and signs the person in.
async fn come_back(
    State(app): State<Arc<App>>,
    _within_rate: SignInRate,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response> {
    let provider = provider(&app)?;
    let forget = attempt_cookie(&app, "", 0);
    match prove(&app, provider, &headers, query.as_deref()).await {
        Ok((value, return_to)) => {
            let session = set_cookie(&app, &value, SIGNED_IN_SECONDS);
            Ok(lead_to(&return_to, [session, forget]))
        }
        Err(SignInError::Problem(problem)) => Ok(lead_to(&page_of(problem), [forget])),
        Err(SignInError::Server(error)) => Err(error.into()),
    }
}

async fn prove(
    app: &Arc<App>,
    provider: &Provider,
    headers: &HeaderMap,
    query: Option<&str>,
) -> Result<(String, String), SignInError> {
    let state = parameter(query, "state").unwrap_or_default();
    let attempt = cookie_value(headers, ATTEMPT_COOKIE)
        .and_then(|sealed| Attempt::unseal(app, sealed, &state))
        .ok_or(SignInError::Problem(SignInProblem::Expired))?;
    let Some(code) = parameter(query, "code") else {
        return Err(SignInError::Problem(SignInProblem::Cancelled));
    };
    let proven = provider.exchange(app.clock.now(), code, &attempt).await.map_err(|unproven| {
        tracing::warn!(?unproven, "nobody was signed in");
        SignInError::Problem(problem_of(&unproven))
    })?;
    Ok((sessions::begin(app, proven).await?, attempt.return_to))
}

fn provider(app: &App) -> Result<&Provider, Error> {
    let provider = app.state::<Option<Provider>>().as_ref();
    provider.ok_or_else(|| {
        Error::refused(
            Code::NotFound,
            "Signing in with OpenID Connect is not configured; see docs/sign-in.md.",
        )
    })
}

fn problem_of(unproven: &Unproven) -> SignInProblem {
    match unproven {
        Unproven::Refused(problem, _) => *problem,
        Unproven::Unreachable(_) => SignInProblem::Unreachable,
    }
}

fn problem_page(unproven: &Unproven) -> String {
    tracing::warn!(?unproven, "nobody was sent to the sign-in provider");
    page_of(problem_of(unproven))
}

fn page_of(problem: SignInProblem) -> String {
    format!("/sign-in?problem={problem}")
}

fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let query = query.filter(|query| query.len() <= QUERY_LENGTH)?;
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn attempt_cookie(app: &App, value: &str, seconds: i64) -> String {
    let secure = if app.settings.server.secure_cookies { "; Secure" } else { "" };
    format!(
        "{ATTEMPT_COOKIE}={value}; Path=/auth/oidc; HttpOnly; SameSite=Lax; Max-Age={seconds}{secure}"
    )
}

fn lead_to<const N: usize>(address: &str, cookies: [String; N]) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    if let Ok(address) = HeaderValue::from_str(address) {
        headers.insert(header::LOCATION, address);
    }
    for cookie in cookies.iter().filter_map(|cookie| HeaderValue::from_str(cookie).ok()) {
        headers.append(header::SET_COOKIE, cookie);
    }
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
