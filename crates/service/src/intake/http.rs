//! The endpoints that publish, end a session and say what became of it; those that delete are in `http_deletes.rs`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{PublishRequest, PublishResponse, http_deletes, outcomes, publish, spans_http};
use crate::app::App;
use crate::credentials::Publisher;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use crate::sessions::NewOutcome;
use crate::sessions::http::SessionKey;
use base::owner::UserId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(publish_interaction))
        .routes(routes!(finalize_session))
        .routes(routes!(session_outcome))
        .merge(http_deletes::routes())
        .merge(spans_http::routes())
}

const METADATA_BYTES: usize = 16 * 1024;

// ── publish ─────────────────────────────────────────────────────────────────────────────────────────

struct PublishQuery;

crate::request_query!(PublishQuery);

impl Read for PublishQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        f.about("Accepted for older clients; every answer waits until the publish is on disk.")
            .optional_flag("wait_for_response");
        PublishQuery
    }
}

/// Publish what happened in a session.
///
/// A 200 means that it is on disk. Sending the same `request_id` again with the same content is safe.
#[utoipa::path(post, path = "/api/publish_interaction", tag = "sessions", params(PublishQuery),
    request_body = PublishRequest, responses((status = 200, body = PublishResponse)))]
async fn publish_interaction(
    State(app): State<Arc<App>>,
    Publisher(caller): Publisher,
    _query: QueryInput<PublishQuery>,
    input: Input<PublishRequest>,
) -> Result<Json<PublishResponse>> {
    Ok(Json(publish::publish(&app, &caller.org_id, input.value, input.unknown).await?))
}

// ── ending a session, and what became of it ─────────────────────────────────────────────────────────

#[derive(Serialize, ToSchema)]
struct FinalizeResponse {
    success: bool,
    message: String,
    user_id: UserId,
    session_id: String,
    finished_at: i64,
}

/// Declare a session finished.
#[utoipa::path(post, path = "/api/finalize_session", tag = "sessions",
    request_body = SessionKey, responses((status = 200, body = FinalizeResponse)))]
async fn finalize_session(
    State(app): State<Arc<App>>,
    Publisher(caller): Publisher,
    Input { value: SessionKey { session_id, user_id }, .. }: Input<SessionKey>,
) -> Result<Json<FinalizeResponse>> {
    let (user_id, finished_at) =
        outcomes::finalize(&app, &caller.org_id, session_id.clone(), user_id).await?;
    let message = "session finished".to_owned();
    Ok(Json(FinalizeResponse { success: true, message, user_id, session_id, finished_at }))
}

crate::request_body!(NewOutcome, "SessionOutcomeRequest");

impl Read for NewOutcome {
    fn read(f: &mut Fields<'_>) -> Self {
        let metadata = f.about("At most 16 KB.").object("metadata");
        if metadata
            .as_ref()
            .is_some_and(|m| serde_json::to_vec(m).is_ok_and(|bytes| bytes.len() > METADATA_BYTES))
        {
            f.problem("metadata", "too_long", format!("larger than {METADATA_BYTES} bytes"));
        }
        NewOutcome {
            session_id: f.id("session_id"),
            outcome: f.required_word("outcome"),
            occurred_at: f.required("occurred_at", |f| f.moment("occurred_at")),
            label: f.id_up_to("label", 128),
            value: f.number("value"),
            metadata,
            user_id: f
                .about("Needed when several users have a session of this id.")
                .optional_id("user_id"),
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
    user_id: UserId,
    /// The source of the session's first request.
    source: String,
}

/// Report what became of a session: ground truth beside every judge.
#[utoipa::path(post, path = "/api/session_outcome", tag = "sessions",
    request_body = NewOutcome, responses((status = 200, body = SessionOutcomeResponse)))]
async fn session_outcome(
    State(app): State<Arc<App>>,
    Publisher(caller): Publisher,
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
