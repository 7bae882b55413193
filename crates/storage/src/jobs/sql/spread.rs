//! Claiming on Citus, where rows of several servers cannot be locked in one statement: look, then take.

use crate::db::{Subject, Tx};
use crate::error::Result;
use crate::jobs::Claim;
use crate::{row, rows};

/// Looks at more than are wanted: another replica may be quicker.
const LOOKED_AT: i64 = 2;

/// Takes due jobs one by one, the oldest first. All replicas go in this order: they wait for each other, never in a
/// circle.
pub async fn claim(
    tx: &mut Tx,
    kinds: &str,
    now: i64,
    lease_until: i64,
    token: &str,
    limit: i64,
    lapsed_before: i64,
) -> Result<Vec<Claim>> {
    let due = rows!(
        tx,
        (String, Subject),
        "SELECT job_id, subject FROM jobs
         WHERE state = 'open' AND run_at <= $2 AND (lease_until IS NULL OR lease_until < $3)
           AND kind IN {texts:$1}
           AND (epoch IS NULL OR EXISTS (
                 SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.subject = jobs.subject
                    AND s.state = 'active' AND s.epoch = jobs.epoch))
         ORDER BY run_at, job_id LIMIT $4 + 0",
        kinds,
        now,
        lapsed_before,
        limit.saturating_mul(LOOKED_AT)
    )?;
    let mut claimed = Vec::new();
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    for (job_id, subject) in due {
        if claimed.len() >= wanted {
            break;
        }
        let taken = row!(
            tx,
            Claim,
            "UPDATE jobs SET lease_until = $4, lease_token = $5, attempts = attempts + 1
             WHERE job_id = $1 AND subject = $2 AND state = 'open' AND run_at <= $3
               AND (lease_until IS NULL OR lease_until < $6)
               AND (epoch IS NULL OR EXISTS (
                     SELECT 1 FROM subjects s WHERE s.org_id = jobs.org_id AND s.subject = $2
                        AND s.state = 'active' AND s.epoch = jobs.epoch))
             RETURNING job_id, org_id, subject,
                       (SELECT u.user_id FROM subjects u WHERE u.org_id = jobs.org_id AND u.subject = $2) AS user_id,
                       epoch, kind, parent_id, payload, run_at, attempts, max_attempts, lease_token, moves",
            job_id,
            subject,
            now,
            lease_until,
            token,
            lapsed_before
        )?;
        claimed.extend(taken);
    }
    Ok(claimed)
}
