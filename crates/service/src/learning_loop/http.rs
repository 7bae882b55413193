//! Endpoints of the loop: where a publish stands with learning, and where a learning came from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::provenance::{self, Provenance};
use super::{extraction, tuning};
use crate::app::App;
use crate::credentials::{Caller, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use crate::learnings::KINDS;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(learning_status))
        .routes(routes!(get_learning_provenance))
        .merge(tuning::http::routes())
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
struct LearningStatusQuery {
    request_id: String,
}

impl Read for LearningStatusQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        LearningStatusQuery { request_id: f.id("request_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct LearningStatus {
    request_id: String,
    /// `pending`, `processing`, `done` or `failed` (it is tried again once a day).
    #[schema(value_type = String)]
    status: &'static str,
    reason: Option<String>,
}

/// Where a published request stands with learning.
#[utoipa::path(get, path = "/api/learning_status", tag = "sessions", params(LearningStatusQuery),
    responses((status = 200, body = LearningStatus)))]
async fn learning_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<LearningStatusQuery>,
) -> Result<Json<LearningStatus>> {
    let (status, reason) =
        extraction::status(&app, &caller.org_id, query.request_id.clone()).await?;
    Ok(Json(LearningStatus { request_id: query.request_id, status, reason }))
}

#[derive(ToSchema)]
struct GetLearningProvenanceRequest {
    /// `profile`, `user_playbook` or `agent_playbook`.
    #[schema(value_type = String)]
    kind: &'static str,
    /// A playbook's number as text.
    learning_id: String,
}

impl Read for GetLearningProvenanceRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        GetLearningProvenanceRequest {
            kind: f.required_choice("kind", &KINDS),
            learning_id: f.id("learning_id"),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct LearningProvenance {
    success: bool,
    #[serde(flatten)]
    provenance: Provenance,
}

/// From which interactions, through which merges and approvals, a learning came.
#[utoipa::path(post, path = "/api/get_learning_provenance", tag = "learnings",
    request_body = GetLearningProvenanceRequest, responses((status = 200, body = LearningProvenance)))]
async fn get_learning_provenance(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<GetLearningProvenanceRequest>,
) -> Result<Json<LearningProvenance>> {
    let found = provenance::provenance(&app, &caller.org_id, value.kind, value.learning_id).await?;
    Ok(Json(LearningProvenance { success: true, provenance: found }))
}
