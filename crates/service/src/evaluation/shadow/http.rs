//! Endpoint of shadow comparisons.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
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

struct RecentQuery {
    limit: i64,
}

crate::request_query!(RecentQuery);

impl Read for RecentQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let limit = f
            .about("How many; what is beyond 1 to 100 counts as the nearest of these.")
            .integer_or("limit", i64::MIN..=i64::MAX, 10);
        RecentQuery { limit: limit.clamp(1, 100) }
    }
}

#[derive(Serialize, ToSchema)]
struct RecentShadowComparisonsResponse {
    verdicts: Vec<ShadowComparisonVerdict>,
}

/// The newest verdicts of the pinned rubric, of the last 30 days.
#[utoipa::path(get, path = "/api/evaluations/shadow_comparisons/recent", tag = "evaluation",
    params(RecentQuery), responses((status = 200, body = RecentShadowComparisonsResponse)))]
async fn recent_shadow_comparisons(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<RecentQuery>,
) -> Result<Json<RecentShadowComparisonsResponse>> {
    let verdicts = super::recent(&app, &caller.org_id, query.limit).await?;
    Ok(Json(RecentShadowComparisonsResponse { verdicts }))
}
