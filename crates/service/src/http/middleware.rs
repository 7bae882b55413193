//! Around every request: its id, its time limit, its measurement, what browsers and proxies may do with the answer,
//! the rest of its body, and an answer even after a panic.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::problem::{HttpError, REQUEST_ID};
use super::unread::Unread;
use crate::app::App;
use storage::error::Error;

pub async fn around(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = sent_id(&request).unwrap_or_else(|| app.ids.uuid());
    let method = label(request.method());
    // The route's pattern, never the path itself: paths carry user ids.
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "unmatched".to_owned());

    let unread = Unread::of(&mut request);
    let limit = Duration::from_secs(app.settings.server.request_timeout_seconds);
    let answer = AssertUnwindSafe(tokio::time::timeout(limit, next.run(request))).catch_unwind();
    let mut response = REQUEST_ID
        .scope(id.clone(), async {
            match answer.await {
                Ok(Ok(response)) => response,
                Ok(Err(_)) => HttpError::from(Error::unavailable(
                    "The answer took too long and was given up.",
                    1,
                ))
                .into_response(),
                Err(_) => HttpError::from(Error::Internal("a handler panicked".to_owned()))
                    .into_response(),
            }
        })
        .await;

    unread.settle(&mut response).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(value) = HeaderValue::from_str(&id) {
        headers.insert("x-request-id", value);
    }
    let status = response.status().as_u16();
    let elapsed = started.elapsed();
    metrics::histogram!(
        "evenhand_http_request_seconds",
        "method" => method, "route" => route.clone(), "status" => status.to_string()
    )
    .record(elapsed.as_secs_f64());
    tracing::debug!(method, route, status, ms = elapsed.as_millis(), request_id = id, "answered");
    response
}

/// The method's name, one of a few: clients may invent methods, and each label is kept as long as the process.
fn label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

/// The caller's own id for the request, if it is a sane one.
fn sent_id(request: &Request) -> Option<String> {
    let id = request.headers().get("x-request-id")?.to_str().ok()?;
    let sane = !id.is_empty()
        && id.len() <= 128
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
    sane.then(|| id.to_owned())
}
