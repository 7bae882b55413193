//! The specification, collected from the handlers themselves.

use std::sync::Arc;

use axum::http::header;
use axum::response::IntoResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Spec, RefOr, Schema};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use super::problem::Problem;
use crate::app::App;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Evenhand",
        description = "Is the agent succeeding? Does what it learned actually help? Can we forget a person, and prove it?\n\n\
            Every error is an RFC 9457 problem body with a stable `code`; bad input lists all its problems in `errors`."
    ),
    components(schemas(Problem)),
    security(("bearer" = [])),
    modifiers(&BearerScheme),
    tags(
        (name = "sessions", description = "Publishing what an agent did, reading it back, deleting it"),
        (name = "evaluation", description = "Verdicts, why there are none, replays of the judge, people's labels"),
        (name = "configuration", description = "What an organization sets for itself"),
        (name = "learnings", description = "What was learned, and the search that agents call before they answer"),
        (name = "experiments", description = "Does what was learned help? Users held out from retrieval, compared with the others"),
        (name = "governance", description = "What is stored of a person, for them to have or to be gone"),
        (name = "operations", description = "Health, identity, jobs"),
    )
)]
struct Api;

struct BearerScheme;

impl Modify for BearerScheme {
    fn modify(&self, spec: &mut Spec) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token from `evenhand keys create`. Not needed in local mode."))
            .build();
        let components = spec.components.get_or_insert_default();
        components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
    }
}

/// Every route of the API.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Api::openapi())
        .merge(super::health::routes())
        .merge(crate::credentials::http::routes())
        .merge(crate::credentials::keys_http::routes())
        .merge(crate::sessions::http::routes())
        .merge(crate::organization::http::routes())
        .merge(crate::evaluation::http::routes())
        .merge(crate::imported_scores::http::routes())
        .merge(crate::learnings::http::routes())
        .merge(crate::experiments::http::routes())
        .merge(crate::governance::http::routes())
        .merge(crate::operations::jobs_http::routes())
}

/// The specification as the file `openapi.json` holds it.
pub fn json() -> String {
    let (_, mut spec) = routes().split_for_parts();
    finish(&mut spec);
    let mut text = serde_json::to_string_pretty(&spec).unwrap_or_default();
    text.push('\n');
    text
}

/// What all operations share is written once: any of them can answer with a problem body.
fn finish(spec: &mut Spec) {
    use utoipa::openapi::{Content, Ref, ResponseBuilder};
    for item in spec.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().filter_map(Option::as_mut) {
            let body = RefOr::<Schema>::Ref(Ref::from_schema_name("Problem"));
            let problem = ResponseBuilder::new()
                .description("A problem: see its code")
                .content("application/problem+json", Content::new(Some(body)));
            operation.responses.responses.insert("default".to_owned(), problem.build().into());
        }
    }
}

/// The handler of `/openapi.json`.
pub async fn serve() -> impl IntoResponse {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(json);
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}
