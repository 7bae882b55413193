//! Authentication and authorization of callers.
//!
//! Handlers ask for the extractor of what they do: [`Publisher`], [`Searcher`], [`Caller`] (reads), [`Contributor`]
//! (adds learnings and scores), [`Inspector`] (reads of those who run the installation), [`Operator`] (its changes),
//! [`Governor`] (export and erasure), [`Known`] (anybody but governance). They get one only if the credential allows
//! it. All count against the credential's rate limit.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Version, header};

use super::{
    Credential, DEFAULT_ORG, Deletion, Role, any_exist, find, refusals, sign_in_http, usage,
};
use crate::app::App;
use crate::http::{HttpError, RateBucket, RateLimits};
use base::owner::OrgId;
use storage::error::{Code, Error, Result};

/// A caller; as an extractor, one that may read.
#[derive(Clone, Debug)]
pub struct Caller {
    pub org_id: OrgId,
    /// Id of the credential, or of the person who signed in: for the audit chain, as a reference.
    pub credential_id: String,
    pub role: Role,
    /// True if it may call the governance endpoints.
    pub governance: bool,
    /// False for an agent key that publishes and searches only.
    pub reads: bool,
    /// Inspection by a person: never subject to an experiment's arm.
    pub inspection: bool,
    /// Served without a credential, because none was ever made.
    pub local: bool,
}

impl Caller {
    /// A deletion that this caller asks for.
    pub fn deletion(&self) -> Deletion {
        Deletion { org_id: self.org_id.clone(), actor: self.credential_id.clone() }
    }

    /// The caller that a credential makes.
    pub fn of(credential: Credential) -> Self {
        Caller {
            inspection: matches!(credential.role, Role::Dashboard | Role::Auditor),
            org_id: credential.org_id,
            credential_id: credential.credential_id,
            role: credential.role,
            governance: credential.governance,
            reads: credential.reads,
            local: false,
        }
    }

    /// A person whom a provider vouched for, with their role and whether they govern.
    pub(super) fn of_person(
        person_id: String,
        org_id: OrgId,
        (role, governs): (Role, bool),
    ) -> Self {
        Caller {
            org_id,
            credential_id: person_id,
            role,
            governance: governs,
            reads: true,
            inspection: matches!(role, Role::Dashboard | Role::Auditor),
            local: false,
        }
    }
}

/// A caller that may export and erase: a governance credential, or a dashboard one with the grant. Being on the same
/// machine is never enough.
pub struct Governor {
    pub org_id: OrgId,
    pub credential_id: String,
}

/// The things that callers do, as far as roles tell them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Identify,
    Publish,
    Search,
    Read,
    Contribute,
    Inspect,
    Operate,
}

impl Act {
    fn is_open_to(self, caller: &Caller) -> bool {
        match caller.role {
            Role::Dashboard => true,
            Role::Auditor => {
                matches!(self, Act::Identify | Act::Search | Act::Read | Act::Inspect)
            }
            Role::Agent => match self {
                Act::Identify | Act::Publish | Act::Search | Act::Contribute => true,
                Act::Read => caller.reads,
                Act::Inspect | Act::Operate => false,
            },
            Role::Publish => matches!(self, Act::Identify | Act::Publish | Act::Search),
            Role::Governance => false,
        }
    }

    fn refusal(caller: &Caller) -> Error {
        let detail = match caller.role {
            Role::Governance => {
                "A governance credential exports and erases only; use an agent or dashboard key here."
            }
            Role::Agent if !caller.reads => {
                "This agent key publishes and searches only; reading needs one that was made with reads."
            }
            Role::Agent => {
                "An agent key publishes, searches and reads; this needs a dashboard credential."
            }
            Role::Publish => "A publish key publishes and searches only.",
            Role::Auditor => "An auditor reads and changes nothing; this needs another credential.",
            Role::Dashboard => "This credential may not do that.",
        };
        Error::refused(Code::Forbidden, detail)
    }
}

async fn allowed(parts: &Parts, app: &Arc<App>, act: Act) -> Result<Caller, HttpError> {
    let caller = identify(parts, app).await?;
    match act.is_open_to(&caller) {
        true => Ok(caller),
        false => Err(Act::refusal(&caller).into()),
    }
}

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        allowed(parts, app, Act::Read).await
    }
}

