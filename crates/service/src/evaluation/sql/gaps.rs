//! SQL of the table `verdict_gaps`.

use crate::evaluation::RetrievedLearningStatus;
use crate::evaluation::gaps::{Gap, NewGap};
use base::owner::{OrgId, UserId};
use storage::db::{Changes, Tx};
use storage::error::Result;
use storage::subjects::SubjectWrite;
use storage::{row, run};

/// Writes that the session has no verdict on this version of the agent. Time and source are those of the session as it
/// is now; `result_id` is that of the verdict that was there.
pub fn put_gap<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    gap: &'a NewGap,
    result_id: Option<i64>,
    now: i64,
) {
    changes.add(
        "INSERT INTO verdict_gaps
           (org_id, subject, session_id, created_at, source, agent_version, epoch, cause, reason, probability,
            result_id, learning_status, judged_at, is_newest, interaction_count, last_interaction_id, judge,
            prompt_version, chance)
         SELECT s.org_id, s.subject, s.session_id, s.first_request_at, s.source, $4, $5, $6, $7, $8, $9, $10, $11,
                TRUE, $12, $13, $14, $15, $16
         FROM sessions s WHERE s.org_id = $1 AND s.subject = $2 AND s.session_id = $3
         ON CONFLICT (org_id, subject, session_id, agent_version) DO UPDATE SET
            epoch = excluded.epoch, created_at = excluded.created_at, source = excluded.source,
            cause = excluded.cause, reason = excluded.reason, probability = excluded.probability,
            result_id = COALESCE(excluded.result_id, verdict_gaps.result_id),
            learning_status = excluded.learning_status, judged_at = excluded.judged_at, is_newest = TRUE,
            interaction_count = excluded.interaction_count, last_interaction_id = excluded.last_interaction_id,
            judge = excluded.judge, prompt_version = excluded.prompt_version,
            chance = CASE WHEN excluded.chance = 0 THEN verdict_gaps.chance ELSE excluded.chance END",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            (&gap.agent_version).into(),
            subject.epoch().into(),
            gap.cause.as_str().into(),
            gap.reason.into(),
            gap.probability.into(),
            result_id.into(),
            gap.learning_status.as_str().into(),
            now.into(),
            gap.snapshot.interaction_count.into(),
            gap.snapshot.last_interaction_id.into(),
            (&gap.origin.judge).into(),
            (&gap.origin.prompt_version).into(),
            gap.chance.into(),
        ],
    );
}

pub async fn find_gap(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
    agent_version: &str,
) -> Result<Option<Gap>> {
    row!(
        tx,
        Gap,
        "SELECT cause, learning_status, interaction_count, last_interaction_id FROM verdict_gaps
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND agent_version = $4",
        org_id,
        user_id,
        session_id,
        agent_version
    )
}

/// Deletes the gap of this version of the agent, which has a verdict now.
pub fn close_gap<'a>(
    changes: &mut Changes<'a>,
    subject: &'a SubjectWrite,
    session_id: &'a str,
    agent_version: &'a str,
) {
    changes.add(
        "DELETE FROM verdict_gaps
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND agent_version = $4",
        vec![
            subject.org_id().into(),
            subject.user_id().into(),
            session_id.into(),
            agent_version.into(),
        ],
    );
}

/// Marks the gap of the session: the last one, if the session has no verdict at all.
pub fn mark_gaps<'a>(changes: &mut Changes<'a>, subject: &'a SubjectWrite, session_id: &'a str) {
    changes.add(
        "UPDATE verdict_gaps SET is_newest = NOT is_newest
         WHERE org_id = $1 AND subject = $2 AND session_id = $3
           AND is_newest <> (
               NOT EXISTS (SELECT 1 FROM evaluation_results v
                    WHERE v.org_id = $1 AND v.subject = $2 AND v.session_id = $3
                      AND v.evaluation_name = 'agent_success')
               AND agent_version = (SELECT g.agent_version FROM verdict_gaps g
                    WHERE g.org_id = $1 AND g.subject = $2 AND g.session_id = $3
                    ORDER BY g.judged_at DESC, g.agent_version DESC LIMIT 1))",
        vec![subject.org_id().into(), subject.user_id().into(), session_id.into()],
    );
}

pub async fn set_gap_learning_status(
    tx: &mut Tx,
    subject: &SubjectWrite,
    session_id: &str,
    agent_version: &str,
    status: RetrievedLearningStatus,
) -> Result<()> {
    run!(
        tx,
        "UPDATE verdict_gaps SET learning_status = $5
         WHERE org_id = $1 AND subject = $2 AND session_id = $3 AND agent_version = $4",
        subject.org_id(),
        subject.user_id(),
        session_id,
        agent_version,
        status
    )?;
    Ok(())
}
