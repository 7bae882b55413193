//! Signed-in browsers: a token exchanged for a cookie value that ends by itself.
//!
//! The value is random. The server keeps a list of those that are signed in, each as a keyed hash of its value with its
//! end: neither the list nor the key is enough to make a cookie, and no cookie lasts longer than the list says. Signing
//! out, a revoked or expired credential and a rotated key end it. A change made with the cookie needs the value's
//! companion in a header, which no page of another site can know.

use std::sync::Arc;

use storage::subjects::KeyPurpose;

use super::{Credential, GivenCredentials, Role, sql, token_digest, usage};
use crate::app::App;
use storage::error::{Code, Error, Result};

/// A browser stays signed in this long.
pub const SIGNED_IN_SECONDS: i64 = 12 * 3600;

/// A browser that is signed in.
pub struct Browser {
    pub credential: Credential,
    /// CSRF token that its changes must carry in a header.
    pub csrf: String,
}

/// Exchanges a dashboard's or an auditor's token for the cookie's value.
pub async fn sign_in(app: &Arc<App>, token: &str) -> Result<(String, Browser)> {
    let Some(credential) = super::find(app, token).await? else {
        return Err(Error::refused(Code::Unauthenticated, "This token is unknown or revoked."));
    };
    if !matches!(credential.role, Role::Dashboard | Role::Auditor) {
        return Err(Error::refused(
            Code::Forbidden,
            "This is not a dashboard token; `evenhand keys create --role dashboard` makes one.",
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
    Ok((value, Browser { credential, csrf }))
}

/// Ends a browser's session.
pub async fn sign_out(app: &App, cookie: &str) -> Result<()> {
    app.db
        .write("credentials.sign_out", stamp(app, "session", cookie), |tx, session| {
            Box::pin(sql::delete_browser(tx, session))
        })
        .await
}

/// The browser behind a cookie's value, unless it ended, was forged, or its credential is gone.
pub async fn signed_in(app: &App, cookie: &str) -> Result<Option<Browser>> {
    let now = app.clock.now();
    let session = stamp(app, "session", cookie);
    let found = app
        .db
        .lookup("credentials.browser", session, |tx, session| Box::pin(sql::browser(tx, session)))
        .await?;
    let Some((id, signed_in_with, ends_at)) = found else { return Ok(None) };
    if ends_at <= now {
        return Ok(None);
    }
    let Some((credential, digest)) = with_digest(app, &id).await? else {
        return Ok(None);
    };
    if digest != signed_in_with || credential.is_expired(now) {
        return Ok(None);
    }
    Ok(Some(Browser { csrf: stamp(app, "csrf", cookie), credential }))
}

fn stamp(app: &App, what: &str, value: &str) -> String {
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
