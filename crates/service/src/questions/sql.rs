//! SQL of the table `questions`.

use super::{Question, QuestionStatus};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! columns {
    () => {
        columns!("{user_of:questions}")
    };
    // For rows that are locked: those of one person, organization $1 and subject $2.
    (locked) => {
        columns!("(SELECT u.user_id FROM subjects u WHERE u.org_id = $1 AND u.subject = $2)")
    };
    ($user_id:literal) => {
        concat!(
            "question_id, ",
            $user_id,
            " AS user_id, tool_name, dedup_key, status, question_text, args, tags, answer_format, result, \
             superseded_by, created_at, resolved_at, expires_at, valid_until"
        )
    };
}

pub async fn insert(tx: &mut Tx, subject: &SubjectWrite, question: &Question) -> Result<()> {
    run!(
        tx,
        "INSERT INTO questions (org_id, subject, question_id, epoch, tool_name, dedup_key, status, question_text, args,
            tags, answer_format, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        subject.org_id(),
        subject.user_id(),
        &question.question_id,
        subject.epoch(),
        &question.tool_name,
        &question.dedup_key,
        question.status,
        &question.question_text,
        &question.args,
        &question.tags,
        question.answer_format.as_deref(),
        question.created_at,
        question.expires_at
    )?;
    Ok(())
}

/// Stores what may change of a question.
pub async fn update(tx: &mut Tx, subject: &SubjectWrite, question: &Question) -> Result<()> {
    run!(
        tx,
        "UPDATE questions SET status = $4, result = $5, superseded_by = $6, resolved_at = $7, valid_until = $8,
            epoch = $9
         WHERE org_id = $1 AND subject = $2 AND question_id = $3",
        subject.org_id(),
        subject.user_id(),
        &question.question_id,
        question.status,
        question.result.as_ref(),
        question.superseded_by.as_deref(),
        question.resolved_at,
        question.valid_until,
        subject.epoch()
    )?;
    Ok(())
}

/// Deletes a user's questions that were made, and ended or expired, before `before`.
pub async fn delete_ended(tx: &mut Tx, subject: &SubjectWrite, before: i64) -> Result<u64> {
    run!(
        tx,
        "DELETE FROM questions WHERE org_id = $1 AND subject = $2 AND expires_at < $3
            AND (resolved_at IS NULL OR resolved_at < $3) AND (valid_until IS NULL OR valid_until < $3)",
        subject.org_id(),
        subject.user_id(),
        before
    )
}

/// A user's questions with the same key, the newest first.
pub async fn alike(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    tool_name: &str,
    dedup_key: &str,
) -> Result<Vec<Question>> {
    rows!(
        tx,
        Question,
        concat!(
            "SELECT ",
            columns!(locked),
            " FROM questions WHERE org_id = $1 AND subject = $2 AND tool_name = $3 AND dedup_key = $4
              ORDER BY created_at DESC, question_id {lock:UPDATE}"
        ),
        org_id,
        user_id,
        tool_name,
        dedup_key
    )
}

/// Number of a user's questions that wait for an answer.
pub async fn count_open(tx: &mut Tx, org_id: &OrgId, user_id: &UserId, now: i64) -> Result<i64> {
    let found = row!(
        tx,
        (i64,),
        "SELECT COUNT(*) FROM questions
         WHERE org_id = $1 AND subject = $2 AND status = 'pending' AND expires_at > $3",
        org_id,
        user_id,
        now
    )?;
    Ok(found.map_or(0, |(count,)| count))
}

/// The newest first. A pending question that expired is expired, not pending.
pub async fn list(
    tx: &mut Tx,
    org_id: &OrgId,
    status: Option<QuestionStatus>,
    now: i64,
    limit: i64,
) -> Result<Vec<Question>> {
    rows!(
        tx,
        Question,
        concat!(
            "SELECT ",
            columns!(),
            " FROM questions WHERE org_id = $1
              AND ($2 IS NULL OR $2 = CASE WHEN status = 'pending' AND expires_at <= $3 THEN 'expired' ELSE status END)
              ORDER BY created_at DESC, question_id LIMIT $4 + 0"
        ),
        org_id,
        status,
        now,
        limit
    )
}

pub async fn find(tx: &mut Tx, org_id: &OrgId, question_id: &str) -> Result<Option<Question>> {
    row!(
        tx,
        Question,
        concat!("SELECT ", columns!(), " FROM questions WHERE org_id = $1 AND question_id = $2"),
        org_id,
        question_id
    )
}

/// [`find`], held until the transaction ends.
pub async fn hold(tx: &mut Tx, org_id: &OrgId, question_id: &str) -> Result<Option<Question>> {
    let Some(found) = find(tx, org_id, question_id).await? else { return Ok(None) };
    row!(
        tx,
        Question,
        concat!(
            "SELECT ",
            columns!(locked),
            " FROM questions WHERE org_id = $1 AND subject = $2 AND question_id = $3 {lock:UPDATE}"
        ),
        org_id,
        &found.user_id,
        question_id
    )
}