/// Extractors that hold a caller who may do one thing.
macro_rules! callers {
    ($($(#[$doc:meta])* $name:ident $act:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name(pub Caller);

        impl FromRequestParts<Arc<App>> for $name {
            type Rejection = HttpError;

            async fn from_request_parts(
                parts: &mut Parts,
                app: &Arc<App>,
            ) -> Result<Self, HttpError> {
                allowed(parts, app, Act::$act).await.map($name)
            }
        }
    )*};
}

callers! {
    /// Any caller but one with a governance credential.
    Known Identify;
    /// A caller that may publish, end sessions and report their outcomes.
    Publisher Publish;
    /// A caller that may search what was learned.
    Searcher Search;
    /// A caller that may add learnings and scores.
    Contributor Contribute;
    /// A caller that may see what those see who run the installation.
    Inspector Inspect;
    /// A caller that may run the installation: changes beyond publishing.
    Operator Operate;
}

impl FromRequestParts<Arc<App>> for Governor {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let caller = match identify(parts, app).await {
            Ok(caller) => caller,
            Err(error) => {
                if error.code() == Code::Unauthenticated {
                    refusals::note(app, &OrgId::default(), refusals::NOBODY).await;
                }
                return Err(error.into());
            }
        };
        if caller.local {
            refusals::note(app, &OrgId::default(), refusals::NOBODY).await;
            return Err(unauthenticated(
                "Send the header Authorization: Bearer <token>; \
                 `evenhand keys create --role governance` makes one.",
            )
            .into());
        }
        if !caller.governance {
            refusals::note(app, &caller.org_id, &caller.credential_id).await;
            return Err(Error::refused(
                Code::CredentialNotGovernance,
                "Exporting and erasing needs a governance credential, or a dashboard one with the grant.",
            ).into());
        }
        Ok(Governor { org_id: caller.org_id, credential_id: caller.credential_id })
    }
}

async fn identify(parts: &Parts, app: &Arc<App>) -> Result<Caller> {
    let Some(token) = bearer(&parts.headers)? else {
        return match sign_in_http::signed_in(parts, app).await? {
            Some(browser) => Ok(browser.caller),
            None => local_caller(parts, app).await,
        };
    };
    let limits = app.state::<RateLimits>();
    let Some(credential) = find(app, token).await? else {
        // Those who try tokens wait; others at the same address, with good ones, do not.
        limits.check(RateBucket::UnknownToken(address(parts)))?;
        return Err(unauthenticated("This credential is unknown, revoked or expired."));
    };
    limits.check(RateBucket::Credential(&credential.credential_id))?;
    usage::note(app, &credential);
    Ok(Caller::of(credential))
}

/// The address that a request came from.
pub(super) fn address(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::from([0, 0, 0, 0]), |ConnectInfo(peer)| peer.ip())
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty())
        .map(|(_, token)| Some(token.trim()))
        .ok_or_else(|| unauthenticated("Send the header Authorization: Bearer <token>."))
}

/// Local mode: as long as no credential was ever made, a server on loopback serves programs on its own machine.
/// A page of another site that a browser shows here has a foreign Origin or Host, and gets nothing; neither does
/// what a proxy on this machine passes on.
pub(super) async fn local_caller(parts: &Parts, app: &App) -> Result<Caller> {
    let from_loopback = parts
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .is_some_and(|ConnectInfo(peer)| peer.ip().to_canonical().is_loopback());
    let header =
        |name| parts.headers.get(name).map(|v: &axum::http::HeaderValue| v.to_str().unwrap_or("?"));
    let host_is_local = header(header::HOST).is_some_and(is_loopback_host);
    let origin_is_local = header(header::ORIGIN).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, host)| is_loopback_host(host))
    });
    let local = app.listen_address()?.ip().is_loopback()
        && from_loopback
        && host_is_local
        && origin_is_local;
    if local && came_through_proxy(parts) {
        return Err(unauthenticated(
            "This request came through a proxy, and whoever is behind it is not on this machine. \
             `evenhand keys create` makes a token for the header Authorization: Bearer <token>.",
        ));
    }
    if !local || any_exist(app).await? {
        return Err(unauthenticated(
            "Send the header Authorization: Bearer <token>; `evenhand keys create` makes one.",
        ));
    }
    app.state::<RateLimits>().check(RateBucket::Credential("local"))?;
    let inspection = header(HeaderName::from_static("x-evenhand-caller")) == Some("dashboard");
    Ok(Caller {
        org_id: DEFAULT_ORG.into(),
        credential_id: "local".to_owned(),
        role: Role::Dashboard,
        governance: false,
        reads: true,
        inspection,
        local: true,
    })
}

/// True if a proxy passed the request on: it says so in a header, or speaks HTTP/1.0 as nginx does by
/// default.
fn came_through_proxy(parts: &Parts) -> bool {
    let forwarding = |name: &HeaderName| {
        let name = name.as_str();
        matches!(name, "forwarded" | "via" | "x-real-ip") || name.starts_with("x-forwarded-")
    };
    parts.version < Version::HTTP_11 || parts.headers.keys().any(forwarding)
}

/// `localhost`, `127.0.0.1:8700`, `[::1]:8700`, …
fn is_loopback_host(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn unauthenticated(detail: &str) -> Error {
    Error::refused(Code::Unauthenticated, detail)
}

#[cfg(test)]
mod tests {
    use super::is_loopback_host;

    #[test]
    fn only_loopback_names_are_local() {
        for local in
            ["localhost", "localhost:1", "127.0.0.1:8700", "127.9.9.9", "[::1]:80", "[::1]"]
        {
            assert!(is_loopback_host(local), "{local}");
        }
        for foreign in [
            "evil.example",
            "localhost.evil.example",
            "10.0.0.1",
            "127.0.0.1.evil.example:1",
            "",
            "[::2]",
        ] {
            assert!(!is_loopback_host(foreign), "{foreign}");
        }
    }
}
