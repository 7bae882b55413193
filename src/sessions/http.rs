//! The endpoints of sessions: extract, call the rules, respond.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::outcomes::{NewOutcome, SessionOutcome};
use super::reads::{GetInteractions, GetRequests, ListSessions, SessionRequests, SessionView};
use super::sql::RequestFilter;
use super::{
    Interaction, ListedSession, PublishRequest, PublishResponse, deletes, outcomes, publish, reads,
};
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::fields::{Fields, ID_LENGTH, Read, check_id};
use crate::http::{Caller, Input, Operator, QueryInput};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(publish_interaction))
        .routes(routes!(finalize_session))
        .routes(routes!(session_outcome))
        .routes(routes!(get_session_outcomes))
        .routes(routes!(get_requests))
        .routes(routes!(get_interactions))
        .routes(routes!(learning_status))
        .routes(routes!(list_sessions))
        .routes(routes!(get_session))
        .routes(routes!(delete_interaction))
        .routes(routes!(delete_request))
        .routes(routes!(delete_requests_by_ids))
        .routes(routes!(delete_session))
        .routes(routes!(clear_user_data))
}

const MAX_TOP_K: i64 = 1000;
const MAX_PAGE: i64 = 200;
const METADATA_BYTES: usize = 16 * 1024;

// ── publish ─────────────────────────────────────────────────────────────────────────────────────────

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct PublishQuery {
    /// Accepted for older clients; every answer waits until the publish is on disk.
    wait_for_response: Option<bool>,
}

impl Read for PublishQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        PublishQuery { wait_for_response: f.optional_flag("wait_for_response") }
    }
}

/// Publish what happened in a session.
///
/// A 200 means that it is on disk. Sending the same `request_id` again with the same content is safe.
#[utoipa::path(post, path = "/api/publish_interaction", tag = "sessions", params(PublishQuery),
    request_body = PublishRequest, responses((status = 200, body = PublishResponse)))]
async fn publish_interaction(
    State(app): State<Arc<App>>,
    caller: Caller,
    _query: QueryInput<PublishQuery>,
    input: Input<PublishRequest>,
) -> Result<Json<PublishResponse>> {
    publish::publish(&app, &caller.org_id, input.value, input.unknown).await.map(Json)
}

// ── ending a session, and what became of it ─────────────────────────────────────────────────────────

#[derive(ToSchema)]
struct SessionKey {
    session_id: String,
    /// Needed when several users have a session of this id.
    user_id: Option<String>,
}

