//! `GET /api/learnings/scorecard` and the tuning proposals.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Acceptance, Score, ScorecardQuery, TuningProposal};
use crate::app::App;
use crate::credentials::Operator;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, QueryInput, Result};
use crate::learnings::{KINDS, requests};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(scorecard))
        .routes(routes!(tuning_proposals))
        .routes(routes!(accept_tuning_proposal))
        .routes(routes!(decline_tuning_proposal))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct ScorecardParams {
    /// `profile`, `user_playbook` or `agent_playbook`.
    kind: Option<String>,
    learning_id: Option<String>,
    agent_version: Option<String>,
    /// Of the judged turns: RFC 3339 or unix seconds; the last 90 days when absent.
    start_time: Option<String>,
    end_time: Option<String>,
    /// 1 to 1000; 100 when absent.
    limit: Option<i64>,
}

impl Read for ScorecardQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from, to) = f.time_range();
        let limit = f.integer("limit", 1..=1000).unwrap_or(100);
        ScorecardQuery {
            kind: f.choice("kind", &KINDS),
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
    /// Those that hurt first, then those that help.
    scores: Vec<Score>,
}

/// What verdicts say about each learning: relevance, impact with its interval, verified diagnoses.
#[utoipa::path(get, path = "/api/learnings/scorecard", tag = "learnings", params(ScorecardParams),
    responses((status = 200, body = Scorecard)))]
async fn scorecard(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    QueryInput(query): QueryInput<ScorecardQuery>,
) -> Result<Json<Scorecard>> {
    let scores = super::scorecard(&app, &caller.org_id, query).await?;
    Ok(Json(Scorecard { success: true, scores }))
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code)] // names the parameters for the specification
struct TuningProposalsParams {
    /// `open` (when absent), `accepted`, `declined` or `all`.
    status: Option<String>,
}

struct TuningProposalsQuery(Option<&'static str>);

impl Read for TuningProposalsQuery {
    fn read(f: &mut Fields<'_>) -> Self {
        let status = f.choice("status", &["open", "accepted", "declined", "all"]);
        TuningProposalsQuery(Some(status.unwrap_or("open")).filter(|status| *status != "all"))
    }
}

#[derive(Serialize, ToSchema)]
struct TuningProposals {
    success: bool,
    proposals: Vec<TuningProposal>,
}

/// Learnings that hurt, with what is proposed to do about them.
#[utoipa::path(get, path = "/api/learnings/tuning_proposals", tag = "learnings",
    params(TuningProposalsParams), responses((status = 200, body = TuningProposals)))]
async fn tuning_proposals(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    QueryInput(query): QueryInput<TuningProposalsQuery>,
) -> Result<Json<TuningProposals>> {
    let proposals = super::list(&app, &caller.org_id, query.0).await?;
    Ok(Json(TuningProposals { success: true, proposals }))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of Acceptance
struct AcceptTuningProposalRequest {
    proposal_id: String,
    /// A wording of one's own instead of the draft.
    #[schema(max_length = 100_000)]
    content: Option<String>,
    trigger: Option<String>,
}

impl Read for Acceptance {
    fn read(f: &mut Fields<'_>) -> Self {
        Acceptance {
            proposal_id: f.id("proposal_id"),
            content: f.optional_text("content", requests::CONTENT_LENGTH),
            trigger: f.optional_text("trigger", requests::SIDE_TEXT_LENGTH),
        }
    }
}

#[derive(ToSchema)]
struct DeclineTuningProposalRequest {
    proposal_id: String,
}

impl Read for DeclineTuningProposalRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        DeclineTuningProposalRequest { proposal_id: f.id("proposal_id") }
    }
}

#[derive(Serialize, ToSchema)]
struct TuningDecided {
    success: bool,
    /// `accepted` or `declined`.
    status: &'static str,
}

/// Carry a proposal out: archive the learning, or give it the proposed wording or one's own.
#[utoipa::path(post, path = "/api/learnings/tuning_proposals/accept", tag = "learnings",
    request_body = AcceptTuningProposalRequest, responses((status = 200, body = TuningDecided)))]
async fn accept_tuning_proposal(
    State(app): State<Arc<App>>,
    Operator(caller): Operator,
    Input { value, .. }: Input<Acceptance>,
) -> Result<Json<TuningDecided>> {
    super::accept(&app, &caller.org_id, &caller.credential_id, value).await?;
    Ok(Json(TuningDecided { success: true, status: "accepted" }))
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
    Ok(Json(TuningDecided { success: true, status: "declined" }))
}
