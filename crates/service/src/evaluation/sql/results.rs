//! SQL of the table `evaluation_results`.

use crate::evaluation::results::rows::ResultQuery;
use crate::evaluation::{AGENT_SUCCESS, EvaluationResult, NewResult};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx, Value, listed};
use storage::error::Result;
use storage::row;
use storage::subjects::SubjectWrite;

/// Verdicts of rows `r` as [`EvaluationResult`]s; the preference of their session comes from elsewhere. As one row: they
/// are many and wide, and cross from SQLite's thread at once.
macro_rules! listed {
    ($preference:literal) => {
        concat!(
            "{rows_listed}r.result_id, r.user_id, r.agent_version, r.session_id, {flag:r.is_success}, r.failure_type, \
             r.failure_reason, r.evaluation_name, r.created_at, ",
            $preference,
            ", r.number_of_corrections, r.user_turns_to_resolution, {flag:r.is_escalated}, {json:r.tags}, \
             r.evaluated_at, r.learning_status, r.judge, r.prompt_version, r.rubric_hash, r.input_tokens, \
             r.output_tokens, {fraction:r.cost_usd}, r.latency_ms, r.attempts, {json:r.flags}, r.interaction_count, \
             r.last_interaction_id{end_listed}"
        )
    };
}

/// Writes a verdict, in the place of the one before if there is one, and returns the row's id, which stays. Time and
/// source are those of the session as it is now.
pub fn put_result<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    new: &'a NewResult,
    now: i64,
) -> Result<()> {
    let is_success_verdict = new.evaluation_name == AGENT_SUCCESS;
    let mut values = vec![
        subject.org_id().into(),
        subject.user_id().into(),
        session_id.into(),
        (&new.evaluation_name).into(),
        (&new.agent_version).into(),
        subject.epoch().into(),
        new.is_success.into(),
        new.failure_type.as_str().into(),
        (&new.failure_reason).into(),
        new.corrections.into(),
        new.user_turns_to_resolution.into(),
        new.is_escalated.into(),
        new.learning_status.as_str().into(),
        now.into(),
        new.snapshot.interaction_count.into(),
        new.snapshot.last_interaction_id.into(),
    ];
    values.extend(new.origin.values());
    values.extend([Value::json(&new.origin.flags)?, is_success_verdict.into()]);
    changes.add(
        "INSERT INTO evaluation_results
           (org_id, user_id, session_id, evaluation_name, agent_version, epoch, is_success, failure_type,
            failure_reason, number_of_corrections, user_turns_to_resolution, is_escalated, learning_status,
            created_at, evaluated_at, interaction_count, last_interaction_id, judge, prompt_version,
            rubric_hash, input_tokens, output_tokens, cost_usd, latency_ms, attempts, flags, source,
            is_newest)
         SELECT s.org_id, s.user_id, s.session_id, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                s.first_request_at, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, s.source, $26
         FROM sessions s WHERE s.org_id = $1 AND s.user_id = $2 AND s.session_id = $3
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
            attempts = excluded.attempts, flags = excluded.flags, source = excluded.source,
            is_newest = excluded.is_newest
         RETURNING result_id",
        values,
    );
    Ok(())
}

/// Takes the mark of the newest from the session's verdicts on other versions of the agent.
pub fn unmark_others<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    agent_version: &'a str,
) {
    changes.add(
        "UPDATE evaluation_results SET is_newest = FALSE
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND agent_version <> $4 AND is_newest",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            agent_version.into(),
        ],
    );
}

/// Success of the session by its newest verdict.
pub async fn newest_success(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<Option<bool>> {
    let found = row!(
        tx,
        (bool,),
        "SELECT is_success FROM evaluation_results
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND is_newest",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(found.map(|(is_success,)| is_success))
}

/// One verdict, without what shadow comparisons say of its session.
pub async fn find_result(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    evaluation_name: &str,
    agent_version: &str,
) -> Result<Option<EvaluationResult>> {
    let found = row!(
        tx,
        (String,),
        concat!(
            "SELECT ",
            listed!("NULL"),
            " FROM evaluation_results r WHERE r.org_id = $1 AND r.user_id = $2 AND r.session_id = $3
               AND r.evaluation_name = $4 AND r.agent_version = $5"
        ),
        org_id,
        user_id,
        session_id,
        evaluation_name,
        agent_version
    )?;
    Ok(listed(&found.unwrap_or_default().0)?.pop())
}

/// Verdicts, newest session first, with the preference of their sessions under a rubric of shadow comparisons.
pub async fn list_results(
    tx: &mut Tx,
    org_id: &OrgId,
    query: &ResultQuery,
    shadow_version: &str,
) -> Result<Vec<EvaluationResult>> {
    macro_rules! list {
        ($of_user:literal) => {
            concat!(
                "SELECT ",
                listed!("p.regular_vs_shadow"),
                " FROM (SELECT r.* FROM evaluation_results r
                     WHERE r.org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR r.session_id = $3) AND ($4 IS NULL OR r.agent_version = $4)
                     AND ($5 IS NULL OR r.evaluation_name = $5) AND r.created_at >= COALESCE($6, 0)
                     AND r.created_at < COALESCE($7, 9223372036854775807)
                     ORDER BY r.created_at DESC, r.result_id DESC {limit:$8}) r
                  LEFT JOIN shadow_sessions p
                     ON p.org_id = r.org_id AND p.user_id = r.user_id AND p.session_id = r.session_id
                    AND p.judge_prompt_version = $9"
            )
        };
    }
    let sql = match query.user_id {
        Some(_) => list!("r.user_id = $2"),
        None => list!("$2 IS NULL"),
    };
    let found = row!(
        tx,
        (String,),
        sql,
        org_id,
        query.user_id.as_ref(),
        query.session_id.as_deref(),
        query.agent_version.as_deref(),
        query.evaluation_name.as_deref(),
        query.from,
        query.to,
        query.limit,
        shadow_version
    )?;
    let mut results: Vec<EvaluationResult> = listed(&found.unwrap_or_default().0)?;
    results.sort_unstable_by_key(|one| std::cmp::Reverse((one.created_at, one.result_id)));
    Ok(results)
}

/// Successes and all verdicts of the sessions that began in `[from, to)`.
pub async fn success_counts(
    tx: &mut Tx,
    org_id: &OrgId,
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
