//! Signed-in browsers: a dashboard token exchanged for a cookie value that names it and ends by itself.
//!
//! Nothing is stored. The value carries the credential's id and an end, sealed with the installation's key over
//! both and the stored digest of the token: a revoked credential, a replaced one or a rotated key end it. A
//! change made with the cookie needs the seal's companion in a header, which no page of another site can know.

use subtle::ConstantTimeEq;

use super::{Credential, GivenCredentials, Role, sql, token_digest};
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

/// Exchanges a dashboard token for the cookie's value.
pub async fn sign_in(app: &App, token: &str) -> Result<(String, Browser)> {
    let Some(credential) = super::find(app, token).await? else {
        return Err(Error::refused(Code::Unauthenticated, "This token is unknown or revoked."));
    };
    if credential.role != Role::Dashboard {
        return Err(Error::refused(
            Code::Forbidden,
            "This is not a dashboard token; `evenhand keys create --role dashboard` makes one.",
        ));
    }
    let ends_at = app.clock.now() + SIGNED_IN_SECONDS;
    let id = &credential.credential_id;
    let seal = seal(app, "browser_v1_", id, ends_at, &token_digest(token));
    let csrf = companion(app, &seal);
    Ok((format!("{id}.{ends_at}.{seal}"), Browser { credential, csrf }))
}

/// The browser behind a cookie's value, unless it ended, was forged, or its credential is gone.
pub async fn signed_in(app: &App, cookie: &str) -> Result<Option<Browser>> {
    let mut parts = cookie.splitn(3, '.');
    let (Some(id), Some(ends_at), Some(sent)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(None);
    };
    let Some(ends_at) = ends_at.parse::<i64>().ok().filter(|end| *end > app.clock.now()) else {
        return Ok(None);
    };
    let Some((credential, digest)) = with_digest(app, id).await? else {
        return Ok(None);
    };
    let expected = seal(app, "browser_v1_", id, ends_at, &digest);
    if !bool::from(expected.as_bytes().ct_eq(sent.as_bytes())) {
        return Ok(None);
    }
    Ok(Some(Browser { csrf: companion(app, &expected), credential }))
}

fn seal(app: &App, purpose: &str, id: &str, ends_at: i64, digest: &str) -> String {
    app.subject_keys.stamp(purpose, id, &format!("{ends_at}.{digest}"))
}

fn companion(app: &App, seal: &str) -> String {
    app.subject_keys.stamp("csrf_v1_", "", seal)
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
