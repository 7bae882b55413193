//! Authentication and authorization of callers.
//!
//! Handlers ask for a [`Caller`] (agent or dashboard), an [`Operator`] (dashboard only) or a [`Governor`] (governance)
//! and get one only if the credential allows it. All count against the credential's rate limit.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Version, header};

use super::{Credential, DEFAULT_ORG, Role, any_exist, find, sign_in_http};
use crate::app::App;
use crate::http::{HttpError, RateLimits};
use base::owner::OrgId;
use storage::error::{Code, Error, Result};

/// A caller that may publish, search and read.
#[derive(Clone, Debug)]
pub struct Caller {
    pub org_id: OrgId,
    /// Id of the credential: for the audit chain, as a reference.
    pub credential_id: String,
    pub role: Role,
    /// True if it may call the governance endpoints.
    pub governance: bool,
    /// Inspection by a person: never subject to an experiment's arm.
    pub inspection: bool,
    /// Served without a credential, because none was ever made.
    pub local: bool,
}

impl Caller {
    /// The caller that a credential makes.
    pub fn of(credential: Credential) -> Self {
        Caller {
            inspection: credential.role == Role::Dashboard,
            org_id: credential.org_id,
            credential_id: credential.credential_id,
            role: credential.role,
            governance: credential.governance,
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

/// A caller that may run the installation: everything a [`Caller`] may, and changes beyond publishing.
pub struct Operator(pub Caller);

impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let caller = identify(parts, app).await?;
        if caller.role == Role::Governance {
            return Err(Error::refused(
                Code::Forbidden,
                "A governance credential exports and erases only; use an agent or dashboard key here.",
            ).into());
        }
        Ok(caller)
    }
}

impl FromRequestParts<Arc<App>> for Operator {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let caller = Caller::from_request_parts(parts, app).await?;
        if caller.role != Role::Dashboard {
            return Err(Error::refused(
                Code::Forbidden,
                "An agent key publishes, searches and reads; this needs a dashboard credential.",
            )
            .into());
        }
        Ok(Operator(caller))
    }
}

impl FromRequestParts<Arc<App>> for Governor {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let caller = identify(parts, app).await?;
        if caller.local {
            return Err(unauthenticated(
                "Send the header Authorization: Bearer <token>; \
                 `evenhand keys create --role governance` makes one.",
            )
            .into());
        }
        if !caller.governance {
            return Err(Error::refused(
                Code::CredentialNotGovernance,
                "Exporting and erasing needs a governance credential, or a dashboard one with the grant.",
            ).into());
        }
        Ok(Governor { org_id: caller.org_id, credential_id: caller.credential_id })
    }
}

async fn identify(parts: &Parts, app: &App) -> Result<Caller> {
    let Some(token) = bearer(&parts.headers)? else {
        return match sign_in_http::signed_in(parts, app).await? {
            Some(caller) => Ok(caller),
            None => local_caller(parts, app).await,
        };
    };
    let Some(credential) = find(app, token).await? else {
        return Err(unauthenticated("This credential is unknown or revoked."));
    };
    app.state::<RateLimits>().check(&credential.credential_id)?;
    Ok(Caller::of(credential))
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
    app.state::<RateLimits>().check("local")?;
    let inspection = header(HeaderName::from_static("x-evenhand-caller")) == Some("dashboard");
    Ok(Caller {
        org_id: DEFAULT_ORG.into(),
        credential_id: "local".to_owned(),
        role: Role::Dashboard,
        governance: false,
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
