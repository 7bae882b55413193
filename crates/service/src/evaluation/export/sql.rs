//! SQL of exports.

use super::{ExportRequest, ExportedVerdict};
use crate::evaluation::shadow;
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
) -> Result<Vec<ExportedVerdict>> {
    let version = shadow::pinned(tx, org_id).await?;
    let sources = request.sources.as_ref().map(serde_json::to_string).transpose();
    let sources = sources.map_err(|e| Error::Internal(e.to_string()))?;
    rows!(
        tx,
        ExportedVerdict,
        "SELECT r.result_id, r.user_id, r.session_id, r.agent_version, r.source, r.created_at, r.evaluated_at,
                r.is_success, r.failure_type, r.failure_reason, r.number_of_corrections,
                r.user_turns_to_resolution, r.is_escalated, p.regular_vs_shadow, r.judge, r.prompt_version,
                r.rubric_hash, r.input_tokens, r.output_tokens, r.cost_usd, r.latency_ms, r.attempts
         FROM evaluation_results r LEFT JOIN shadow_sessions p
             ON p.org_id = r.org_id AND p.user_id = r.user_id AND p.session_id = r.session_id
            AND p.judge_prompt_version = $2
         WHERE r.org_id = $1 AND r.created_at >= $3 AND r.created_at <= $4
           AND (r.created_at, r.result_id) > ($5, $6) AND r.evaluation_name = 'agent_success'
           AND ($7 IS NULL OR r.source IN {texts:$7})
         ORDER BY r.created_at, r.result_id {limit:$8}",
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
