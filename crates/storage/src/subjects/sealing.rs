//! Uses of the governance keys besides references: hiding a user id from the database while its erasure
//! runs, and signing certificates. The keys themselves are never in the database.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use super::SubjectKeys;
use crate::error::{Error, Result};
use base::owner::UserId;

fn fault(what: &str) -> Error {
    Error::Internal(format!("{what} failed"))
}

fn cipher(secret: &[u8; 32]) -> Result<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, secret).map_err(|_| fault("sealing"))?;
    Ok(LessSafeKey::new(key))
}

/// One message per key: each erasure has its own.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

impl SubjectKeys {
    /// The user id as the workers of one erasure can read it, and nobody who has the database alone.
    pub fn seal(&self, purge_id: &str, user_id: &UserId) -> Result<String> {
        let (key_id, secret) = self.derive(&format!("seal/{purge_id}"));
        let mut bytes = user_id.as_bytes().to_vec();
        cipher(&secret)?
            .seal_in_place_append_tag(nonce(), Aad::from(purge_id.as_bytes()), &mut bytes)
            .map_err(|_| fault("sealing"))?;
        Ok(format!("{key_id}:{}", hex::encode(bytes)))
    }

    pub fn unseal(&self, purge_id: &str, sealed: &str) -> Result<UserId> {
        let (key_id, text) = sealed.split_once(':').ok_or_else(|| fault("unsealing"))?;
        let secret = self
            .derive_by(key_id, &format!("seal/{purge_id}"))
            .ok_or_else(|| Error::Internal(format!("governance key {key_id} is not given")))?;
        let mut bytes = hex::decode(text).map_err(|_| fault("unsealing"))?;
        let plain = cipher(&secret)?
            .open_in_place(nonce(), Aad::from(purge_id.as_bytes()), &mut bytes)
            .map_err(|_| fault("unsealing"))?;
        let text = String::from_utf8(plain.to_vec()).map_err(|_| fault("unsealing"))?;
        Ok(text.into())
    }

    /// The signature of `message`, the public key that checks it, and the id of the governance key behind both.
    pub fn sign(&self, message: &[u8]) -> Result<Signed> {
        let (key_id, seed) = self.derive("certificate");
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| fault("signing"))?;
        Ok(Signed {
            key_id,
            public_key: hex::encode(pair.public_key().as_ref()),
            signature: hex::encode(pair.sign(message).as_ref()),
        })
    }

    /// The public keys that this installation signs and signed with, newest last.
    pub fn public_keys(&self) -> Vec<String> {
        let pairs = self.check_values().filter_map(|(id, _)| {
            let seed = self.derive_by(id, "certificate")?;
            Ed25519KeyPair::from_seed_unchecked(&seed).ok()
        });
        pairs.map(|pair| hex::encode(pair.public_key().as_ref())).collect()
    }
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
    fn signatures_hold_for_what_was_signed_and_nothing_else() {
        let keys = keys(&[("k1", 1)]);
        let signed = keys.sign(b"this").unwrap();
        assert!(is_signed(&signed.public_key, b"this", &signed.signature));
        assert!(!is_signed(&signed.public_key, b"that", &signed.signature));
        assert!(!is_signed("00", b"this", &signed.signature));
        assert_eq!(keys.public_keys(), [signed.public_key]);
    }
}
