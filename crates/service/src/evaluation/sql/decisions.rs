//! SQL of the table `evaluation_decisions`.

use crate::evaluation::results::decisions::{DecisionQuery, EvaluationDecision};
use crate::evaluation::review::judge_health::{DecisionCount, ReasonCount};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows};

pub fn put_decision<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    decision: EvaluationDecision,
    reason: &'a str,
    now: i64,
) {
    changes.add(
        "INSERT INTO evaluation_decisions (org_id, subject, session_id, epoch, decision, reason, decided_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (org_id, subject, session_id) DO UPDATE SET
            epoch = excluded.epoch, decision = excluded.decision, reason = excluded.reason,
            decided_at = excluded.decided_at",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            subject.epoch().into(),
            decision.as_str().into(),
            reason.into(),
            now.into(),
        ],
    );
}

pub async fn find_decision(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Option<(EvaluationDecision, String, i64)>> {
    row!(
        tx,
        (EvaluationDecision, String, i64),
        "SELECT decision, reason, decided_at FROM evaluation_decisions
         WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        org_id,
        user_id,
        session_id
    )
}

/// The sessions a question is about, newest activity first.
pub async fn sessions_to_explain(
    tx: &mut Tx,
    org_id: &OrgId,
    query: &DecisionQuery,
) -> Result<Vec<(UserId, String)>> {
    // Found by their keys: the index over everybody's times of requests does not have `last_received_at`.
    let sql = match &query.user_id {
        Some(_) => {
            storage::statement!(
                "SELECT {user_of:sessions}, session_id FROM sessions
                 WHERE org_id = $1 AND subject = $2 AND ($3 IS NULL OR session_id = $3)
                 ORDER BY last_received_at DESC, session_id DESC LIMIT $4 + 0"
            )
        }
        None => {
            storage::statement!(
                "SELECT {user_of:sessions}, session_id FROM sessions
                 WHERE org_id = $1 AND $2 IS NULL AND session_id = $3
                 ORDER BY last_received_at DESC, subject DESC LIMIT $4 + 0"
            )
        }
    };
    rows!(
        tx,
        (UserId, String),
        sql,
        org_id,
        query.user_id.as_ref(),
        query.session_id.as_deref(),
        query.limit
    )
}

/// Number of sessions by newest decision, decided since `since`.
pub async fn decision_counts(
    tx: &mut Tx,
    org_id: &OrgId,
    since: i64,
) -> Result<Vec<DecisionCount>> {
    rows!(
        tx,
        DecisionCount,
        "SELECT decision, COUNT(*) AS count FROM evaluation_decisions
         WHERE org_id = $1 AND decided_at >= $2 GROUP BY decision ORDER BY count DESC, decision",
        org_id,
        since
    )
}

/// Reasons for missing verdicts, most frequent first.
pub async fn undecided_reasons(
    tx: &mut Tx,
    org_id: &OrgId,
    since: i64,
    limit: i64,
) -> Result<Vec<ReasonCount>> {
    rows!(
        tx,
        ReasonCount,
        "SELECT decision, reason, COUNT(*) AS count FROM evaluation_decisions
         WHERE org_id = $1 AND decided_at >= $2 AND decision <> 'judged'
         GROUP BY decision, reason ORDER BY count DESC, decision, reason LIMIT $3 + 0",
        org_id,
        since,
        limit
    )
}
