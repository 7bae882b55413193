//! `GET /api/whoami`: what a credential is and where its data goes.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Caller, Role};
use crate::app::App;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(whoami))
}

#[derive(Serialize, utoipa::ToSchema)]
struct Whoami {
    success: bool,
    org_id: String,
    #[schema(example = "sqlite")]
    storage_type: Option<&'static str>,
    /// Where the data goes, without credentials.
    storage_label: Option<String>,
    storage_configured: bool,
    message: String,
    role: Role,
    /// `governance` when the credential may export and erase.
    grants: Vec<&'static str>,
}

/// Who am I, and where does my data go?
#[utoipa::path(get, path = "/api/whoami", tag = "operations",
    responses((status = 200, body = Whoami)))]
async fn whoami(State(app): State<Arc<App>>, caller: Caller) -> Json<Whoami> {
    let engine = app.db.engine();
    Json(Whoami {
        success: true,
        org_id: caller.org_id,
        storage_type: engine.map(|e| e.name()),
        storage_label: app.storage_label(),
        storage_configured: engine.is_some(),
        message: String::new(),
        role: caller.role,
        grants: if caller.governance { vec!["governance"] } else { Vec::new() },
    })
}
