//! SQL of the table `learning_verdicts`.

use serde_json::Value;
use sqlx::types::Json;

use crate::db::Tx;
use crate::error::{Error, Result};
use crate::evaluation::learning_verdicts::{LearningQuery, LearningVerdict, NewLearningVerdict};
use crate::governance::SubjectWrite;
use crate::{rows, run};

pub async fn delete_learning_verdicts(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<()> {
    run!(
        tx,
        "DELETE FROM learning_verdicts WHERE org_id = $1 AND user_id = $2 AND session_id = $3",
        subject.org_id(),
        subject.user_id(),
        session_id
    )?;
    Ok(())
}

pub async fn insert_learning_verdict(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    new: &NewLearningVerdict,
    now: i64,
) -> Result<()> {
    let diagnosis = new.impact.as_ref().and_then(|impact| impact.diagnosis.as_ref());
    let diagnosis: Option<Json<Value>> = match diagnosis {
        Some(diagnosis) => {
            let value = serde_json::to_value(diagnosis);
            Some(Json(value.map_err(|e| Error::Internal(e.to_string()))?))
        }
        None => None,
    };
    let evidence_complete = new.evidence_complete && diagnosis.is_some();
    run!(
        tx,
        "INSERT INTO learning_verdicts
           (org_id, user_id, session_id, interaction_id, kind, learning_id, epoch, agent_version,
            interaction_created_at, is_relevant, relevance_reason, impact, impact_reason, diagnosis,
            evaluated_playbook_digest, diagnosis_evidence_complete, created_at, judge, prompt_version,
            rubric_hash, input_tokens, output_tokens, cost_usd, latency_ms, attempts)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                 $21, $22, $23, $24, $25)",
        subject.org_id(),
        subject.user_id(),
        session_id,
        new.candidate.interaction_id,
        &new.candidate.learning.kind,
        &new.candidate.learning.learning_id,
        subject.epoch(),
        &new.agent_version,
        new.candidate.interaction_created_at,
        new.relevance.as_ref().map(|verdict| verdict.is_relevant),
        new.relevance.as_ref().map_or("", |verdict| verdict.reason.as_str()),
        new.impact.as_ref().map(|verdict| verdict.impact),
        new.impact.as_ref().map_or("", |verdict| verdict.reason.as_str()),
        diagnosis,
        new.digest.as_deref(),
        evidence_complete,
        now,
        &new.origin.judge,
        &new.origin.prompt_version,
        &new.origin.rubric_hash,
        new.origin.input_tokens,
        new.origin.output_tokens,
        new.origin.cost_usd,
        new.origin.latency_ms,
        new.origin.attempts
    )?;
    Ok(())
}

pub async fn set_learning_status(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    evaluation_name: &str,
    agent_version: &str,
    status: &str,
) -> Result<()> {
    run!(
        tx,
        "UPDATE evaluation_results SET learning_status = $6
         WHERE org_id = $1 AND user_id = $2 AND session_id = $3 AND evaluation_name = $4
           AND agent_version = $5",
        subject.org_id(),
        subject.user_id(),
        session_id,
        evaluation_name,
        agent_version,
        status
    )?;
    Ok(())
}

pub async fn list_learning_verdicts(
    tx: &mut Tx,
    org_id: &str,
    query: &LearningQuery,
) -> Result<Vec<LearningVerdict>> {
    macro_rules! list {
        ($of_user:literal) => {
            concat!(
                "SELECT result_id, user_id, session_id, agent_version, interaction_id,
                        interaction_created_at, kind, learning_id, is_relevant, relevance_reason, impact,
                        impact_reason, diagnosis, evaluated_playbook_digest, diagnosis_evidence_complete,
                        created_at, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
                        cost_usd, latency_ms, attempts
                 FROM learning_verdicts WHERE org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR session_id = $3) AND ($4 IS NULL OR interaction_created_at >= $4)
                  AND ($5 IS NULL OR interaction_created_at < $5)
                  ORDER BY interaction_created_at DESC, result_id DESC {limit:$6}"
            )
        };
    }
    let sql = match query.user_id {
        Some(_) => list!("user_id = $2"),
        None => list!("$2 IS NULL"),
    };
    rows!(
        tx,
        LearningVerdict,
        sql,
        org_id,
        query.user_id.as_deref(),
        query.session_id.as_deref(),
        query.from,
        query.to,
        query.limit
    )
}
