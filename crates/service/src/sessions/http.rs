//! The endpoints that read sessions, requests, interactions and outcomes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::reads::{self, GetInteractions, GetRequests, ListSessions, SessionRequests};
use super::rows::RequestFilter;
use super::{Interaction, ListedOutcome, ListedSession, OUTCOMES, OutcomeFilter};

use crate::app::App;
use crate::credentials::Caller;
use crate::http::fields::{Fields, ID_LENGTH, Read};
use crate::http::{Input, QueryInput, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_requests))
        .routes(routes!(get_interactions))
        .routes(routes!(get_session_outcomes))
        .routes(routes!(list_sessions))
}

const MAX_TOP_K: i64 = 1000;
const MAX_PAGE: i64 = 200;

#[derive(IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct SessionKey {
    pub session_id: String,
    /// Needed when several users have a session of this id.
    pub user_id: Option<String>,
}

impl Read for SessionKey {
    fn read(f: &mut Fields<'_>) -> Self {
        SessionKey { session_id: f.id("session_id"), user_id: f.optional_id("user_id") }
    }
}

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

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of OutcomeFilter
struct GetSessionOutcomesRequest {
    /// All sessions when absent.
    #[schema(max_items = 1000)]
    session_ids: Option<Vec<String>>,
    user_id: Option<String>,
    /// Of the session's first request.
    source: Option<String>,
    /// `success`, `failure` or `unknown`.
    outcome: Option<String>,
    label: Option<String>,
    /// RFC 3339 or unix seconds, included: when it occurred.
    #[schema(value_type = Option<String>)]
    start_time: Option<i64>,
    /// RFC 3339 or unix seconds, included.
    #[schema(value_type = Option<String>)]
    end_time: Option<i64>,
    /// How many; 100 when absent, or as many as `session_ids` can have.
    #[schema(minimum = 1, maximum = 1000)]
    top_k: Option<i64>,
    /// Outcomes to skip.
    #[schema(minimum = 0)]
    offset: Option<i64>,
}

impl Read for OutcomeFilter {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = (f.time("start_time"), f.time("end_time"));
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            f.problem("end_time", "before_start", "must not be before start_time");
        }
        let session_ids =
            (!f.is_absent("session_ids")).then(|| f.required_ids("session_ids", 1000));
        let limit = if session_ids.is_some() { 1000 } else { 100 };
        // Asked for either way, so that null is not unknown.
        let _ = f.any("session_ids");
        OutcomeFilter {
            session_ids,
            user_id: f.optional_id("user_id"),
            source: f.optional_text("source", 128),
            outcome: f.choice("outcome", OUTCOMES),
            label: f.optional_text("label", 128),
            from,
            to,
            limit: f.integer("top_k", 1..=1000).unwrap_or(limit),
            offset: f.integer("offset", 0..=1_000_000_000).unwrap_or(0),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetSessionOutcomesResponse {
    success: bool,
    session_outcomes: Vec<ListedOutcome>,
    message: String,
    msg: Option<String>,
}

/// The current outcomes of sessions, newest first.
#[utoipa::path(post, path = "/api/get_session_outcomes", tag = "sessions",
    request_body = GetSessionOutcomesRequest, responses((status = 200, body = GetSessionOutcomesResponse)))]
async fn get_session_outcomes(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value: filter, .. }: Input<OutcomeFilter>,
) -> Result<Json<GetSessionOutcomesResponse>> {
    let session_outcomes = super::list_outcomes(&app, &caller.org_id, filter).await?;
    let message = format!("{} outcomes", session_outcomes.len());
    Ok(Json(GetSessionOutcomesResponse { success: true, session_outcomes, message, msg: None }))
}
