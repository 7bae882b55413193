//! SQL of the table `session_outcomes`.

use sqlx::types::Json;

use crate::sessions::SessionOutcome;
use crate::sessions::{ListedOutcome, NewOutcome, OutcomeFilter};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

macro_rules! outcome_columns {
    () => {
        "{user_of:o} AS user_id, o.session_id, o.revision, o.outcome, o.occurred_at, o.label, o.value, \
         o.metadata, o.recorded_at"
    };
}

pub async fn newest_outcome(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
) -> Result<Option<SessionOutcome>> {
    row!(
        tx,
        SessionOutcome,
        concat!(
            "SELECT ",
            outcome_columns!(),
            " FROM session_outcomes o WHERE o.org_id = $1 AND o.subject = $2 AND o.session_id = $3
              ORDER BY o.revision DESC LIMIT 1"
        ),
        subject.org_id(),
        subject.user_id(),
        session_id
    )
}

pub async fn insert_outcome(
    tx: &mut Tx,
    subject: &SubjectWrite,
    outcome: &NewOutcome,
    revision: i64,
    now: i64,
) -> Result<()> {
    run!(
        tx,
        "INSERT INTO session_outcomes
           (org_id, subject, session_id, revision, epoch, outcome, occurred_at, label, value, metadata,
            recorded_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        subject.org_id(),
        subject.user_id(),
        &outcome.session_id,
        revision,
        subject.epoch(),
        outcome.outcome,
        outcome.occurred_at,
        outcome.label.as_deref(),
        outcome.value,
        outcome.metadata.as_ref().map(Json),
        now
    )?;
    Ok(())
}

/// The current outcome of each session that passes the filter; of every user who has such a session.
pub async fn current_outcomes(
    tx: &mut Tx,
    org_id: &OrgId,
    filter: &OutcomeFilter,
) -> Result<Vec<ListedOutcome>> {
    macro_rules! list {
        ($join:literal, $of_sessions:literal) => {
            storage::statement!(concat!(
                "SELECT ",
                outcome_columns!(),
                ", s.source, o.recorded_at AS created_at
                 FROM sessions s ",
                $join,
                " session_outcomes o
                 WHERE s.org_id = $1 AND ",
                $of_sessions,
                " AND o.org_id = s.org_id AND o.subject = s.subject AND o.session_id = s.session_id
                  AND ($4 IS NULL OR s.source = $4)
                  AND ($5 IS NULL OR o.outcome = $5) AND ($6 IS NULL OR o.label = $6)
                  AND ($7 IS NULL OR o.occurred_at >= $7) AND ($8 IS NULL OR o.occurred_at <= $8)
                  AND o.revision = (SELECT MAX(revision) FROM session_outcomes n
                      WHERE n.org_id = o.org_id AND n.subject = o.subject AND n.session_id = o.session_id)
                  ORDER BY o.occurred_at DESC, o.session_id, o.subject LIMIT $9 + 0 OFFSET $10"
            ))
        };
    }
    // Four texts, so that what is asked for by user or session is found by its key. CROSS JOIN has
    // SQLite look up the sessions first.
    let sql = match (&filter.session_ids, &filter.user_id) {
        (Some(_), Some(_)) => list!("CROSS JOIN", "s.session_id IN {texts:$2} AND s.subject = $3"),
        (Some(_), None) => list!("CROSS JOIN", "s.session_id IN {texts:$2} AND $3 IS NULL"),
        (None, Some(_)) => list!(",", "$2 IS NULL AND s.subject = $3"),
        (None, None) => list!(",", "$2 IS NULL AND $3 IS NULL"),
    };
    let session_ids =
        filter.session_ids.as_ref().map(|ids| serde_json::Value::from(ids.clone()).to_string());
    rows!(
        tx,
        ListedOutcome,
        sql,
        org_id,
        session_ids,
        filter.user_id.as_ref(),
        filter.source.as_deref(),
        filter.outcome,
        filter.label.as_deref(),
        filter.from,
        filter.to,
        filter.limit,
        filter.offset
    )
}

/// All revisions of one session's outcome, oldest first.
pub async fn outcome_history(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<Vec<SessionOutcome>> {
    rows!(
        tx,
        SessionOutcome,
        concat!(
            "SELECT ",
            outcome_columns!(),
            " FROM session_outcomes o WHERE o.org_id = $1 AND o.subject = $2 AND o.session_id = $3
              ORDER BY o.revision"
        ),
        org_id,
        user_id,
        session_id
    )
}
