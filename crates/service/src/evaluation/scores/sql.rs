//! SQL of the table `imported_scores`.

use super::NewScore;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, run};

#[derive(sqlx_macros::FromRow)]
pub struct StoredRun {
    user_id: UserId,
    session_id: String,
    scorer_name: String,
    value: f64,
    ts: i64,
}

impl StoredRun {
    pub fn is(&self, user_id: &UserId, score: &NewScore) -> bool {
        self.user_id == user_id
            && self.session_id == score.session_id
            && self.scorer_name == score.scorer_name
            && self.value.to_bits() == score.value.to_bits()
            && self.ts == score.ts
    }
}

pub async fn find_run(
    tx: &mut Tx,
    org_id: &OrgId,
    source_run_id: &str,
) -> Result<Option<StoredRun>> {
    row!(
        tx,
        StoredRun,
        "SELECT {user_of:imported_scores} AS user_id, session_id, scorer_name, value, ts FROM imported_scores
         WHERE org_id = $1 AND source_run_id = $2",
        org_id,
        source_run_id
    )
}

pub async fn insert(tx: &mut Tx, subject: &SubjectWrite, score: &NewScore, now: i64) -> Result<()> {
    run!(
        tx,
        "INSERT INTO imported_scores
           (org_id, subject, session_id, source_run_id, epoch, scorer_name, value, ts, imported_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        subject.org_id(),
        subject.user_id(),
        &score.session_id,
        &score.source_run_id,
        subject.epoch(),
        &score.scorer_name,
        score.value,
        score.ts,
        now
    )?;
    Ok(())
}
