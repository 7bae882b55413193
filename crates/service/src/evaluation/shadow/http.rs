//! Endpoint of shadow comparisons.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::ShadowComparisonVerdict;
use crate::app::App;
use crate::credentials::Caller;
use crate::http::fields::{Fields, Read};
use crate::http::{QueryInput, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(recent_shadow_comparisons))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct RecentParams {
    /// How many; 10 when absent, and what is beyond 1 to 100 counts as the nearest of these.
    limit: Option<i64>,
}

struct Recent {
    limit: i64,
}

impl Read for Recent {
    fn read(f: &mut Fields<'_>) -> Self {
        Recent { limit: f.integer("limit", i64::MIN..=i64::MAX).unwrap_or(10).clamp(1, 100) }
    }
}

#[derive(Serialize, ToSchema)]
struct RecentShadowComparisonsResponse {
    verdicts: Vec<ShadowComparisonVerdict>,
}

/// The newest verdicts of the pinned rubric, of the last 30 days.
#[utoipa::path(get, path = "/api/evaluations/shadow_comparisons/recent", tag = "evaluation",
    params(RecentParams), responses((status = 200, body = RecentShadowComparisonsResponse)))]
async fn recent_shadow_comparisons(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<Recent>,
) -> Result<Json<RecentShadowComparisonsResponse>> {
    let verdicts = super::recent(&app, &caller.org_id, query.limit).await?;
    Ok(Json(RecentShadowComparisonsResponse { verdicts }))
}
