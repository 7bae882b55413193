//! `GET /api/jobs`: the queue at a glance.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::credentials::Inspector;
use crate::http::Result;
use storage::jobs::{self, JobCount};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(summary))
}

#[derive(Serialize, utoipa::ToSchema)]
struct JobsSummary {
    jobs: Vec<JobCount>,
    /// Waiting time of the oldest due job; 0 when nothing is late.
    oldest_due_age_seconds: i64,
}

/// Background work of this organization: counts by kind and state.
#[utoipa::path(get, path = "/api/jobs", tag = "operations", responses((status = 200, body = JobsSummary)))]
async fn summary(State(app): State<Arc<App>>, operator: Inspector) -> Result<Json<JobsSummary>> {
    let (jobs, oldest_due_age_seconds) = jobs::summary(&app, Some(&operator.0.org_id)).await?;
    Ok(Json(JobsSummary { jobs, oldest_due_age_seconds }))
}
