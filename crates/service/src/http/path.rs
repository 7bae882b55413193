//! Identifiers in the path.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::HttpError;
use super::fields::{ID_LENGTH, check_id};
use crate::app::App;
use storage::error::{Error, Result};

/// The one identifier of a path. Text that cannot be an identifier names nothing, so it is 404 like an unknown one.
pub struct PathId(pub String);

/// The identifiers of a path, in its order.
pub struct PathIds<const N: usize>(pub [String; N]);

impl FromRequestParts<Arc<App>> for PathId {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        let PathIds([id]) = PathIds::from_request_parts(parts, app).await?;
        Ok(PathId(id))
    }
}

impl<const N: usize> FromRequestParts<Arc<App>> for PathIds<N> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, HttpError> {
        // Refused when what stands there is not UTF-8.
        let raw = RawPathParams::from_request_parts(parts, app).await;
        let raw = raw.map_err(|_| Error::not_found("thing"))?;
        let id = |(name, text): (&str, &str)| {
            check_id(text, ID_LENGTH).map_err(|_| Error::not_found(name.trim_end_matches("_id")))
        };
        let ids: Vec<String> = raw.iter().map(id).collect::<Result<_>>()?;
        let ids = <[String; N]>::try_from(ids).map_err(|_| {
            Error::Internal("a route has other parameters than its handler".to_owned())
        })?;
        Ok(PathIds(ids))
    }
}
