//! Whether learning stands still because the provider of its model refuses the key or wants payment.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::credentials::{Inspector, Operator};
use judge::{BlockReason, JudgeState};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(stall_state)).routes(routes!(mark_stall_notified))
}

/// The begin of the stall that somebody was told of, as long as this process runs: the pause itself is of the process.
#[derive(Default)]
pub struct StallNotice(AtomicI64);

base::vocabulary! {
    /// Cause of a stall.
    enum StallReason {
        Billing = "billing_error",
        Auth = "auth_error",
    }
}

#[derive(Serialize, utoipa::ToSchema)]
struct StallState {
    stalled: bool,
    reason: Option<StallReason>,
    stalled_at: Option<i64>,
    /// Always null: the server tries again by itself, and cannot know when it will be let in.
    reset_estimate: Option<i64>,
    /// True after `/stall_state/notified`, until it stalls anew.
    notified_in_cc: bool,
    error_message: Option<String>,
}

/// The reason and the begin of a stall, if learning stands still.
fn stall(app: &App) -> Option<(BlockReason, i64)> {
    match app.extractor.state() {
        JudgeState::Running => None,
        JudgeState::Paused { reason, since } => Some((reason, since)),
    }
}

/// Is learning paused, and why?
#[utoipa::path(get, path = "/stall_state", tag = "operations",
    responses((status = 200, body = StallState)))]
async fn stall_state(State(app): State<Arc<App>>, _caller: Inspector) -> Json<StallState> {
    let stall = stall(&app);
    let noticed = app.state::<StallNotice>().0.load(Ordering::Relaxed);
    Json(StallState {
        stalled: stall.is_some(),
        reason: stall.map(|(reason, _)| match reason {
            BlockReason::PaymentNeeded | BlockReason::BudgetSpent | BlockReason::Unpriced => {
                StallReason::Billing
            }
            _ => StallReason::Auth,
        }),
        stalled_at: stall.map(|(_, since)| since),
        reset_estimate: None,
        notified_in_cc: stall.is_some_and(|(_, since)| since == noticed),
        error_message: stall.map(|(reason, _)| reason.to_string()),
    })
}

#[derive(Serialize, utoipa::ToSchema)]
struct StallNotified {
    /// False if nothing stands still.
    notified_in_cc: bool,
}

/// Remember that somebody was told of the stall.
#[utoipa::path(post, path = "/stall_state/notified", tag = "operations",
    responses((status = 200, body = StallNotified)))]
async fn mark_stall_notified(
    State(app): State<Arc<App>>,
    _caller: Operator,
) -> Json<StallNotified> {
    let stall = stall(&app);
    if let Some((_, since)) = stall {
        app.state::<StallNotice>().0.store(since, Ordering::Relaxed);
    }
    Json(StallNotified { notified_in_cc: stall.is_some() })
}
