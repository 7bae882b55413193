//! The key of a person's rows: the same for ever, also after an erasure, and of no use to anybody without the governance
//! key.

use base::owner::{OrgId, UserId};
use ring::hmac;
use serde::{Deserialize, Serialize};
use sqlx::types::Uuid;

/// The person of an organization as their rows know them: 16 bytes of a keyed hash. The user id itself is stored in the
/// table `subjects` alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx_macros::Type)]
#[sqlx(transparent)]
pub struct Subject(Uuid);

impl Subject {
    pub(super) fn bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Self {
        Subject(Uuid::from_bytes(bytes))
    }
}

/// As 32 hexadecimal digits, which `{subject:…}` reads.
impl Serialize for Subject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Uuid::try_parse(&digits).map(Subject).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// Gives subjects of user ids. Made with the oldest governance key, so that adding one changes no subject.
#[derive(Clone, Debug)]
pub struct SubjectHash(hmac::Key);

impl SubjectHash {
    pub(crate) fn new(secret: &[u8]) -> Self {
        SubjectHash(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    pub fn subject(&self, org_id: &OrgId, user_id: &UserId) -> Subject {
        self.of(&["subject/v1", org_id, user_id])
    }

    /// The key of rows that are the organization's own, in tables that hold people's rows too.
    pub fn organization(&self, org_id: &OrgId) -> Subject {
        self.of(&["organization/v1", org_id])
    }

    /// Parts with their lengths: whatever they hold, two lists of parts never run into the same text.
    fn of(&self, parts: &[&str]) -> Subject {
        let mut mac = hmac::Context::with_key(&self.0);
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&mac.sign().as_ref()[..16]);
        Subject(Uuid::from_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(secret: u8, org_id: &str, user_id: &str) -> Subject {
        SubjectHash::new(&[secret; 32]).subject(&org_id.into(), &user_id.into())
    }

    #[test]
    fn subjects_tell_people_organizations_and_installations_apart() {
        let ada = subject(1, "org", "ada");
        assert_eq!(ada, subject(1, "org", "ada"));
        for other in [subject(1, "org", "eve"), subject(1, "or", "gada"), subject(2, "org", "ada")]
        {
            assert_ne!(ada, other);
        }
        let organization = SubjectHash::new(&[1; 32]).organization(&"org".into());
        assert_ne!(organization, ada);
        assert_ne!(organization, subject(1, "org", ""));
    }

    #[test]
    fn a_subject_is_written_as_digits() {
        let ada = subject(1, "org", "ada");
        let digits = serde_json::to_string(&ada).unwrap();
        assert_eq!(digits.len(), 34);
        assert_eq!(digits, format!("\"{ada}\""));
        assert_eq!(serde_json::from_str::<Subject>(&digits).unwrap(), ada);
    }
}
