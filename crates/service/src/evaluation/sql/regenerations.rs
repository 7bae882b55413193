//! SQL of the tables `regenerations` and `candidate_verdicts`.

use crate::evaluation::NewResult;
use crate::evaluation::regeneration::replay::{Regeneration, RegenerationStatus};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        "job_id, evaluation_name, candidate_version, from_ts, to_ts, seed, sample_per_stratum, \
         concurrency_limit, max_cost_usd, estimated_cost_usd, total_candidates, total, status, reason, \
         started_at, finished_at, completed, failed, cost_usd"
    };
}

pub async fn insert_regeneration(tx: &mut Tx, org_id: &OrgId, new: &Regeneration) -> Result<()> {
    run!(
        tx,
        "INSERT INTO regenerations
           (job_id, org_id, evaluation_name, candidate_version, from_ts, to_ts, seed, sample_per_stratum,
            concurrency_limit, max_cost_usd, total_candidates, total, status, started_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'running', $13)",
        &new.job_id,
        org_id,
        &new.evaluation_name,
        new.candidate_version.as_deref(),
        new.from_ts,
        new.to_ts,
        &new.seed,
        new.sample_per_stratum,
        new.concurrency_limit,
        new.max_cost_usd,
        new.total_candidates,
        new.total,
        new.started_at
    )?;
    Ok(())
}

pub async fn set_estimate(tx: &mut Tx, job_id: &str, dollars: Option<f64>) -> Result<()> {
    run!(
        tx,
        "UPDATE regenerations SET estimated_cost_usd = $2 WHERE job_id = $1",
        job_id,
        dollars
    )?;
    Ok(())
}

/// The id of the organization's running one, if there is one.
pub async fn running_regeneration(tx: &mut Tx, org_id: &OrgId) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "SELECT job_id FROM regenerations WHERE org_id = $1 AND status = 'running'",
        org_id
    )?;
    Ok(found.map(|(job_id,)| job_id))
}

/// The newest ones, also those that ended.
pub async fn newest_regenerations(
    tx: &mut Tx,
    org_id: &OrgId,
    limit: i64,
) -> Result<Vec<Regeneration>> {
    rows!(
        tx,
        Regeneration,
        concat!(
            "SELECT ",
            columns!(),
            " FROM regenerations WHERE org_id = $1 ORDER BY started_at DESC, job_id DESC LIMIT $2"
        ),
        org_id,
        limit
    )
}

pub async fn find_regeneration(
    tx: &mut Tx,
    org_id: &OrgId,
    job_id: &str,
) -> Result<Option<Regeneration>> {
    row!(
        tx,
        Regeneration,
        concat!("SELECT ", columns!(), " FROM regenerations WHERE org_id = $1 AND job_id = $2"),
        org_id,
        job_id
    )
}

/// Ends a running one with its final counts; false when it had ended already.
pub async fn end_regeneration(
    tx: &mut Tx,
    job_id: &str,
    status: RegenerationStatus,
    reason: Option<&str>,
    (completed, failed, cost): (i64, i64, f64),
    now: i64,
) -> Result<bool> {
    let touched = run!(
        tx,
        "UPDATE regenerations SET status = $2, reason = $3, completed = $4, failed = $5, cost_usd = $6,
                finished_at = $7
         WHERE job_id = $1 AND status = 'running'",
        job_id,
        status,
        reason,
        completed,
        failed,
        cost,
        now
    )?;
    Ok(touched == 1)
}

/// Deletes one that ended before, with what its candidate said; false when there is none.
pub async fn forget_regeneration_before(tx: &mut Tx, before: i64) -> Result<bool> {
    let found = row!(
        tx,
        (String,),
        "SELECT job_id FROM regenerations WHERE finished_at < $1 LIMIT 1",
        before
    )?;
    let Some((job_id,)) = found else { return Ok(false) };
    run!(tx, "DELETE FROM candidate_verdicts WHERE job_id = $1", &job_id)?;
    run!(tx, "DELETE FROM regenerations WHERE job_id = $1", &job_id)?;
    Ok(true)
}

// ── judge diffs ─────────────────────────────────────────────────────────────────────────────────────

/// Stores what the candidate says beside what the live judge said last of the session, whatever version of the
/// agent that was about.
pub async fn put_candidate_verdict(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    job_id: &str,
    new: &NewResult,
    now: i64,
) -> Result<()> {
    let live = row!(
        tx,
        (bool,),
        "SELECT r.is_success FROM evaluation_results r
         WHERE r.org_id = $1 AND r.subject = $2 AND r.session_id = $3 AND r.evaluation_name = $4
         ORDER BY r.evaluated_at DESC, r.result_id DESC LIMIT 1",
        subject.org_id(),
        subject.user_id(),
        session_id,
        &new.evaluation_name
    )?;
    run!(
        tx,
        "INSERT INTO candidate_verdicts
           (org_id, subject, session_id, job_id, epoch, live_success, is_success, failure_type,
            failure_reason, judge, prompt_version, rubric_hash, cost_usd, evaluated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT (org_id, subject, session_id, job_id) DO NOTHING",
        subject.org_id(),
        subject.user_id(),
        session_id,
        job_id,
        subject.epoch(),
        live.map(|(is_success,)| is_success),
        new.is_success,
        new.failure_type,
        &new.failure_reason,
        &new.origin.judge,
        &new.origin.prompt_version,
        &new.origin.rubric_hash,
        new.origin.cost_usd,
        now
    )?;
    Ok(())
}

/// A session with the live verdict and the candidate's.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Flip {
    pub user_id: UserId,
    pub session_id: String,
    pub live_success: Option<bool>,
    pub is_success: bool,
    pub failure_reason: String,
}

pub async fn candidate_flips(tx: &mut Tx, org_id: &OrgId, job_id: &str) -> Result<Vec<Flip>> {
    rows!(
        tx,
        Flip,
        "SELECT u.user_id, session_id, live_success, is_success, failure_reason
         FROM candidate_verdicts JOIN subjects u USING (org_id, subject)
         WHERE org_id = $1 AND job_id = $2 ORDER BY u.user_id, session_id",
        org_id,
        job_id
    )
}
