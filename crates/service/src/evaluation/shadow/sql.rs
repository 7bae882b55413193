//! SQL of the tables `shadow_verdicts` and `shadow_sessions`.

use std::collections::BTreeSet;

use super::combine::score;
use super::{NewComparison, ShadowComparisonOutput, ShadowComparisonVerdict, ShadowPreference};
use crate::evaluation::overview::group_of;
use base::clock::rfc3339;
use base::owner::{OrgId, UserId};
use judge::BetterRequest;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{rows, run};

/// Writes a verdict, in the place of the one before if there is one, whose id stays. Nothing for a turn that is gone.
pub async fn put(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    new: &NewComparison,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO shadow_verdicts
           (org_id, subject, session_id, interaction_id, judge_prompt_version, epoch, agent_version,
            service_is_request_1, better_request, is_significantly_better, comparison_reason,
            order_consistent, created_at, judged_at, judge, rubric_hash, input_tokens, output_tokens,
            cost_usd, latency_ms, attempts)
         SELECT i.org_id, i.subject, i.session_id, i.interaction_id, $5, $6, $7, $8, $9, $10, $11, $12, $13,
                $14, $15, $16, $17, $18, $19, $20, $21
         FROM interactions i
         WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3 AND i.interaction_id = $4
         ON CONFLICT (org_id, subject, session_id, interaction_id, judge_prompt_version) DO UPDATE SET
            epoch = excluded.epoch, agent_version = excluded.agent_version,
            service_is_request_1 = excluded.service_is_request_1,
            better_request = excluded.better_request,
            is_significantly_better = excluded.is_significantly_better,
            comparison_reason = excluded.comparison_reason,
            order_consistent = excluded.order_consistent, judged_at = excluded.judged_at,
            judge = excluded.judge, rubric_hash = excluded.rubric_hash,
            input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
            cost_usd = excluded.cost_usd, latency_ms = excluded.latency_ms, attempts = excluded.attempts",
        subject.org_id(),
        subject.user_id(),
        session_id,
        new.interaction_id,
        &new.origin.prompt_version,
        subject.epoch(),
        &new.agent_version,
        new.service_is_request_1,
        new.better_request,
        new.is_significantly_better,
        &new.comparison_reason,
        new.order_consistent,
        new.created_at,
        now,
        &new.origin.judge,
        &new.origin.rubric_hash,
        new.origin.input_tokens,
        new.origin.output_tokens,
        new.origin.cost_usd,
        new.origin.latency_ms,
        new.origin.attempts
    )?;
    Ok(())
}

/// The turns of a session that have a verdict of this rubric.
pub async fn judged(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    version: &str,
) -> Result<BTreeSet<i64>> {
    let found = rows!(
        tx,
        (i64,),
        "SELECT interaction_id FROM shadow_verdicts
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND judge_prompt_version = $4",
        org_id,
        user_id,
        session_id,
        version
    )?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// Score of each turn of a session for the service under this rubric.
pub async fn scores(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    version: &str,
) -> Result<Vec<i64>> {
    let found = rows!(
        tx,
        (bool, BetterRequest, bool),
        "SELECT service_is_request_1, better_request, is_significantly_better FROM shadow_verdicts
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND judge_prompt_version = $4",
        subject.org_id(),
        subject.user_id(),
        session_id,
        version
    )?;
    Ok(found.iter().map(|(first, better, much)| score(*first, *better, *much)).collect())
}

pub async fn put_session(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    version: &str,
    preference: ShadowPreference,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO shadow_sessions
           (org_id, subject, session_id, judge_prompt_version, epoch, source, created_at, regular_vs_shadow, user_group)
         SELECT s.org_id, s.subject, s.session_id, $4, $5, s.source, s.first_request_at, $6, $7
         FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3
         ON CONFLICT (org_id, subject, session_id, judge_prompt_version) DO UPDATE SET
            epoch = excluded.epoch, regular_vs_shadow = excluded.regular_vs_shadow",
        subject.org_id(),
        subject.user_id(),
        session_id,
        version,
        subject.epoch(),
        preference,
        group_of(subject.org_id(), subject.user_id())
    )?;
    Ok(())
}

