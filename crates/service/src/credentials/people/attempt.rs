//! An attempt to sign in, from the way to the provider to the way back. It is sealed into a cookie: the browser that
//! comes back is the one that left, and the server keeps nothing of those who never come back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::app::App;
use storage::error::{Error, Result};

/// An attempt may take so long.
pub const ATTEMPT_SECONDS: i64 = 600;
const PURPOSE: &str = "sign-in";
/// The longest address to come back to.
const ADDRESS_LENGTH: usize = 1500;

#[derive(Serialize, Deserialize)]
pub struct Attempt {
    pub state: String,
    pub nonce: String,
    /// Of PKCE.
    pub verifier: String,
    /// The page of the dashboard to go on with.
    pub return_to: String,
    begun_at: i64,
}

impl Attempt {
    pub fn new(app: &App, return_to: &str) -> Self {
        Attempt {
            state: app.ids.secret(),
            nonce: app.ids.secret(),
            verifier: app.ids.secret(),
            return_to: if is_page(return_to) { return_to } else { "/" }.to_owned(),
            begun_at: app.clock.now(),
        }
    }

    pub fn seal(&self, app: &App) -> Result<String> {
        let text = serde_json::to_string(self).map_err(|e| Error::Internal(e.to_string()))?;
        app.subject_keys.seal_text(&app.ids, PURPOSE, &text)
    }

    /// The attempt in a cookie, if this server made it, in time, and for this state.
    pub fn unseal(app: &Arc<App>, sealed: &str, state: &str) -> Option<Self> {
        let text = app.subject_keys.unseal_text(PURPOSE, sealed).ok()?;
        let attempt: Attempt = serde_json::from_str(&text).ok()?;
        let is_same = bool::from(attempt.state.as_bytes().ct_eq(state.as_bytes()));
        let is_in_time = app.clock.now() - attempt.begun_at < ATTEMPT_SECONDS;
        (is_same && is_in_time).then_some(attempt)
    }
}

/// True for an address on this server: browsers read two slashes, or a backslash, as another one's.
fn is_page(address: &str) -> bool {
    let mut chars = address.chars();
    chars.next() == Some('/')
        && !matches!(chars.next(), Some('/' | '\\'))
        && address.len() <= ADDRESS_LENGTH
        && address.is_ascii()
        && !address.chars().any(|c| c.is_ascii_control() || c == '\\')
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn one_comes_back_to_pages_of_this_server_only() {
        for page in ["/", "/sessions", "/sessions?range=7d&user=a%2Fb"] {
            assert!(is_page(page), "{page}");
        }
        for other in [
            "",
            "sessions",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nX: y",
        ] {
            assert!(!is_page(other), "{other}");
        }
    }
}
