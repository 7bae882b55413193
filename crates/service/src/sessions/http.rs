//! The endpoints that read sessions, requests, interactions and outcomes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::export::{self, ExportSessions};
use super::list::{ListSessions, SessionPage, list};
use super::reads::{self, GetInteractions, GetRequests, SearchInteractions, SessionRequests};
use super::rows::RequestFilter;
use super::{Interaction, ListedOutcome, OutcomeFilter, SessionOrder};
use base::owner::UserId;

use crate::app::App;
use crate::credentials::{Caller, Inspector};
use crate::experiments;
use crate::http::fields::{Fields, ID_LENGTH, Read};
use crate::http::{Input, QueryInput, Result, ndjson};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_requests))
        .routes(routes!(get_interactions))
        .routes(routes!(get_all_interactions))
        .routes(routes!(search_interactions))
        .routes(routes!(get_session_outcomes))
        .routes(routes!(list_sessions))
        .routes(routes!(export_sessions))
}

const MAX_TOP_K: i64 = 1000;
const MAX_PAGE: i64 = 200;

/// A session by its id.
pub struct SessionKey {
    pub session_id: String,
    pub user_id: Option<UserId>,
}

crate::request_body!(SessionKey, "SessionKey");
crate::request_query!(SessionKey);

impl Read for SessionKey {
    fn read(f: &mut Fields<'_>) -> Self {
        let about = "Needed when several users have a session of this id.";
        SessionKey {
            session_id: f.id("session_id"),
            user_id: f.about(about).optional_id("user_id"),
        }
    }
}

crate::request_body!(GetRequests, "GetRequestsRequest");

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
            top_k: f.about("How many sessions.").integer_or("top_k", 1..=MAX_TOP_K, 30),
            offset: f.about("Sessions to skip.").integer_or("offset", 0..=1_000_000_000, 0),
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
    request_body = GetRequests, responses((status = 200, body = GetRequestsResponse)))]
async fn get_requests(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<GetRequests>,
) -> Result<Json<GetRequestsResponse>> {
    let (sessions, has_more) = reads::get_requests(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetRequestsResponse { success: true, sessions, has_more, msg: None }))
}

crate::request_body!(GetInteractions, "GetInteractionsRequest");

impl Read for GetInteractions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        GetInteractions {
            user_id: f.id("user_id"),
            from,
            to,
            top_k: f.about("How many turns.").integer_or("top_k", 1..=MAX_TOP_K, 30),
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
    request_body = GetInteractions, responses((status = 200, body = GetInteractionsResponse)))]
async fn get_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<GetInteractions>,
) -> Result<Json<GetInteractionsResponse>> {
    let interactions = reads::get_interactions(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetInteractionsResponse { success: true, interactions, msg: None }))
}

struct GetAllInteractions {
    limit: i64,
}

crate::request_query!(GetAllInteractions);

impl Read for GetAllInteractions {
    fn read(f: &mut Fields<'_>) -> Self {
        GetAllInteractions { limit: f.integer_or("limit", 1..=MAX_TOP_K, 100) }
    }
}

/// The newest turns of everybody, in the order in which they happened.
#[utoipa::path(get, path = "/api/get_all_interactions", tag = "sessions", params(GetAllInteractions),
    responses((status = 200, body = GetInteractionsResponse)))]
async fn get_all_interactions(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<GetAllInteractions>,
) -> Result<Json<GetInteractionsResponse>> {
    let interactions = reads::newest_of_everybody(&app, &caller.org_id, query.limit).await?;
    Ok(Json(GetInteractionsResponse { success: true, interactions, msg: None }))
}

crate::request_body!(SearchInteractions, "SearchInteractionsRequest");

impl Read for SearchInteractions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        let newest = f.about("The same as `top_k`.").integer("most_recent_k", 1..=MAX_TOP_K);
        let top_k = f.integer_or("top_k", 1..=MAX_TOP_K, newest.unwrap_or(10));
        SearchInteractions {
            user_id: f.id("user_id"),
            request_id: f.optional_id("request_id"),
            query: f
                .about("Words to look for; without them, the newest turns.")
                .optional_text("query", 20_000)
                .filter(|query| !query.trim().is_empty()),
            from,
            to,
            top_k: usize::try_from(top_k).unwrap_or(1),
        }
    }
}

/// Search the newest 5,000 turns of a user by their words.
#[utoipa::path(post, path = "/api/search_interactions", tag = "sessions",
    request_body = SearchInteractions, responses((status = 200, body = GetInteractionsResponse)))]
async fn search_interactions(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value, .. }: Input<SearchInteractions>,
) -> Result<Json<GetInteractionsResponse>> {
    let interactions = reads::search_interactions(&app, &caller.org_id, value).await?;
    Ok(Json(GetInteractionsResponse { success: true, interactions, msg: None }))
}

