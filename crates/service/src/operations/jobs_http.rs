//! `/api/jobs`: the queue at a glance, and the jobs that gave up.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::credentials::{Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{PathId, QueryInput, Result};
use storage::jobs::{self, DeadJob, JobCount};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(summary))
        .routes(routes!(dead_jobs))
        .routes(routes!(retry_job))
}

#[derive(Serialize, utoipa::ToSchema)]
struct JobsSummary {
    jobs: Vec<JobCount>,
    /// Waiting time of the oldest due job; 0 when nothing is late.
    oldest_due_age_seconds: i64,
}

/// Background work of this organization: counts by kind and state.
#[utoipa::path(get, path = "/api/jobs", tag = "operations", responses((status = 200, body = JobsSummary)))]
async fn summary(State(app): State<Arc<App>>, operator: Inspector) -> Result<Json<JobsSummary>> {
    let (jobs, oldest_due_age_seconds) = jobs::summary(&app, Some(&operator.0.org_id)).await?;
    Ok(Json(JobsSummary { jobs, oldest_due_age_seconds }))
}

struct DeadJobsQuery {
    cursor: Option<(i64, String)>,
    limit: i64,
}

crate::request_query!(DeadJobsQuery);

impl Read for DeadJobsQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let text = f.about("`next_cursor` of the page before.").optional_text("cursor", 300);
        let cursor = text.as_deref().and_then(read_cursor);
        if text.is_some() && cursor.is_none() {
            f.problem("cursor", "malformed", "must be the next_cursor of another answer");
        }
        DeadJobsQuery { cursor, limit: f.integer_or("limit", 1..=200, 50) }
    }
}

fn read_cursor(text: &str) -> Option<(i64, String)> {
    let (at, id) = text.split_once('.')?;
    Some((at.parse().ok()?, id.to_owned()))
}

#[derive(Serialize, utoipa::ToSchema)]
struct DeadJobs {
    /// The newest first.
    jobs: Vec<DeadJob>,
    next_cursor: Option<String>,
}

/// Jobs of this organization that gave up, with the reason. Those that belong to a regeneration are told of there.
#[utoipa::path(get, path = "/api/jobs/dead", tag = "operations", params(DeadJobsQuery),
    responses((status = 200, body = DeadJobs)))]
async fn dead_jobs(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(DeadJobsQuery { cursor, limit }): QueryInput<DeadJobsQuery>,
) -> Result<Json<DeadJobs>> {
    let jobs = jobs::dead(&app, &caller.org_id, cursor, limit).await?;
    let is_full = usize::try_from(limit).is_ok_and(|limit| jobs.len() == limit);
    let last = jobs.last().filter(|_| is_full);
    let next_cursor = last.map(|job| format!("{}.{}", job.finished_at, job.job_id));
    Ok(Json(DeadJobs { jobs, next_cursor }))
}

#[derive(Serialize, utoipa::ToSchema)]
struct RetriedJob {
    success: bool,
}

/// Try a job that gave up again, now and with all its attempts.
#[utoipa::path(post, path = "/api/jobs/{job_id}/retry", tag = "operations", params(("job_id" = String, Path)),
    responses((status = 200, body = RetriedJob)))]
async fn retry_job(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    PathId(job_id): PathId,
) -> Result<Json<RetriedJob>> {
    jobs::retry(&app, &caller.org_id, &job_id).await?;
    Ok(Json(RetriedJob { success: true }))
}
