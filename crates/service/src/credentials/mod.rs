//! Who may call: bearer tokens, their roles, and the organization they belong to.
//!
//! A token is shown once and stored only as its SHA-256. The organization always comes from the credential.
//! Every request looks its credential up, so a revocation holds from the next request on, on every replica.

pub mod browser;
mod callers;
mod given;
pub mod http;
pub mod keys_http;
mod rules;
pub mod sign_in_http;
mod sql;

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use callers::{Caller, Governor, Operator};
pub use given::GivenCredentials;
pub use rules::{any_exist, create, find, list, revoke};

/// The organization of local mode and of credentials given in the environment.
pub const DEFAULT_ORG: &str = "default";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// An ordinary production key: publishes, searches, reads.
    Agent,
    /// A person or program that runs the installation.
    Dashboard,
    /// Export and erasure only.
    Governance,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Dashboard => "dashboard",
            Role::Governance => "governance",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Role::Agent, Role::Dashboard, Role::Governance].into_iter().find(|r| r.as_str() == text)
    }
}

/// A credential without its token.
#[derive(Clone, Debug)]
pub struct Credential {
    pub credential_id: String,
    pub org_id: String,
    pub role: Role,
    /// Whether it may call the governance endpoints.
    pub governance: bool,
    pub name: String,
    pub created_at: i64,
    pub revoked_at: Option<i64>,
}

/// What is stored of a token.
fn token_digest(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}
