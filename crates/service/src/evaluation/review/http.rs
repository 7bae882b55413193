//! Endpoints of one session with its verdicts, people's labels and agreement.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::agreement::GroundTruth;
use super::estimate::{self, EstimateQuery, EstimatedSuccess};
use super::judge_health::{self, JudgeHealth};
use super::labels::LabelView;
use super::queue::{self, ReviewQueue};
use super::session_view::{self, SessionView};
use super::{Agreement, AgreementQuery, NewLabel, agreement, labels};
use crate::app::App;
use crate::credentials::{Caller, Operator};
use crate::evaluation::AGENT_SUCCESS;
use crate::evaluation::window::moment;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathIds, QueryInput, Result};
use crate::sessions::http::SessionKey;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_labels, post_labels))
        .routes(routes!(get_session))
        .routes(routes!(get_judge_health))
        .routes(routes!(get_agreement))
        .routes(routes!(get_estimated_success))
        .routes(routes!(draw_reviews))
}

struct LabelsRequest {
    labels: Vec<NewLabel>,
}

crate::request_body!(LabelsRequest, "LabelsRequest");

impl Read for LabelsRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        LabelsRequest { labels: f.required_list("labels", 1000) }
    }
}

#[derive(Serialize, ToSchema)]
struct SessionLabels {
    /// Newest first.
    labels: Vec<LabelView>,
}

/// People's labels of a session.
#[utoipa::path(get, path = "/api/evaluations/labels", tag = "evaluation", params(SessionKey),
    responses((status = 200, body = SessionLabels)))]
async fn get_labels(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(SessionKey { session_id, user_id }): QueryInput<SessionKey>,
) -> Result<Json<SessionLabels>> {
    let labels = labels::labels_of(&app, &caller.org_id, user_id, session_id).await?;
    Ok(Json(SessionLabels { labels }))
}

/// Health of the judge: paused or not, spending, decisions of the last seven days and the reasons for missing
/// verdicts.
#[utoipa::path(get, path = "/api/evaluations/judge_health", tag = "evaluation",
    responses((status = 200, body = JudgeHealth)))]
async fn get_judge_health(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<JudgeHealth>> {
    Ok(Json(judge_health::judge_health(&app, &caller.org_id).await?))
}

#[derive(Serialize, ToSchema)]
struct LabelsResponse {
    success: bool,
    labelled: usize,
}

/// Say what really became of sessions.
#[utoipa::path(post, path = "/api/evaluations/labels", tag = "evaluation",
    request_body = LabelsRequest, responses((status = 200, body = LabelsResponse)))]
async fn post_labels(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<LabelsRequest>,
) -> Result<Json<LabelsResponse>> {
    let labelled = labels::label(&app, &operator.0.org_id, value.labels).await?;
    Ok(Json(LabelsResponse { success: true, labelled }))
}

crate::request_query!(AgreementQuery);

impl Read for AgreementQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let query = AgreementQuery {
            evaluation_name: f.id_or("evaluation_name", AGENT_SUCCESS),
            from: moment(f.about("Included: of the sessions' first requests."), "from_ts"),
            to: moment(f.about("Included."), "to_ts"),
            agent_version: f.optional_id("agent_version"),
            prompt_version: f.about("Only verdicts of this rubric.").optional_id("prompt_version"),
            judge: f.about("Only verdicts of this judge.").optional_id("judge"),
            source: f.about("Only sessions of this source.").optional_text("source", 500),
            ground_truth: f.word_or("ground_truth", GroundTruth::Both),
        };
        if let (Some(from), Some(to)) = (query.from, query.to)
            && from > to
        {
            f.problem("to_ts", "not_after_start", "must not be before from_ts");
        }
        query
    }
}

/// Agreement of the judge with people, and the success rate corrected for the judge's errors.
#[utoipa::path(get, path = "/api/evaluations/agreement", tag = "evaluation", params(AgreementQuery),
    responses((status = 200, body = Agreement)))]
async fn get_agreement(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<AgreementQuery>,
) -> Result<Json<Agreement>> {
    Ok(Json(agreement::agreement(&app, &caller.org_id, query).await?))
}

crate::request_query!(EstimateQuery);

impl Read for EstimateQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let query = EstimateQuery {
            from: moment(f.about("Included: of the sessions' first requests."), "from_ts"),
            to: moment(f.about("Included."), "to_ts"),
        };
        if let (Some(from), Some(to)) = (query.from, query.to)
            && from > to
        {
            f.problem("to_ts", "not_after_start", "must not be before from_ts");
        }
        query
    }
}

/// Success rates over all sessions that were due, decided or not, by source, corrected by labels drawn at random.
#[utoipa::path(get, path = "/api/evaluations/estimated_success", tag = "evaluation", params(EstimateQuery),
    responses((status = 200, body = EstimatedSuccess)))]
async fn get_estimated_success(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<EstimateQuery>,
) -> Result<Json<EstimatedSuccess>> {
    Ok(Json(estimate::estimated_success(&app, &caller.org_id, query).await?))
}

struct ReviewRequest {
    limit: i64,
}

crate::request_body!(ReviewRequest, "ReviewQueueRequest");

impl Read for ReviewRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        ReviewRequest { limit: f.integer_or("limit", 1..=200, 20) }
    }
}

/// Sessions for people to look at, half drawn at random and half where a label teaches most; more are drawn when fewer
/// are open.
#[utoipa::path(post, path = "/api/evaluations/review_queue", tag = "evaluation",
    request_body = ReviewRequest, responses((status = 200, body = ReviewQueue)))]
async fn draw_reviews(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<ReviewRequest>,
) -> Result<Json<ReviewQueue>> {
    let limit = usize::try_from(value.limit).unwrap_or(1);
    Ok(Json(queue::review_queue(&app, &operator.0.org_id, limit).await?))
}

/// One session, whole.
#[utoipa::path(get, path = "/api/sessions/{user_id}/{session_id}", tag = "sessions",
    params(("user_id" = String, Path), ("session_id" = String, Path)),
    responses((status = 200, body = SessionView)))]
async fn get_session(
    State(app): State<Arc<App>>,
    caller: Caller,
    ids: PathIds<2>,
) -> Result<Json<SessionView>> {
    let PathIds([user_id, session_id]) = ids;
    Ok(Json(session_view::view(&app, &caller.org_id, &user_id.into(), &session_id).await?))
}
