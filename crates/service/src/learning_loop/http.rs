//! Endpoints of the loop: where a publish stands with learning, where a learning came from, and aggregation at once.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::change_log::{self, ProfileChanges};
use super::extraction::{self, LearningProgress};
use super::provenance::{self, Provenance};
use super::{aggregation, rerun, review, tuning};
use crate::app::App;
use crate::credentials::{Caller, Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use judge::LearningKind;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(learning_status))
        .routes(routes!(get_learning_provenance))
        .routes(routes!(profile_change_log))
        .routes(routes!(run_playbook_aggregation))
        .merge(tuning::http::routes())
        .merge(rerun::http::routes())
        .merge(review::http::routes())
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

#[derive(Serialize, ToSchema)]
struct ProfileChangeLog {
    success: bool,
    /// The newest first.
    profile_change_logs: Vec<ProfileChanges>,
}

/// Profiles that extraction added lately, and those they took the place of: the newest 200 that are still stored.
#[utoipa::path(get, path = "/api/profile_change_log", tag = "learnings",
    responses((status = 200, body = ProfileChangeLog)))]
async fn profile_change_log(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
) -> Result<Json<ProfileChangeLog>> {
    let profile_change_logs = change_log::newest(&app, &caller.org_id, 200).await?;
    Ok(Json(ProfileChangeLog { success: true, profile_change_logs }))
}

struct RunPlaybookAggregationRequest {
    agent_version: String,
}

crate::request_body!(RunPlaybookAggregationRequest, "RunPlaybookAggregationRequest");

impl Read for RunPlaybookAggregationRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        RunPlaybookAggregationRequest { agent_version: f.id("agent_version") }
    }
}

#[derive(Serialize, ToSchema)]
struct AggregationStarted {
    success: bool,
    message: String,
}

/// Look now for what several people taught a version of the agent; it happens by itself after every change.
#[utoipa::path(post, path = "/api/run_playbook_aggregation", tag = "learnings",
    request_body = RunPlaybookAggregationRequest, responses((status = 200, body = AggregationStarted)))]
async fn run_playbook_aggregation(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<RunPlaybookAggregationRequest>,
) -> Result<Json<AggregationStarted>> {
    aggregation::start(&app, &caller.org_id, value.agent_version).await?;
    let message =
        "They are looked at within ten seconds; what is proposed waits for approval.".to_owned();
    Ok(Json(AggregationStarted { success: true, message }))
}
