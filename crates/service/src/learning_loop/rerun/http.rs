//! Endpoints that have turns read again or at once, and the status of that.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Generation, Operation};
use crate::app::App;
use crate::credentials::{Caller, Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use crate::sessions::TurnSelection;
use base::owner::UserId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(rerun_profile_generation))
        .routes(routes!(rerun_playbook_generation))
        .routes(routes!(manual_profile_generation))
        .routes(routes!(manual_playbook_generation))
        .routes(routes!(get_operation_status))
}

/// Turns of a person, or of everybody.
struct ProfileGeneration {
    user_id: Option<UserId>,
    turns: TurnSelection,
}

/// Turns that a version of the agent took part in, or any.
struct PlaybookGeneration {
    turns: TurnSelection,
}

crate::request_body!(ProfileGeneration, "RerunProfileGenerationRequest");
crate::request_body!(PlaybookGeneration, "RerunPlaybookGenerationRequest");

impl Read for ProfileGeneration {
    fn read(f: &mut Fields<'_>) -> Self {
        let user_id = f.about("Everybody when absent.").optional_id("user_id");
        let (from, to) = f.time_range();
        let source = f.optional_id("source");
        ProfileGeneration {
            user_id,
            turns: TurnSelection { from, to, source, ..TurnSelection::default() },
        }
    }
}

impl Read for PlaybookGeneration {
    fn read(f: &mut Fields<'_>) -> Self {
        let agent_version = f.about("Every version when absent.").optional_id("agent_version");
        let (from, to) = f.time_range();
        let source = f.optional_id("source");
        PlaybookGeneration { turns: TurnSelection { from, to, source, agent_version } }
    }
}

#[derive(Serialize, ToSchema)]
struct GenerationStarted {
    /// False if one is running already.
    success: bool,
    msg: String,
    /// The name that its status is asked for with.
    operation_id: Generation,
}

async fn start(
    app: &Arc<App>,
    caller: &Caller,
    operation_id: Generation,
    user_id: Option<UserId>,
    turns: TurnSelection,
    again: bool,
) -> Result<Json<GenerationStarted>> {
    let success = super::start(app, &caller.org_id, operation_id, user_id, turns, again).await?;
    let state = if success { "It has begun" } else { "Another one is running" };
    let msg = format!("{state}; see /api/get_operation_status?service_name={operation_id}");
    Ok(Json(GenerationStarted { success, msg, operation_id }))
}

/// Read turns once more and learn from them, of a person or of everybody.
#[utoipa::path(post, path = "/api/rerun_profile_generation", tag = "learnings",
    request_body = ProfileGeneration, responses((status = 200, body = GenerationStarted)))]
async fn rerun_profile_generation(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<ProfileGeneration>,
) -> Result<Json<GenerationStarted>> {
    start(&app, &caller, Generation::Profiles, value.user_id, value.turns, true).await
}

/// Read turns once more and learn from them, of a version of the agent or of all.
#[utoipa::path(post, path = "/api/rerun_playbook_generation", tag = "learnings",
    request_body = PlaybookGeneration, responses((status = 200, body = GenerationStarted)))]
async fn rerun_playbook_generation(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<PlaybookGeneration>,
) -> Result<Json<GenerationStarted>> {
    start(&app, &caller, Generation::Playbooks, None, value.turns, true).await
}

/// Read the turns of a person, or of everybody, that wait for more to come.
#[utoipa::path(post, path = "/api/manual_profile_generation", tag = "learnings",
    request_body = ProfileGeneration, responses((status = 200, body = GenerationStarted)))]
async fn manual_profile_generation(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<ProfileGeneration>,
) -> Result<Json<GenerationStarted>> {
    start(&app, &caller, Generation::Profiles, value.user_id, value.turns, false).await
}

/// Read the turns of a version of the agent, or of all, that wait for more to come.
#[utoipa::path(post, path = "/api/manual_playbook_generation", tag = "learnings",
    request_body = PlaybookGeneration, responses((status = 200, body = GenerationStarted)))]
async fn manual_playbook_generation(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<PlaybookGeneration>,
) -> Result<Json<GenerationStarted>> {
    start(&app, &caller, Generation::Playbooks, None, value.turns, false).await
}

struct OperationStatusQuery(Generation);

crate::request_query!(OperationStatusQuery);

impl Read for OperationStatusQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        OperationStatusQuery(f.word_or("service_name", Generation::Profiles))
    }
}

#[derive(Serialize, ToSchema)]
struct OperationStatus {
    success: bool,
    /// null if there was none lately.
    operation_status: Option<Operation>,
}

/// Status of the newest reading of a name.
#[utoipa::path(get, path = "/api/get_operation_status", tag = "learnings",
    params(OperationStatusQuery), responses((status = 200, body = OperationStatus)))]
async fn get_operation_status(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<OperationStatusQuery>,
) -> Result<Json<OperationStatus>> {
    let operation_status = super::status(&app, &caller.org_id, query.0).await?;
    Ok(Json(OperationStatus { success: true, operation_status }))
}
