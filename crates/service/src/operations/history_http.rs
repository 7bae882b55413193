//! Routes of the history of operations: age of the queue over the last day, spending day by day.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::queue_ages::{QueueAges, STEP};
use crate::app::App;
use crate::credentials::Inspector;
use crate::http::fields::{Fields, Read};
use crate::http::{QueryInput, Result};
use crate::spending;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(queue_ages)).routes(routes!(spending_by_day))
}

#[derive(Serialize, utoipa::ToSchema)]
struct QueueAgeHistory {
    step_seconds: i64,
    /// Of the last 24 hours, oldest first. Nothing from before this process started.
    ages: Vec<QueueAge>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct QueueAge {
    /// Begin of the step.
    at: i64,
    /// The longest that a due job was seen waiting, of all organizations.
    oldest_due_age_seconds: i64,
}

/// How long due jobs waited over the last day, as this server saw it every minute.
#[utoipa::path(get, path = "/api/jobs/ages", tag = "operations",
    responses((status = 200, body = QueueAgeHistory)))]
async fn queue_ages(State(app): State<Arc<App>>, _caller: Inspector) -> Json<QueueAgeHistory> {
    let ages = app.state::<QueueAges>().of_last_day(app.clock.now());
    let shown = |(at, oldest_due_age_seconds)| QueueAge { at, oldest_due_age_seconds };
    Json(QueueAgeHistory { step_seconds: STEP, ages: ages.into_iter().map(shown).collect() })
}

struct SpendingQuery {
    days: i64,
}

crate::request_query!(SpendingQuery);

impl Read for SpendingQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        SpendingQuery { days: f.about("Up to today.").integer_or("days", 1..=90, 30) }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
struct Spending {
    /// Every day, oldest first.
    days: Vec<SpendingOfDay>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct SpendingOfDay {
    /// The day's begin (UTC).
    day: i64,
    judging_usd: f64,
    learning_usd: f64,
}

/// US dollars paid for judging and for learning, day by day: the cost of what is stored. Verdicts that were replaced and
/// calls that failed are not in it.
#[utoipa::path(get, path = "/api/spending", tag = "operations", params(SpendingQuery),
    responses((status = 200, body = Spending)))]
async fn spending_by_day(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(SpendingQuery { days }): QueryInput<SpendingQuery>,
) -> Result<Json<Spending>> {
    let spent = spending::by_day(&app, &caller.org_id, days).await?;
    let shown = |(day, spent): (i64, spending::DaySpent)| SpendingOfDay {
        day,
        judging_usd: spent.judging,
        learning_usd: spent.learning,
    };
    Ok(Json(Spending { days: spent.into_iter().map(shown).collect() }))
}
