//! Assignment of users to arms: a pure function, the same on every replica and for ever.

use base::owner::{OrgId, UserId};
use sha2::{Digest, Sha256};

/// Says how users are assigned; a new way gets a new tag, so that a running experiment is never assigned anew.
pub const HASH_VERSION: &str = "retrieval-experiment/v1";

base::vocabulary! {
    /// The arm of a user in an experiment.
    pub enum Arm {
        /// Retrieval as usual.
        Treatment = "treatment",
        /// Searches find, and hand over nothing.
        Holdout = "holdout",
    }
}

impl Arm {
    pub const BOTH: [Arm; 2] = [Arm::Treatment, Arm::Holdout];

    /// Index of the arm in arrays by arm.
    pub const fn index(self) -> usize {
        match self {
            Arm::Treatment => 0,
            Arm::Holdout => 1,
        }
    }
}

/// The arm of a user: holdout iff their hash, read as a number in [0, 1), is below the holdout's share.
///
/// Every part is hashed with its length before it, so that ("ab", "c") and ("a", "bc") stay apart. Comparing with a
/// threshold is monotone: a user held out at 5 % is held out at 10 %.
pub fn assign(
    org_id: &OrgId,
    experiment_id: &str,
    user_id: &UserId,
    holdout_percentage: f64,
) -> Arm {
    arm_at(position(org_id, experiment_id, user_id), holdout_percentage)
}

/// The boundary itself belongs to treatment.
fn arm_at(position: f64, holdout_percentage: f64) -> Arm {
    if position < holdout_percentage / 100.0 { Arm::Holdout } else { Arm::Treatment }
}

/// Position of a user in [0, 1): the first 53 bits of SHA-256.
fn position(org_id: &OrgId, experiment_id: &str, user_id: &UserId) -> f64 {
    #[allow(clippy::cast_precision_loss)] // 53 bits fit exactly
    let bits = (first_bits(org_id, experiment_id, user_id) >> 11) as f64;
    bits * (-53f64).exp2()
}

fn first_bits(org_id: &OrgId, experiment_id: &str, user_id: &UserId) -> u64 {
    let mut hash = Sha256::new();
    for part in [HASH_VERSION, org_id, experiment_id, user_id] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_are_met() {
        let text = include_str!("../../../../tests/golden/hash_vectors.json");
        let file: serde_json::Value = serde_json::from_str(text).unwrap();
        let vectors = file["vectors"].as_array().unwrap();
        assert!(vectors.len() >= 8);
        for vector in vectors {
            let part = |name: &str| vector[name].as_str().unwrap();
            let experiment = part("experiment_id");
            let (org, user) = (&part("org").into(), &part("user_id").into());
            let bits: u64 = part("u64_be").parse().unwrap();
            assert_eq!(first_bits(org, experiment, user), bits);
            let place = vector["u"].as_f64().unwrap();
            assert!((position(org, experiment, user) - place).abs() < 1e-15);
            for (percentage, arm) in vector["arm"].as_object().unwrap() {
                let assigned = assign(org, experiment, user, percentage.parse().unwrap());
                assert_eq!(assigned.as_str(), arm.as_str().unwrap(), "{user} {percentage}");
            }
        }
    }

    #[test]
    fn positions_are_uniform() {
        let mut bins = [0u32; 20];
        let n = 40_000;
        for user in 0..n {
            let place = position(&"org".into(), "uniform", &format!("user-{user}").into());
            assert!((0.0..1.0).contains(&place));
            bins[(place * 20.0) as usize] += 1;
        }
        let expected = f64::from(n) / 20.0;
        let chi: f64 = bins.iter().map(|b| (f64::from(*b) - expected).powi(2) / expected).sum();
        assert!(chi < 43.8, "chi-square {chi} with 19 degrees of freedom (p = 0.001)");
    }

    #[test]
    fn experiments_are_independent_of_each_other() {
        let n = 20_000;
        let both = (0..n)
            .filter(|user| {
                let user = UserId::from(format!("user-{user}"));
                ["exp-a", "exp-b"]
                    .iter()
                    .all(|e| assign(&"org".into(), e, &user, 50.0) == Arm::Holdout)
            })
            .count();
        let (expected, sd) = (f64::from(n) / 4.0, (f64::from(n) * 3.0 / 16.0).sqrt());
        assert!((both as f64 - expected).abs() < 4.0 * sd, "{both}");
    }

    #[test]
    fn the_holdout_has_its_share() {
        let n = 50_000;
        for percentage in [0.1, 1.0, 5.0, 12.345, 50.0, 99.9] {
            let held = (0..n)
                .filter(|user| {
                    assign(&"org".into(), "share", &format!("ü-{user}").into(), percentage)
                        == Arm::Holdout
                })
                .count() as f64;
            let share: f64 = percentage / 100.0;
            let sd = (f64::from(n) * share * (1.0 - share)).sqrt();
            assert!((held - f64::from(n) * share).abs() < 4.0 * sd, "{percentage}: {held}");
        }
    }

    #[test]
    fn the_boundary_goes_to_treatment_and_shares_are_nested() {
        for user in 0..2000 {
            let user = UserId::from(format!("user-{user}"));
            let org = &"o".into();
            if assign(org, "e", &user, 5.0) == Arm::Holdout {
                assert_eq!(assign(org, "e", &user, 10.0), Arm::Holdout);
            }
        }
        assert_eq!(arm_at(0.5, 50.0), Arm::Treatment);
        assert_eq!(arm_at(0.5_f64.next_down(), 50.0), Arm::Holdout);
        let bits =
            |org: &str, experiment, user: &str| first_bits(&org.into(), experiment, &user.into());
        assert_ne!(bits("ab", "c", "d"), bits("a", "bc", "d"));
        assert_ne!(bits("o", "e", &"x".repeat(255)), bits("o", "e", &"x".repeat(254)));
    }
}
