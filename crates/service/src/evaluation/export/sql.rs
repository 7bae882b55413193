//! SQL of exports.

use super::ExportRequest;
use crate::evaluation::verdict::verdict_columns;
use crate::evaluation::{EvaluationResult, shadow};
use base::owner::OrgId;
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::rows;

/// The verdicts after one, oldest session first.
pub async fn page(
    tx: &mut Tx,
    org_id: &OrgId,
    request: &ExportRequest,
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<EvaluationResult>> {
    let version = shadow::pinned(tx, org_id).await?;
    let sources = request.sources.as_ref().map(serde_json::to_string).transpose();
    let sources = sources.map_err(|e| Error::Internal(e.to_string()))?;
    rows!(
        tx,
        EvaluationResult,
        concat!(
            "SELECT p.regular_vs_shadow, ",
            verdict_columns!("{user_of:r} AS user_id"),
            "
         FROM evaluation_results r LEFT JOIN shadow_sessions p
             ON p.org_id = r.org_id AND p.subject = r.subject AND p.session_id = r.session_id
            AND p.judge_prompt_version = $2
         WHERE r.org_id = $1 AND r.created_at >= $3 AND r.created_at <= $4
           AND (r.created_at, r.result_id) > ($5, $6) AND r.evaluation_name = 'agent_success'
           AND ($7 IS NULL OR r.source IN {texts:$7})
         ORDER BY r.created_at, r.result_id LIMIT $8 + 0"
        ),
        org_id,
        version,
        request.from_ts,
        request.to_ts,
        after.0,
        after.1,
        sources,
        limit
    )
}
