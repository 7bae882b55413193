//! Sampling of sessions by hash, so that every replica decides the same, a session keeps its place, and a
//! higher rate takes in all that a lower one did.

use base::owner::{OrgId, UserId};
use sha2::{Digest, Sha256};

/// Hash of these parts, scaled to `0.0..1.0`. `salt` keeps samples for different purposes apart.
pub fn fraction(salt: &str, parts: &[&str]) -> f64 {
    #[allow(clippy::cast_precision_loss)] // 53 bits fit exactly
    let value = (hash(salt, parts) >> 11) as f64;
    value / (1u64 << 53) as f64
}

/// A number from these parts, the same everywhere and always.
pub fn hash(salt: &str, parts: &[&str]) -> u64 {
    let mut digest = Sha256::new();
    for part in std::iter::once(&salt).chain(parts) {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let bytes = digest.finalize();
    bytes[..8].iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// The chance of what is drawn in any case: chances are in 10,000ths.
pub const CERTAIN: i64 = 10_000;

/// The chance of a session in a sample of this rate; 0 only at a rate of 0.
pub fn chance(rate: f64) -> i64 {
    #[allow(clippy::cast_possible_truncation)] // within 0 and CERTAIN
    let chance = (rate.clamp(0.0, 1.0) * CERTAIN as f64).round() as i64;
    chance.max(i64::from(rate > 0.0))
}

/// True if a session is in a sample of this rate.
pub fn is_sampled(
    salt: &str,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    rate: f64,
) -> bool {
    fraction(salt, &[org_id, user_id, session_id]) < rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_nested_and_as_large_as_their_rate() {
        let sample = |rate: f64| -> Vec<bool> {
            let session = |n: i32| format!("s{n}");
            let (org, user) = (&"org".into(), &"ada".into());
            (0..20_000).map(|n| is_sampled("evaluation", org, user, &session(n), rate)).collect()
        };
        let mut smaller = sample(0.0);
        assert!(!smaller.contains(&true));
        for rate in [0.1, 0.35, 0.8, 1.0] {
            let larger = sample(rate);
            assert!(smaller.iter().zip(&larger).all(|(before, now)| !before || *now));
            let share = larger.iter().filter(|in_it| **in_it).count() as f64 / 20_000.0;
            assert!((share - rate).abs() < 0.02, "{share} at {rate}");
            smaller = larger;
        }
        assert!(!smaller.contains(&false));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(hash("s", &["ab", "c"]), hash("s", &["a", "bc"]));
        assert_ne!(hash("s", &["a"]), hash("t", &["a"]));
    }
}
