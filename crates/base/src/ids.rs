//! Identifiers, tokens and every other random choice, from one source that tests can seed.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng, TryRng};
use uuid::Uuid;

use crate::clock::Clock;

/// The one source of randomness. Cheap to clone; clones of a seeded source share their state.
#[derive(Clone)]
pub struct Ids {
    clock: Clock,
    source: Source,
}

#[derive(Clone)]
enum Source {
    System,
    Seeded(Arc<Mutex<StdRng>>),
}

impl Ids {
    /// Random bytes from the operating system.
    pub fn system(clock: Clock) -> Self {
        Ids { clock, source: Source::System }
    }

    /// The same sequence every run: for tests and for the demo's data.
    pub fn seeded(clock: Clock, seed: u64) -> Self {
        let rng = Arc::new(Mutex::new(StdRng::seed_from_u64(seed)));
        Ids { clock, source: Source::Seeded(rng) }
    }

    pub fn fill(&self, bytes: &mut [u8]) {
        match &self.source {
            // Without randomness no token would be a secret: stopping here is the safe answer.
            #[allow(clippy::expect_used)]
            Source::System => {
                SysRng.try_fill_bytes(bytes).expect("the operating system gives random bytes")
            }
            Source::Seeded(rng) => {
                rng.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
            }
        }
    }

    /// A UUIDv7: sorts by the time it was made. Its bits come from a generator in this process that is seeded by the
    /// operating system: an id is no secret, and a publish makes four.
    pub fn uuid(&self) -> String {
        let mut random = [0u8; 10];
        match &self.source {
            #[allow(clippy::disallowed_methods)] // the place the ban points to
            Source::System => rand::rng().fill_bytes(&mut random),
            Source::Seeded(_) => self.fill(&mut random),
        }
        uuid::Builder::from_unix_timestamp_millis(self.clock.now_millis(), &random)
            .into_uuid()
            .to_string()
    }

    /// 43 characters that carry 256 random bits (base64url without padding).
    pub fn secret(&self) -> String {
        const ALPHABET: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut bytes = [0u8; 33];
        self.fill(&mut bytes[..32]);
        bytes
            .chunks(3)
            .flat_map(|c| {
                let bits = u32::from(c[0]) << 16 | u32::from(c[1]) << 8 | u32::from(c[2]);
                [18, 12, 6, 0].map(|shift| char::from(ALPHABET[(bits >> shift & 63) as usize]))
            })
            .take(43)
            .collect()
    }

    /// 32 random bytes as hex, for keys that are kept in files.
    pub fn key_hex(&self) -> String {
        let mut bytes = [0u8; 32];
        self.fill(&mut bytes);
        hex::encode(bytes)
    }

    /// A number in `0.0..1.0`, for jitter.
    pub fn fraction(&self) -> f64 {
        let mut bytes = [0u8; 8];
        self.fill(&mut bytes);
        #[allow(clippy::cast_precision_loss)] // 53 bits fit exactly
        let value = (u64::from_be_bytes(bytes) >> 11) as f64;
        value / (1u64 << 53) as f64
    }
}

/// True if `text` is a UUID, the form of an id minted by [`Ids::uuid`].
pub fn is_uuid(text: &str) -> bool {
    Uuid::try_parse(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeded_ids_repeat_and_secrets_have_43_characters() {
        let make = || Ids::seeded(Clock::manual(1_700_000_000), 7);
        let (one, two) = (make(), make());
        assert_eq!(one.uuid(), two.uuid());
        assert_eq!(one.secret(), two.secret());
        assert_eq!(one.secret().len(), 43);
        assert_ne!(one.secret(), one.secret());
        assert!(one.uuid() < Ids::seeded(Clock::manual(1_700_000_001), 7).uuid());
    }

    #[test]
    fn fractions_stay_below_one() {
        let ids = Ids::system(Clock::System);
        assert!((0..1000).map(|_| ids.fraction()).all(|f| (0.0..1.0).contains(&f)));
    }
}
