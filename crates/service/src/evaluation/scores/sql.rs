//! SQL of the table `imported_scores`.

use super::NewScore;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, run};

#[derive(sqlx_macros::FromRow)]
pub struct StoredRun {
    session_id: String,
    scorer_name: String,
    value: f64,
    ts: i64,
}

impl StoredRun {
    pub fn is(&self, score: &NewScore) -> bool {
        self.session_id == score.session_id
            && self.scorer_name == score.scorer_name
            && self.value.to_bits() == score.value.to_bits()
            && self.ts == score.ts
    }
}

pub async fn find_run(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    source_run_id: &str,
) -> Result<Option<StoredRun>> {
    row!(
        tx,
        StoredRun,
        "SELECT session_id, scorer_name, value, ts FROM imported_scores
         WHERE org_id = $1 AND subject = $2 AND source_run_id = $3",
        org_id,
        user_id,
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
