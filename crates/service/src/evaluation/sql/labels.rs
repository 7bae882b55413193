//! SQL of the table `session_labels`, and of verdicts beside ground truth.

use crate::evaluation::review::agreement::AgreementQuery;
use crate::evaluation::review::labels::{LabelView, NewLabel};
use crate::sessions::SessionOutcomeKind;
use base::owner::{OrgId, UserId};
use judge::FailureType;
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

pub async fn put_label(
    tx: &mut Tx,
    subject: &SubjectWrite,
    label: &NewLabel,
    is_success: bool,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO session_labels
           (org_id, subject, session_id, evaluation_name, labelled_by, epoch, is_success, failure_type, note,
            labelled_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (org_id, subject, session_id, evaluation_name, labelled_by) DO UPDATE SET
            epoch = excluded.epoch, is_success = excluded.is_success, failure_type = excluded.failure_type,
            note = excluded.note, labelled_at = excluded.labelled_at",
        subject.org_id(),
        subject.user_id(),
        &label.session_id,
        &label.evaluation_name,
        &label.labelled_by,
        subject.epoch(),
        is_success,
        if is_success { FailureType::None } else { label.failure_type },
        &label.note,
        now
    )?;
    Ok(())
}

/// The newest verdict on a session under an evaluation.
pub async fn newest_verdict(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    evaluation_name: &str,
) -> Result<Option<bool>> {
    let found = row!(
        tx,
        (bool,),
        "SELECT is_success FROM evaluation_results
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND evaluation_name = $4
         ORDER BY is_newest DESC, evaluated_at DESC, result_id DESC LIMIT 1",
        org_id,
        user_id,
        session_id,
        evaluation_name
    )?;
    Ok(found.map(|(is_success,)| is_success))
}

/// People's labels of a session, newest first.
pub async fn labels_of(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Vec<LabelView>> {
    rows!(
        tx,
        LabelView,
        "SELECT u.user_id, session_id, evaluation_name, is_success, failure_type, note, labelled_by, labelled_at
         FROM session_labels JOIN subjects u USING (org_id, subject)
         WHERE org_id = $1 AND subject = $2 AND session_id = $3
         ORDER BY labelled_at DESC, labelled_by DESC",
        org_id,
        user_id,
        session_id
    )
}

/// A verdict of the judge, and what a person and the customer say of the same session.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct JudgedSession {
    pub result_id: i64,
    pub user_id: UserId,
    pub session_id: String,
    pub is_success: bool,
    /// The newest label.
    pub label: Option<bool>,
    /// The newest outcome the customer reported.
    pub outcome: Option<SessionOutcomeKind>,
    /// Chance of the draw, where the review queue drew it at random.
    pub chance: Option<f64>,
}

/// The newest verdict of every judged session in the window, with its ground truth where there is one.
pub async fn judged_sessions(
    tx: &mut Tx,
    org_id: &OrgId,
    query: &AgreementQuery,
) -> Result<Vec<JudgedSession>> {
    rows!(
        tx,
        JudgedSession,
        "SELECT r.result_id, u.user_id, r.session_id, r.is_success,
                (SELECT l.is_success FROM session_labels l
                 WHERE l.org_id = r.org_id AND l.subject = r.subject AND l.session_id = r.session_id
                   AND l.evaluation_name = r.evaluation_name
                 ORDER BY l.labelled_at DESC, l.labelled_by DESC LIMIT 1) AS label,
                (SELECT o.outcome FROM session_outcomes o
                 WHERE o.org_id = r.org_id AND o.subject = r.subject AND o.session_id = r.session_id
                 ORDER BY o.revision DESC LIMIT 1) AS outcome,
                (SELECT d.chance FROM review_draws d
                 WHERE d.org_id = r.org_id AND d.subject = r.subject AND d.session_id = r.session_id
                   AND d.half = 'random') AS chance
         FROM evaluation_results r JOIN subjects u ON u.org_id = r.org_id AND u.subject = r.subject
         WHERE r.org_id = $1 AND r.evaluation_name = $2 AND r.prompt_version <> 'outcome'
           AND ($3 IS NULL OR r.created_at >= $3) AND ($4 IS NULL OR r.created_at <= $4)
           AND ($5 IS NULL OR r.agent_version = $5) AND ($6 IS NULL OR r.prompt_version = $6)
           AND ($7 IS NULL OR r.judge = $7) AND ($8 IS NULL OR r.source = $8)
           AND NOT EXISTS (SELECT 1 FROM evaluation_results n
                 WHERE n.org_id = r.org_id AND n.subject = r.subject AND n.session_id = r.session_id
                   AND n.evaluation_name = r.evaluation_name
                   AND ($5 IS NULL OR n.agent_version = $5) AND ($6 IS NULL OR n.prompt_version = $6)
                   AND ($7 IS NULL OR n.judge = $7)
                   AND (n.evaluated_at, n.result_id) > (r.evaluated_at, r.result_id))
         ORDER BY r.created_at DESC, r.result_id DESC",
        org_id,
        &query.evaluation_name,
        query.from,
        query.to,
        query.agent_version.as_deref(),
        query.prompt_version.as_deref(),
        query.judge.as_deref(),
        query.source.as_deref()
    )
}
