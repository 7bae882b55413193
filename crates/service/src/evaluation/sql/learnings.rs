//! SQL of the table `learning_verdicts`.

use crate::evaluation::RetrievedLearningStatus;
use crate::evaluation::results::learning_verdicts::{
    LearningQuery, LearningVerdict, NewLearningVerdict, VerdictOnLearning,
};

use base::owner::OrgId;
use judge::LearningKind;
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{rows, run};

pub fn delete_learning_verdicts<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
) {
    changes.add(
        "DELETE FROM learning_verdicts WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
}

/// `ids` are those of the verdicts, where rows are not numbered as they are stored.
pub fn add_learning_verdicts<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    verdicts: &'a [NewLearningVerdict],
    ids: Option<Vec<i64>>,
    now: i64,
) -> Result<()> {
    macro_rules! insert {
        ($id:literal, $number:literal) => {
            concat!(
                "INSERT INTO learning_verdicts
                   (org_id, subject, session_id, interaction_id, kind, learning_id, epoch, agent_version,
                    interaction_created_at, is_relevant, relevance_reason, impact, impact_reason, diagnosis,
                    evaluated_playbook_digest, diagnosis_evidence_complete, created_at, judge, prompt_version,
                    rubric_hash, input_tokens, output_tokens, cost_usd, latency_ms, attempts",
                $id,
                ")
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                         $21, $22, $23, $24, $25",
                $number,
                ")"
            )
        };
    }
    let mut ids = ids.map(Vec::into_iter);
    for new in verdicts {
        let diagnosis = new.impact.as_ref().and_then(|impact| impact.diagnosis.as_ref());
        let evidence_complete = new.evidence_complete && diagnosis.is_some();
        let mut values = vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            new.candidate.interaction_id.into(),
            new.candidate.learning.kind.as_str().into(),
            (&new.candidate.learning.learning_id).into(),
            subject.epoch().into(),
            (&new.agent_version).into(),
            new.candidate.interaction_created_at.into(),
            new.relevance.as_ref().map(|verdict| verdict.is_relevant).into(),
            new.relevance.as_ref().map_or("", |verdict| verdict.reason.as_str()).into(),
            new.impact.as_ref().map(|verdict| verdict.impact.as_str()).into(),
            new.impact.as_ref().map_or("", |verdict| verdict.reason.as_str()).into(),
            diagnosis.map_or(Ok(Value::Json(None)), Value::json)?,
            new.digest.as_deref().into(),
            evidence_complete.into(),
            now.into(),
        ];
        values.extend(new.origin.columns().map(|(_, value)| value));
        let statement = match ids.as_mut().and_then(Iterator::next) {
            Some(id) => {
                values.push(id.into());
                insert!(", result_id", ", $26")
            }
            None => insert!("", ""),
        };
        changes.add(statement, values);
    }
    Ok(())
}

pub async fn set_learning_status(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    evaluation_name: &str,
    agent_version: &str,
    status: RetrievedLearningStatus,
) -> Result<()> {
    run!(
        tx,
        "UPDATE evaluation_results SET learning_status = $6
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND evaluation_name = $4
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
    org_id: &OrgId,
    query: &LearningQuery,
) -> Result<Vec<LearningVerdict>> {
    macro_rules! list {
        ($of_user:literal, $plus:literal) => {
            storage::statement!(concat!(
                "SELECT result_id, {user_of:learning_verdicts} AS user_id, session_id, agent_version,
                        interaction_id, interaction_created_at, kind, learning_id, is_relevant, relevance_reason,
                        impact, impact_reason, diagnosis, evaluated_playbook_digest, diagnosis_evidence_complete,
                        created_at, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
                        cost_usd, latency_ms, attempts
                 FROM learning_verdicts WHERE org_id = $1 AND ",
                $of_user,
                " AND ($3 IS NULL OR session_id = $3) AND ($4 IS NULL OR interaction_created_at >= $4)
                  AND ($5 IS NULL OR interaction_created_at < $5) ORDER BY ",
                $plus,
                "interaction_created_at DESC, result_id DESC LIMIT $6 + 0"
            ))
        };
    }
    let sql = match query.user_id {
        // `+`: found by their key, not by walking everybody's in their order.
        Some(_) => list!("subject = $2", "+"),
        None => list!("$2 IS NULL", ""),
    };
    rows!(
        tx,
        LearningVerdict,
        sql,
        org_id,
        query.user_id.as_ref(),
        query.session_id.as_deref(),
        query.from,
        query.to,
        query.limit
    )
}

/// Verdicts on learnings at turns from `from` on, newest first.
pub async fn verdicts_on_learnings(
    tx: &mut Tx,
    org_id: &OrgId,
    kind: Option<LearningKind>,
    learning_id: Option<&str>,
    from: i64,
    to: Option<i64>,
    limit: i64,
) -> Result<Vec<VerdictOnLearning>> {
    rows!(
        tx,
        VerdictOnLearning,
        "SELECT kind, learning_id, u.user_id, session_id, interaction_id, is_relevant, impact, diagnosis,
                evaluated_playbook_digest, diagnosis_evidence_complete
         FROM learning_verdicts JOIN subjects u USING (org_id, subject)
         WHERE org_id = $1 AND ($2 IS NULL OR kind = $2) AND ($3 IS NULL OR learning_id = $3)
           AND interaction_created_at >= $4 AND ($5 IS NULL OR interaction_created_at < $5)
         ORDER BY interaction_created_at DESC, result_id DESC LIMIT $6 + 0",
        org_id,
        kind,
        learning_id,
        from,
        to,
        limit
    )
}
