//! Endpoints of verdicts, decisions and grading on demand: extract, call the rules, respond.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::learning_verdicts::{self, LearningQuery, LearningVerdict};
use super::{decisions, on_demand, rows as results};
use crate::app::App;
use crate::credentials::{Caller, Operator};
use crate::evaluation::{
    AGENT_SUCCESS, Decision, DecisionQuery, EvaluationResult, Grade, GradeRequest, ResultQuery,
};
use crate::http::fields::{Fields, Read};
use crate::http::{BadGateway, Input, QueryInput, Result};

const MAX_LIMIT: i64 = 1000;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_agent_success_evaluation_results))
        .routes(routes!(get_retrieved_learning_evaluation_results))
        .routes(routes!(get_decisions))
        .routes(routes!(grade_on_demand))
}

crate::request_body!(ResultQuery, "GetAgentSuccessEvaluationResultsRequest");

impl Read for ResultQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        ResultQuery {
            agent_version: f.optional_id("agent_version"),
            evaluation_name: f
                .about("`agent_success`, or an evaluator's name; all of them when absent.")
                .optional_id("evaluation_name"),
            user_id: f.optional_id("user_id"),
            session_id: f.optional_id("session_id"),
            from,
            to,
            one_each: !f
                .about("Also verdicts on versions of the agent that are not a session's latest.")
                .flag("all_versions"),
            limit: f.about("How many.").integer_or("limit", 1..=MAX_LIMIT, 100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetAgentSuccessEvaluationResultsResponse {
    success: bool,
    agent_success_evaluation_results: Vec<EvaluationResult>,
    msg: Option<String>,
}

/// Verdicts on sessions, newest session first.
#[utoipa::path(post, path = "/api/get_agent_success_evaluation_results", tag = "evaluation",
    request_body = ResultQuery,
    responses((status = 200, body = GetAgentSuccessEvaluationResultsResponse)))]
async fn get_agent_success_evaluation_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<ResultQuery>,
) -> Result<Json<GetAgentSuccessEvaluationResultsResponse>> {
    let found = results::list(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetAgentSuccessEvaluationResultsResponse {
        success: true,
        agent_success_evaluation_results: found,
        msg: None,
    }))
}

crate::request_body!(LearningQuery, "GetRetrievedLearningEvaluationResultsRequest");

impl Read for LearningQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        LearningQuery {
            user_id: f.optional_id("user_id"),
            session_id: f.optional_id("session_id"),
            from,
            to,
            limit: f.about("How many.").integer_or("limit", 1..=MAX_LIMIT, 100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct GetRetrievedLearningEvaluationResultsResponse {
    success: bool,
    results: Vec<LearningVerdict>,
    msg: Option<String>,
}

/// Verdicts on retrieved learnings, newest turn first.
#[utoipa::path(post, path = "/api/get_retrieved_learning_evaluation_results", tag = "evaluation",
    request_body = LearningQuery,
    responses((status = 200, body = GetRetrievedLearningEvaluationResultsResponse)))]
async fn get_retrieved_learning_evaluation_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<LearningQuery>,
) -> Result<Json<GetRetrievedLearningEvaluationResultsResponse>> {
    let results = learning_verdicts::list(&app, &caller.org_id, input.value).await?;
    Ok(Json(GetRetrievedLearningEvaluationResultsResponse { success: true, results, msg: None }))
}

crate::request_query!(DecisionQuery);

impl Read for DecisionQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let query = DecisionQuery {
            user_id: f.optional_id("user_id"),
            session_id: f.optional_id("session_id"),
            limit: f.about("How many of a user's newest sessions.").integer_or(
                "limit",
                1..=MAX_LIMIT,
                100,
            ),
        };
        if f.is_absent("user_id") && f.is_absent("session_id") {
            f.problem("session_id", "required", "session_id, user_id or both");
        }
        query
    }
}

#[derive(Serialize, ToSchema)]
struct DecisionsResponse {
    decisions: Vec<Decision>,
}

/// Evaluation decisions: the reason for a session's verdict, or for its absence.
#[utoipa::path(get, path = "/api/evaluations/decisions", tag = "evaluation", params(DecisionQuery),
    responses((status = 200, body = DecisionsResponse)))]
async fn get_decisions(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<DecisionQuery>,
) -> Result<Json<DecisionsResponse>> {
    let decisions = decisions::decisions(&app, &caller.org_id, query).await?;
    Ok(Json(DecisionsResponse { decisions }))
}

crate::request_body!(GradeRequest, "GradeOnDemandRequest");

impl Read for GradeRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        GradeRequest {
            session_id: f.id("session_id"),
            agent_version: f.id("agent_version"),
            evaluation_name: f.id_or("evaluation_name", AGENT_SUCCESS),
            user_id: f
                .about("Needed when several users have a session of this id.")
                .optional_id("user_id"),
            refresh: f.about("Grade again, whatever is cached.").flag("refresh"),
        }
    }
}

/// Grade one session now. Calls for the same session at the same time share one judgement; within 24 hours the
/// verdict is given again.
#[utoipa::path(post, path = "/api/evaluations/grade_on_demand", tag = "evaluation",
    request_body = GradeRequest, responses((status = 200, body = Grade), BadGateway))]
async fn grade_on_demand(
    State(app): State<Arc<App>>,
    operator: Operator,
    input: Input<GradeRequest>,
) -> Result<Json<Grade>> {
    Ok(Json(on_demand::grade_on_demand(&app, &operator.0.org_id, input.value).await?))
}
