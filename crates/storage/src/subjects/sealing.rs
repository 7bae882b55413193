//! Uses of the governance keys besides references: hiding a user id from the database while its erasure
//! runs, sealing texts that the server alone reads again, stamping what the server hands out and must recognize, and signing certificates and heads of the audit
//! chain. The keys themselves are never in the database.

use hmac::{Hmac, KeyInit, Mac};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use sha2::Sha256;

use super::{KeyPurpose, SubjectKeys};
use crate::error::{Error, Result};
use base::ids::Ids;
use base::owner::UserId;

fn fault(what: &str) -> Error {
    Error::Internal(format!("{what} failed"))
}

fn cipher(secret: &[u8; 32]) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, secret).map_err(|_| fault("sealing"))?;
    Ok(LessSafeKey::new(key))
}

/// One message per key: each erasure has its own, and so has each sealed text.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

impl SubjectKeys {
    /// The user id as the workers of one erasure can read it, and nobody who has the database alone.
    pub fn seal(&self, purge_id: &str, user_id: &UserId) -> Result<String> {
        self.seal_once(&format!("seal/{purge_id}"), purge_id, user_id)
    }

    pub fn unseal(&self, purge_id: &str, sealed: &str) -> Result<UserId> {
        self.unseal_once(&format!("seal/{purge_id}"), purge_id, sealed).map(UserId::from)
    }

    /// A text that only this installation reads again, and for this purpose only. Each has a key of its own.
    pub fn seal_text(&self, ids: &Ids, purpose: &str, text: &str) -> Result<String> {
        let salt = ids.secret();
        let sealed = self.seal_once(&format!("{purpose}/{salt}"), purpose, text)?;
        Ok(format!("{salt}:{sealed}"))
    }

    pub fn unseal_text(&self, purpose: &str, sealed: &str) -> Result<String> {
        let (salt, sealed) = sealed.split_once(':').ok_or_else(|| fault("unsealing"))?;
        self.unseal_once(&format!("{purpose}/{salt}"), purpose, sealed)
    }

    /// `label` makes the key, which seals this one text: see [`nonce`].
    fn seal_once(&self, label: &str, context: &str, text: &str) -> Result<String> {
        let (key_id, secret) = self.derive(label);
        let mut bytes = text.as_bytes().to_vec();
        cipher(&secret)?
            .seal_in_place_append_tag(nonce(), Aad::from(context.as_bytes()), &mut bytes)
            .map_err(|_| fault("sealing"))?;
        Ok(format!("{key_id}:{}", hex::encode(bytes)))
    }

    fn unseal_once(&self, label: &str, context: &str, sealed: &str) -> Result<String> {
        let (key_id, text) = sealed.split_once(':').ok_or_else(|| fault("unsealing"))?;
        let secret = self
            .derive_by(key_id, label)
            .ok_or_else(|| Error::Internal(format!("governance key {key_id} is not given")))?;
        let mut bytes = hex::decode(text).map_err(|_| fault("unsealing"))?;
        let plain = cipher(&secret)?
            .open_in_place(nonce(), Aad::from(context.as_bytes()), &mut bytes)
            .map_err(|_| fault("unsealing"))?;
        String::from_utf8(plain.to_vec()).map_err(|_| fault("unsealing"))
    }

    /// The secret that signs what is sent to a webhook, and the id of the governance key it is made of. It is stored
    /// nowhere; the id is kept with the webhook.
    pub fn webhook_secret(&self, webhook_id: &str) -> (String, [u8; 32]) {
        self.derive(&format!("webhook/{webhook_id}"))
    }

    /// [`SubjectKeys::webhook_secret`] of a webhook that was made under the key with this id.
    pub fn webhook_secret_by(&self, key_id: &str, webhook_id: &str) -> Result<[u8; 32]> {
        self.derive_by(key_id, &format!("webhook/{webhook_id}"))
            .ok_or_else(|| Error::Internal(format!("governance key {key_id} is not given")))
    }

    /// A stamp under the current key of a purpose, for what the server hands out and must recognize.
    pub fn stamp(&self, purpose: KeyPurpose, parts: &[&str]) -> String {
        mac(&self.key_for(purpose).1, parts)
    }

    /// The stamps under every key of a purpose, the current one last.
    pub fn all_stamps(&self, purpose: KeyPurpose, parts: &[&str]) -> Vec<String> {
        self.all_keys_for(purpose).iter().map(|(_, key)| mac(key, parts)).collect()
    }

