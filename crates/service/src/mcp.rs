//! `/mcp`: the Model Context Protocol over HTTP. Its tools ask this service's own interface, in the name of the caller.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http_body_util::BodyExt;
use mcp::{Answer, Api, Call};
use tower::ServiceExt;

use crate::app::App;
use crate::credentials::Known;

/// The route, before the routes that its tools ask.
pub fn routes(app: &App, interface: Router) -> Router<Arc<App>> {
    let service = mcp::http_service(InProcess(interface), app.clock.clone());
    // The caller is known first: clients ask for a key when they are told so, not when a tool fails.
    let answer = async move |State(_): State<Arc<App>>, _: Known, request: Request| -> Response {
        service.handle(request).await.map(Body::new).into_response()
    };
    Router::new().route("/mcp", any(answer))
}

/// The routes of this process.
#[derive(Clone)]
struct InProcess(Router);

impl Api for InProcess {
    async fn call(&self, call: Call) -> Result<Answer, String> {
        let peer = call
            .asked_by
            .as_ref()
            .and_then(|asked_by| asked_by.extensions.get::<ConnectInfo<SocketAddr>>().cloned());
        let mut request = call.into_request()?.map(Body::from);
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        let Ok(response) = self.0.clone().oneshot(request).await;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
        Ok(Answer { status, body: body.to_bytes().to_vec() })
    }
}
