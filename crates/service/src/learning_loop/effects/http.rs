//! The endpoint that lists the effects of playbooks on trial.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{EffectsFilter, ListedEffect};
use crate::app::App;
use crate::credentials::Inspector;
use crate::http::fields::{Fields, Read};
use crate::http::{QueryInput, Result};
use crate::organization;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(get_effects))
}

struct GetEffects {
    filter: EffectsFilter,
    limit: usize,
    offset: usize,
}

crate::request_query!(GetEffects);

impl Read for GetEffects {
    fn read(f: &mut Fields<'_>) -> Self {
        let number = |number: i64| usize::try_from(number).unwrap_or(0);
        GetEffects {
            filter: EffectsFilter {
                agent_version: f.optional_id("agent_version"),
                source: f.about("Only sessions of this source count.").optional_text("source", 128),
                state: f.word("state"),
            },
            limit: number(f.integer_or("limit", 1..=1000, 100)),
            offset: number(f.about("Effects to skip.").integer_or("offset", 0..=1_000_000, 0)),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct LearningEffects {
    /// Whether playbooks are withheld from anybody now.
    trials_enabled: bool,
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
    let all = super::list(&app, &caller.org_id, query.filter).await?;
    let total = all.len();
    let effects = all.into_iter().skip(query.offset).take(query.limit).collect();
    Ok(Json(LearningEffects { trials_enabled: config.learning_trials.enabled, total, effects }))
}