crate::request_query!(ListSessions);

impl Read for ListSessions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        let experiment_id = f
            .about("Some request names this experiment.")
            .id_up_to("experiment_id", experiments::ID_LENGTH);
        let arm = f.about("With `experiment_id`: in this arm.").word("arm");
        if arm.is_some() && experiment_id.is_none() {
            f.problem("arm", "needs_experiment", "say of which experiment_id");
        }
        ListSessions {
            experiment_id,
            arm,
            order: f.about("By last activity.").word_or("order", SessionOrder::Newest),
            user_id: f.optional_id("user_id"),
            source: f.optional_text("source", 128),
            agent_version: f.optional_id("agent_version"),
            verdict: f.about("By the newest verdict.").word("verdict"),
            from,
            to,
            text: f
                .about("Some turn contains this text.")
                .optional_text("text", 1000)
                .filter(|text| !text.trim().is_empty()),
            session_ids: session_ids(f),
            cursor: f.about("`next_cursor` of the page before.").optional_text("cursor", 8000),
            min_corrections: f
                .about("So many corrections or more, by the newest verdict.")
                .integer("min_corrections", 0..=1_000_000),
            max_corrections: f
                .about("So many corrections at most, by the newest verdict.")
                .integer("max_corrections", 0..=1_000_000),
            limit: f.integer_or("limit", 1..=MAX_PAGE, 50),
            count: f.about("Whether `total` is counted.").flag_or("count", false),
        }
    }
}

fn session_ids(f: &mut Fields<'_>) -> Option<Vec<String>> {
    let text = f
        .about("Sessions with these ids, separated by commas; at most 100.")
        .optional_text("session_ids", 100 * (ID_LENGTH + 1))?;
    let ids: Vec<String> =
        text.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect();
    if ids.len() > 100 {
        f.problem("session_ids", "too_many", "at most 100");
    }
    Some(ids)
}

/// Sessions, newest activity first or last, page by page.
///
/// A filter that has to look at many sessions answers after about a second with what it found so far (`searched_to`).
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(ListSessions),
    responses((status = 200, body = SessionPage)))]
async fn list_sessions(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<ListSessions>,
) -> Result<Json<SessionPage>> {
    Ok(Json(list(&app, &caller.org_id, query).await?))
}

crate::request_query!(ExportSessions);

impl Read for ExportSessions {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        ExportSessions {
            user_id: f.optional_id("user_id"),
            source: f.optional_text("source", 128),
            agent_version: f.optional_id("agent_version"),
            from,
            to,
        }
    }
}

/// Sessions with everything that was published of them, one JSON object per line. Times are those of a session's last
/// activity. `evenhand import jsonl` reads it.
#[utoipa::path(get, path = "/api/sessions/export", tag = "sessions", params(ExportSessions),
    responses((status = 200, content_type = "application/x-ndjson", body = String)))]
async fn export_sessions(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(filter): QueryInput<ExportSessions>,
) -> Result<Response> {
    Ok(ndjson(export::begin(&app, &caller.org_id, filter)).await?)
}

crate::request_body!(OutcomeFilter, "GetSessionOutcomesRequest");

impl Read for OutcomeFilter {
    fn read(f: &mut Fields<'_>) -> Self {
        let from = f.about("When it occurred, included.").time("start_time");
        let to = f.about("Included.").time("end_time");
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            f.problem("end_time", "before_start", "must not be before start_time");
        }
        let session_ids = f.about("All sessions when absent.").optional_ids("session_ids", 1000);
        let limit = if session_ids.is_some() { 1000 } else { 100 };
        OutcomeFilter {
            session_ids,
            user_id: f.optional_id("user_id"),
            source: f.about("Of the session's first request.").optional_text("source", 128),
            outcome: f.word("outcome"),
            label: f.optional_text("label", 128),
            from,
            to,
            limit: f
                .about("How many; 100 when absent, or as many as `session_ids` can have.")
                .integer("top_k", 1..=1000)
                .unwrap_or(limit),
            offset: f.about("Outcomes to skip.").integer_or("offset", 0..=1_000_000_000, 0),
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
    request_body = OutcomeFilter, responses((status = 200, body = GetSessionOutcomesResponse)))]
async fn get_session_outcomes(
    State(app): State<Arc<App>>,
    caller: Caller,
    Input { value: filter, .. }: Input<OutcomeFilter>,
) -> Result<Json<GetSessionOutcomesResponse>> {
    let session_outcomes = super::list_outcomes(&app, &caller.org_id, filter).await?;
    let message = format!("{} outcomes", session_outcomes.len());
    Ok(Json(GetSessionOutcomesResponse { success: true, session_outcomes, message, msg: None }))
}
