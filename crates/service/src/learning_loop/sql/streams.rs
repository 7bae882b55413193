//! SQL of the tables `learning_streams`, `learning_windows` and `learning_proposals`.

use sqlx::types::Json;

use crate::learning_loop::extraction::{Extracted, Placed, Saved};
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, rows, run};

/// Read position in a person's stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx_macros::FromRow)]
pub struct Stream {
    /// The next window begins after this turn.
    pub cursor: i64,
    /// Up to this turn, everything was in a window.
    pub seen: i64,
    /// Windows that were read.
    pub windows: i64,
}

pub async fn find(tx: &mut Tx, org_id: &OrgId, user_id: &UserId) -> Result<Option<Stream>> {
    row!(
        tx,
        Stream,
        "SELECT cursor, seen, windows FROM learning_streams WHERE org_id = $1 AND subject = $2",
        org_id,
        user_id
    )
}

/// Moves a stream on; false when it is not where it was read.
pub async fn advance(
    tx: &mut Tx,
    subject: &SubjectWrite,
    from: &Stream,
    to: &Stream,
) -> Result<bool> {
    let touched = run!(
        tx,
        "INSERT INTO learning_streams (org_id, subject, epoch, cursor, seen, windows)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (org_id, subject) DO UPDATE SET
            epoch = excluded.epoch, cursor = excluded.cursor, seen = excluded.seen, windows = excluded.windows
         WHERE learning_streams.cursor = $7 AND learning_streams.windows = $8",
        subject.org_id(),
        subject.user_id(),
        subject.epoch(),
        to.cursor,
        to.seen,
        to.windows,
        from.cursor,
        from.windows
    )?;
    Ok(touched == 1)
}

/// Puts a stream back to before a turn, if that was read. A full window leaves the cursor behind what was seen.
pub async fn rewind(tx: &mut Tx, subject: &SubjectWrite, before: i64) -> Result<()> {
    run!(
        tx,
        "UPDATE learning_streams
         SET cursor = CASE WHEN cursor < $4 THEN cursor ELSE $4 - 1 END, seen = $4 - 1, epoch = $3
         WHERE org_id = $1 AND subject = $2 AND seen >= $4",
        subject.org_id(),
        subject.user_id(),
        subject.epoch(),
        before
    )?;
    Ok(())
}

pub async fn insert_window(
    tx: &mut Tx,
    subject: &SubjectWrite,
    window_no: i64,
    extracted: &Extracted,
    now: i64,
) -> Result<()> {
    let (window, origin) = (&extracted.window, &extracted.origin);
    run!(
        tx,
        "INSERT INTO learning_windows
           (org_id, subject, window_no, epoch, first_interaction_id, last_interaction_id, interaction_count,
            outcome, reason, extractor, prompt_version, rubric_hash, input_tokens, output_tokens, cost_usd,
            flags, processed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        subject.org_id(),
        subject.user_id(),
        window_no,
        subject.epoch(),
        window.ids().next().unwrap_or(0),
        window.ids().next_back().unwrap_or(0),
        i64::try_from(window.arrivals.len()).unwrap_or(0),
        extracted.outcome(),
        extracted.passed_over.as_deref().unwrap_or(""),
        &origin.judge,
        &origin.prompt_version,
        &origin.rubric_hash,
        origin.input_tokens,
        origin.output_tokens,
        origin.cost_usd,
        Json(&origin.flags),
        now
    )?;
    Ok(())
}

pub async fn insert_proposal(
    tx: &mut Tx,
    subject: &SubjectWrite,
    window_no: i64,
    place: usize,
    placed: &Placed,
    saved: &Saved,
    now: i64,
) -> Result<()> {
    let proposal = &placed.examined.proposal;
    run!(
        tx,
        "INSERT INTO learning_proposals
           (org_id, subject, window_no, place, epoch, kind, content, \"trigger\", rationale,
            source_interaction_ids, outcome, reason, learning_id, replaced_id, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        subject.org_id(),
        subject.user_id(),
        window_no,
        i64::try_from(place).unwrap_or(i64::MAX),
        subject.epoch(),
        proposal.kind,
        &proposal.content,
        &proposal.trigger,
        &proposal.rationale,
        Json(&proposal.evidence),
        saved.outcome,
        &saved.reason,
        saved.learning_id.as_deref(),
        saved.replaced_id.as_deref(),
        now
    )?;
    Ok(())
}

/// Cost of reading windows since a time, as far as the models are priced.
pub async fn spent_since(tx: &mut Tx, since: i64) -> Result<f64> {
    let found = row!(
        tx,
        (Option<f64>,),
        "SELECT SUM(cost_usd) FROM learning_windows WHERE processed_at >= $1",
        since
    )?;
    Ok(found.and_then(|(sum,)| sum).unwrap_or(0.0))
}

/// `(number of the day since 1970, US dollars)` of an organization's windows since a moment.
pub async fn spent_by_day(tx: &mut Tx, org_id: &OrgId, since: i64) -> Result<Vec<(i64, f64)>> {
    rows!(
        tx,
        (i64, f64),
        "SELECT processed_at / 86400 AS day, SUM(cost_usd) FROM learning_windows
          WHERE org_id = $1 AND processed_at >= $2 AND cost_usd > 0
          GROUP BY day ORDER BY day",
        org_id,
        since
    )
}
