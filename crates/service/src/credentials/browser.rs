//! Signed-in browsers: a token exchanged for a cookie value that ends by itself, or a person whom a provider vouched for
//! (`people`).
//!
//! The value is random. The server keeps a list of those that are signed in, each as a keyed hash of its value with its
//! end: neither the list nor the key is enough to make a cookie, and no cookie lasts longer than the list says. Signing
//! out, a revoked or expired credential and a rotated key end it. A change made with the cookie needs the value's
//! companion in a header, which no page of another site can know.

use std::sync::Arc;

use storage::subjects::KeyPurpose;

use super::people::{self, Person};
use super::{Caller, Credential, GivenCredentials, Role, sql, token_digest, usage};
use crate::app::App;
use base::owner::OrgId;
use storage::error::{Code, Error, Result};

/// A browser stays signed in this long.
pub const SIGNED_IN_SECONDS: i64 = 12 * 3600;

/// A browser that is signed in.
pub struct Browser {
    pub caller: Caller,
    /// CSRF token that its changes must carry in a header.
    pub csrf: String,
    /// The person at it, if a provider said who it is.
    pub person: Option<Person>,
    /// The organizations it can switch between; its own is one of them.
    pub organizations: Vec<OrgId>,
}

impl Browser {
    fn with_token(credential: Credential, csrf: String) -> Self {
        let organizations = vec![credential.org_id.clone()];
        Browser { caller: Caller::of(credential), csrf, person: None, organizations }
    }
}

/// Exchanges the token of a dashboard, an auditor or governance for the cookie's value.
pub async fn sign_in(app: &Arc<App>, token: &str) -> Result<(String, Browser)> {
    let Some(credential) = super::find(app, token).await? else {
        return Err(Error::refused(Code::Unauthenticated, "This token is unknown or revoked."));
    };
    if !matches!(credential.role, Role::Dashboard | Role::Auditor | Role::Governance) {
        return Err(Error::refused(
            Code::Forbidden,
            "The token of a program does not sign in; `evenhand keys create --role dashboard` makes one that does.",
        ));
    }
    usage::note(app, &credential);
    let now = app.clock.now();
    let ends_at = credential.expires_at.unwrap_or(i64::MAX).min(now + SIGNED_IN_SECONDS);
    let value = app.ids.secret();
    let row = (stamp(app, "session", &value), credential.credential_id.clone());
    app.db
        .write(
            "credentials.sign_in",
            (row, token_digest(token), now, ends_at),
            |tx, ((session, id), digest, now, ends_at)| {
                Box::pin(sql::insert_browser(tx, session, id, digest, *now, *ends_at))
            },
        )
        .await?;
    let csrf = stamp(app, "csrf", &value);
    Ok((value, Browser::with_token(credential, csrf)))
}

/// Ends a browser's session.
pub async fn sign_out(app: &App, cookie: &str) -> Result<()> {
    let session = stamp(app, "session", cookie);
    people::end(app, &session).await?;
    app.db
        .write("credentials.sign_out", session, |tx, session| {
            Box::pin(sql::delete_browser(tx, session))
        })
        .await
}

/// Goes on in another organization, and gives the new cookie's value.
pub async fn switch(
    app: &Arc<App>,
    browser: &Browser,
    cookie: &str,
    org_id: &OrgId,
) -> Result<String> {
    if browser.person.is_none() || !browser.organizations.contains(org_id) {
        return Err(Error::refused(
            Code::Forbidden,
            "This organization is not open to this session; GET /auth/session lists those that are.",
        ));
    }
    people::switch(app, cookie, org_id).await
}

/// The browser behind a cookie's value, unless it ended, was forged, or its credential is gone.
pub async fn signed_in(app: &Arc<App>, cookie: &str) -> Result<Option<Browser>> {
    let now = app.clock.now();
    let session = stamp(app, "session", cookie);
    let found = app
        .db
        .lookup("credentials.browser", session, |tx, session| Box::pin(sql::browser(tx, session)))
        .await?;
    let Some((id, signed_in_with, ends_at)) = found else {
        return people::signed_in(app, cookie).await;
    };
    if ends_at <= now {
        return Ok(None);
    }
    let Some((credential, digest)) = with_digest(app, &id).await? else {
        return Ok(None);
    };
    if digest != signed_in_with || credential.is_expired(now) {
        return Ok(None);
    }
    Ok(Some(Browser::with_token(credential, stamp(app, "csrf", cookie))))
}

/// Keyed hash of a cookie's value: its place in the list, or its companion.
pub(super) fn stamp(app: &App, what: &str, value: &str) -> String {
    app.subject_keys.stamp(KeyPurpose::Cookies, &[what, value])
}

async fn with_digest(app: &App, credential_id: &str) -> Result<Option<(Credential, String)>> {
    if let Some(given) = app.state::<GivenCredentials>().with_digest(credential_id) {
        return Ok(Some(given));
    }
    app.db
        .lookup("credentials.by_id", credential_id.to_owned(), |tx, id| {
            Box::pin(sql::find_live_by_id(tx, id))
        })
        .await
}
