//! Endpoint of the overview: extract, call the rules, respond.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::windows::Bucket;
use super::{Overview, OverviewRequest, SourceSet};
use crate::app::App;
use crate::credentials::Caller;
use crate::evaluation::window::read_window;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

const MAX_SETS: usize = 50;
const ABOUT_VERSION: &str = "Everything in the answer but `available_agent_versions` is about this version of the \
agent; about all when absent. Verdicts, and the rules that their sessions cite, count under the version they were \
stored for: a session judged for two versions is in the overviews of both, each with its own verdict. A shadow \
comparison of a turn counts under the version of the turn's request; the preference of a session and imported scores \
under that of the session's newest request.";

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(get_evaluation_overview))
}

crate::request_body!(OverviewRequest, "GetEvaluationOverviewRequest");

impl Read for OverviewRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from_ts, to_ts) = read_window(f);
        let request = OverviewRequest {
            from_ts,
            to_ts,
            bucket: f.word_or("bucket", Bucket::Week),
            include_shadow: f.flag_or("include_shadow", true),
            include_session_ids: f
                .about("Whether lists of sessions are filled.")
                .flag_or("include_session_ids", true),
            include_rules: f
                .about("Whether rules and what they go with are told: most of the work over many sessions.")
                .flag_or("include_rules", true),
            source_sets: f.about("Cohorts to be compared.").list("source_sets", MAX_SETS),
            agent_version: f.about(ABOUT_VERSION).optional_id("agent_version"),
        };
        let (mut labels, mut sources) = (BTreeSet::new(), BTreeSet::new());
        for (index, set) in request.source_sets.iter().enumerate() {
            if !set.label.is_empty() && !labels.insert(&set.label) {
                let place = format!("source_sets/{index}/label");
                f.problem(&place, "duplicate", "another set has this label");
            }
            for (number, source) in set.sources.iter().enumerate() {
                if !sources.insert(source) {
                    let place = format!("source_sets/{index}/sources/{number}");
                    f.problem(&place, "duplicate", "a source can be in one set only, once");
                }
            }
        }
        request
    }
}

crate::request_body!(SourceSet, "EvaluationSourceSetRequest");

impl Read for SourceSet {
    fn read(f: &mut Fields<'_>) -> Self {
        SourceSet {
            label: f.id("label"),
            sources: f
                .about(
                    "Each in one set only; the empty one matches requests published without a source.",
                )
                .required_texts("sources"),
        }
    }
}

/// Success, corrections, escalations, rules and shadow comparisons over a window, in total and by sets of sources.
#[utoipa::path(post, path = "/api/get_evaluation_overview", tag = "evaluation",
    request_body = OverviewRequest, responses((status = 200, body = Overview)))]
async fn get_evaluation_overview(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<OverviewRequest>,
) -> Result<impl IntoResponse> {
    let body = super::overview(&app, &caller.org_id, input.value).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}
