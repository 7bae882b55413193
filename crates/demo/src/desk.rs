//! The desk's own agent: it calls the interface as any agent does, without a network in between.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::{Method, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use service::app::App;
use service::credentials::{self, DEFAULT_ORG, NewCredential, Role};

/// A client of an app in the same process.
#[derive(Clone)]
pub struct Desk {
    app: Arc<App>,
    router: Router,
    /// Needed from when somebody made a credential: local mode is over then.
    token: Arc<Mutex<Option<String>>>,
    role: Role,
}

impl Desk {
    pub fn new(app: &Arc<App>) -> Self {
        let (router, token) = (service::router::router(app.clone()), Arc::default());
        Desk { app: app.clone(), router, token, role: Role::Agent }
    }

    /// The person who runs the desk: approves what serves everybody.
    pub fn person(&self) -> Self {
        Desk { token: Arc::default(), role: Role::Dashboard, ..self.clone() }
    }

    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::POST, path, body).await
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        self.call(Method::GET, path, &Value::Null).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Result<Value> {
        self.call(Method::PUT, path, body).await
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let (status, answer) = self.send(&method, path, body).await?;
        let (status, answer) = if status == 401 {
            let name = if self.role == Role::Agent { "demo customers" } else { "demo desk" };
            let (_, token) = credentials::create(
                &self.app,
                &DEFAULT_ORG.into(),
                NewCredential::of(self.role, name),
            )
            .await?;
            *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
            self.send(&method, path, body).await?
        } else {
            (status, answer)
        };
        if status >= 400 {
            bail!("{path} answered {status}: {answer}");
        }
        Ok(answer)
    }

    async fn send(&self, method: &Method, path: &str, body: &Value) -> Result<(u16, Value)> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(token) = self.token.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let mut request = request.body(Body::from(body.to_string()))?;
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([127, 0, 0, 1], 0))));
        let response = self.router.clone().oneshot(request).await?;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.map_err(|e| anyhow!(e))?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}
