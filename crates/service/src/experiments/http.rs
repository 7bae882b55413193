//! Endpoints of retrieval experiments: extract, call the rules, respond.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::about::{self, AboutChange};
use super::export;
use super::lifecycle::{self, MOST_PLANNED_USERS, NewExperiment};
use super::plan::{self, PlanQuery, RetrievalExperimentPlan};
use super::{
    ExperimentAbout, ID_LENGTH, MARGIN, RetrievalExperimentListResponse,
    RetrievalExperimentResultsResponse, results,
};
use crate::app::App;
use crate::credentials::{Caller, Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, QueryInput, Result, ndjson};
use stats::CiMethod;

const PATH: &str = "/api/retrieval_experiments";

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list_experiments, start_experiment))
        .routes(routes!(stop_experiment))
        .routes(routes!(change_about))
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

crate::request_body!(NewExperiment, "StartRetrievalExperimentRequest");

impl Read for NewExperiment {
    fn read(f: &mut Fields<'_>) -> Self {
        NewExperiment {
            experiment_id: experiment_id(f.about("Never used before.")),
            holdout_percentage: f.required("holdout_percentage", |f| {
                f.about("Share of users who are held out, in percent.")
                    .number_between("holdout_percentage", 0.0, 100.0)
            }),
            planned_users: f
                .about(
                    "How many users the experiment is planned for: where the always-valid interval is tightest. Fixed \
                     from here on. As the planner says when absent.",
                )
                .integer("planned_users", 2..=MOST_PLANNED_USERS),
            margin_percentage_points: f
                .about("The smallest lift that matters. Fixed from here on.")
                .number_between_or("margin_percentage_points", 0.0, 100.0, MARGIN),
            about: {
                let AboutChange { hypothesis, owner, notes } = AboutChange::read(f);
                ExperimentAbout {
                    hypothesis: hypothesis.unwrap_or_default(),
                    owner: owner.unwrap_or_default(),
                    notes: notes.unwrap_or_default(),
                }
            },
        }
    }
}

const HYPOTHESIS_LENGTH: usize = 500;
const OWNER_LENGTH: usize = 128;
const NOTES_LENGTH: usize = 4000;

crate::request_body!(AboutChange, "ChangeExperimentAboutRequest");

impl Read for AboutChange {
    fn read(f: &mut Fields<'_>) -> Self {
        let mut text =
            |name, longest| f.optional_text(name, longest).map(|text| text.trim().to_owned());
        AboutChange {
            hypothesis: text("hypothesis", HYPOTHESIS_LENGTH),
            owner: text("owner", OWNER_LENGTH),
            notes: text("notes", NOTES_LENGTH),
        }
    }
}

fn experiment_id(f: &mut Fields<'_>) -> String {
    f.required("experiment_id", |f| f.id_up_to("experiment_id", ID_LENGTH))
}

/// Start an experiment: from now on every user is in one of its two arms.
#[utoipa::path(post, path = PATH, tag = "experiments", request_body = NewExperiment,
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn start_experiment(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<NewExperiment>,
) -> Result<Json<RetrievalExperimentListResponse>> {
    Ok(Json(lifecycle::start(&app, &operator.0.org_id, value).await?))
}

/// The experiment to stop.
struct Stop {
    experiment_id: String,
}

crate::request_body!(Stop, "StopRetrievalExperimentRequest");

impl Read for Stop {
    fn read(f: &mut Fields<'_>) -> Self {
        Stop { experiment_id: experiment_id(f) }
    }
}

/// Stop the active experiment. What was stored stays.
#[utoipa::path(post, path = "/api/retrieval_experiments/stop", tag = "experiments",
    request_body = Stop,
    responses((status = 200, body = RetrievalExperimentListResponse)))]
async fn stop_experiment(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value, .. }: Input<Stop>,
) -> Result<Json<RetrievalExperimentListResponse>> {
    Ok(Json(lifecycle::stop(&app, &operator.0.org_id, value.experiment_id).await?))
}

/// Change what an experiment is for: hypothesis, owner and notes. What is absent stays. Its design is fixed.
#[utoipa::path(patch, path = "/api/retrieval_experiments/{experiment_id}/about", tag = "experiments",
    params(("experiment_id" = String, Path)), request_body = AboutChange,
    responses((status = 200, body = ExperimentAbout)))]
async fn change_about(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(experiment_id): PathId,
    Input { value, .. }: Input<AboutChange>,
) -> Result<Json<ExperimentAbout>> {
    Ok(Json(about::change(&app, &caller.org_id, &experiment_id, value).await?))
}

struct ResultsQuery(CiMethod);

crate::request_query!(ResultsQuery);

impl Read for ResultsQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let about = "How the interval is made.";
        ResultsQuery(f.about(about).word_or("ci_method", CiMethod::default()))
    }
}

/// Results of an experiment so far.
#[utoipa::path(get, path = "/api/retrieval_experiments/{experiment_id}/results", tag = "experiments",
    params(("experiment_id" = String, Path), ResultsQuery),
    responses((status = 200, body = RetrievalExperimentResultsResponse)))]
async fn get_results(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(experiment_id): PathId,
    QueryInput(ResultsQuery(method)): QueryInput<ResultsQuery>,
) -> Result<Json<RetrievalExperimentResultsResponse>> {
    Ok(Json(results::results(&app, &caller.org_id, &experiment_id, method).await?))
}

crate::request_query!(PlanQuery);

impl Read for PlanQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let unless_said = PlanQuery::default();
        PlanQuery {
            holdout_percentage: f.number_between_or(
                "holdout_percentage",
                0.0,
                100.0,
                unless_said.holdout_percentage,
            ),
            effect_percentage_points: f.about("The lift to be seen.").number_between_or(
                "effect_percentage_points",
                0.0,
                100.0,
                unless_said.effect_percentage_points,
            ),
            power: f.about("The probability of seeing it if it is there.").number_between_or(
                "power",
                0.0,
                1.0,
                unless_said.power,
            ),
            days: f.about("Past days the plan stands on.").integer_or(
                "days",
                1..=3650,
                unless_said.days,
            ),
        }
    }
}

/// Numbers of users and days an experiment needs, judging by past sessions.
#[utoipa::path(get, path = "/api/retrieval_experiments/plan", tag = "experiments", params(PlanQuery),
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
    operator: Inspector,
    PathId(experiment_id): PathId,
) -> Result<Response> {
    let export = export::begin(&app, &operator.0.org_id, experiment_id).await?;
    Ok(ndjson(export).await?)
}
