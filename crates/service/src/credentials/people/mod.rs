//! People who sign in at the dashboard with an OpenID Connect provider.
//!
//! The provider says who somebody is, and with which roles and organizations. A session holds what it said last. It is
//! asked again every `oidc.recheck_seconds`, where it handed out a refresh token, and a session ends
//! `oidc.session_seconds` after it last vouched for the person: whoever is removed there is out here by then.

mod attempt;
pub mod http;
mod identity;
mod provider;
mod sessions;
mod sql;

use serde::Serialize;

pub use identity::PersonRole;
pub use provider::Provider;
pub(super) use sessions::{end, signed_in, switch};
pub(super) use sql::all as everybody;

/// A person as the provider names them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    pub name: String,
    pub email: Option<String>,
}

base::vocabulary! {
    /// Reason that a person did not get in, in the address of the sign-in page.
    pub enum SignInProblem {
        /// The provider sent the browser back without a code.
        Cancelled = "cancelled",
        /// It took too long, or began in another browser.
        Expired = "expired",
        /// The provider could not be asked.
        Unreachable = "unreachable",
        /// The provider's answer does not prove who it is.
        Refused = "refused",
        /// The provider knows the person and gives them no role here.
        NoRole = "no_role",
        NoOrganization = "no_organization",
    }
}
