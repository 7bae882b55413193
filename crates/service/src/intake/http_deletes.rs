//! The endpoints that delete interactions, requests, sessions and all of a user.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deletes;
use crate::app::App;
use crate::credentials::Operator;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};
use crate::sessions::http::SessionKey;
use base::owner::UserId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(delete_interaction))
        .routes(routes!(delete_request))
        .routes(routes!(delete_requests_by_ids))
        .routes(routes!(delete_session))
        .routes(routes!(delete_all_interactions))
        .routes(routes!(clear_user_data))
}

struct DeleteInteractionRequest {
    user_id: UserId,
    interaction_id: i64,
}

crate::request_body!(DeleteInteractionRequest, "DeleteInteractionRequest");

impl Read for DeleteInteractionRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteInteractionRequest {
            user_id: f.id("user_id"),
            interaction_id: f.required_integer("interaction_id", 1..=i64::MAX),
        }
    }
}

struct DeleteRequestRequest {
    request_id: String,
}

crate::request_body!(DeleteRequestRequest, "DeleteRequestRequest");

impl Read for DeleteRequestRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteRequestRequest { request_id: f.id("request_id") }
    }
}

struct DeleteRequestsByIdsRequest {
    request_ids: Vec<String>,
}

crate::request_body!(DeleteRequestsByIdsRequest, "DeleteRequestsByIdsRequest");

impl Read for DeleteRequestsByIdsRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteRequestsByIdsRequest { request_ids: f.required_ids("request_ids", 1000) }
    }
}

struct UserKey {
    user_id: UserId,
}

crate::request_body!(UserKey, "ClearUserDataRequest");

impl Read for UserKey {
    fn read(f: &mut Fields<'_>) -> Self {
        UserKey { user_id: f.id("user_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct Deleted {
    success: bool,
    message: String,
}

impl Deleted {
    fn one(what: &str) -> Json<Self> {
        Json(Deleted { success: true, message: format!("{what} deleted") })
    }
}

#[derive(Serialize, ToSchema)]
struct DeletedRequests {
    success: bool,
    deleted_count: u64,
    message: String,
}

#[derive(Serialize, ToSchema)]
struct DeletedSession {
    success: bool,
    message: String,
    deleted_requests_count: u64,
}

#[derive(Serialize, ToSchema)]
struct ClearedUserData {
    success: bool,
    /// Rows deleted, by target.
    deleted_counts: BTreeMap<String, u64>,
    message: Option<String>,
}

/// Delete one turn.
#[utoipa::path(delete, path = "/api/delete_interaction", tag = "sessions",
    request_body = DeleteInteractionRequest, responses((status = 200, body = Deleted)))]
async fn delete_interaction(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteInteractionRequest>,
) -> Result<Json<Deleted>> {
    deletes::delete_interaction(&app, caller.deletion(), value.user_id, value.interaction_id)
        .await?;
    Ok(Deleted::one("interaction"))
}

/// Delete a request with its turns.
#[utoipa::path(delete, path = "/api/delete_request", tag = "sessions",
    request_body = DeleteRequestRequest, responses((status = 200, body = Deleted)))]
async fn delete_request(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteRequestRequest>,
) -> Result<Json<Deleted>> {
    deletes::delete_requests(&app, caller.deletion(), vec![value.request_id]).await?;
    Ok(Deleted::one("request"))
}

/// Delete several requests; ids that do not exist are passed over.
#[utoipa::path(delete, path = "/api/delete_requests_by_ids", tag = "sessions",
    request_body = DeleteRequestsByIdsRequest, responses((status = 200, body = DeletedRequests)))]
async fn delete_requests_by_ids(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeleteRequestsByIdsRequest>,
) -> Result<Json<DeletedRequests>> {
    let deleted_count =
        deletes::delete_requests(&app, caller.deletion(), value.request_ids).await?;
    let message = format!("{deleted_count} requests deleted");
    Ok(Json(DeletedRequests { success: true, deleted_count, message }))
}

/// Delete a session with everything that hangs on it.
#[utoipa::path(delete, path = "/api/delete_session", tag = "sessions",
    request_body = SessionKey, responses((status = 200, body = DeletedSession)))]
async fn delete_session(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<SessionKey>,
) -> Result<Json<DeletedSession>> {
    let deleted_requests_count =
        deletes::delete_session(&app, caller.deletion(), value.session_id, value.user_id).await?;
    let message = "session deleted".to_owned();
    Ok(Json(DeletedSession { success: true, message, deleted_requests_count }))
}

/// Delete all sessions of the organization, with their turns and everything that was written about them. What was
/// learned from them stays.
#[utoipa::path(delete, path = "/api/delete_all_interactions", tag = "sessions",
    responses((status = 200, body = DeletedRequests)))]
async fn delete_all_interactions(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
) -> Result<Json<DeletedRequests>> {
    let deleted_count = deletes::delete_all(&app, caller.deletion()).await?;
    let message = format!("{deleted_count} requests deleted");
    Ok(Json(DeletedRequests { success: true, deleted_count, message }))
}

/// Delete everything stored for a user. To forget a person with proof, erase them instead.
#[utoipa::path(post, path = "/api/clear_user_data", tag = "sessions",
    request_body = UserKey, responses((status = 200, body = ClearedUserData)))]
async fn clear_user_data(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UserKey>,
) -> Result<Json<ClearedUserData>> {
    let deleted_counts = deletes::clear_user_data(&app, caller.deletion(), value.user_id).await?;
    Ok(Json(ClearedUserData { success: true, deleted_counts, message: None }))
}
