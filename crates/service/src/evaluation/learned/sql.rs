//! SQL of the tables `judge_models` and `model_training`, and of the ground truth.

use super::truth::{Lesson, Truth};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx, Value};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

/// Rows per INSERT: engines limit the number of parameters.
const ROWS_AT_ONCE: usize = 200;

/// The newest label of each session, newest first.
pub async fn labels(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<Vec<Truth>> {
    rows!(
        tx,
        Truth,
        "SELECT u.user_id, l.session_id, l.is_success, l.labelled_at AS said_at
         FROM session_labels l JOIN subjects u ON u.org_id = l.org_id AND u.subject = l.subject
         WHERE l.org_id = $1 AND l.evaluation_name = 'agent_success'
           AND NOT EXISTS (SELECT 1 FROM session_labels n
                WHERE n.org_id = l.org_id AND n.subject = l.subject AND n.session_id = l.session_id
                  AND n.evaluation_name = l.evaluation_name
                  AND (n.labelled_at, n.labelled_by) > (l.labelled_at, l.labelled_by))
         ORDER BY l.labelled_at DESC, l.subject, l.session_id LIMIT $2 + 0",
        org_id,
        limit
    )
}

/// The newest outcome of each session that says how it went, newest first.
pub async fn outcomes(tx: &mut Tx, org_id: &OrgId, limit: i64) -> Result<Vec<Truth>> {
    rows!(
        tx,
        Truth,
        "SELECT u.user_id, o.session_id, o.outcome = 'success' AS is_success, o.recorded_at AS said_at
         FROM session_outcomes o JOIN subjects u ON u.org_id = o.org_id AND u.subject = o.subject
         WHERE o.org_id = $1 AND o.outcome <> 'unknown'
           AND NOT EXISTS (SELECT 1 FROM session_outcomes n
                WHERE n.org_id = o.org_id AND n.subject = o.subject AND n.session_id = o.session_id
                  AND n.revision > o.revision)
         ORDER BY o.recorded_at DESC, o.subject, o.session_id LIMIT $2 + 0",
        org_id,
        limit
    )
}

/// A model as it is stored, without the model itself.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct StoredModel {
    pub number: i64,
    pub trained_at: i64,
    pub labels: i64,
    pub compared_at: i64,
    pub compared_labels: i64,
    pub comparison: Option<String>,
}

/// The model in use.
pub async fn current(tx: &mut Tx, org_id: &OrgId) -> Result<Option<StoredModel>> {
    row!(
        tx,
        StoredModel,
        "SELECT number, trained_at, labels, compared_at, compared_labels, comparison FROM judge_models
         WHERE org_id = $1 AND is_current",
        org_id
    )
}

/// The number of the model in use.
pub async fn current_number(tx: &mut Tx, org_id: &OrgId) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (i64,),
        "SELECT number FROM judge_models WHERE org_id = $1 AND is_current",
        org_id
    )?;
    Ok(found.map(|(number,)| number))
}

pub async fn model_text(tx: &mut Tx, org_id: &OrgId, number: i64) -> Result<Option<String>> {
    let found = row!(
        tx,
        (String,),
        "SELECT model FROM judge_models WHERE org_id = $1 AND number = $2 AND is_current",
        org_id,
        number
    )?;
    Ok(found.map(|(model,)| model))
}

/// A number that no model of the organization ever had.
pub async fn next_number(tx: &mut Tx, org_id: &OrgId) -> Result<i64> {
    let found =
        row!(tx, (Option<i64>,), "SELECT MAX(number) FROM judge_models WHERE org_id = $1", org_id)?;
    Ok(found.and_then(|(number,)| number).unwrap_or(0) + 1)
}

/// Deletes all that a model of the organization knows. Its number stays taken.
pub async fn empty_models(tx: &mut Tx, org_id: &OrgId) -> Result<u64> {
    let emptied = run!(
        tx,
        "UPDATE judge_models SET model = '', is_current = FALSE, comparison = NULL
         WHERE org_id = $1 AND model <> ''",
        org_id
    )?;
    run!(tx, "DELETE FROM model_training WHERE org_id = $1", org_id)?;
    Ok(emptied)
}

/// Stores a model as the one in use.
pub async fn insert_model(
    tx: &mut Tx,
    org_id: &OrgId,
    number: i64,
    model: &str,
    labels: i64,
    comparison: Option<&str>,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO judge_models
           (org_id, number, model, is_current, labels, trained_at, compared_at, compared_labels, comparison)
         VALUES ($1, $2, $3, TRUE, $4, $5, $5, $4, $6)",
        org_id,
        number,
        model,
        labels,
        now,
        comparison
    )?;
    Ok(())
}

/// Writes who was in the training set.
pub async fn insert_training(
    tx: &mut Tx,
    number: i64,
    lessons: &[(&SubjectWrite, &Lesson, f64)],
) -> Result<()> {
    for some in lessons.chunks(ROWS_AT_ONCE) {
        let mut values = Vec::with_capacity(some.len() * 8);
        for (subject, lesson, out_of_fold) in some {
            values.extend([
                Value::from(subject.org_id()),
                subject.user_id().into(),
                (&lesson.truth.session_id).into(),
                number.into(),
                subject.epoch().into(),
                lesson.truth.is_success.into(),
                lesson.source.as_str().into(),
                Value::Fraction(Some(*out_of_fold)),
            ]);
        }
        let mut changes = Changes::default();
        changes.add_rows(
            "INSERT INTO model_training (org_id, subject, session_id, model_number, epoch, is_success, truth,
                out_of_fold)
             VALUES {rows}",
            8,
            values,
        );
        tx.apply(changes).await?;
    }
    Ok(())
}

/// Writes that a candidate was compared with the model in use, which stays.
pub async fn put_comparison(
    tx: &mut Tx,
    org_id: &OrgId,
    number: i64,
    labels: i64,
    comparison: &str,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "UPDATE judge_models SET compared_at = $4, compared_labels = $3, comparison = $5
         WHERE org_id = $1 AND number = $2",
        org_id,
        number,
        labels,
        now,
        comparison
    )?;
    Ok(())
}

/// The sessions that the model was trained on.
pub async fn trained_on(tx: &mut Tx, org_id: &OrgId, number: i64) -> Result<Vec<(UserId, String)>> {
    rows!(
        tx,
        (UserId, String),
        "SELECT u.user_id, session_id FROM model_training JOIN subjects u USING (org_id, subject)
         WHERE org_id = $1 AND model_number = $2",
        org_id,
        number
    )
}

/// True if a model learned from the person, under an epoch before this one.
pub async fn learned_from(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    epoch: i64,
) -> Result<bool> {
    let found = row!(
        tx,
        (i64,),
        "SELECT COUNT(*) FROM model_training WHERE org_id = $1 AND subject = $2 AND epoch < $3",
        org_id,
        user_id,
        epoch
    )?;
    Ok(found.is_some_and(|(count,)| count > 0))
}
