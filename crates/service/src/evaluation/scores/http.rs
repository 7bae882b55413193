//! Endpoint of imported scores.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::NewScore;
use crate::app::App;
use crate::credentials::Caller;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(import_score))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of NewScore
struct ImportScoreRequest {
    scorer_name: String,
    session_id: String,
    value: f64,
    /// When the score was given: unix seconds.
    #[schema(minimum = 0)]
    ts: i64,
    /// Unique per score: the same one again is not counted twice.
    source_run_id: String,
    /// Needed when several users have a session of this id.
    user_id: Option<String>,
}

impl Read for NewScore {
    fn read(f: &mut Fields<'_>) -> Self {
        NewScore {
            scorer_name: f.id("scorer_name"),
            session_id: f.id("session_id"),
            user_id: f.optional_id("user_id"),
            value: f.required("value", |f| f.number("value")),
            ts: f.required_integer("ts", 0..=9_999_999_999),
            source_run_id: f.id("source_run_id"),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct ImportScoreResponse {
    success: bool,
    /// False when this score was imported before.
    recorded: bool,
    user_id: String,
}

/// Import a score that another program gave to a session; partner tiles show them.
#[utoipa::path(post, path = "/api/imported_scores", tag = "evaluation",
    request_body = ImportScoreRequest, responses((status = 200, body = ImportScoreResponse)))]
async fn import_score(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<NewScore>,
) -> Result<Json<ImportScoreResponse>> {
    let imported = super::import(&app, &caller.org_id, input.value).await?;
    let (recorded, user_id) = (imported.recorded, imported.user_id);
    Ok(Json(ImportScoreResponse { success: true, recorded, user_id }))
}