pub async fn delete_session(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    version: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM shadow_sessions
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND judge_prompt_version = $4",
        subject.org_id(),
        subject.user_id(),
        session_id,
        version
    )?;
    Ok(())
}

/// Deletes the verdicts on turns that are gone; gives the rubrics they were of.
pub async fn delete_orphans(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<BTreeSet<String>> {
    let found = rows!(
        tx,
        (String,),
        "DELETE FROM shadow_verdicts
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND NOT EXISTS (
             SELECT 1 FROM interactions i WHERE i.org_id = $1 AND i.subject = $2 AND i.session_id = $3
                AND i.interaction_id = shadow_verdicts.interaction_id)
         RETURNING judge_prompt_version",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(found.into_iter().map(|(version,)| version).collect())
}

#[derive(sqlx_macros::FromRow)]
struct ShadowVerdictRow {
    verdict_id: i64,
    interaction_id: i64,
    user_id: UserId,
    session_id: String,
    agent_version: String,
    service_is_request_1: bool,
    better_request: BetterRequest,
    is_significantly_better: bool,
    comparison_reason: String,
    order_consistent: Option<bool>,
    judge_prompt_version: String,
    created_at: i64,
    judged_at: i64,
    judge: String,
    rubric_hash: String,
    input_tokens: i64,
    output_tokens: i64,
    cost_usd: Option<f64>,
    latency_ms: i64,
    attempts: i64,
}

impl From<ShadowVerdictRow> for ShadowComparisonVerdict {
    fn from(row: ShadowVerdictRow) -> Self {
        ShadowComparisonVerdict {
            verdict_id: row.verdict_id,
            interaction_id: row.interaction_id.to_string(),
            session_id: row.session_id,
            agent_version: row.agent_version,
            service_is_request_1: row.service_is_request_1,
            output: ShadowComparisonOutput {
                better_request: row.better_request,
                is_significantly_better: row.is_significantly_better,
                comparison_reason: row.comparison_reason,
            },
            judge_prompt_version: row.judge_prompt_version,
            created_at: rfc3339(row.created_at),
            user_id: row.user_id,
            order_consistent: row.order_consistent,
            judged_at: rfc3339(row.judged_at),
            judge: row.judge,
            rubric_hash: row.rubric_hash,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cost_usd: row.cost_usd,
            latency_ms: row.latency_ms,
            attempts: row.attempts,
        }
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT verdict_id, interaction_id, {user_of:shadow_verdicts} AS user_id, session_id, agent_version,
                    service_is_request_1, better_request, is_significantly_better, comparison_reason,
                    order_consistent, judge_prompt_version, created_at, judged_at, judge, rubric_hash, input_tokens,
                    output_tokens, cost_usd, latency_ms, attempts
             FROM shadow_verdicts WHERE org_id = $1 AND judge_prompt_version = $2 ",
            $rest
        )
    };
}

/// The newest verdicts since a time.
pub async fn recent(
    tx: &mut Tx,
    org_id: &OrgId,
    version: &str,
    since: i64,
    limit: i64,
) -> Result<Vec<ShadowComparisonVerdict>> {
    let found = rows!(
        tx,
        ShadowVerdictRow,
        select!("AND created_at >= $3 ORDER BY created_at DESC, verdict_id DESC LIMIT $4 + 0"),
        org_id,
        version,
        since,
        limit
    )?;
    Ok(found.into_iter().map(Into::into).collect())
}

/// The verdicts on one session, in the order of its turns.
pub async fn of_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    version: &str,
) -> Result<Vec<ShadowComparisonVerdict>> {
    let found = rows!(
        tx,
        ShadowVerdictRow,
        select!("AND subject = $3 AND session_id = $4 ORDER BY created_at, interaction_id"),
        org_id,
        version,
        user_id,
        session_id
    )?;
    Ok(found.into_iter().map(Into::into).collect())
}
