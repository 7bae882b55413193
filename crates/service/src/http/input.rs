//! Extractors that turn a request's body and query into checked values.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use super::HttpError;
use super::fields::{self, Outcome, Read};
use crate::app::App;
use storage::error::{Code, Error, Result};

/// A JSON body, read by the rules of `T`. `unknown` lists fields that `T` does not have.
pub struct Input<T> {
    pub value: T,
    pub unknown: Vec<String>,
}

/// Query parameters, read by the rules of `T`.
pub struct QueryInput<T>(pub T);

impl<T: Read> FromRequest<Arc<App>> for Input<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, HttpError> {
        if !is_json(request.headers()) {
            drain(request.into_body()).await;
            return Err(Error::refused(
                Code::UnsupportedMediaType,
                "Send the body as JSON, with the header Content-Type: application/json.",
            )
            .into());
        }
        let limit = app.settings.server.body_limit_bytes;
        let limit = T::BODY_LIMIT.map_or(limit, |own| own.min(limit));
        let patience = Duration::from_secs(app.settings.server.body_timeout_seconds);
        let bytes = match tokio::time::timeout(patience, read_all(request, limit)).await {
            Ok(bytes) => bytes?,
            Err(_) => {
                let seconds = patience.as_secs();
                let detail = format!("The body did not arrive within {seconds} seconds.");
                return Err(Error::refused(Code::RequestTimeout, detail).into());
            }
        };
        let mut body: Value = serde_json::from_slice(&bytes).map_err(|e| {
            Error::refused(Code::MalformedJson, format!("The body is not JSON: {e}."))
        })?;
        // Objects that differ only in the order of their names are the same content.
        body.sort_all_objects();
        let Outcome { value, unknown } = fields::read_body(&body).map_err(Error::invalid)?;
        Ok(Input { value, unknown })
    }
}

impl<T: Read> FromRequestParts<Arc<App>> for QueryInput<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, HttpError> {
        let query = parts.uri.query().unwrap_or("");
        let mut object = Map::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = Value::String(value.into_owned());
            if object.insert(name.clone().into_owned(), value).is_some() {
                let detail = format!("The query parameter {name} is given twice.");
                return Err(Error::refused(Code::BadRequest, detail).into());
            }
        }
        let outcome = fields::read_query(&object).map_err(Error::invalid)?;
        Ok(QueryInput(outcome.value))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
        .is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

async fn read_all(request: Request, limit: usize) -> Result<Bytes> {
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let mut body = request.into_body();
    let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(limit));
    let mut too_large = announced.is_some_and(|length| length > limit);
    while !too_large {
        let Some(frame) = body.frame().await else {
            return Ok(bytes.into());
        };
        let frame = frame
            .map_err(|_| Error::refused(Code::BadRequest, "The body broke off before its end."))?;
        if let Ok(data) = frame.into_data() {
            too_large = bytes.len() + data.len() > limit;
            bytes.extend_from_slice(&data);
        }
    }
    drop(bytes);
    drain(body).await;
    let detail = format!("The body is larger than {limit} bytes; split it into several requests.");
    Err(Error::refused(Code::BodyTooLarge, detail))
}

/// Reads on without keeping anything, within bounds, so that a client that is still sending gets to read the
/// answer instead of a reset connection.
async fn drain(mut body: Body) {
    let mut left: usize = 256 << 20;
    let discard = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(10), discard).await;
}
