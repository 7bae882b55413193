//! `GET /api/whoami`: what a credential is and where its data goes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Grant, Known, Role};
use crate::app::App;
use base::owner::OrgId;
use storage::db::Engine;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(whoami))
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
