//! Minimized references: keyed hashes that stand for a person, a request or an actor.
//!
//! `subref_v1_` + 32 hex digits of HMAC-SHA256 over the length-prefixed organization and value. Plain hashes
//! are never used: an e-mail address can be guessed. The keys live outside the database. Each has an id; the
//! last one in the file makes new references, the older ones stay readable, so a rotation lifts no barrier.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use ring::hkdf::{HKDF_SHA256, Salt};
use sha2::Sha256;

use crate::db::{Subject, SubjectHash};
use base::ids::Ids;
use base::owner::{OrgId, UserId};
use base::private_files;

base::vocabulary! {
    /// The uses of a governance key besides references, each with a key of its own (HKDF with this label): whoever
    /// learns one of them can do nothing else.
    pub enum KeyPurpose {
        /// Certificates.
        Signing = "signing",
        /// Cookies of signed-in browsers, and what their changes carry.
        Cookies = "cookies",
        /// Events of the audit chain.
        Audit = "audit",
        /// The head of the audit chain.
        Anchors = "anchors",
    }
}

/// The actor of what operators do on the command line.
pub const COMMAND_LINE: &str = "command line";

/// The reference keys of an installation, oldest first.
pub struct SubjectKeys {
    keys: Vec<Key>,
    /// The key that subjects are made with, by its place.
    subject_key: usize,
    subject_hash: SubjectHash,
}

struct Key {
    id: String,
    secret: Vec<u8>,
}

