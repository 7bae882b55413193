//! Accepting connections: bounded head times, and a stop that lets requests in flight finish.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

/// Serves until `stopping` is cancelled and the requests in flight are answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stopping: CancellationToken,
    header_timeout_seconds: u64,
) {
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let router = router.clone();
                let stopping = stopping.clone();
                connections.spawn(connection(
                    stream,
                    peer,
                    router,
                    stopping,
                    header_timeout_seconds,
                ));
            }
            // Out of file descriptors or the like: breathe, then try again.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    stopping: CancellationToken,
    header_timeout_seconds: u64,
) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(header_timeout_seconds))
        // A client that hangs up after sending is not listened to again before the answer is ready. Otherwise
        // the handler would be dropped wherever it is, and a publish that has arrived would not be stored.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            }
        }
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
