//! Assignment of users to the sides of a trial: a pure function, the same on every replica and for ever.

use base::owner::{OrgId, UserId};
use sha2::{Digest, Sha256};

/// Says how users are assigned; a new way gets a new tag, so that a running trial is never assigned anew.
const HASH_VERSION: &str = "learning-trial/v1";

/// Shares are stored in this unit: 2,000 of it are a share of 0.2.
pub const SHARE_UNIT: f64 = 10_000.0;

/// True if a playbook is withheld from a user: iff their hash, read as a number in [0, 1), is below the share, which
/// is in 10,000ths.
pub fn is_withheld(
    org_id: &OrgId,
    agent_playbook_id: i64,
    epoch_no: i64,
    user_id: &UserId,
    share: i64,
) -> bool {
    position(org_id, agent_playbook_id, epoch_no, user_id) < share as f64 / SHARE_UNIT
}

/// Position of a user in [0, 1): the first 53 bits of SHA-256 over parts with their lengths.
fn position(org_id: &OrgId, agent_playbook_id: i64, epoch_no: i64, user_id: &UserId) -> f64 {
    let (playbook, epoch) = (agent_playbook_id.to_string(), epoch_no.to_string());
    let mut hash = Sha256::new();
    for part in [HASH_VERSION, org_id, &playbook, &epoch, user_id] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let bits = hash.finalize().iter().take(8).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    (bits >> 11) as f64 * (-53f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with Python's hashlib by the formula of the design.
    #[test]
    fn the_vectors_are_met() {
        for (org, playbook, epoch, user, expected) in [
            ("default", 1, 1, "ada", 0.47549763442733206),
            ("default", 1, 2, "ada", 0.09876420954806353),
            ("org", 42, 1, "zoë", 0.4441237857912774),
            ("o", 9007199254740991, 17, "", 0.9690413990464594),
        ] {
            let place = position(&org.into(), playbook, epoch, &user.into());
            assert!((place - expected).abs() < 1e-15, "{org} {playbook} {epoch} {user}: {place}");
        }
    }

    #[test]
    fn shares_are_met_and_playbooks_and_epochs_are_independent() {
        let n = 40_000;
        let org = OrgId::from("org");
        let count = |keys: &[(i64, i64)], share: i64| {
            let withheld = |user: &i32| {
                let user = UserId::from(format!("user-{user}"));
                keys.iter().all(|(id, epoch)| is_withheld(&org, *id, *epoch, &user, share))
            };
            (0..n).filter(withheld).count() as f64
        };
        for share in [100, 200, 2_000, 5_000] {
            let p = share as f64 / SHARE_UNIT;
            for (keys, p) in
                [(vec![(7, 1)], p), (vec![(7, 1), (8, 1)], p * p), (vec![(7, 1), (7, 2)], p * p)]
            {
                let (expected, sd) = (f64::from(n) * p, (f64::from(n) * p * (1.0 - p)).sqrt());
                let found = count(&keys, share);
                assert!((found - expected).abs() < 4.0 * sd + 1.0, "{keys:?} {share}: {found}");
            }
        }
    }
}
