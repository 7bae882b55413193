//! Accepting connections: bounded in number, in time and in patience, and a stop that lets requests in flight finish.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::HttpError;
use super::connections::{Connections, Limits, Place};
use super::paced::Paced;
use storage::error::Error;

/// Serves until `stopping` is cancelled and the requests in flight are answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stopping: CancellationToken,
    limits: Limits,
) {
    let tasks = TaskTracker::new();
    let connections = Connections::new(limits);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stopping.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(place) = connections.admit(peer.ip()) else { continue };
                let (router, stopping) = (router.clone(), stopping.clone());
                tasks.spawn(connection(stream, peer, place, router, stopping, limits));
            }
            // Out of file descriptors or the like: breathe, then try again.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    router: Router,
    stopping: CancellationToken,
    limits: Limits,
) {
    let _ = stream.set_nodelay(true);
    let state = place.connection.clone();
    let stream = Paced::new(stream, state.clone(), limits.write_timeout);
    let of_requests = state.clone();
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let in_work = of_requests.begin_request();
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(of_requests.clone());
        let refused = of_requests.spare && !request.uri().path().starts_with("/health/");
        let answer = (!refused).then(|| router.clone().oneshot(request));
        async move {
            let _in_work = in_work;
            match answer {
                Some(answer) => answer.await,
                None => Ok::<Response, Infallible>(no_room()),
            }
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        // A client that hangs up after sending is not listened to again before the answer is ready. Otherwise
        // the handler would be dropped wherever it is, and a publish that has arrived would not be stored.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let pushed_out = async {
        state.ending.cancelled().await;
        // A request that came at this very moment is still answered.
        if state.is_busy() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        result = connection.as_mut() => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended early");
            }
        }
        () = pushed_out => {}
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

fn no_room() -> Response {
    let error = Error::unavailable("Too many connections are open; try again shortly.", 1);
    let mut response = HttpError::from(error).into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
