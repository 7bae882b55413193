//! Endpoints of the loop: where a publish stands with learning, and where a learning came from.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extraction::{self, LearningProgress};
use super::provenance::{self, Provenance};
use super::tuning;
use crate::app::App;
use crate::credentials::{Caller, Inspector};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use judge::LearningKind;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(learning_status))
        .routes(routes!(get_learning_provenance))
        .merge(tuning::http::routes())
}

struct LearningStatusQuery {
    request_id: String,
}

crate::request_query!(LearningStatusQuery);

impl Read for LearningStatusQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        LearningStatusQuery { request_id: f.id("request_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct LearningStatusResponse {
    request_id: String,
    status: LearningProgress,
    reason: Option<String>,
}

/// Learning status of a published request.
#[utoipa::path(get, path = "/api/learning_status", tag = "sessions", params(LearningStatusQuery),
    responses((status = 200, body = LearningStatusResponse)))]
async fn learning_status(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<LearningStatusQuery>,
) -> Result<Json<LearningStatusResponse>> {
    let (status, reason) =
        extraction::status(&app, &caller.org_id, query.request_id.clone()).await?;
    Ok(Json(LearningStatusResponse { request_id: query.request_id, status, reason }))
}

struct GetLearningProvenanceRequest {
    kind: LearningKind,
    learning_id: String,
}

crate::request_body!(GetLearningProvenanceRequest, "GetLearningProvenanceRequest");

impl Read for GetLearningProvenanceRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        GetLearningProvenanceRequest {
            kind: f.required_word("kind"),
            learning_id: f.about("A playbook's number as text.").id("learning_id"),
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
    Inspector(caller): Inspector,
    Input { value, .. }: Input<GetLearningProvenanceRequest>,
) -> Result<Json<LearningProvenance>> {
    let found = provenance::provenance(&app, &caller.org_id, value.kind, value.learning_id).await?;
    Ok(Json(LearningProvenance { success: true, provenance: found }))
}
