//! `/auth/session`: signing a browser in with a dashboard token, and out again.
//!
//! The cookie is HttpOnly and SameSite=Strict. What a browser changes with it carries [`CSRF_HEADER`]; the value
//! comes with the answer to signing in and to `GET /auth/session`, which no other site's page can read.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::response::{AppendHeaders, IntoResponse};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use subtle::ConstantTimeEq;

use super::Role;
use super::browser::{self, Browser};
use super::callers::{self, Caller};
use crate::app::App;
use crate::http::fields::{Fields, Read};
use crate::http::{HttpError, Input, RateBucket, RateLimits, Result};
use base::owner::OrgId;
use storage::error::{Code, Error};

pub const CSRF_HEADER: &str = "x-evenhand-csrf";
const COOKIE: &str = "evenhand_session";

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/auth/session", get(look).post(sign_in).delete(sign_out))
}

base::vocabulary! {
    enum SignInState {
        /// There are no credentials yet.
        Local = "local",
        SignedIn = "signed_in",
        SignedOut = "signed_out",
    }
}

/// Sign-in state of this browser.
#[derive(Serialize)]
struct Session {
    state: SignInState,
    org_id: Option<OrgId>,
    /// CSRF token: the header `X-Evenhand-CSRF` must carry it when something is changed.
    csrf: Option<String>,
    role: Option<Role>,
    /// True if it may export and erase.
    governance: bool,
}

impl Session {
    fn of(caller: Caller, csrf: Option<String>) -> Self {
        let state = if caller.local { SignInState::Local } else { SignInState::SignedIn };
        let (role, governance) = (Some(caller.role), caller.governance);
        Session { state, org_id: Some(caller.org_id), csrf, role, governance }
    }

    fn signed_out() -> Self {
        let state = SignInState::SignedOut;
        Session { state, org_id: None, csrf: None, role: None, governance: false }
    }
}

/// Answers 200 in every case: a page asks this first, and being signed out is no error.
async fn look(State(app): State<Arc<App>>, parts: Parts) -> Result<Json<Session>> {
    if let Some(browser) = of_cookie(&parts.headers, &app).await? {
        let csrf = Some(browser.csrf.clone());
        return Ok(Json(Session::of(caller(browser), csrf)));
    }
    let session = match callers::local_caller(&parts, &app).await {
        Ok(caller) => Session::of(caller, None),
        Err(Error::Refused { code: Code::Unauthenticated, .. }) => Session::signed_out(),
        Err(error) => return Err(error.into()),
    };
    Ok(Json(session))
}

struct SignIn {
    token: String,
}

impl Read for SignIn {
    // Anybody may send this: a token and nothing else.
    const BODY_LIMIT: Option<usize> = Some(4096);

    fn read(f: &mut Fields<'_>) -> Self {
        SignIn { token: f.required("token", |f| f.optional_text("token", 1000)) }
    }
}

/// Counts an attempt to sign in before its body is read.
struct SignInRate;

impl FromRequestParts<Arc<App>> for SignInRate {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        app.state::<RateLimits>().check(RateBucket::SignIn(callers::address(parts)))?;
        Ok(SignInRate)
    }
}

async fn sign_in(
    State(app): State<Arc<App>>,
    _within_rate: SignInRate,
    Input { value, .. }: Input<SignIn>,
) -> Result<impl IntoResponse> {
    let (value, browser) = browser::sign_in(&app, value.token.trim()).await?;
    let csrf = Some(browser.csrf.clone());
    let cookie = set_cookie(&app, &value, browser::SIGNED_IN_SECONDS);
    let body = Json(Session::of(caller(browser), csrf));
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), body))
}

async fn sign_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<impl IntoResponse> {
    if let Some(value) = cookie_value(&headers) {
        browser::sign_out(&app, value).await?;
    }
    let cookie = set_cookie(&app, "", 0);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(Session::signed_out())))
}

fn set_cookie(app: &App, value: &str, seconds: i64) -> String {
    let secure = if app.settings.server.secure_cookies { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The caller behind the request's cookie, if it has a good one. A change without the header is refused.
pub async fn signed_in(parts: &Parts, app: &App) -> Result<Option<Caller>, Error> {
    let Some(browser) = of_cookie(&parts.headers, app).await? else {
        return Ok(None);
    };
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        let sent = parts.headers.get(CSRF_HEADER).map(|value| value.as_bytes()).unwrap_or_default();
        if !bool::from(browser.csrf.as_bytes().ct_eq(sent)) {
            return Err(Error::refused(
                Code::CsrfMissing,
                "A change made with the dashboard's cookie needs the header X-Evenhand-CSRF.",
            ));
        }
    }
    app.state::<RateLimits>().check(RateBucket::Credential(&browser.credential.credential_id))?;
    Ok(Some(caller(browser)))
}

fn cookie_value(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|p| p.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

async fn of_cookie(headers: &HeaderMap, app: &App) -> Result<Option<Browser>, Error> {
    match cookie_value(headers).filter(|value| !value.is_empty()) {
        Some(value) if app.db.engine().is_some() => browser::signed_in(app, value).await,
        _ => Ok(None),
    }
}

fn caller(browser: Browser) -> Caller {
    Caller::of(browser.credential)
}
