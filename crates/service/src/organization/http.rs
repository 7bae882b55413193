//! `GET /api/get_config`, `POST /api/set_config`, `POST /api/update_config`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{OrganizationConfig, Versioned, rules};
use crate::app::App;
use crate::credentials::{Inspector, Operator};
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(get_config))
        .routes(routes!(set_config))
        .routes(routes!(update_config))
}

/// A configuration as it is read by its own rules later.
struct Document(Map<String, Value>);

impl Read for Document {
    fn read(f: &mut Fields<'_>) -> Self {
        Document(f.whole())
    }
}

#[derive(Serialize, ToSchema)]
struct ConfigView {
    /// Send it back with a change to be refused when somebody else changed something in between.
    version: i64,
    #[serde(flatten)]
    config: OrganizationConfig,
}

#[derive(Serialize, ToSchema)]
struct ConfigChanged {
    success: bool,
    message: String,
    /// The same as `message`, under the name that existing clients read.
    msg: String,
    version: i64,
    config: ConfigView,
}

impl From<Versioned> for ConfigView {
    fn from(Versioned { version, config }: Versioned) -> Self {
        ConfigView { version, config: config.shown() }
    }
}

impl From<Versioned> for ConfigChanged {
    fn from(changed: Versioned) -> Self {
        let message = format!("the configuration is at version {}", changed.version);
        ConfigChanged {
            success: true,
            msg: message.clone(),
            message,
            version: changed.version,
            config: changed.into(),
        }
    }
}

/// The organization's configuration, complete with defaults.
#[utoipa::path(get, path = "/api/get_config", tag = "configuration",
    responses((status = 200, body = ConfigView)))]
async fn get_config(State(app): State<Arc<App>>, operator: Inspector) -> Result<Json<ConfigView>> {
    Ok(Json(rules::get(&app, &operator.0.org_id).await?.into()))
}

/// Replace the configuration. What is left out goes back to its default, except `judge`, `learning`, `governance`,
/// `evaluators` and `shadow_both_orders`: the public Python client cannot carry them, and they stay.
#[utoipa::path(post, path = "/api/set_config", tag = "configuration",
    request_body = OrganizationConfig, responses((status = 200, body = ConfigChanged)))]
async fn set_config(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value: Document(document), .. }: Input<Document>,
) -> Result<Json<ConfigChanged>> {
    Ok(Json(
        rules::set(&app, &operator.0.org_id, &operator.0.credential_id, document).await?.into(),
    ))
}

/// Change some of the configuration; `null` puts a field back to its default.
#[utoipa::path(post, path = "/api/update_config", tag = "configuration",
    request_body = OrganizationConfig, responses((status = 200, body = ConfigChanged)))]
async fn update_config(
    State(app): State<Arc<App>>,
    operator: Operator,
    Input { value: Document(document), .. }: Input<Document>,
) -> Result<Json<ConfigChanged>> {
    Ok(Json(
        rules::update(&app, &operator.0.org_id, &operator.0.credential_id, document).await?.into(),
    ))
}
