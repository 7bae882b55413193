//! Extractors that turn a request's body and query into checked values.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
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
        let announced = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        let budget = app.state::<BodyBudget>();
        let patience = Duration::from_secs(app.settings.server.body_timeout_seconds);
        let reading = budget.read(request.into_body(), announced, limit);
        let (pieces, share) = match tokio::time::timeout(patience, reading).await {
            Ok(read) => read?,
            Err(_) => {
                let seconds = patience.as_secs();
                let detail = format!("The body did not arrive within {seconds} seconds.");
                return Err(Error::refused(Code::RequestTimeout, detail).into());
            }
        };
        let Outcome { value, unknown } = budget.parse(pieces).await?;
        Ok(Input { value, unknown, _share: share })
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
