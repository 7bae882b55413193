//! Endpoints of judge diffs: another rubric beside the live one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::diff::{self, JudgeDiff};
use super::http::{Started, read_max_cost};
use super::{NewRegeneration, replay};
use crate::app::App;
use crate::credentials::{Caller, Operator};
use crate::evaluation::window::read_closed_window;
use crate::evaluation::{AGENT_SUCCESS, learned};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, Result};
use crate::organization::prompt_version;
use judge::prompts::Kind;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(start_judge_diff))
        .routes(routes!(get_judge_diff))
        .routes(routes!(promote_judge_diff))
}

struct DiffRequest(NewRegeneration);

crate::request_body!(DiffRequest, "JudgeDiffRequest");

impl Read for DiffRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from_ts, to_ts) = read_closed_window(f);
        let max_cost_usd = read_max_cost(f);
        let about = "The version of the session rubric, or the model `learned/<number>` that is in use, to compare with \
            the live verdicts.";
        let candidate_version = f
            .about(about)
            .required("candidate_version", |f| candidate_version(f, "candidate_version").map(Some));
        let evaluation_name = AGENT_SUCCESS.to_owned();
        DiffRequest(NewRegeneration {
            evaluation_name,
            from_ts,
            to_ts,
            max_cost_usd,
            candidate_version,
        })
    }
}

fn candidate_version(f: &mut Fields<'_>, name: &'static str) -> Option<String> {
    let version: String = f.optional_id(name)?;
    if learned::number_of(&version).is_some() {
        return Some(version);
    }
    prompt_version(f, name, Kind::SessionSuccess)
}

/// Judge a window with another rubric or model, beside the live numbers.
#[utoipa::path(post, path = "/api/evaluations/judge_diffs", tag = "evaluation",
    request_body = DiffRequest, responses((status = 200, body = Started)))]
async fn start_judge_diff(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value: DiffRequest(new), .. }: Input<DiffRequest>,
) -> Result<Json<Started>> {
    let (job_id, total) = replay::start(&app, &operator.0.org_id, new).await?;
    Ok(Json(Started { job_id, total }))
}

/// Result of a judge diff: paired flips and McNemar's test.
#[utoipa::path(get, path = "/api/evaluations/judge_diffs/{job_id}", tag = "evaluation",
    params(("job_id" = String, Path)), responses((status = 200, body = JudgeDiff)))]
async fn get_judge_diff(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job_id): PathId,
) -> Result<Json<JudgeDiff>> {
    Ok(Json(diff::diff(&app, &caller.org_id, &job_id).await?))
}

#[derive(Serialize, ToSchema)]
struct Promoted {
    success: bool,
    session_success_prompt_version: String,
    config_version: i64,
}

/// Judge with the compared rubric from now on.
#[utoipa::path(post, path = "/api/evaluations/judge_diffs/{job_id}/promote", tag = "evaluation",
    params(("job_id" = String, Path)), responses((status = 200, body = Promoted)))]
async fn promote_judge_diff(
    State(app): State<Arc<App>>,
    operator: Operator,
    PathId(job_id): PathId,
) -> Result<Json<Promoted>> {
    let Caller { org_id, credential_id, .. } = &operator.0;
    let (version, config_version) = diff::promote(&app, org_id, credential_id, &job_id).await?;
    Ok(Json(Promoted { success: true, session_success_prompt_version: version, config_version }))
}
