//! Every route of the service, and the specification that is collected from them.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use storage::error::{Code, Error};
use tower_http::cors::{AllowOrigin, Any, CorsLayer};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Spec, RefOr};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::http::problem::{Problem, problem_response};
use crate::http::{HttpError, docs, middleware, ui};
use crate::{
    alerts, credentials, evaluation, experiments, governance, intake, learning_loop, learnings,
    mcp, operations, organization, questions, sessions, webhooks,
};

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
        (name = "questions", description = "Questions that an agent left for the people who run it"),
        (name = "experiments", description = "Does what was learned help? Users held out from retrieval, compared with the others"),
        (name = "webhooks", description = "Events told to other programs, to a chat, and to people by e-mail"),
        (name = "alerts", description = "Rules that watch a metric and say when it got worse"),
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
fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Api::openapi())
        .merge(operations::health_http::routes())
        .merge(credentials::http::routes())
        .merge(credentials::keys_http::routes())
        .merge(intake::http::routes())
        .merge(sessions::http::routes())
        .merge(organization::http::routes())
        .merge(evaluation::routes())
        .merge(learnings::http::routes())
        .merge(learning_loop::http::routes())
        .merge(questions::http::routes())
        .merge(experiments::http::routes())
        .merge(webhooks::http::routes())
        .merge(alerts::http::routes())
        .merge(governance::http::routes())
        .merge(operations::jobs_http::routes())
        .merge(operations::history_http::routes())
        .merge(operations::stall_http::routes())
}

/// The whole service as one router.
pub fn router(app: Arc<App>) -> Router {
    let (api, spec) = routes().split_for_parts();
    let interface = around(&app, api.clone()).with_state(app.clone());
    let mut router = api
        .merge(mcp::routes(&app, interface))
        .route("/openapi.json", get(serve))
        .merge(docs::routes(&spec))
        .merge(credentials::sign_in_http::routes())
        .fallback(ui::page_or_nothing)
        .method_not_allowed_fallback(async || {
            HttpError::from(Error::refused(
                Code::MethodNotAllowed,
                "This path takes another method; see /docs.",
            ))
        });
    let origins: Vec<HeaderValue> =
        app.settings.server.cors_origins.iter().filter_map(|o| o.parse().ok()).collect();
    if !origins.is_empty() {
        router = router.layer(
            CorsLayer::new()
                .allow_origin(AllowOrigin::list(origins))
                .allow_methods(Any)
                // By name: browsers do not take a star to mean Authorization.
                .allow_headers([
                    header::AUTHORIZATION,
                    header::CONTENT_TYPE,
                    HeaderName::from_static("x-request-id"),
                    HeaderName::from_static("x-evenhand-caller"),
                ])
                .expose_headers([HeaderName::from_static("x-request-id"), header::RETRY_AFTER]),
        );
    }
    around(&app, router).with_state(app)
}

/// The routes within what surrounds every request.
fn around(app: &Arc<App>, router: Router<Arc<App>>) -> Router<Arc<App>> {
    router.layer(from_fn_with_state(app.clone(), middleware::around))
}

/// The specification as the file `openapi.json` holds it.
pub fn json() -> String {
    let (_, mut spec) = routes().split_for_parts();
    finish(&mut spec);
    let mut text = serde_json::to_string_pretty(&spec).unwrap_or_default();
    text.push('\n');
    text
}

/// Problems that follow from the form of an operation, or that any operation on stored rows can meet (nothing there, a
/// person being erased), are written once, here; others stand with their handler (`http::BadGateway`).
fn finish(spec: &mut Spec) {
    for item in spec.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.delete, &mut item.patch];
        for operation in operations.into_iter().filter_map(Option::as_mut) {
            let parameters = operation.parameters.as_deref().unwrap_or_default();
            let has = |place: ParameterIn| {
                let is_there =
                    |p: &RefOr<Parameter>| matches!(p, RefOr::T(p) if p.parameter_in == place);
                parameters.iter().any(is_there)
            };
            let (in_path, in_query) = (has(ParameterIn::Path), has(ParameterIn::Query));
            let has_body = operation.request_body.is_some();
            // `security(())`: open to everybody.
            let is_open = operation.security.as_ref().is_some_and(|needs| !needs.is_empty());
            let possible = [
                (400, has_body || in_query),
                (401, !is_open),
                (403, !is_open),
                (404, in_path || !is_open),
                (408, has_body),
                (409, !is_open),
                (413, has_body),
                (415, has_body),
                (422, has_body || in_query),
                (429, !is_open),
                (503, true),
            ];
            for (status, _) in possible.iter().filter(|(_, possible)| *possible) {
                let responses = &mut operation.responses.responses;
                responses.entry(status.to_string()).or_insert_with(|| problem_response(*status));
            }
        }
    }
}

/// The handler of `/openapi.json`.
async fn serve() -> impl IntoResponse {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(json);
    ([(header::CONTENT_TYPE, "application/json")], TEXT.as_str())
}
