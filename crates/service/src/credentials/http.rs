//! Identity of the caller, the storage of its data, and the cache that other servers have.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Grant, Inspector, Known, Operator, Role};
use crate::app::App;
use crate::http::fields::{Fields, Read};
use crate::http::{Input, Result};
use base::owner::OrgId;
use storage::db::Engine;
use storage::error::{Code, Error};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(whoami))
        .routes(routes!(my_config))
        .routes(routes!(invalidate_cache))
}

#[derive(Serialize, utoipa::ToSchema)]
struct Whoami {
    success: bool,
    org_id: OrgId,
    storage_type: Option<Engine>,
    /// Storage location, without credentials.
    storage_label: Option<String>,
    storage_configured: bool,
    message: String,
    role: Role,
    grants: Vec<Grant>,
}

/// The caller's organization and role, and the storage of its data.
#[utoipa::path(get, path = "/api/whoami", tag = "operations",
    responses((status = 200, body = Whoami)))]
async fn whoami(State(app): State<Arc<App>>, Known(caller): Known) -> Json<Whoami> {
    let engine = app.db.engine();
    Json(Whoami {
        success: true,
        org_id: caller.org_id,
        storage_type: engine,
        storage_label: app.storage_label(),
        storage_configured: engine.is_some(),
        message: String::new(),
        role: caller.role,
        grants: Grant::listed_for(caller.governance),
    })
}

#[derive(Serialize, utoipa::ToSchema)]
struct MyConfig {
    success: bool,
    storage_type: Option<Engine>,
    /// Always empty: credentials of the storage stay with the server.
    storage_config: Map<String, Value>,
    message: String,
}

/// The storage of the caller's data, without its credentials.
#[utoipa::path(get, path = "/api/my_config", tag = "operations",
    responses((status = 200, body = MyConfig)))]
async fn my_config(State(app): State<Arc<App>>, _caller: Inspector) -> Json<MyConfig> {
    Json(MyConfig {
        success: true,
        storage_type: app.db.engine(),
        storage_config: Map::new(),
        message: "Credentials of the storage are not handed out; see /api/whoami for where it is."
            .to_owned(),
    })
}

struct InvalidateCache {
    org_id: Option<OrgId>,
}

crate::request_body!(InvalidateCache, "InvalidateCacheRequest");

impl Read for InvalidateCache {
    fn read(f: &mut Fields<'_>) -> Self {
        InvalidateCache {
            org_id: f.about("Refused if it is another than the caller's.").optional_id("org_id"),
        }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
struct InvalidatedCache {
    /// False: there is nothing to invalidate, as every read sees the newest configuration.
    invalidated: bool,
    org_id: OrgId,
}

/// Accepted for clients that know servers with caches of configurations; this one has none.
#[utoipa::path(post, path = "/api/admin/cache/invalidate", tag = "operations",
    request_body = InvalidateCache, responses((status = 200, body = InvalidatedCache)))]
async fn invalidate_cache(
    Operator(caller): Operator,
    Input { value, .. }: Input<InvalidateCache>,
) -> Result<Json<InvalidatedCache>> {
    if value.org_id.is_some_and(|org_id| org_id != caller.org_id) {
        let detail = "org_id is another organization's; leave it out.";
        return Err(Error::refused(Code::Forbidden, detail).into());
    }
    Ok(Json(InvalidatedCache { invalidated: false, org_id: caller.org_id }))
}
