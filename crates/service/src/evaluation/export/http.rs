//! Endpoint of exports.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{ExportFormat, ExportRequest};
use crate::app::App;
use crate::credentials::Caller;
use crate::evaluation::window::read_window;
use crate::http::fields::{Fields, Read};
use crate::http::{QueryInput, Result};

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(export_evaluations))
}

crate::request_query!(ExportRequest);

impl Read for ExportRequest {
    fn read(f: &mut Fields<'_>) -> Self {
        let (from_ts, to_ts) = read_window(f);
        let sources = f
            .about(
                "Sources, separated by commas; an empty one means requests published without a source. \
                 All when absent.",
            )
            .optional_text("sources", 10_000);
        ExportRequest {
            format: f.required_word("format"),
            from_ts,
            to_ts,
            sources: sources.map(|list| list.split(',').map(|one| one.trim().to_owned()).collect()),
        }
    }
}

/// Download every verdict of success in a window, oldest session first.
#[utoipa::path(get, path = "/api/evaluations/export", tag = "evaluation", params(ExportRequest),
    responses((status = 200, content(
        (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.apache.parquet")))))]
async fn export_evaluations(
    State(app): State<Arc<App>>,
    caller: Caller,
    QueryInput(request): QueryInput<ExportRequest>,
) -> Result<impl IntoResponse> {
    let kind = match request.format {
        ExportFormat::Csv => "text/csv; charset=utf-8",
        ExportFormat::Ndjson => "application/x-ndjson",
        ExportFormat::Parquet => "application/vnd.apache.parquet",
    };
    let name = format!("attachment; filename=\"evaluations.{}\"", request.format);
    let body = super::export(&app, &caller.org_id, request).await?;
    Ok(([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, name)], body))
}