impl Read for SessionKey {
    fn read(f: &mut Fields<'_>) -> Self {
        SessionKey { session_id: f.id("session_id"), user_id: f.optional_id("user_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct FinalizeResponse {
    success: bool,
    message: String,
    user_id: String,
    session_id: String,
    finished_at: i64,
}

/// Declare a session finished.
#[utoipa::path(post, path = "/api/finalize_session", tag = "sessions",
    request_body = SessionKey, responses((status = 200, body = FinalizeResponse)))]
async fn finalize_session(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value: SessionKey { session_id, user_id }, .. }: Input<SessionKey>,
) -> Result<Json<FinalizeResponse>> {
    let (user_id, finished_at) =
        outcomes::finalize(&app, &caller.org_id, session_id.clone(), user_id).await?;
    let message = "session finished".to_owned();
    Ok(Json(FinalizeResponse { success: true, message, user_id, session_id, finished_at }))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of NewOutcome
struct SessionOutcomeRequest {
    session_id: String,
    /// `success`, `failure` or `unknown`.
    outcome: String,
    /// Unix seconds.
    occurred_at: i64,
    #[schema(max_length = 128)]
    label: Option<String>,
    value: Option<f64>,
    /// At most 16 KB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<serde_json::Value>,
    /// Needed when several users have a session of this id.
    user_id: Option<String>,
}

impl Read for NewOutcome {
    fn read(f: &mut Fields<'_>) -> Self {
        let metadata = f.object("metadata");
        if metadata
            .as_ref()
            .is_some_and(|m| serde_json::to_vec(m).is_ok_and(|bytes| bytes.len() > METADATA_BYTES))
        {
            f.problem("metadata", "too_long", format!("larger than {METADATA_BYTES} bytes"));
        }
        NewOutcome {
            session_id: f.id("session_id"),
            outcome: f.required_choice("outcome", &["success", "failure", "unknown"]),
            occurred_at: f.required_integer("occurred_at", 0..=9_999_999_999),
            label: f.id_up_to("label", 128),
            value: f.number("value"),
            metadata,
            user_id: f.optional_id("user_id"),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct SessionOutcomeResponse {
    success: bool,
    /// False when the same outcome was recorded before.
    recorded: bool,
    reason: Option<&'static str>,
    message: String,
    user_id: String,
    /// The source of the session's first request.
    source: String,
}

/// Report what became of a session: ground truth beside every judge.
#[utoipa::path(post, path = "/api/session_outcome", tag = "sessions",
    request_body = SessionOutcomeRequest, responses((status = 200, body = SessionOutcomeResponse)))]
async fn session_outcome(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<NewOutcome>,
) -> Result<Json<SessionOutcomeResponse>> {
    let outcome = outcomes::record_outcome(&app, &caller.org_id, input.value).await?;
    let (reason, message) = if outcome.new {
        (None, "outcome recorded")
    } else {
        (Some("duplicate"), "the same outcome was recorded before")
    };
    Ok(Json(SessionOutcomeResponse {
        success: true,
        recorded: outcome.new,
        reason,
        message: message.to_owned(),
        user_id: outcome.user_id,
        source: outcome.source,
    }))
}

#[derive(ToSchema)]
struct GetSessionOutcomesRequest {
    #[schema(min_items = 1, max_items = 1000)]
    session_ids: Vec<String>,
    user_id: Option<String>,
}

impl Read for GetSessionOutcomesRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        GetSessionOutcomesRequest {
            session_ids: f.required_ids("session_ids", 1000),
            user_id: f.optional_id("user_id"),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetSessionOutcomesResponse {
    success: bool,
    session_outcomes: Vec<SessionOutcome>,
    msg: Option<String>,
}

/// The current outcome of each of these sessions.
#[utoipa::path(post, path = "/api/get_session_outcomes", tag = "sessions",
    request_body = GetSessionOutcomesRequest, responses((status = 200, body = GetSessionOutcomesResponse)))]
async fn get_session_outcomes(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<GetSessionOutcomesRequest>,
) -> Result<Json<GetSessionOutcomesResponse>> {
    let found =
        outcomes::list_outcomes(&app, &caller.org_id, value.session_ids, value.user_id).await?;
    Ok(Json(GetSessionOutcomesResponse { success: true, session_outcomes: found, msg: None }))
}

// ── reading ─────────────────────────────────────────────────────────────────────────────────────────

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of GetRequests
struct GetRequestsRequest {
    user_id: Option<String>,
    session_id: Option<String>,
    request_id: Option<String>,
    source: Option<String>,
    agent_version: Option<String>,
    /// RFC 3339 or unix seconds, included.
    #[schema(value_type = Option<String>)]
    start_time: Option<i64>,
    /// RFC 3339 or unix seconds, not included.
    #[schema(value_type = Option<String>)]
    end_time: Option<i64>,
    /// How many sessions; 30 when absent.
    #[schema(minimum = 1, maximum = 1000)]
    top_k: Option<i64>,
    /// Sessions to skip.
    #[schema(minimum = 0)]
    offset: Option<i64>,
}

impl Read for GetRequests {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        GetRequests {
            filter: RequestFilter {
                user_id: f.optional_id("user_id"),
                session_id: f.optional_id("session_id"),
                request_id: f.optional_id("request_id"),
                source: f.optional_text("source", 128),
                agent_version: f.optional_id("agent_version"),
                from,
                to,
            },
            top_k: f.integer("top_k", 1..=MAX_TOP_K).unwrap_or(30),
            offset: f.integer("offset", 0..=1_000_000_000).unwrap_or(0),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetRequestsResponse {
    success: bool,
    sessions: Vec<SessionRequests>,
    has_more: bool,
    msg: Option<String>,
}

/// Requests by session, newest session first.
#[utoipa::path(post, path = "/api/get_requests", tag = "sessions",
    request_body = GetRequestsRequest, responses((status = 200, body = GetRequestsResponse)))]
async fn get_requests(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<GetRequests>,
) -> Result<Json<GetRequestsResponse>> {
    let (sessions, has_more) = reads::get_requests(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetRequestsResponse { success: true, sessions, has_more, msg: None }))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of GetInteractions
struct GetInteractionsRequest {
    user_id: String,
    /// RFC 3339 or unix seconds, included.
    #[schema(value_type = Option<String>)]
    start_time: Option<i64>,
    /// RFC 3339 or unix seconds, not included.
    #[schema(value_type = Option<String>)]
    end_time: Option<i64>,
    /// How many turns; 30 when absent.
    #[schema(minimum = 1, maximum = 1000)]
    top_k: Option<i64>,
}

impl Read for GetInteractions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        GetInteractions {
            user_id: f.id("user_id"),
            from,
            to,
            top_k: f.integer("top_k", 1..=MAX_TOP_K).unwrap_or(30),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetInteractionsResponse {
    success: bool,
    interactions: Vec<Interaction>,
    msg: Option<String>,
}

/// The newest turns of a user, in the order in which they happened.
#[utoipa::path(post, path = "/api/get_interactions", tag = "sessions",
    request_body = GetInteractionsRequest, responses((status = 200, body = GetInteractionsResponse)))]
