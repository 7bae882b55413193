//! Settings of signing in with OpenID Connect.

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// The path that a provider sends browsers back to.
pub const CALLBACK: &str = "/auth/oidc/callback";

#[derive(Clone, Debug, Deserialize)]
pub struct Oidc {
    pub issuer: String,
    pub name: String,
    pub client_id: String,
    pub client_secret: SecretString,
    pub redirect_url: String,
    pub scopes: Vec<String>,
    pub role_claim: String,
    pub viewers: Vec<String>,
    pub editors: Vec<String>,
    pub governance: Vec<String>,
    pub admins: Vec<String>,
    pub organization: String,
    pub organization_claim: String,
    pub session_seconds: i64,
    pub recheck_seconds: i64,
}

impl Oidc {
    pub fn is_configured(&self) -> bool {
        !self.issuer.is_empty()
    }

    /// The provider's name for people: the one that was given, or its host.
    pub fn shown_name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        let issuer = Url::parse(&self.issuer).ok();
        issuer.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    fn role_lists(&self) -> [&Vec<String>; 4] {
        [&self.viewers, &self.editors, &self.governance, &self.admins]
    }

    /// Every problem with them, each with the name of its setting. `secure_cookies` is the server's.
    pub fn problems(&self, secure_cookies: bool) -> Vec<String> {
        let has_roles = self.role_lists().iter().any(|list| !list.is_empty());
        if !self.is_configured() {
            let is_begun = has_roles
                || [&self.client_id, &self.redirect_url, &self.organization_claim]
                    .iter()
                    .any(|text| !text.is_empty())
                || !self.client_secret.expose_secret().is_empty();
            let half = "oidc.issuer: signing in with OpenID Connect is half configured; give the provider's issuer, \
                        or leave all of [oidc] out";
            return if is_begun { vec![half.to_owned()] } else { Vec::new() };
        }
        let checks = [
            (
                is_safe(&self.issuer),
                "oidc.issuer: an address with https:// (http:// only on this machine), as the provider writes it",
            ),
            (
                !self.client_id.is_empty(),
                "oidc.client_id: the id that the provider gave this installation",
            ),
            (
                is_safe(&self.redirect_url) && self.redirect_url.ends_with(CALLBACK),
                "oidc.redirect_url: the dashboard's own address with https:// (http:// only on this machine) and the \
                 path /auth/oidc/callback, as the provider has it",
            ),
            (
                secure_cookies || !self.redirect_url.starts_with("https://"),
                "server.secure_cookies: set it to true, because oidc.redirect_url is https://",
            ),
            (
                has_roles,
                "oidc.viewers, editors, governance, admins: name at least one value of the claim, or nobody gets in",
            ),
            (
                self.role_lists()
                    .iter()
                    .all(|list| list.iter().all(|value| !value.trim().is_empty())),
                "oidc.viewers, editors, governance, admins: no empty values",
            ),
            (
                !self.role_claim.is_empty(),
                "oidc.role_claim: the claim of the ID token that carries roles",
            ),
            (
                !self.organization_claim.is_empty() || is_organization(&self.organization),
                "oidc.organization: 1 to 255 characters without control characters, or give oidc.organization_claim",
            ),
            ((60..=43_200).contains(&self.session_seconds), "oidc.session_seconds: 60 to 43200"),
            (
                (10..=self.session_seconds).contains(&self.recheck_seconds),
                "oidc.recheck_seconds: 10 up to oidc.session_seconds",
            ),
        ];
        checks.iter().filter(|(ok, _)| !ok).map(|(_, text)| (*text).to_owned()).collect()
    }
}

/// True for an address that nobody on the way can read: TLS, or this machine.
fn is_safe(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let is_local = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match url.scheme() {
        "https" => url.has_host(),
        "http" => url.host_str().is_some_and(is_local),
        _ => false,
    }
}

/// True for a text that can be an organization's id.
pub fn is_organization(text: &str) -> bool {
    let is_one = |text: &str| !text.is_empty() && text.chars().count() <= 255;
    is_one(text) && text.trim() == text && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    fn problems(change: impl FnOnce(&mut super::Oidc)) -> Vec<String> {
        let mut settings = Settings::defaults().unwrap();
        let oidc = &mut settings.oidc;
        oidc.issuer = "https://id.example/realms/a".to_owned();
        oidc.client_id = "evenhand".to_owned();
        oidc.redirect_url = "https://evenhand.example/auth/oidc/callback".to_owned();
        oidc.viewers = vec!["staff".to_owned()];
        change(oidc);
        settings.oidc.problems(true)
    }

    #[test]
    fn a_whole_configuration_has_no_problem_and_half_of_one_is_named() {
        assert_eq!(Settings::defaults().unwrap().oidc.problems(false), Vec::<String>::new());
        assert_eq!(problems(|_| {}), Vec::<String>::new());
        let named = |change: fn(&mut super::Oidc), name: &str| {
            let found = problems(change);
            assert!(found.len() == 1 && found[0].starts_with(name), "{name}: {found:?}");
        };
        named(|o| o.issuer.clear(), "oidc.issuer");
        named(|o| o.issuer = "http://id.example".to_owned(), "oidc.issuer");
        named(|o| o.client_id.clear(), "oidc.client_id");
        named(|o| o.redirect_url.clear(), "oidc.redirect_url");
        named(|o| o.redirect_url = "https://evenhand.example/".to_owned(), "oidc.redirect_url");
        named(|o| o.viewers.clear(), "oidc.viewers");
        named(|o| o.role_claim.clear(), "oidc.role_claim");
        named(|o| o.organization.clear(), "oidc.organization");
        named(|o| o.recheck_seconds = o.session_seconds + 1, "oidc.recheck_seconds");
        let local = problems(|o| o.issuer = "http://127.0.0.1:9000".to_owned());
        assert_eq!(local, Vec::<String>::new());
    }

    #[test]
    fn cookies_are_for_tls_where_the_dashboard_is() {
        let mut settings = Settings::defaults().unwrap();
        settings.oidc.issuer = "https://id.example".to_owned();
        settings.oidc.redirect_url = "https://evenhand.example/auth/oidc/callback".to_owned();
        let problems = settings.oidc.problems(false);
        assert!(problems.iter().any(|p| p.starts_with("server.secure_cookies")), "{problems:?}");
    }

    #[test]
    fn a_provider_without_a_name_is_called_by_its_host() {
        let mut settings = Settings::defaults().unwrap();
        settings.oidc.issuer = "https://id.example/realms/a".to_owned();
        assert_eq!(settings.oidc.shown_name(), "id.example");
        settings.oidc.name = "Example".to_owned();
        assert_eq!(settings.oidc.shown_name(), "Example");
    }
}
