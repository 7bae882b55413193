//! The HTTP surface: routing, credentials, input, problem bodies, health and the API page.
//!
//! Handlers live with their areas (`<area>/http.rs`), extract, call the area's rules and respond. They decide
//! nothing and hold no SQL. The router is the specification: `openapi.json` is generated from it.

pub mod auth;
mod docs;
pub mod fields;
mod health;
pub mod input;
mod middleware;
pub mod openapi;
mod path;
pub mod problem;
mod rate_limits;
pub mod server;
mod sign_in;
mod ui;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tower_http::cors::{AllowOrigin, Any, CorsLayer};

use crate::app::App;
pub use auth::{Caller, Governor, Operator};
pub use input::{Input, QueryInput};
pub use path::{PathId, PathIds};
pub use problem::{HttpError, Result};
pub use rate_limits::RateLimits;
use storage::error::{Code, Error};

/// The whole service as one router.
pub fn router(app: Arc<App>) -> Router {
    let (api, spec) = openapi::routes().split_for_parts();
    let mut router = api
        .route("/openapi.json", get(openapi::serve))
        .merge(docs::routes(&spec))
        .merge(sign_in::routes())
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
    router.layer(from_fn_with_state(app.clone(), middleware::around)).with_state(app)
}
