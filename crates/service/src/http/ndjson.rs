//! Answers of one JSON object per line, sent page by page while they are made, so that memory stays flat.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use storage::error::{Error, Result};

/// The pages of an answer.
pub trait Pages: Send + 'static {
    /// The next lines, `None` after the last.
    fn next_page(&mut self) -> impl Future<Output = Result<Option<String>>> + Send;
}

/// Rows as lines.
pub fn lines<T: Serialize>(rows: &[T]) -> Result<String> {
    let mut text = String::new();
    for row in rows {
        text += &serde_json::to_string(row).map_err(|e| Error::Internal(e.to_string()))?;
        text.push('\n');
    }
    Ok(text)
}

/// The answer. Its first page is made before it begins, so that a refusal still is one.
pub async fn ndjson(mut pages: impl Pages) -> Result<Response> {
    let first = stream::iter(pages.next_page().await?.map(Ok));
    let rest = stream::try_unfold(pages, |mut pages| async move {
        match pages.next_page().await {
            Ok(page) => Ok(page.map(|page| (page, pages))),
            Err(error) => {
                tracing::error!(%error, "an export broke off");
                Err(error)
            }
        }
    });
    let body = Body::from_stream(first.chain(rest));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}
