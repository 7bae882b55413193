//! SQL of the evaluation tables, one file per noun.

mod cited_rules;
mod decisions;
mod gaps;
mod labels;
mod learnings;
mod regenerations;
mod results;
mod review;
mod standing;
mod under_way;

pub use cited_rules::replace_cited_rules;
pub use decisions::{
    decision_counts, find_decision, put_decision, sessions_to_explain, undecided_reasons,
};
pub use gaps::{close_gap, find_gap, mark_gaps, put_gap, set_gap_learning_status};
pub use labels::{JudgedSession, judged_sessions, labels_of, newest_verdict, put_label};
pub use learnings::{
    add_learning_verdicts, delete_learning_verdicts, list_learning_verdicts, set_learning_status,
    verdicts_on_learnings,
};
pub use regenerations::{
    candidate_flips, end_regeneration, find_regeneration, forget_regeneration_before,
    insert_regeneration, newest_regenerations, put_candidate_verdict, running_regeneration,
    set_estimate,
};
pub use results::{
    delete_result, find_result, list_results, mark_newest, newest_success, put_result,
};
pub use review::{
    PredictedSession, last_labels, predicted_sessions, put_draw, reviewable, set_chance, thresholds,
};
pub use standing::{BeforeJudging, Standing, before_judging, standing};
pub use under_way::{end_turn, give_turn_back, take_turn};

use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::Result;
use storage::{row, rows, run};

/// Cost of all verdicts written since `since`, by any process.
pub async fn spent_since(tx: &mut Tx, since: i64) -> Result<f64> {
    let found = row!(
        tx,
        (Option<f64>,),
        "SELECT SUM(cost_usd) FROM (
             SELECT cost_usd FROM evaluation_results WHERE evaluated_at >= $1
             UNION ALL SELECT cost_usd FROM learning_verdicts WHERE created_at >= $1
             UNION ALL SELECT cost_usd FROM shadow_verdicts WHERE judged_at >= $1
             UNION ALL SELECT cost_usd FROM candidate_verdicts WHERE evaluated_at >= $1) AS written",
        since
    )?;
    Ok(found.and_then(|(sum,)| sum).unwrap_or(0.0))
}

/// `(number of the day since 1970, US dollars)` of an organization's verdicts since a moment. Every part is answered from
/// an index of what was paid.
pub async fn spent_by_day(tx: &mut Tx, org_id: &OrgId, since: i64) -> Result<Vec<(i64, f64)>> {
    rows!(
        tx,
        (i64, f64),
        "SELECT day, SUM(cost_usd) FROM (
             SELECT evaluated_at / 86400 AS day, cost_usd FROM evaluation_results
              WHERE org_id = $1 AND evaluated_at >= $2 AND cost_usd > 0
             UNION ALL SELECT created_at / 86400, cost_usd FROM learning_verdicts
              WHERE org_id = $1 AND created_at >= $2 AND cost_usd > 0
             UNION ALL SELECT judged_at / 86400, cost_usd FROM shadow_verdicts
              WHERE org_id = $1 AND judged_at >= $2 AND cost_usd > 0
             UNION ALL SELECT evaluated_at / 86400, cost_usd FROM candidate_verdicts
              WHERE org_id = $1 AND evaluated_at >= $2 AND cost_usd > 0) AS written
          GROUP BY day ORDER BY day",
        org_id,
        since
    )
}

/// Deletes everything that was written about a session.
pub async fn forget_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    for sql in [
        "DELETE FROM candidate_verdicts WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM judgements_under_way WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM review_draws WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM session_labels WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM learning_verdicts WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM cited_rules WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM shadow_verdicts WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM shadow_sessions WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM imported_scores WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM verdict_gaps WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM evaluation_results WHERE org_id = $1 AND subject = $2 AND session_id = $3",
        "DELETE FROM evaluation_decisions WHERE org_id = $1 AND subject = $2 AND session_id = $3",
    ] {
        run!(tx, sql, org_id, user_id, session_id)?;
    }
    Ok(())
}
