//! `GET /api/learnings/scorecard` and the tuning proposals.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Acceptance, Score, ScorecardQuery, TuningProposal, TuningStatus};
use crate::app::App;
use crate::credentials::{Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use crate::learnings::requests;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(scorecard))
        .routes(routes!(tuning_proposals))
        .routes(routes!(accept_tuning_proposal))
        .routes(routes!(decline_tuning_proposal))
}

crate::request_query!(ScorecardQuery);

impl Read for ScorecardQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let start = "Of the judged turns, included; the last 90 days when absent.";
        let (from, to) = f.time_range_of(start);
        let limit = f.integer_or("limit", 1..=1000, 100);
        ScorecardQuery {
            kind: f.word("kind"),
            learning_id: f.optional_id("learning_id"),
            agent_version: f.optional_id("agent_version"),
            from,
            to,
            limit: usize::try_from(limit).unwrap_or(100),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct Scorecard {
    success: bool,
    /// Harmful learnings first, then helpful ones.
    scores: Vec<Score>,
}

/// Scorecard of learnings: relevance, impact with its interval, verified diagnoses.
#[utoipa::path(get, path = "/api/learnings/scorecard", tag = "learnings", params(ScorecardQuery),
    responses((status = 200, body = Scorecard)))]
async fn scorecard(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<ScorecardQuery>,
) -> Result<Json<Scorecard>> {
    let scores = super::scorecard(&app, &caller.org_id, query).await?;
    Ok(Json(Scorecard { success: true, scores }))
}

base::vocabulary! {
    /// Status filter of tuning proposals.
    pub enum TuningStatusFilter {
        Open = "open",
        Accepted = "accepted",
        Declined = "declined",
        All = "all",
    }
}

/// The status of the proposals that are wanted; all without one.
struct TuningProposalsQuery(Option<TuningStatus>);

crate::request_query!(TuningProposalsQuery);

impl Read for TuningProposalsQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        TuningProposalsQuery(match f.word_or("status", TuningStatusFilter::Open) {
            TuningStatusFilter::Open => Some(TuningStatus::Open),
            TuningStatusFilter::Accepted => Some(TuningStatus::Accepted),
            TuningStatusFilter::Declined => Some(TuningStatus::Declined),
            TuningStatusFilter::All => None,
        })
    }
}

#[derive(Serialize, ToSchema)]
struct TuningProposals {
    success: bool,
    proposals: Vec<TuningProposal>,
}

/// Learnings that hurt, with what is proposed to do about them.
#[utoipa::path(get, path = "/api/learnings/tuning_proposals", tag = "learnings",
    params(TuningProposalsQuery), responses((status = 200, body = TuningProposals)))]
async fn tuning_proposals(
    State(app): State<Arc<App>>,
    Inspector(caller): Inspector,
    QueryInput(query): QueryInput<TuningProposalsQuery>,
) -> Result<Json<TuningProposals>> {
    let proposals = super::list(&app, &caller.org_id, query.0).await?;
    Ok(Json(TuningProposals { success: true, proposals }))
}

crate::request_body!(Acceptance, "AcceptTuningProposalRequest");

impl Read for Acceptance {
    fn read(f: &mut Fields<'_>) -> Self {
        Acceptance {
            proposal_id: f.id("proposal_id"),
            content: f
                .about("A wording of one's own instead of the draft.")
                .optional_text("content", requests::CONTENT_LENGTH),
            trigger: f.optional_text("trigger", requests::SIDE_TEXT_LENGTH),
        }
    }
}

struct DeclineTuningProposalRequest {
    proposal_id: String,
}

crate::request_body!(DeclineTuningProposalRequest, "DeclineTuningProposalRequest");

impl Read for DeclineTuningProposalRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeclineTuningProposalRequest { proposal_id: f.id("proposal_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct TuningDecided {
    success: bool,
    status: TuningStatus,
}

/// Carry a proposal out: archive the learning, or give it the proposed wording or one's own.
#[utoipa::path(post, path = "/api/learnings/tuning_proposals/accept", tag = "learnings",
    request_body = Acceptance, responses((status = 200, body = TuningDecided)))]
async fn accept_tuning_proposal(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<Acceptance>,
) -> Result<Json<TuningDecided>> {
    super::accept(&app, &caller.org_id, &caller.credential_id, value).await?;
    Ok(Json(TuningDecided { success: true, status: TuningStatus::Accepted }))
}

/// Leave the learning as it is; the same text is not proposed again.
#[utoipa::path(post, path = "/api/learnings/tuning_proposals/decline", tag = "learnings",
    request_body = DeclineTuningProposalRequest, responses((status = 200, body = TuningDecided)))]
async fn decline_tuning_proposal(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<DeclineTuningProposalRequest>,
) -> Result<Json<TuningDecided>> {
    super::decline(&app, &caller.org_id, value.proposal_id).await?;
    Ok(Json(TuningDecided { success: true, status: TuningStatus::Declined }))
}
