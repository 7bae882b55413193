//! Credentials handed over in the environment, for containers: never written anywhere.

use subtle::ConstantTimeEq;

use super::{Credential, DEFAULT_ORG, Role, token_digest};
use base::owner::OrgId;

/// The environment's credentials, as digests.
#[derive(Default)]
pub struct GivenCredentials {
    org_id: OrgId,
    digests: Vec<(Role, String)>,
}

impl GivenCredentials {
    pub fn from_environment() -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let org_id = variable("EVENHAND_ORG").unwrap_or_else(|| DEFAULT_ORG.to_owned());
        let tokens = [
            (Role::Agent, "EVENHAND_AGENT_KEY"),
            (Role::Dashboard, "EVENHAND_DASHBOARD_KEY"),
            (Role::Governance, "EVENHAND_GOVERNANCE_BEARER"),
        ];
        let mut given = Vec::new();
        for (role, name) in tokens {
            if let Some(token) = variable(name) {
                if token.chars().count() < 32 {
                    return Err(format!("{name} has fewer than 32 characters; use a random token"));
                }
                given.push((role, token));
            }
        }
        Ok(Self::new(&org_id.into(), &given))
    }

    pub fn new(org_id: &OrgId, tokens: &[(Role, String)]) -> Self {
        let digests = tokens.iter().map(|(role, token)| (*role, token_digest(token))).collect();
        GivenCredentials { org_id: org_id.to_owned(), digests }
    }

    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Compares with every given credential, in time that does not depend on the token.
    pub(super) fn find(&self, token_digest: &str) -> Option<Credential> {
        let mut found = None;
        for (role, digest) in &self.digests {
            if bool::from(digest.as_bytes().ct_eq(token_digest.as_bytes())) {
                found = Some(*role);
            }
        }
        found.map(|role| self.credential(role))
    }

    /// A given credential by its id, with what is kept of its token.
    pub(super) fn with_digest(&self, credential_id: &str) -> Option<(Credential, String)> {
        let given = self.digests.iter().map(|(role, digest)| (self.credential(*role), digest));
        let mut known = given.filter(|(credential, _)| credential.credential_id == credential_id);
        known.next().map(|(credential, digest)| (credential, digest.clone()))
    }

    fn credential(&self, role: Role) -> Credential {
        Credential {
            credential_id: format!("given-{}", role.as_str()),
            org_id: self.org_id.clone(),
            role,
            governance: role == Role::Governance,
            reads: true,
            name: "given in the environment".to_owned(),
            created_at: 0,
            expires_at: None,
            last_used_at: None,
            revoked_at: None,
        }
    }
}