impl SubjectKeys {
    /// Reads `id:hex` entries separated by white space or commas; the last one is current.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split([',', '\n', ' ', '\r', '\t']).filter(|entry| !entry.is_empty());
        let keys = entries
            .map(|entry| {
                let (id, secret) = entry
                    .split_once(':')
                    .ok_or("a governance key is written id:hex, for example k1:0a1b…")?;
                let secret = hex::decode(secret).map_err(|_| format!("key {id} is not hex"))?;
                if secret.len() < 32 {
                    return Err(format!("key {id} is shorter than 32 bytes (64 hex digits)"));
                }
                Ok(Key { id: id.to_owned(), secret })
            })
            .collect::<Result<Vec<_>, String>>()?;
        if keys.is_empty() {
            return Err("there is no governance key".to_owned());
        }
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].iter().any(|other| other.id == key.id) {
                return Err(format!("key {} is given twice", key.id));
            }
        }
        let subject_hash = SubjectHash::new(keys.first().map_or(&[], |key| &key.secret));
        Ok(SubjectKeys { keys, subject_key: 0, subject_hash })
    }

    /// The same keys, with subjects made by the one that is called `key_id`, but for those of `behind`, who stand under
    /// earlier ones.
    pub fn making_subjects_with(
        self,
        key_id: &str,
        mut behind: BTreeMap<String, HashSet<Subject>>,
    ) -> Result<Self, String> {
        let subject_key = self.keys.iter().position(|key| key.id == key_id).ok_or_else(|| {
            format!("people's rows are found by the governance key {key_id}, which is not given")
        })?;
        let earlier: Vec<(&[u8], HashSet<Subject>)> = self
            .keys
            .iter()
            .filter_map(|key| Some((key.secret.as_slice(), behind.remove(&key.id)?)))
            .collect();
        if let Some((key_id, people)) = behind.first_key_value() {
            return Err(format!(
                "{} people who were erased are kept out by the governance key {key_id}, which is not given",
                people.len()
            ));
        }
        let hash = SubjectHash::new(&self.keys[subject_key].secret);
        let subject_hash = hash.with_earlier(earlier);
        Ok(SubjectKeys { subject_key, subject_hash, ..self })
    }

    /// Reads the key file, or makes it (mode 0600) when there is none.
    pub fn load_or_create(file: &Path, ids: &Ids) -> Result<Self, String> {
        match fs::read_to_string(file) {
            Ok(text) => {
                Self::parse(&text).map_err(|problem| format!("{}: {problem}", file.display()))
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let text = format!("k1:{}\n", ids.key_hex());
                write_private(file, &text)
                    .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
                Self::parse(&text)
            }
            Err(e) => Err(format!("cannot read {}: {e}", file.display())),
        }
    }

    /// The hash that makes subjects: under the oldest key, unless the installation was rekeyed.
    pub fn subject_hash(&self) -> SubjectHash {
        self.subject_hash.clone()
    }

    /// The hash that one key alone makes subjects with.
    pub fn subject_hash_by(&self, key_id: &str) -> Option<SubjectHash> {
        self.keys.iter().find(|key| key.id == key_id).map(|key| SubjectHash::new(&key.secret))
    }

    /// The ids of the keys, oldest first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.keys.iter().map(|key| key.id.as_str())
    }

    /// The reference of a person under the current key.
    pub fn subject_ref(&self, org_id: &OrgId, user_id: &UserId) -> String {
        self.keys.last().map(|key| key.reference("subref_v1_", org_id, user_id)).unwrap_or_default()
    }

    /// The reference of a session under the current key.
    pub fn session_ref(&self, org_id: &OrgId, session: &str) -> String {
        self.keys.last().map(|key| key.reference("sesref_v1_", org_id, session)).unwrap_or_default()
    }

    /// The references of a person under every key, the current one first; never empty.
    pub fn all_subject_refs(&self, org_id: &OrgId, user_id: &UserId) -> Vec<String> {
        self.keys.iter().rev().map(|key| key.reference("subref_v1_", org_id, user_id)).collect()
    }

    /// The references of a request under every key, the current one first; never empty.
    pub fn all_request_refs(&self, org_id: &OrgId, request_id: &str) -> Vec<String> {
        self.keys.iter().rev().map(|key| key.reference("reqref_v1_", org_id, request_id)).collect()
    }

    /// The reference of who did something: a credential's id, or [`COMMAND_LINE`].
    pub fn actor_ref(&self, org_id: &OrgId, actor: &str) -> String {
        self.keys.last().map(|key| key.reference("actref_v1_", org_id, actor)).unwrap_or_default()
    }

    /// The references of an actor under every key, the current one first; never empty.
    pub fn all_actor_refs(&self, org_id: &OrgId, actor: &str) -> Vec<String> {
        self.keys.iter().rev().map(|key| key.reference("actref_v1_", org_id, actor)).collect()
    }

    /// The key of one purpose under the current governance key, with that key's id.
    pub(super) fn key_for(&self, purpose: KeyPurpose) -> (String, [u8; 32]) {
        self.keys.last().map(|key| (key.id.clone(), key.key_for(purpose))).unwrap_or_default()
    }

    /// The keys of one purpose under every governance key with its id, the current one last.
    pub(super) fn all_keys_for(&self, purpose: KeyPurpose) -> Vec<(String, [u8; 32])> {
        self.keys.iter().map(|key| (key.id.clone(), key.key_for(purpose))).collect()
    }

    /// The id of the current key and 32 bytes made from it for one purpose.
    pub(super) fn derive(&self, purpose: &str) -> (String, [u8; 32]) {
        self.keys.last().map(|key| (key.id.clone(), key.derive(purpose))).unwrap_or_default()
    }

    /// [`SubjectKeys::derive`] from the key with this id, if it is known.
    pub(super) fn derive_by(&self, key_id: &str, purpose: &str) -> Option<[u8; 32]> {
        self.keys.iter().find(|key| key.id == key_id).map(|key| key.derive(purpose))
    }

    /// The id of the key that subjects are made with.
    pub fn subject_key_id(&self) -> &str {
        self.keys.get(self.subject_key).map_or("", |key| &key.id)
    }

    /// `(key id, check value)` pairs that the database keeps to notice a replica with other keys.
    pub fn check_values(&self) -> impl Iterator<Item = (&str, String)> {
        self.keys.iter().map(|key| (key.id.as_str(), key.reference("check_v1_", "", &key.id)))
    }
}

impl Key {
    fn key_for(&self, purpose: KeyPurpose) -> [u8; 32] {
        let mut key = [0; 32];
        let label = format!("evenhand/v2/{purpose}");
        let secret = Salt::new(HKDF_SHA256, &[]).extract(&self.secret);
        // Fails for more than 255 hashes only; this is one.
        let _ = secret.expand(&[label.as_bytes()], HKDF_SHA256).and_then(|okm| okm.fill(&mut key));
        key
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else {
            return [0; 32];
        };
        mac.update(b"derive_v1");
        mac.update(purpose.as_bytes());
        mac.finalize().into_bytes().into()
    }

