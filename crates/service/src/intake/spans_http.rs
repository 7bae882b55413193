//! `POST /v1/traces`: OTLP over HTTP, where exporters of OpenTelemetry send their spans.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::spans;
use crate::app::App;
use crate::credentials::Publisher;
use crate::http::{MediaType, RawInput, Result};
use storage::error::{Code, Error};
use traces::otlp;

pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(export_traces))
}

/// Take OpenTelemetry spans: calls of models become turns of sessions.
///
/// OTLP over HTTP, in protobuf or JSON, plain or in gzip. Each span is stored once, however often it comes. Spans that are
/// no calls of a model are accepted and not kept; those that cannot be stored are counted in `partialSuccess`.
#[utoipa::path(post, path = "/v1/traces", tag = "sessions",
    request_body(description = "ExportTraceServiceRequest of OTLP.",
        content((Object = "application/json"), (Vec<u8> = "application/x-protobuf"))),
    responses((status = 200, description = "ExportTraceServiceResponse of OTLP, in the form of the request.",
        content((Object = "application/json"), (Vec<u8> = "application/x-protobuf")))))]
async fn export_traces(
    State(app): State<Arc<App>>,
    Publisher(caller): Publisher,
    input: RawInput,
) -> Result<Response> {
    let decoded = match input.media_type {
        MediaType::Json => otlp::decode_json(&input.bytes),
        MediaType::Protobuf => otlp::decode_protobuf(&input.bytes),
    };
    let request = decoded.map_err(|e| {
        let detail = format!("The body is no OTLP trace request: {e}.");
        Error::refused(Code::BadRequest, detail)
    })?;
    let stored = spans::store(&app, &caller.org_id, request).await?;
    Ok(match input.media_type {
        MediaType::Json => {
            ([(header::CONTENT_TYPE, "application/json")], stored.response_json()).into_response()
        }
        MediaType::Protobuf => {
            let kind = [(header::CONTENT_TYPE, "application/x-protobuf")];
            (kind, stored.response_protobuf()).into_response()
        }
    })
}