async fn get_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<GetInteractions>,
) -> Result<Json<GetInteractionsResponse>> {
    let interactions = reads::get_interactions(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetInteractionsResponse { success: true, interactions, msg: None }))
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
    /// `pending`, `processing`, `done` or `failed`.
    status: String,
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
    let answer = publish::stored_answer(&app, &caller.org_id, query.request_id).await?;
    Ok(Json(LearningStatus {
        request_id: answer.request_id,
        status: answer.learning_status,
        reason: answer.learning_reason,
    }))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct ListSessionsQuery {
    user_id: Option<String>,
    source: Option<String>,
    agent_version: Option<String>,
    /// How it went by its newest verdict: `success`, `failure`, or `none` for those without one.
    verdict: Option<String>,
    /// Last activity at or after: RFC 3339 or unix seconds.
    start_time: Option<String>,
    /// Last activity before: RFC 3339 or unix seconds.
    end_time: Option<String>,
    /// Some turn contains this text.
    text: Option<String>,
    /// Sessions with these ids, separated by commas; at most 100.
    session_ids: Option<String>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// 1 to 200; 50 when absent.
    limit: Option<i64>,
}

impl Read for ListSessions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        ListSessions {
            user_id: f.optional_id("user_id"),
            source: f.optional_text("source", 128),
            agent_version: f.optional_id("agent_version"),
            verdict: f.choice("verdict", &["success", "failure", "none"]),
            from,
            to,
            text: f.optional_text("text", 1000).filter(|text| !text.trim().is_empty()),
            session_ids: session_ids(f),
            cursor: f.optional_text("cursor", 8000),
            limit: f.integer("limit", 1..=MAX_PAGE).unwrap_or(50),
        }
    }
}

fn session_ids(f: &mut Fields<'_>) -> Option<Vec<String>> {
    let text = f.optional_text("session_ids", 100 * (ID_LENGTH + 1))?;
    let ids: Vec<String> =
        text.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect();
    if ids.len() > 100 {
        f.problem("session_ids", "too_many", "at most 100");
    }
    Some(ids)
}

#[derive(Serialize, ToSchema)]
struct ListSessionsResponse {
    sessions: Vec<ListedSession>,
    /// Ask with this for the next page; null on the last.
    next_cursor: Option<String>,
}

/// Sessions, newest activity first, page by page.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(ListSessionsQuery),
    responses((status = 200, body = ListSessionsResponse)))]
async fn list_sessions(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<ListSessions>,
) -> Result<Json<ListSessionsResponse>> {
    let (sessions, next_cursor) = reads::list(&app, &caller.org_id, query).await?;
    Ok(Json(ListSessionsResponse { sessions, next_cursor }))
}

/// One session, whole.
#[utoipa::path(get, path = "/api/sessions/{user_id}/{session_id}", tag = "sessions",
    params(("user_id" = String, Path), ("session_id" = String, Path)),
    responses((status = 200, body = SessionView)))]
async fn get_session(
    State(app): State<Arc<App>>,
    caller: Caller,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> Result<Json<SessionView>> {
    let Ok(Path((user_id, session_id))) = path else {
        return Err(Error::not_found("session"));
    };
    // What cannot be an id is nobody's; PostgreSQL would not even take U+0000 in a question.
    let id = |text: &str| check_id(text, ID_LENGTH).map_err(|_| Error::not_found("session"));
    reads::view(&app, &caller.org_id, &id(&user_id)?, &id(&session_id)?).await.map(Json)
}

// ── deleting ────────────────────────────────────────────────────────────────────────────────────────

#[derive(ToSchema)]
struct DeleteInteractionRequest {
    user_id: String,
    #[schema(minimum = 1)]
    interaction_id: i64,
}

impl Read for DeleteInteractionRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteInteractionRequest {
            user_id: f.id("user_id"),
            interaction_id: f.required_integer("interaction_id", 1..=i64::MAX),
        }
    }
}

#[derive(ToSchema)]
struct DeleteRequestRequest {
    request_id: String,
}

impl Read for DeleteRequestRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteRequestRequest { request_id: f.id("request_id") }
    }
}

#[derive(ToSchema)]
struct DeleteRequestsByIdsRequest {
    #[schema(min_items = 1, max_items = 1000)]
    request_ids: Vec<String>,
}

impl Read for DeleteRequestsByIdsRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeleteRequestsByIdsRequest { request_ids: f.required_ids("request_ids", 1000) }
    }
}

#[derive(ToSchema)]
struct UserKey {
    user_id: String,
}

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
    deleted_count: usize,
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
    deletes::delete_interaction(&app, &caller.org_id, value.user_id, value.interaction_id).await?;
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
    deletes::delete_requests(&app, &caller.org_id, vec![value.request_id]).await?;
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
    let deleted_count = deletes::delete_requests(&app, &caller.org_id, value.request_ids).await?;
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
        deletes::delete_session(&app, &caller.org_id, value.session_id, value.user_id).await?;
    let message = "session deleted".to_owned();
    Ok(Json(DeletedSession { success: true, message, deleted_requests_count }))
}

/// Delete everything stored for a user. To forget a person with proof, erase them instead.
#[utoipa::path(post, path = "/api/clear_user_data", tag = "sessions",
    request_body = UserKey, responses((status = 200, body = ClearedUserData)))]
async fn clear_user_data(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<UserKey>,
) -> Result<Json<ClearedUserData>> {
    let deleted_counts = deletes::clear_user_data(&app, &caller.org_id, value.user_id).await?;
    Ok(Json(ClearedUserData { success: true, deleted_counts, message: None }))
}
