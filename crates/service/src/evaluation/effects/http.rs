//! The endpoints of the effects of playbooks on trial.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ListedEffect;
use super::detail::{LearningEffectDetail, detail};
use super::export;
use crate::app::App;
use crate::credentials::Inspector;
use crate::http::fields::{Fields, Read};
use crate::http::{PathId, QueryInput, Result, ndjson};
use crate::organization;
use stats::learning_trials::TrialState;
use storage::error::Error;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_effects))
        .routes(routes!(export_effects))
        .routes(routes!(get_effect))
}

struct GetEffects {
    agent_version: Option<String>,
    source: Option<String>,
    state: Option<TrialState>,
    limit: usize,
    offset: usize,
}

crate::request_query!(GetEffects);

impl GetEffects {
    fn passes(&self, listed: &ListedEffect) -> bool {
        self.agent_version.as_ref().is_none_or(|version| *version == listed.agent_version)
            && self.state.is_none_or(|state| state == listed.effect.state)
    }
}

impl Read for GetEffects {
    fn read(f: &mut Fields<'_>) -> Self {
        let number = |number: i64| usize::try_from(number).unwrap_or(0);
        GetEffects {
            agent_version: f.optional_id("agent_version"),
            source: f.about("Only sessions of this source count.").optional_text("source", 128),
            state: f.word("state"),
            limit: number(f.integer_or("limit", 1..=1000, 100)),
            offset: number(f.about("Effects to skip.").integer_or("offset", 0..=1_000_000, 0)),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct LearningEffects {
    /// Whether playbooks are withheld from anybody now.
    trials_enabled: bool,
    /// When they were computed; over many users it may be a minute ago.
    as_of: i64,
    /// Effects that pass the filter.
    total: usize,
    /// The best first by their shrunken means, those without an effect last.
    effects: Vec<ListedEffect>,
}

/// Which playbooks help, and which hurt: effects of those that are or were on trial.
#[utoipa::path(get, path = "/api/learnings/effects", tag = "learnings", params(GetEffects),
    responses((status = 200, body = LearningEffects)))]
async fn get_effects(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<GetEffects>,
) -> Result<Json<LearningEffects>> {
    let config = organization::recent(&app, &caller.org_id).await?;
    let all = super::list(&app, &caller.org_id, query.source.clone()).await?;
    let passing: Vec<ListedEffect> = all.listed().filter(|listed| query.passes(listed)).collect();
    Ok(Json(LearningEffects {
        trials_enabled: config.learning_trials.enabled,
        as_of: all.all.as_of,
        total: passing.len(),
        effects: passing.into_iter().skip(query.offset).take(query.limit).collect(),
    }))
}

/// One playbook's effect: by text, by epoch, and its course over time.
#[utoipa::path(get, path = "/api/learnings/effects/{agent_playbook_id}", tag = "learnings",
    params(("agent_playbook_id" = i64, Path)), responses((status = 200, body = LearningEffectDetail)))]
async fn get_effect(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    PathId(agent_playbook_id): PathId,
) -> Result<Json<LearningEffectDetail>> {
    let unknown = || Error::not_found("playbook on trial");
    let agent_playbook_id = agent_playbook_id.parse().map_err(|_| unknown())?;
    Ok(Json(detail(&app, &caller.org_id, agent_playbook_id).await?))
}

/// The rows behind the effects, one JSON object per line, with references in the place of ids. What
/// `evenhand learnings effects` reads.
#[utoipa::path(get, path = "/api/learnings/effects/export", tag = "learnings",
    responses((status = 200, content_type = "application/x-ndjson", body = String)))]
async fn export_effects(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
) -> Result<Response> {
    Ok(ndjson(export::begin(&app, &caller.org_id)).await?)
}
