//! SQL of the table `evaluation_results`.

use sqlx::types::Json;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::evaluation::results::ResultQuery;
use crate::evaluation::{EvaluationResult, NewResult};
use crate::governance::SubjectWrite;
use crate::{row, rows};

macro_rules! columns {
    () => {
        "result_id, user_id, agent_version, session_id, is_success, failure_type, failure_reason, \
         evaluation_name, created_at, regular_vs_shadow, \
         number_of_corrections AS number_of_correction_per_session, user_turns_to_resolution, \
         is_escalated, tags, evaluated_at, learning_status AS retrieved_learning_status, judge, \
         prompt_version, rubric_hash, input_tokens, output_tokens, cost_usd, latency_ms, attempts, \
         flags, interaction_count, last_interaction_id"
    };
}

/// Writes a verdict, in the place of the one before if there is one; gives the row's id, which stays.
pub async fn put_result(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    new: &NewResult,
    now: i64,
) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "INSERT INTO evaluation_results
           (org_id, user_id, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
            failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
            created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version,
            rubric_hash, input_tokens, output_tokens, cost_usd, latency_ms, attempts, flags)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                 $21, $22, $23, $24, $25, $26)
         ON CONFLICT (org_id, user_id, session_id, evaluation_name, agent_version) DO UPDATE SET
            epoch = excluded.epoch, is_success = excluded.is_success,
            failure_type = excluded.failure_type, failure_reason = excluded.failure_reason,
            number_of_corrections = excluded.number_of_corrections,
            user_turns_to_resolution = excluded.user_turns_to_resolution,
            is_escalated = excluded.is_escalated, learning_status = excluded.learning_status,
            created_at = excluded.created_at, evaluated_at = excluded.evaluated_at,
            interaction_count = excluded.interaction_count,
            last_interaction_id = excluded.last_interaction_id, judge = excluded.judge,
            prompt_version = excluded.prompt_version, rubric_hash = excluded.rubric_hash,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
            cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms,
            attempts = excluded.attempts, flags = excluded.flags
         RETURNING result_id",
        subject.org_id(),
        subject.user_id(),
        session_id,
        &new.evaluation_name,
        &new.agent_version,
        subject.epoch(),
        new.is_success,
        &new.failure_type,
        &new.failure_reason,
        new.corrections,
        new.user_turns_to_resolution,
        new.is_escalated,
        new.learning_status,
        new.created_at,
        now,
        new.snapshot.interaction_count,
        new.snapshot.last_interaction_id,
        &new.origin.judge,
        &new.origin.prompt_version,
        &new.origin.rubric_hash,
        new.origin.input_tokens,
        new.origin.output_tokens,
        new.origin.cost_usd,
        new.origin.latency_ms,
        new.origin.attempts,
        Json(&new.origin.flags)
    )?;
    found.map(|(id,)| id).ok_or_else(|| Error::Internal("a verdict was not stored".to_owned()))
}

pub async fn find_result(
    tx: &mut Tx,
    org_id: &str,
    user_id: &str,
    session_id: &str,
    evaluation_name: &str,
    agent_version: &str,
) -> Result<Option<EvaluationResult>> {
    row!(
        tx,
        EvaluationResult,
        concat!(
            "SELECT ",
            columns!(),
            " FROM evaluation_results WHERE org_id = $1 AND user_id = $2 AND session_id = $3
               AND evaluation_name = $4 AND agent_version = $5"
        ),
        org_id,
        user_id,
        session_id,
        evaluation_name,
        agent_version
    )
}

pub async fn list_results(
    tx: &mut Tx,
    org_id: &str,
    query: &ResultQuery,
) -> Result<Vec<EvaluationResult>> {
    macro_rules! list {
        ($of_user:literal) => {
            concat!(
                "SELECT ",
                columns!(),
                " FROM evaluation_results WHERE org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR session_id = $3) AND ($4 IS NULL OR agent_version = $4)
                  AND ($5 IS NULL OR evaluation_name = $5) AND ($6 IS NULL OR created_at >= $6)
                  AND ($7 IS NULL OR created_at < $7)
                  ORDER BY created_at DESC, result_id DESC {limit:$8}"
            )
        };
    }
    let sql = match query.user_id {
        Some(_) => list!("user_id = $2"),
        None => list!("$2 IS NULL"),
    };
    rows!(
        tx,
        EvaluationResult,
        sql,
        org_id,
        query.user_id.as_deref(),
        query.session_id.as_deref(),
        query.agent_version.as_deref(),
        query.evaluation_name.as_deref(),
        query.from,
        query.to,
        query.limit
    )
}

/// Successes and all verdicts of the sessions that began in `[from, to)`.
pub async fn success_counts(
    tx: &mut Tx,
    org_id: &str,
    evaluation_name: &str,
    from: i64,
    to: i64,
) -> Result<(i64, i64)> {
    let found = row!(
        tx,
        (i64, i64),
        "SELECT COUNT(CASE WHEN is_success THEN 1 END), COUNT(*) FROM evaluation_results
         WHERE org_id = $1 AND evaluation_name = $2 AND created_at >= $3 AND created_at < $4",
        org_id,
        evaluation_name,
        from,
        to
    )?;
    Ok(found.unwrap_or((0, 0)))
}
