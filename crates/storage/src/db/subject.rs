//! The key of a person's rows: the same for ever, also after an erasure, and of no use to anybody without the governance
//! key.

use std::collections::HashSet;
use std::sync::Arc;

use base::owner::{OrgId, UserId};
use ring::hmac;
use serde::{Deserialize, Serialize};
use sqlx::types::Uuid;

/// The person of an organization as their rows know them: 16 bytes of a keyed hash. The user id itself is stored in the
/// table `subjects` alone. The default is nobody's and comes before all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx_macros::Type)]
#[sqlx(transparent)]
pub struct Subject(Uuid);

impl Subject {
    pub(super) fn bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// One of 256 parts, with about as many people in each.
    pub fn part(&self) -> u8 {
        let [first, ..] = *self.bytes();
        first
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

/// Gives subjects of user ids. Made with one governance key, which adding another does not change.
#[derive(Clone, Debug)]
pub struct SubjectHash {
    key: hmac::Key,
    /// None in an installation that was never rekeyed.
    earlier: Option<Arc<[Earlier]>>,
}

/// An earlier key, with those who still stand under it: when the others' rows got subjects under another key, they were
/// erased, and nobody knew their user ids.
#[derive(Debug)]
struct Earlier {
    key: hmac::Key,
    subjects: HashSet<Subject>,
}

impl SubjectHash {
    pub(crate) fn new(secret: &[u8]) -> Self {
        SubjectHash { key: hmac::Key::new(hmac::HMAC_SHA256, secret), earlier: None }
    }

    /// The same hash, but for these people under earlier keys.
    pub(crate) fn with_earlier<'s>(
        self,
        earlier: impl IntoIterator<Item = (&'s [u8], HashSet<Subject>)>,
    ) -> Self {
        let earlier: Arc<[Earlier]> = earlier
            .into_iter()
            .map(|(secret, subjects)| Earlier {
                key: hmac::Key::new(hmac::HMAC_SHA256, secret),
                subjects,
            })
            .collect();
        SubjectHash { earlier: (!earlier.is_empty()).then_some(earlier), ..self }
    }

    pub fn subject(&self, org_id: &OrgId, user_id: &UserId) -> Subject {
        let parts: [&str; 3] = ["subject/v1", org_id, user_id];
        let under_earlier = self.earlier.iter().flat_map(|earlier| earlier.iter()).find_map(|e| {
            let subject = keyed(&e.key, &parts);
            e.subjects.contains(&subject).then_some(subject)
        });
        under_earlier.unwrap_or_else(|| keyed(&self.key, &parts))
    }

    /// The key of rows that are the organization's own, in tables that hold people's rows too.
    pub fn organization(&self, org_id: &OrgId) -> Subject {
        keyed(&self.key, &["organization/v1", org_id])
    }
}

/// Parts with their lengths: whatever they hold, two lists of parts never run into the same text.
fn keyed(key: &hmac::Key, parts: &[&str]) -> Subject {
    let mut mac = hmac::Context::with_key(key);
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&mac.sign().as_ref()[..16]);
    Subject(Uuid::from_bytes(bytes))
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
    fn who_stands_under_an_earlier_key_is_found_there_and_everybody_else_under_the_present_one() {
        let hash = |secret: u8| SubjectHash::new(&[secret; 32]);
        let org = &OrgId::from("org");
        let [ada, bob, eve] = &["ada", "bob", "eve"].map(UserId::from);
        let rekeyed = hash(3).with_earlier([
            (&[1; 32][..], HashSet::from([hash(1).subject(org, ada)])),
            (&[2; 32][..], HashSet::from([hash(2).subject(org, bob)])),
        ]);
        assert_eq!(rekeyed.subject(org, ada), hash(1).subject(org, ada));
        assert_eq!(rekeyed.subject(org, bob), hash(2).subject(org, bob));
        assert_eq!(rekeyed.subject(org, eve), hash(3).subject(org, eve));
        let elsewhere = &OrgId::from("other");
        assert_eq!(rekeyed.subject(elsewhere, ada), hash(3).subject(elsewhere, ada));
        assert_eq!(rekeyed.organization(org), hash(3).organization(org));
        assert!(hash(3).with_earlier([]).earlier.is_none());
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
