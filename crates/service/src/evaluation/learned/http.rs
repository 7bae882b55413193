//! The endpoint of the learned judge.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::LearnedJudge;
use crate::app::App;
use crate::credentials::Caller;
use crate::http::Result;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(get_learned_judge))
}

/// The learned judge: progress to its first training, and the report card of the model in use.
#[utoipa::path(get, path = "/api/evaluations/learned_judge", tag = "evaluation",
    responses((status = 200, body = LearnedJudge)))]
async fn get_learned_judge(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<LearnedJudge>> {
    Ok(Json(super::card(&app, &caller.org_id).await?))
}
