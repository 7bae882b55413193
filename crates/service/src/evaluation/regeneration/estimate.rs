//! Cost estimates of a regeneration, before and while it runs.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::driver::{self, DiffCandidate};
use super::replay::{ChildPayload, NewRegeneration, sampled_sessions};
use crate::app::App;
use crate::evaluation::results::{grading, on_demand};
use crate::evaluation::shadow::SHADOW_COMPARISON;
use crate::evaluation::{AGENT_SUCCESS, sql};
use crate::organization;
use base::owner::{OrgId, UserId};
use storage::error::Result;
use storage::jobs;

/// Sessions whose cost is estimated.
const ESTIMATED: i64 = 20;

/// Size and cost of a regeneration that has not started.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RegenerationPreview {
    /// Sessions of the window.
    pub total_candidates: i64,
    /// Sessions that would be judged.
    pub total: i64,
    /// US dollars; null if the model is unpriced.
    pub estimated_cost_usd: Option<f64>,
    /// Judge that would be used: `offline`, or provider/model.
    pub judge: String,
}

/// Looks at a regeneration without starting it.
pub async fn preview(
    app: &Arc<App>,
    org_id: &OrgId,
    new: NewRegeneration,
) -> Result<RegenerationPreview> {
    let name = new.evaluation_name.clone();
    let input = (org_id.to_owned(), new, name.clone(), app.clock.now(), app.ids.key_hex());
    let (sampled, total_candidates) = app
        .db
        .read("evaluation.preview_regeneration", input, |tx, (org_id, new, name, now, seed)| {
            Box::pin(async move {
                let is_shadow = name == SHADOW_COMPARISON;
                if !is_shadow {
                    on_demand::check_name(tx, org_id, name).await?;
                }
                let config = organization::config_in(tx, org_id).await?.config;
                let window = (new.from_ts, new.to_ts.min(*now));
                let most = config.eval_sample_n_per_stratum;
                sampled_sessions(tx, org_id, window, is_shadow, seed, most).await
            })
        })
        .await?;
    let total = i64::try_from(sampled.len()).unwrap_or(i64::MAX);
    // Spread over the window: what is judged is listed by user.
    let step = (sampled.len() / usize::try_from(ESTIMATED).unwrap_or(1)).max(1);
    let some = sampled.into_iter().step_by(step).map(|(s, _)| (s.user_id, s.session_id)).collect();
    // The cost of a comparison depends on its turns: it is not estimated.
    let each = match name.as_str() {
        SHADOW_COMPARISON => None,
        name => average_cost(app, org_id, name, None, some).await?,
    };
    Ok(RegenerationPreview {
        total_candidates,
        total,
        estimated_cost_usd: each.map(|each| each * as_number(total)),
        judge: match name.as_str() {
            AGENT_SUCCESS | SHADOW_COMPARISON => app.judge.label().to_owned(),
            _ => "rule".to_owned(),
        },
    })
}

/// Estimates what a regeneration will cost from its first sessions, and stores it.
pub async fn estimate(app: &Arc<App>, org_id: &OrgId, job_id: &str) -> Result<()> {
    let input = (org_id.to_owned(), job_id.to_owned());
    let (regeneration, children) = app
        .db
        .read("evaluation.to_estimate", input, |tx, (org_id, job_id)| {
            Box::pin(async move {
                let found = sql::find_regeneration(tx, org_id, job_id).await?;
                Ok((found, jobs::open_children(tx, job_id, "", ESTIMATED).await?))
            })
        })
        .await?;
    let Some(regeneration) = regeneration else { return Ok(()) };
    if regeneration.evaluation_name == SHADOW_COMPARISON {
        return Ok(());
    }
    let some: Vec<(UserId, String)> = children
        .into_iter()
        .filter_map(|child| {
            let ChildPayload { session_id, .. } = child.payload().ok()?;
            Some((child.user_id.unwrap_or_default(), session_id))
        })
        .collect();
    let name = &regeneration.evaluation_name;
    let candidate = driver::candidate(app, org_id, &regeneration).await?;
    let is_gone = some_are_needed(name, regeneration.total) && some.is_empty();
    let each = average_cost(app, org_id, name, candidate, some).await?;
    // Unpriced, or it ended before anybody could look.
    let Some(each) = each.filter(|_| !is_gone) else { return Ok(()) };
    let dollars = each * as_number(regeneration.total);
    app.db
        .write("evaluation.set_estimate", (job_id.to_owned(), dollars), |tx, (job_id, dollars)| {
            Box::pin(sql::set_estimate(tx, job_id, Some(*dollars)))
        })
        .await
}

/// True if the cost cannot be known without looking at sessions.
fn some_are_needed(evaluation_name: &str, total: i64) -> bool {
    evaluation_name == AGENT_SUCCESS && total > 0
}

/// Average cost of judging one of these sessions; `None` if the model is unpriced. Rules cost nothing.
async fn average_cost(
    app: &Arc<App>,
    org_id: &OrgId,
    evaluation_name: &str,
    candidate: Option<DiffCandidate>,
    sessions: Vec<(UserId, String)>,
) -> Result<Option<f64>> {
    let (mut sum, mut known) = (0.0, 0.0);
    if evaluation_name == AGENT_SUCCESS {
        for (user_id, session_id) in sessions {
            let Some(material) = grading::load(app, org_id, &user_id, &session_id).await? else {
                continue;
            };
            let live = grading::session_rubric(&material.config)?;
            let (judge, rubric) = match &candidate {
                Some(DiffCandidate::Rubric(rubric)) => (&material.judge, *rubric),
                Some(DiffCandidate::Model(model)) => (model, live),
                None => (&material.judge, live),
            };
            let cost = judge.estimate(rubric, &material.context(), &material.turns());
            let Some(cost) = cost else { return Ok(None) };
            sum += cost;
            known += 1.0;
        }
    }
    Ok(Some(if known > 0.0 { sum / known } else { 0.0 }))
}

#[allow(clippy::cast_precision_loss)] // a number of sessions
fn as_number(count: i64) -> f64 {
    count as f64
}
