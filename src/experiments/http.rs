//! Endpoints of retrieval experiments: extract, call the rules, respond.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::lifecycle::{self, NewExperiment};
use super::{ID_LENGTH, RetrievalExperimentListResponse};
use crate::app::App;
use crate::error::Result;
use crate::http::fields::{Fields, Read};
use crate::http::{Caller, Input, Operator};

const PATH: &str = "/api/retrieval_experiments";

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_experiments, start_experiment))
        .routes(routes!(stop_experiment))
}

/// All experiments, and the active one.
#[utoipa::path(get, path = PATH, tag = "experiments",
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn list_experiments(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<RetrievalExperimentListResponse>> {
    lifecycle::list(&app, &caller.org_id).await.map(Json)
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
    lifecycle::start(&app, &operator.0.org_id, value).await.map(Json)
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
    lifecycle::stop(&app, &operator.0.org_id, value.experiment_id).await.map(Json)
}
