//! Endpoints of retrieval experiments: extract, call the rules, respond.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::stream;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::export::{self, Export};
use super::lifecycle::{self, NewExperiment};
use super::plan::{self, PlanQuery, RetrievalExperimentPlan};
use super::{
    ID_LENGTH, RetrievalExperimentListResponse, RetrievalExperimentResultsResponse, results,
};
use crate::app::App;
use crate::credentials::{Caller, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, QueryInput, Result};
use stats::CiMethod;
use storage::error::Error;

const PATH: &str = "/api/retrieval_experiments";

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_experiments, start_experiment))
        .routes(routes!(stop_experiment))
        .routes(routes!(get_results))
        .routes(routes!(get_plan))
        .routes(routes!(export_rows))
}

/// All experiments, and the active one.
#[utoipa::path(get, path = PATH, tag = "experiments",
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn list_experiments(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<RetrievalExperimentListResponse>> {
    Ok(Json(lifecycle::list(&app, &caller.org_id).await?))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of NewExperiment
struct StartRetrievalExperimentRequest {
    /// Never used before; at most 128 characters.
    experiment_id: String,
    /// Share of users who are held out, in percent: greater than 0 and less than 100.
    holdout_percentage: f64,
    /// How many users the experiment is planned for (5000 when absent): where the always-valid interval is
    /// tightest. Fixed from here on.
    #[schema(minimum = 2, maximum = 1_000_000_000)]
    planned_users: Option<i64>,
    /// The smallest lift that matters (2 when absent): greater than 0 and less than 100. Fixed from here on.
    margin_percentage_points: Option<f64>,
}

impl Read for NewExperiment {
    fn read(f: &mut Fields<'_>) -> Self {
        NewExperiment {
            experiment_id: experiment_id(f),
            holdout_percentage: f
                .required("holdout_percentage", |f| percentage(f, "holdout_percentage").map(Some))
                .unwrap_or_default(),
            planned_users: f.integer("planned_users", 2..=1_000_000_000),
            margin_percentage_points: percentage(f, "margin_percentage_points"),
        }
    }
}

fn experiment_id(f: &mut Fields<'_>) -> String {
    f.required("experiment_id", |f| f.id_up_to("experiment_id", ID_LENGTH))
}

/// A number strictly between 0 and 100.
fn percentage(f: &mut Fields<'_>, name: &'static str) -> Option<f64> {
    let number = f.number(name)?;
    if number > 0.0 && number < 100.0 {
        return Some(number);
    }
    f.problem(name, "out_of_range", "must be greater than 0 and less than 100");
    None
}

/// Start an experiment: from now on every user is in one of its two arms.
#[utoipa::path(post, path = PATH, tag = "experiments", request_body = StartRetrievalExperimentRequest,
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn start_experiment(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<NewExperiment>,
) -> Result<Json<RetrievalExperimentListResponse>> {
    Ok(Json(lifecycle::start(&app, &operator.0.org_id, value).await?))
}

#[derive(ToSchema)]
struct StopRetrievalExperimentRequest {
    experiment_id: String,
}

impl Read for StopRetrievalExperimentRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        StopRetrievalExperimentRequest { experiment_id: experiment_id(f) }
    }
}

/// Stop the active experiment. What was stored stays.
#[utoipa::path(post, path = "/api/retrieval_experiments/stop", tag = "experiments",
    request_body = StopRetrievalExperimentRequest,
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn stop_experiment(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<StopRetrievalExperimentRequest>,
) -> Result<Json<RetrievalExperimentListResponse>> {
    Ok(Json(lifecycle::stop(&app, &operator.0.org_id, value.experiment_id).await?))
}

struct ResultsQuery(CiMethod);

impl Read for ResultsQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let methods = CiMethod::ALL.map(CiMethod::as_str);
        let method = f.choice("ci_method", &methods).and_then(CiMethod::parse);
        ResultsQuery(method.unwrap_or_default())
    }
}

/// What an experiment shows so far.
#[utoipa::path(get, path = "/api/retrieval_experiments/{experiment_id}/results", tag = "experiments",
    params(
        ("experiment_id" = String, Path),
        ("ci_method" = Option<String>, Query,
            description = "How the interval is made: clustered_newcombe_tbm (default), cr2_bell_mccaffrey, \
                cr1_t_clusters_minus_1, delta_welch or newcombe_neff"),
    ),
    responses((status = 200, body = RetrievalExperimentResultsResponse)))]
async fn get_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(experiment_id): PathId,
    QueryInput(ResultsQuery(method)): QueryInput<ResultsQuery>,
) -> Result<Json<RetrievalExperimentResultsResponse>> {
    Ok(Json(results::results(&app, &caller.org_id, &experiment_id, method).await?))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct PlanParams {
    /// Greater than 0 and less than 100; 10 when absent.
    holdout_percentage: Option<f64>,
    /// The lift to be seen; 2 when absent.
    effect_percentage_points: Option<f64>,
    /// The probability of seeing it if it is there; 0.8 when absent.
    power: Option<f64>,
    /// Past days the plan stands on; 30 when absent.
    days: Option<i64>,
}

impl Read for PlanQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let unless_said = PlanQuery::default();
        let power = f.number("power");
        if power.is_some_and(|power| !(power > 0.0 && power < 1.0)) {
            f.problem("power", "out_of_range", "must be greater than 0 and less than 1");
        }
        PlanQuery {
            holdout_percentage: percentage(f, "holdout_percentage")
                .unwrap_or(unless_said.holdout_percentage),
            effect_percentage_points: percentage(f, "effect_percentage_points")
                .unwrap_or(unless_said.effect_percentage_points),
            power: power.unwrap_or(unless_said.power),
            days: f.integer("days", 1..=3650).unwrap_or(unless_said.days),
        }
    }
}

/// How many users and days an experiment needs, judging by past sessions.
#[utoipa::path(get, path = "/api/retrieval_experiments/plan", tag = "experiments", params(PlanParams),
    responses((status = 200, body = RetrievalExperimentPlan)))]
async fn get_plan(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(query): QueryInput<PlanQuery>,
) -> Result<Json<RetrievalExperimentPlan>> {
    Ok(Json(plan::plan(&app, &caller.org_id, query).await?))
}

/// The rows behind the results, one JSON object per line, with references in the place of ids. What
/// `evenhand experiments analyse` reads.
#[utoipa::path(get, path = "/api/retrieval_experiments/{experiment_id}/export", tag = "experiments",
    params(("experiment_id" = String, Path)),
    responses((status = 200, content_type = "application/x-ndjson", body = String)))]
async fn export_rows(
    State(app): State<Arc<App>>,
    operator: Operator,
    PathId(experiment_id): PathId,
) -> Result<impl IntoResponse> {
    let export = export::begin(&app, &operator.0.org_id, experiment_id).await?;
    let pages = stream::try_unfold(export, |mut export: Export| async move {
        let page = export.next_page().await?;
        Ok::<_, Error>(page.map(|page| (page, export)))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(pages)))
}
