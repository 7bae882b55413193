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
use crate::credentials::Contributor;
use crate::evaluation::window::moment;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};
use base::owner::UserId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(import_score))
}

crate::request_body!(NewScore, "ImportScoreRequest");

impl Read for NewScore {
    fn read(f: &mut Fields<'_>) -> Self {
        NewScore {
            scorer_name: f.id("scorer_name"),
            session_id: f.id("session_id"),
            user_id: f
                .about("Needed when several users have a session of this id.")
                .optional_id("user_id"),
            value: f.required("value", |f| f.number("value")),
            ts: f.about("When the score was given.").required("ts", |f| moment(f, "ts")),
            source_run_id: f
                .about("Unique per score: the same one again is not counted twice.")
                .id("source_run_id"),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct ImportScoreResponse {
    success: bool,
    /// False when this score was imported before.
    recorded: bool,
    user_id: UserId,
}

/// Import a score that another program gave to a session; partner tiles show them.
#[utoipa::path(post, path = "/api/imported_scores", tag = "evaluation",
    request_body = NewScore, responses((status = 200, body = ImportScoreResponse)))]
async fn import_score(
    State(app): State<Arc<App>>,
    Contributor(caller): Contributor,
    input: Input<NewScore>,
) -> Result<Json<ImportScoreResponse>> {
    let imported = super::import(&app, &caller.org_id, input.value).await?;
    let (recorded, user_id) = (imported.recorded, imported.user_id);
    Ok(Json(ImportScoreResponse { success: true, recorded, user_id }))
}
