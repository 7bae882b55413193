//! Extractors that turn a request's body and query into checked values.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::{Map, Value};

use super::HttpError;
use super::bodies::{BodyBudget, Share};
use super::fields::{self, Outcome, Read};
use crate::app::App;
use storage::error::{Code, Error, Result};

/// A JSON body, read by the rules of `T`. `unknown` lists fields that `T` does not have.
pub struct Input<T> {
    pub value: T,
    pub unknown: Vec<String>,
    /// Of the memory that large bodies may take, as long as the request is in work.
    _share: Share,
}

/// Query parameters, read by the rules of `T`.
pub struct QueryInput<T>(pub T);

impl<T: Read + Send + 'static> FromRequest<Arc<App>> for Input<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, HttpError> {
        if !is_json(request.headers()) {
            return Err(Error::refused(
                Code::UnsupportedMediaType,
                "Send the body as JSON, with the header Content-Type: application/json.",
            )
            .into());
        }
        let limit = app.settings.server.body_limit_bytes;
        let limit = T::BODY_LIMIT.map_or(limit, |own| own.min(limit));
        let (pieces, share) = read_pieces(request, app, limit).await?;
        let Outcome { value, unknown } = app.state::<BodyBudget>().parse(pieces).await?;
        Ok(Input { value, unknown, _share: share })
    }
}

/// The pieces of a body that comes in time and is not too large.
async fn read_pieces(request: Request, app: &App, limit: usize) -> Result<(Vec<Bytes>, Share)> {
    let announced = request
        .headers()
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let patience = Duration::from_secs(app.settings.server.body_timeout_seconds);
    let reading = app.state::<BodyBudget>().read(request.into_body(), announced, limit);
    match tokio::time::timeout(patience, reading).await {
        Ok(read) => read,
        Err(_) => {
            let seconds = patience.as_secs();
            let detail = format!("The body did not arrive within {seconds} seconds.");
            Err(Error::refused(Code::RequestTimeout, detail))
        }
    }
}

/// Media type of a body that is not read field by field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    Json,
    Protobuf,
}

/// A body as it is, unpacked: JSON or protobuf, plain or in gzip.
pub struct RawInput {
    pub media_type: MediaType,
    pub bytes: Vec<u8>,
    _share: Share,
}

impl FromRequest<Arc<App>> for RawInput {
    type Rejection = HttpError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, HttpError> {
        let unsupported = |detail| Err(Error::refused(Code::UnsupportedMediaType, detail).into());
        let media_type = match content_type(request.headers()).as_deref() {
            Some("application/json") => MediaType::Json,
            Some("application/x-protobuf") => MediaType::Protobuf,
            _ => return unsupported("Send application/x-protobuf or application/json."),
        };
        let coding = request.headers().get(header::CONTENT_ENCODING);
        let is_gzip = match coding.map(HeaderValue::as_bytes) {
            None | Some(b"identity") => false,
            Some(b"gzip") => true,
            _ => return unsupported("Send the body as it is, or with Content-Encoding: gzip."),
        };
        let limit = app.settings.server.body_limit_bytes;
        let (pieces, share) = read_pieces(request, app, limit).await?;
        let bytes = pieces.concat();
        let bytes = if is_gzip { unpacked(&bytes, limit)? } else { bytes };
        Ok(RawInput { media_type, bytes, _share: share })
    }
}

fn unpacked(packed: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX);
    let reading = flate2::read::GzDecoder::new(packed).take(most + 1).read_to_end(&mut bytes);
    let broken = |e| Error::refused(Code::BadRequest, format!("The body is not gzip: {e}."));
    reading.map_err(broken)?;
    if bytes.len() > limit {
        let detail = format!("Unpacked, the body is larger than {limit} bytes; send less at once.");
        return Err(Error::refused(Code::BodyTooLarge, detail));
    }
    Ok(bytes)
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
    content_type(headers).is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"))
}

/// Media type of a body, without its parameters.
fn content_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
}
