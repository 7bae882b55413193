//! Is it alive, is it ready, what is it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::governance;
use crate::schema::MIGRATIONS;
use judge::JudgeState;
use storage::error::Error;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(live)).routes(routes!(ready)).routes(routes!(version))
}

base::vocabulary! {
    enum HealthStatus {
        Ok = "ok",
        /// The reason is in `checks`.
        Unavailable = "unavailable",
    }
}

base::vocabulary! {
    /// A part of the server that is looked at.
    enum HealthCheck {
        Process = "process",
        Storage = "storage",
        Jobs = "jobs",
        /// The remains of the erased in the database's files.
        Files = "files",
        Judge = "judge",
    }
}

#[derive(Serialize, utoipa::ToSchema)]
struct Health {
    status: HealthStatus,
    checks: Vec<Check>,
}

#[derive(Serialize, utoipa::ToSchema)]
struct Check {
    name: HealthCheck,
    ok: bool,
    detail: String,
}

#[derive(Serialize, utoipa::ToSchema)]
struct Version {
    name: &'static str,
    version: &'static str,
    /// The newest schema migration this binary knows.
    schema_version: i64,
}

/// Is the process alive?
#[utoipa::path(get, path = "/health/live", tag = "operations", security(()),
    responses((status = 200, body = Health)))]
async fn live() -> Json<Health> {
    Json(Health { status: HealthStatus::Ok, checks: Vec::new() })
}

/// Can it serve requests? Looks at the storage and the job queue, and says how the judge is.
#[utoipa::path(get, path = "/health/ready", tag = "operations", security(()),
    responses((status = 200, body = Health), (status = 503, body = Health)))]
async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Health>) {
    let mut checks = Vec::new();
    let stopping = app.stopping.is_cancelled();
    if stopping {
        checks.push(Check { name: HealthCheck::Process, ok: false, detail: "stopping".to_owned() });
    }
    if app.db.engine().is_none() {
        let detail = "started with --storage none".to_owned();
        checks.push(Check { name: HealthCheck::Storage, ok: true, detail });
    } else {
        let storage = async {
            app.check_writes().await?;
            Ok((
                storage::jobs::oldest_due_age(&app).await?,
                governance::overdue_seconds(&app).await?,
            ))
        };
        match storage.await {
            Ok((age, overdue)) => {
                let detail = "reads and writes".to_owned();
                checks.push(Check { name: HealthCheck::Storage, ok: true, detail });
                let detail = match age {
                    0 => "nothing is late".to_owned(),
                    age => format!("the oldest due job waits for {age} s"),
                };
                checks.push(Check { name: HealthCheck::Jobs, ok: true, detail });
                // A warning: requests are served all the same.
                if let Some(age) = overdue {
                    let detail =
                        format!("remains of somebody erased {age} s ago wait to be cleaned out");
                    checks.push(Check { name: HealthCheck::Files, ok: true, detail });
                }
            }
            Err::<_, Error>(error) => {
                let detail = error.to_string();
                checks.push(Check { name: HealthCheck::Storage, ok: false, detail });
            }
        }
    }
    // A judge that is paused keeps nobody from publishing and reading: it is shown, and the server stays ready.
    let detail = match app.judge.state() {
        JudgeState::Running => app.judge.label().to_owned(),
        JudgeState::Paused { reason, since } => {
            format!("{} is paused since {since}: {reason}", app.judge.label())
        }
    };
    checks.push(Check { name: HealthCheck::Judge, ok: true, detail });
    let ok = checks.iter().all(|check| check.ok);
    let (code, status) = match ok {
        true => (StatusCode::OK, HealthStatus::Ok),
        false => (StatusCode::SERVICE_UNAVAILABLE, HealthStatus::Unavailable),
    };
    (code, Json(Health { status, checks }))
}

/// Name and version of this server.
#[utoipa::path(get, path = "/meta/version", tag = "operations", security(()),
    responses((status = 200, body = Version)))]
async fn version() -> Json<Version> {
    Json(Version {
        name: "evenhand",
        version: env!("CARGO_PKG_VERSION"),
        schema_version: MIGRATIONS.newest(),
    })
}
