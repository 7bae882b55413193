//! Credentials: bearer tokens, their roles, and the organization they belong to.
//!
//! A token is shown once and stored only as its SHA-256. The organization always comes from the credential.
//! Every request looks its credential up, or knows that none has changed since it was looked up (`recent.rs`), so a
//! revocation holds from the next request on, on every replica.

mod actors;
pub mod browser;
mod callers;
mod deletions;
mod given;
pub mod http;
pub mod keys_http;
pub mod people;
mod recent;
mod refusals;
mod rules;
pub mod sign_in_http;
mod sql;
mod usage;

use base::owner::OrgId;
use sha2::{Digest, Sha256};

pub use actors::{Actor, ActorKind, actors};
pub use callers::{Caller, Contributor, Governor, Inspector, Known, Operator, Publisher, Searcher};
pub use deletions::{Deletion, note_deletion};
pub use given::GivenCredentials;
pub use recent::RecentCredentials;
pub use refusals::Refusals;
pub use rules::{NewCredential, any_exist, create, find, list, revoke};
pub use usage::RecentUse;

/// The organization of local mode and of credentials given in the environment.
pub const DEFAULT_ORG: &str = "default";

base::vocabulary! {
    /// The purpose of a credential.
    #[derive(clap::ValueEnum)]
    pub enum Role {
        /// An ordinary production key: publishes, searches, reads.
        Agent = "agent",
        /// A program that publishes and searches, and reads nothing back.
        Publish = "publish",
        /// A person or program that runs the installation.
        Dashboard = "dashboard",
        /// A person or program that looks at everything and changes nothing.
        Auditor = "auditor",
        /// Export and erasure only.
        Governance = "governance",
    }
}

base::vocabulary! {
    /// Permission of a credential beyond its role.
    pub enum Grant {
        /// Export and erase.
        Governance = "governance",
    }
}

impl Grant {
    fn listed_for(governance: bool) -> Vec<Grant> {
        if governance { vec![Grant::Governance] } else { Vec::new() }
    }
}

/// A credential without its token.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Credential {
    pub credential_id: String,
    pub org_id: OrgId,
    pub role: Role,
    /// True if it may call the governance endpoints.
    pub governance: bool,
    /// False for an agent key that publishes and searches only.
    pub reads: bool,
    pub name: String,
    pub created_at: i64,
    /// From then on it is refused.
    pub expires_at: Option<i64>,
    /// When it was last used, to the hour.
    pub last_used_at: Option<i64>,
    pub revoked_at: Option<i64>,
}

impl Credential {
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// SHA-256 of a token, the only form in which it is stored.
fn token_digest(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}
