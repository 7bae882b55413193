//! Endpoint of the overview: extract, call the rules, respond.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Overview, OverviewRequest, SourceSet};
use crate::app::App;
use crate::credentials::Caller;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

pub const LATEST_TIME: i64 = 9_999_999_999;
const MAX_SETS: usize = 50;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(get_evaluation_overview))
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of OverviewRequest
struct GetEvaluationOverviewRequest {
    /// Unix seconds, included: of the sessions' first requests.
    #[schema(minimum = 0)]
    from_ts: i64,
    /// Unix seconds, included; not before from_ts.
    #[schema(minimum = 0)]
    to_ts: i64,
    /// `day` or `week` (from Monday), UTC; `week` when absent.
    bucket: Option<String>,
    /// true when absent.
    include_shadow: Option<bool>,
    /// Whether lists of sessions are filled; true when absent.
    include_session_ids: Option<bool>,
    /// Cohorts to be compared.
    #[schema(max_items = 50)]
    source_sets: Option<Vec<EvaluationSourceSetRequest>>,
    /// Everything in the answer but `available_agent_versions` is about this version of the agent; about all when
    /// absent. Verdicts, and the rules that their sessions cite, count under the version they were stored for: a session
    /// judged for two versions is in the overviews of both, each with its own verdict. A shadow comparison of a turn
    /// counts under the version of the turn's request; the preference of a session and imported scores under that of
    /// the session's newest request.
    agent_version: Option<String>,
}

#[derive(ToSchema)]
#[allow(dead_code)] // the specification's view of SourceSet
struct EvaluationSourceSetRequest {
    label: String,
    /// Each in one set only; the empty one matches requests published without a source.
    #[schema(min_items = 1)]
    sources: Vec<String>,
}

/// `from_ts` and `to_ts`, both included.
pub fn read_window(f: &mut Fields<'_>) -> (i64, i64) {
    let from_ts = f.required_integer("from_ts", 0..=LATEST_TIME);
    let to_ts = f.required_integer("to_ts", 0..=LATEST_TIME);
    let known = ["from_ts", "to_ts"].iter().all(|name| !f.is_absent(name) && !f.is_refused(name));
    if known && from_ts > to_ts {
        f.problem("to_ts", "before_start", "must not be before from_ts");
    }
    (from_ts, to_ts)
}

impl Read for OverviewRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from_ts, to_ts) = read_window(f);
        let request = OverviewRequest {
            from_ts,
            to_ts,
            bucket: f.choice("bucket", &["day", "week"]).unwrap_or("week"),
            include_shadow: f.optional_flag("include_shadow").unwrap_or(true),
            include_session_ids: f.optional_flag("include_session_ids").unwrap_or(true),
            source_sets: f.list("source_sets", MAX_SETS),
            agent_version: f.optional_id("agent_version"),
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

crate::request_body!(SourceSet, "SourceSet");

impl Read for SourceSet {
    fn read(f: &mut Fields<'_>) -> Self {
        let label = f.id("label");
        let is_given = !f.is_absent("sources");
        let sources = f.required("sources", |f| Some(f.texts("sources")));
        if is_given && sources.is_empty() && !f.is_refused("sources") {
            f.problem("sources", "too_short", "must have at least one item");
        }
        SourceSet { label, sources }
    }
}

/// Success, corrections, escalations, rules and shadow comparisons over a window, in total and by sets of sources.
#[utoipa::path(post, path = "/api/get_evaluation_overview", tag = "evaluation",
    request_body = GetEvaluationOverviewRequest, responses((status = 200, body = Overview)))]
async fn get_evaluation_overview(
    State(app): State<Arc<App>>,
    caller: Caller,
    input: Input<OverviewRequest>,
) -> Result<impl IntoResponse> {
    let body = super::overview(&app, &caller.org_id, input.value).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body))
}
