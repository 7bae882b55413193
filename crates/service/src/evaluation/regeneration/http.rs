//! Endpoints of regenerations: start, look, follow, cancel.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Pace;
use super::estimate::{self, RegenerationPreview};
use super::replay as regeneration;
use super::replay::{NewRegeneration, Progress, RegenerationStatus};
use crate::app::App;
use crate::credentials::{Caller, Inspector, Operator};
use crate::evaluation::AGENT_SUCCESS;
use crate::evaluation::window::read_closed_window;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, PathId, Result};
use base::owner::OrgId;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(regenerate, list_regenerations))
        .routes(routes!(preview_regeneration))
        .routes(routes!(get_regeneration, cancel_regeneration))
        .routes(routes!(regeneration_events))
}

crate::request_body!(NewRegeneration, "RegenerateRequest");

impl Read for NewRegeneration {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from_ts, to_ts) = read_closed_window(f);
        NewRegeneration {
            evaluation_name: f
                .about(
                    "An evaluator's name, or `shadow_comparison` to compare shadow responses again under the \
                     pinned rubric.",
                )
                .id_or("evaluation_name", AGENT_SUCCESS),
            from_ts,
            to_ts,
            max_cost_usd: read_max_cost(f),
            candidate_version: None,
        }
    }
}

pub(super) fn read_max_cost(f: &mut Fields<'_>) -> Option<f64> {
    f.about("Stop when this much is spent.").number_from("max_cost_usd", 0.0)
}

#[derive(Serialize, ToSchema)]
pub(super) struct Started {
    pub job_id: String,
    /// Sessions that will be judged.
    pub total: i64,
}

/// Judge the sessions of a window again, in the background. One at a time per organization.
#[utoipa::path(post, path = "/api/evaluations/regenerate", tag = "evaluation",
    request_body = NewRegeneration, responses((status = 200, body = Started)))]
async fn regenerate(
    State(app): State<Arc<App>>,
    operator: Operator,
    input: Input<NewRegeneration>,
) -> Result<Json<Started>> {
    let (job_id, total) = regeneration::start(&app, &operator.0.org_id, input.value).await?;
    Ok(Json(Started { job_id, total }))
}

#[derive(Serialize, ToSchema)]
struct Regenerations {
    /// Newest first, judge diffs included; at most 20.
    regenerations: Vec<Progress>,
}

/// The newest regenerations.
#[utoipa::path(get, path = "/api/evaluations/regenerate", tag = "evaluation",
    responses((status = 200, body = Regenerations)))]
async fn list_regenerations(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<Regenerations>> {
    let regenerations = regeneration::newest(&app, &caller.org_id, 20).await?;
    Ok(Json(Regenerations { regenerations }))
}

/// Preview of a regeneration: its sessions and its cost, without starting it.
#[utoipa::path(post, path = "/api/evaluations/regenerate/preview", tag = "evaluation",
    request_body = NewRegeneration, responses((status = 200, body = RegenerationPreview)))]
async fn preview_regeneration(
    State(app): State<Arc<App>>,
    operator: Inspector,
    input: Input<NewRegeneration>,
) -> Result<Json<RegenerationPreview>> {
    Ok(Json(estimate::preview(&app, &operator.0.org_id, input.value).await?))
}

/// Progress of a regeneration.
#[utoipa::path(get, path = "/api/evaluations/regenerate/{job_id}", tag = "evaluation",
    params(("job_id" = String, Path)), responses((status = 200, body = Progress)))]
async fn get_regeneration(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job_id): PathId,
) -> Result<Json<Progress>> {
    Ok(Json(regeneration::progress(&app, &caller.org_id, &job_id).await?))
}

#[derive(Serialize, ToSchema)]
struct Cancelled {
    /// `cancelled`, or what it had ended as before.
    status: RegenerationStatus,
}

/// Cancel a regeneration; what is judged stays.
#[utoipa::path(delete, path = "/api/evaluations/regenerate/{job_id}", tag = "evaluation",
    params(("job_id" = String, Path)), responses((status = 200, body = Cancelled)))]
async fn cancel_regeneration(
    State(app): State<Arc<App>>,
    operator: Operator,
    PathId(job_id): PathId,
) -> Result<Json<Cancelled>> {
    let status = regeneration::cancel(&app, &operator.0.org_id, &job_id).await?;
    Ok(Json(Cancelled { status }))
}

/// One event of the stream: the progress, and how fast it goes.
#[derive(Serialize)]
struct Tick {
    #[serde(flatten)]
    progress: Progress,
    /// Sessions a second since the first event.
    rate: f64,
    seconds_left: Option<f64>,
}

/// Follow a regeneration: an event `progress` every second until it ends.
#[utoipa::path(get, path = "/api/evaluations/regenerate/{job_id}/events", tag = "evaluation",
    params(("job_id" = String, Path)),
    responses((status = 200, content_type = "text/event-stream", body = Object)))]
async fn regeneration_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathId(job_id): PathId,
) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>>>> {
    // Refused as any other request when there is no such job.
    let first = regeneration::progress(&app, &caller.org_id, &job_id).await?;
    let state = Follow {
        app,
        org_id: caller.org_id,
        job_id,
        last: Some(first),
        pace: Pace::default(),
        ended: false,
    };
    Ok(Sse::new(stream::unfold(state, Follow::next)).keep_alive(KeepAlive::default()))
}

struct Follow {
    app: Arc<App>,
    org_id: OrgId,
    job_id: String,
    /// Read already, not yet sent.
    last: Option<Progress>,
    pace: Pace,
    ended: bool,
}

impl Follow {
    async fn next(mut self) -> Option<(std::result::Result<Event, Infallible>, Self)> {
        if self.ended {
            return None;
        }
        let progress = match self.last.take() {
            Some(first) => first,
            None => {
                let stopping = self.app.stopping.clone();
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                    () = stopping.cancelled() => return None,
                }
                regeneration::progress(&self.app, &self.org_id, &self.job_id).await.ok()?
            }
        };
        self.ended = progress.status != RegenerationStatus::Running;
        let (rate, seconds_left) = self.pace.look(&progress);
        let tick = Tick { progress, rate, seconds_left };
        let event = Event::default().event("progress").json_data(&tick).unwrap_or_default();
        Some((Ok(event), self))
    }
}
