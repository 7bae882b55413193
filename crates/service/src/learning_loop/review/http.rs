//! The endpoint that reviews user playbooks.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{ReviewDecision, ReviewResult, ReviewSelection};
use crate::app::App;
use crate::credentials::Operator;
use crate::http::fields::{Fields, Read};
use crate::http::{BadGateway, Input, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(review_user_playbooks))
}

crate::request_body!(ReviewSelection, "ReviewUserPlaybooksRequest");

impl Read for ReviewSelection {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        let report_only = f.about("False: decisions are carried out.").flag_or("report_only", true);
        ReviewSelection {
            from,
            to,
            top_k: f.about("How many, the newest.").integer_or("top_k", 1..=100, 10),
            apply: !report_only,
        }
    }
}

#[derive(Serialize, ToSchema)]
struct ReviewReport {
    success: bool,
    report_only: bool,
    /// Always null: decisions are carried out before the answer.
    run_id: Option<String>,
    selected_count: usize,
    accepted_count: usize,
    edited_count: usize,
    rejected_count: usize,
    skipped_count: usize,
    results: Vec<ReviewResult>,
    msg: Option<String>,
}

/// Read the sessions that taught user playbooks once more, and say which of them would be learned today. With
/// `report_only` false, those that would not be are archived, and those that would be worded otherwise are replaced.
#[utoipa::path(post, path = "/api/review_user_playbooks", tag = "learnings",
    request_body = ReviewSelection, responses((status = 200, body = ReviewReport), BadGateway))]
async fn review_user_playbooks(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<ReviewSelection>,
) -> Result<Json<ReviewReport>> {
    let results = super::review(&app, &caller.org_id, value).await?;
    let count = |decision| results.iter().filter(|result| result.decision == decision).count();
    Ok(Json(ReviewReport {
        success: true,
        report_only: !value.apply,
        run_id: None,
        selected_count: results.len(),
        accepted_count: count(ReviewDecision::Accept),
        edited_count: count(ReviewDecision::Edit),
        rejected_count: count(ReviewDecision::Reject),
        skipped_count: count(ReviewDecision::Skip),
        results,
        msg: None,
    }))
}
