//! `/auth/session`: signing a browser in with a token, switching its organization, and signing out again.
//! Signing in with a provider is in `people/http.rs`.
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
use super::people::{self, Person};
use crate::app::App;
use crate::http::fields::{Fields, Read};
use crate::http::{HttpError, Input, RateBucket, RateLimits, Result};
use base::owner::OrgId;
use storage::error::{Code, Error};

pub const CSRF_HEADER: &str = "x-evenhand-csrf";
const COOKIE: &str = "evenhand_session";

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/auth/session", get(look).post(sign_in).patch(switch).delete(sign_out))
        .merge(people::http::routes())
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
    /// The person who signed in with the provider.
    person: Option<Person>,
    /// The organizations that are open to this session.
    organizations: Vec<OrgId>,
    /// The provider that people can sign in with, by its name.
    provider: Option<String>,
}

impl Session {
    fn signed_out(app: &App) -> Self {
        let oidc = &app.settings.oidc;
        Session {
            state: SignInState::SignedOut,
            org_id: None,
            csrf: None,
            role: None,
            governance: false,
            person: None,
            organizations: Vec::new(),
            provider: oidc.is_configured().then(|| oidc.shown_name()),
        }
    }

    fn local(app: &App, caller: Caller) -> Self {
        Session {
            state: SignInState::Local,
            organizations: vec![caller.org_id.clone()],
            org_id: Some(caller.org_id),
            role: Some(caller.role),
            governance: caller.governance,
            ..Session::signed_out(app)
        }
    }

    fn of(app: &App, browser: Browser) -> Self {
        let Browser { caller, csrf, person, organizations } = browser;
        Session {
            state: SignInState::SignedIn,
            org_id: Some(caller.org_id),
            csrf: Some(csrf),
            role: Some(caller.role),
            governance: caller.governance,
            person,
            organizations,
            ..Session::signed_out(app)
        }
    }
}

/// Answers 200 in every case: a page asks this first, and being signed out is no error.
async fn look(State(app): State<Arc<App>>, parts: Parts) -> Result<Json<Session>> {
    if let Some(browser) = of_cookie(&parts.headers, &app).await? {
        return Ok(Json(Session::of(&app, browser)));
    }
    let session = match callers::local_caller(&parts, &app).await {
        Ok(caller) => Session::local(&app, caller),
        Err(Error::Refused { code: Code::Unauthenticated, .. }) => Session::signed_out(&app),
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
pub(super) struct SignInRate;

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
    let cookie = set_cookie(&app, &value, browser::SIGNED_IN_SECONDS);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(Session::of(&app, browser))))
}

/// A signed-in browser with its cookie's value; a change with its proof.
struct SignedIn(Browser, String);

impl FromRequestParts<Arc<App>> for SignedIn {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let cookie = cookie_value(&parts.headers, COOKIE).unwrap_or_default().to_owned();
        match signed_in(parts, app).await? {
            Some(browser) => Ok(SignedIn(browser, cookie)),
            None => Err(Error::refused(Code::Unauthenticated, "Sign in first.").into()),
        }
    }
}

struct Switch {
    org_id: OrgId,
}

impl Read for Switch {
    const BODY_LIMIT: Option<usize> = Some(4096);

    fn read(f: &mut Fields<'_>) -> Self {
        Switch { org_id: f.id("org_id") }
    }
}

/// Goes on in another of the organizations that are open to the session.
async fn switch(
    State(app): State<Arc<App>>,
    SignedIn(browser, cookie): SignedIn,
    Input { value: Switch { org_id }, .. }: Input<Switch>,
) -> Result<impl IntoResponse> {
    let value = browser::switch(&app, &browser, &cookie, &org_id).await?;
    let browser = browser::signed_in(&app, &value).await?;
    let session = browser.map_or_else(|| Session::signed_out(&app), |one| Session::of(&app, one));
    let cookie = set_cookie(&app, &value, browser::SIGNED_IN_SECONDS);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(session)))
}

async fn sign_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<impl IntoResponse> {
    if let Some(value) = cookie_value(&headers, COOKIE) {
        browser::sign_out(&app, value).await?;
    }
    let cookie = set_cookie(&app, "", 0);
    Ok((AppendHeaders([(header::SET_COOKIE, cookie)]), Json(Session::signed_out(&app))))
}

pub(super) fn set_cookie(app: &App, value: &str, seconds: i64) -> String {
    let secure = if app.settings.server.secure_cookies { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The browser behind the request's cookie, if it has a good one. A change without the header is refused.
pub async fn signed_in(parts: &Parts, app: &Arc<App>) -> Result<Option<Browser>, Error> {
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
    app.state::<RateLimits>().check(RateBucket::Credential(&browser.caller.credential_id))?;
    Ok(Some(browser))
}

pub(super) fn cookie_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|p| p.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

async fn of_cookie(headers: &HeaderMap, app: &Arc<App>) -> Result<Option<Browser>, Error> {
    match cookie_value(headers, COOKIE).filter(|value| !value.is_empty()) {
        Some(value) if app.db.engine().is_some() => browser::signed_in(app, value).await,
        _ => Ok(None),
    }
}