    fn reference(&self, prefix: &str, scope: &str, value: &str) -> String {
        // HMAC takes keys of any length: this cannot fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else {
            return String::new();
        };
        for part in [prefix, scope, value] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        format!("{prefix}{}", hex::encode(&mac.finalize().into_bytes()[..16]))
    }
}

/// Writes a new file that only its owner can read, complete or not at all.
fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut handle = private_files::options().create_new(true).open(file)?;
    handle.write_all(text.as_bytes())?;
    handle.sync_all()?;
    if let Some(folder) = file.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::clock::Clock;
    use base::vocabulary::Vocabulary;

    fn key(id: &str, byte: u8) -> String {
        format!("{id}:{}", hex::encode([byte; 32]))
    }

    #[test]
    fn references_tell_people_and_organizations_apart() {
        let keys = SubjectKeys::parse(&key("k1", 1)).unwrap();
        let one = keys.subject_ref(&"org".into(), &"ada".into());
        assert_eq!(one, keys.subject_ref(&"org".into(), &"ada".into()));
        assert_ne!(one, keys.subject_ref(&"or".into(), &"gada".into()));
        assert_ne!(one, keys.subject_ref(&"org2".into(), &"ada".into()));
        assert!(one.starts_with("subref_v1_") && one.len() == 10 + 32);
    }

    #[test]
    fn every_purpose_has_a_key_of_its_own() {
        let keys = SubjectKeys::parse(&key("k1", 1)).unwrap();
        let mut seen = std::collections::BTreeSet::from([[1; 32]]);
        for purpose in KeyPurpose::ALL {
            assert!(seen.insert(keys.key_for(*purpose).1), "{purpose}");
        }
        let other = SubjectKeys::parse(&key("k1", 2)).unwrap();
        assert!(seen.insert(other.key_for(KeyPurpose::Audit).1));
    }

    #[test]
    fn a_rotation_keeps_old_references_readable() {
        let old = SubjectKeys::parse(&key("k1", 1)).unwrap();
        let rotated = SubjectKeys::parse(&format!("{}\n{}", key("k1", 1), key("k2", 2))).unwrap();
        let refs = rotated.all_subject_refs(&"org".into(), &"ada".into());
        assert_eq!(refs[0], rotated.subject_ref(&"org".into(), &"ada".into()));
        assert_eq!(refs[1], old.subject_ref(&"org".into(), &"ada".into()));
    }

    #[test]
    fn subjects_are_made_with_the_key_that_is_named_and_no_key_that_is_needed_is_missing() {
        let given = || SubjectKeys::parse(&format!("{}\n{}", key("k1", 1), key("k2", 2))).unwrap();
        let (org, ada) = (&OrgId::from("org"), &UserId::from("ada"));
        let under_k1 = given().subject_hash().subject(org, ada);
        let behind =
            |key_id: &str| BTreeMap::from([(key_id.to_owned(), HashSet::from([under_k1]))]);
        let rekeyed = given().making_subjects_with("k2", BTreeMap::new()).unwrap();
        assert_eq!(rekeyed.subject_key_id(), "k2");
        let under_k2 = rekeyed.subject_hash().subject(org, ada);
        assert_eq!(under_k2, given().subject_hash_by("k2").unwrap().subject(org, ada));
        assert_ne!(under_k1, under_k2);
        let erased = given().making_subjects_with("k2", behind("k1")).unwrap();
        assert_eq!(erased.subject_hash().subject(org, ada), under_k1);
        assert!(
            given().making_subjects_with("k3", BTreeMap::new()).is_err_and(|e| e.contains("k3"))
        );
        assert!(given().making_subjects_with("k2", behind("k0")).is_err_and(|e| e.contains("k0")));
    }

    #[test]
    fn bad_keys_are_named() {
        let twice = format!("{},{}", key("k1", 1), key("k1", 2));
        for bad in ["", "k1", "k1:zz", "k1:00", &twice] {
            assert!(SubjectKeys::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_key_file_is_made_once_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("governance.key");
        let ids = Ids::system(Clock::System);
        let first = SubjectKeys::load_or_create(&file, &ids).unwrap();
        let again = SubjectKeys::load_or_create(&file, &ids).unwrap();
        assert_eq!(
            first.subject_ref(&"o".into(), &"u".into()),
            again.subject_ref(&"o".into(), &"u".into())
        );
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
