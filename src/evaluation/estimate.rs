//! What a regeneration will cost, before it has: estimated from its first sessions.

use std::sync::Arc;

use super::shadow::SHADOW_COMPARISON;
use super::{AGENT_SUCCESS, driver, grading, sql};
use crate::app::App;
use crate::error::Result;
use crate::jobs;

/// Sessions that are looked at.
const SESSIONS: i64 = 20;

/// Estimates what the whole will cost, and stores it. Nothing if the model is unpriced.
pub async fn estimate(app: &Arc<App>, org_id: &str, job_id: &str) -> Result<()> {
    let input = (org_id.to_owned(), job_id.to_owned());
    let (regeneration, children) = app
        .db
        .read("evaluation.to_estimate", input, |tx, (org_id, job_id)| {
            Box::pin(async move {
                let found = sql::find_regeneration(tx, org_id, job_id).await?;
                Ok((found, jobs::open_children(tx, job_id, "", SESSIONS).await?))
            })
        })
        .await?;
    let Some(regeneration) = regeneration else { return Ok(()) };
    if regeneration.evaluation_name == SHADOW_COMPARISON {
        return Ok(());
    }
    let is_free = regeneration.evaluation_name != AGENT_SUCCESS || regeneration.total == 0;
    let candidate = driver::candidate(&regeneration)?;
    let (mut sum, mut known) = (0.0, 0.0);
    for child in children.into_iter().filter(|_| !is_free) {
        let session_id = child.payload["session_id"].as_str().unwrap_or_default();
        let user_id = child.user_id.as_deref().unwrap_or_default();
        let Some(material) = grading::load(app, org_id, user_id, session_id).await? else {
            continue;
        };
        let rubric = match &candidate {
            Some(rubric) => rubric.clone(),
            None => grading::session_rubric(&material.config)?,
        };
        let cost = app.judge.estimate(&rubric, &material.context(), &material.turns());
        let Some(cost) = cost else { return Ok(()) };
        sum += cost;
        known += 1.0;
    }
    // It ended before anybody could look.
    if known == 0.0 && !is_free {
        return Ok(());
    }
    #[allow(clippy::cast_precision_loss)] // a number of sessions
    let dollars = if is_free { 0.0 } else { sum / known * regeneration.total as f64 };
    app.db
        .write("evaluation.set_estimate", (job_id.to_owned(), dollars), |tx, (job_id, dollars)| {
            Box::pin(sql::set_estimate(tx, job_id, Some(*dollars)))
        })
        .await
}
