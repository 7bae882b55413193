//! Signatures as Standard Webhooks says: HMAC-SHA256 over the id, the time and the body, and a secret in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A signing secret as people copy it.
pub fn shown(secret: &[u8; 32]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

/// The value of `webhook-signature`.
pub fn sign(secret: &[u8; 32], id: &str, timestamp: i64, body: &str) -> String {
    // HMAC takes keys of any length: this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return String::new();
    };
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_id_time_and_body() {
        let secret = [7; 32];
        let signature = sign(&secret, "msg_1", 1_768_478_400, "{}");
        // openssl dgst -sha256 -mac HMAC -macopt hexkey:0707… over `msg_1.1768478400.{}`
        assert_eq!(signature, "v1,VJyTcDqJ8UhmIobSfZqKNiTnUUXqCiH9gqEVj0Sy6h8=");
        assert_ne!(signature, sign(&secret, "msg_2", 1_768_478_400, "{}"));
        assert_ne!(signature, sign(&secret, "msg_1", 1_768_478_401, "{}"));
        assert_eq!(shown(&secret).len(), "whsec_".len() + 44);
    }
}
