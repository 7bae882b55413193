//! Bodies that nobody read: a request refused before its body was looked at must not break the next one on its
//! connection.
//!
//! The rest of a small body is read and forgotten. Of a large one nothing is: the answer says that the connection
//! closes.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};

use super::connections::Connection;

/// The most that is read for the sake of the next request, and the longest wait for it.
const SMALL: u64 = 256 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

/// Gets back what is left of a request's body.
pub struct Unread {
    left: Option<Arc<Mutex<Option<Body>>>>,
    connection: Option<Arc<Connection>>,
    /// The client sends its body only after being asked to.
    waits: bool,
}

impl Unread {
    /// Watches over the body of `request`.
    pub fn of(request: &mut Request) -> Self {
        let connection = request.extensions().get::<Arc<Connection>>().cloned();
        let waits = request.headers().contains_key(header::EXPECT);
        let left = (!request.body().is_end_stream()).then(|| {
            let left = Arc::new(Mutex::new(None));
            let body = std::mem::take(request.body_mut());
            *request.body_mut() = Body::new(Watched { body: Some(body), left: left.clone() });
            left
        });
        Unread { left, connection, waits }
    }

    /// Makes the connection fit for its next request, or has it closed.
    pub async fn settle(self, response: &mut Response) {
        let Some(left) = self.left else { return };
        let left = left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(body) = left else { return };
        let is_late = response.status() == StatusCode::REQUEST_TIMEOUT;
        if !self.waits && !is_late && is_read(body).await {
            return;
        }
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        if let Some(connection) = self.connection {
            connection.linger();
        }
    }
}

/// Reads a small body to its end; false if it is not small, or does not come.
async fn is_read(mut body: Body) -> bool {
    if body.size_hint().lower() > SMALL {
        return false;
    }
    let read = async {
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            length += frame.data_ref().map_or(0, Bytes::len) as u64;
            if length > SMALL {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap_or(false)
}

/// A body that is handed back if it is dropped before its end.
struct Watched {
    body: Option<Body>,
    left: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}