    /// The signature of `message`, the public key that checks it, and the id of the governance key behind both.
    pub fn sign(&self, purpose: KeyPurpose, message: &[u8]) -> Result<Signed> {
        let (key_id, seed) = self.key_for(purpose);
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| fault("signing"))?;
        Ok(Signed {
            key_id,
            public_key: hex::encode(pair.public_key().as_ref()),
            signature: hex::encode(pair.sign(message).as_ref()),
        })
    }

    /// The public keys that this installation signs and signed with, with the ids of the governance keys behind them;
    /// the present one last.
    pub fn public_keys(&self, purpose: KeyPurpose) -> Vec<(String, String)> {
        let mut seeds = Vec::new();
        if purpose == KeyPurpose::Signing {
            // Certificates of before there was a key for each purpose.
            let of = |id: &str| Some((id.to_owned(), self.derive_by(id, "certificate")?));
            seeds.extend(self.check_values().filter_map(|(id, _)| of(id)));
        }
        seeds.extend(self.all_keys_for(purpose));
        let pair = |seed: &[u8; 32]| Ed25519KeyPair::from_seed_unchecked(seed).ok();
        let public = |pair: Ed25519KeyPair| hex::encode(pair.public_key().as_ref());
        seeds.into_iter().filter_map(|(id, seed)| Some((id, public(pair(&seed)?)))).collect()
    }

    /// True if this installation signed `message`, with its present or an earlier key.
    pub fn has_signed(&self, purpose: KeyPurpose, message: &[u8], signature: &str) -> bool {
        let keys = self.public_keys(purpose);
        keys.iter().any(|(_, public_key)| is_signed(public_key, message, signature))
    }
}

/// HMAC-SHA256 over parts, each with its length before it, in hex.
fn mac(key: &[u8; 32], parts: &[&str]) -> String {
    // HMAC takes keys of any length: this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    hex::encode(mac.finalize().into_bytes())
}

pub struct Signed {
    pub key_id: String,
    pub public_key: String,
    pub signature: String,
}

/// True if `signature` over `message` was made with the secret behind `public_key`; both in hex.
pub fn is_signed(public_key: &str, message: &[u8], signature: &str) -> bool {
    let (Ok(key), Ok(signature)) = (hex::decode(public_key), hex::decode(signature)) else {
        return false;
    };
    UnparsedPublicKey::new(&ED25519, key).verify(message, &signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &[(&str, u8)]) -> SubjectKeys {
        let entries: Vec<String> =
            text.iter().map(|(id, byte)| format!("{id}:{}", hex::encode([*byte; 32]))).collect();
        SubjectKeys::parse(&entries.join(",")).unwrap()
    }

    #[test]
    fn a_sealed_user_is_read_with_the_keys_only_also_after_a_rotation() {
        let old = keys(&[("k1", 1)]);
        let sealed = old.seal("p1", &"ada@example.org".into()).unwrap();
        assert!(!sealed.contains("ada"));
        let rotated = keys(&[("k1", 1), ("k2", 2)]);
        assert_eq!(rotated.unseal("p1", &sealed).unwrap(), "ada@example.org");
        assert!(rotated.unseal("p2", &sealed).is_err(), "of another erasure");
        assert!(keys(&[("k1", 3)]).unseal("p1", &sealed).is_err());
        assert!(keys(&[("k2", 1)]).unseal("p1", &sealed).is_err());
        assert!(rotated.unseal("p1", "nonsense").is_err());
    }

    #[test]
    fn a_sealed_text_is_read_for_its_purpose_only_and_no_two_are_alike() {
        let ids = Ids::seeded(base::clock::Clock::manual(0), 1);
        let keys = keys(&[("k1", 1)]);
        let sealed = keys.seal_text(&ids, "refresh", "token").unwrap();
        assert_ne!(sealed, keys.seal_text(&ids, "refresh", "token").unwrap());
        assert_eq!(keys.unseal_text("refresh", &sealed).unwrap(), "token");
        assert!(keys.unseal_text("sign-in", &sealed).is_err());
        assert!(keys.unseal_text("refresh", &sealed[1..]).is_err());
        assert!(keys.unseal_text("refresh", "").is_err());
    }

    #[test]
    fn the_secret_of_a_webhook_stays_through_a_rotation() {
        let (key_id, secret) = keys(&[("k1", 1)]).webhook_secret("w1");
        let rotated = keys(&[("k1", 1), ("k2", 2)]);
        assert_eq!(rotated.webhook_secret_by(&key_id, "w1").unwrap(), secret);
        assert_ne!(rotated.webhook_secret_by(&key_id, "w2").unwrap(), secret);
        assert_ne!(rotated.webhook_secret("w1").1, secret, "a new one is of the new key");
        assert!(keys(&[("k2", 2)]).webhook_secret_by(&key_id, "w1").is_err());
    }

    #[test]
    fn signatures_hold_for_what_was_signed_and_nothing_else() {
        let keys = keys(&[("k1", 1)]);
        let signed = keys.sign(KeyPurpose::Signing, b"this").unwrap();
        assert!(is_signed(&signed.public_key, b"this", &signed.signature));
        assert!(!is_signed(&signed.public_key, b"that", &signed.signature));
        assert!(!is_signed("00", b"this", &signed.signature));
        let (_, newest) = keys.public_keys(KeyPurpose::Signing).pop().unwrap();
        assert_eq!(newest, signed.public_key);
        assert!(keys.has_signed(KeyPurpose::Signing, b"this", &signed.signature));
        assert!(!keys.has_signed(KeyPurpose::Anchors, b"this", &signed.signature));
    }
}
