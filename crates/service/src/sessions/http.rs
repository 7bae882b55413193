//! The endpoints that publish, end a session and say what became of it; those that read are in `http_reads.rs`, those
//! that delete in `http_deletes.rs`. Each extracts, calls the rules and responds.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::outcomes::{ListedOutcome, NewOutcome, OutcomeFilter};
use super::{PublishRequest, PublishResponse, http_deletes, http_reads, outcomes, publish};
use crate::app::App;
use crate::http::Result;
use crate::http::fields::{Fields, Read};
use crate::http::{Caller, Input, QueryInput};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(publish_interaction))
        .routes(routes!(finalize_session))
        .routes(routes!(session_outcome))
        .routes(routes!(get_session_outcomes))
        .merge(http_reads::routes())
        .merge(http_deletes::routes())
}

const METADATA_BYTES: usize = 16 * 1024;
const OUTCOMES: &[&str] = &["success", "failure", "unknown"];

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
    Ok(Json(publish::publish(&app, &caller.org_id, input.value, input.unknown).await?))
}

// ── ending a session, and what became of it ─────────────────────────────────────────────────────────

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
            outcome: f.required_choice("outcome", OUTCOMES),
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
    /// Always null: what cannot be recorded is an error with a code.
    #[schema(value_type = Option<String>)]
    reason: Option<()>,
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
    let message =
        if outcome.new { "outcome recorded" } else { "the same outcome was recorded before" };
    Ok(Json(SessionOutcomeResponse {
        success: true,
        recorded: outcome.new,
        reason: None,
        message: message.to_owned(),
        user_id: outcome.user_id,
        source: outcome.source,
    }))
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
    let session_outcomes = outcomes::list_outcomes(&app, &caller.org_id, filter).await?;
    let message = format!("{} outcomes", session_outcomes.len());
    Ok(Json(GetSessionOutcomesResponse { success: true, session_outcomes, message, msg: None }))
}
