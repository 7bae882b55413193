//! A server around an app, on a free port, and a client that talks to it.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use service::app::App;
use service::http;
use service::http::connections::Limits;
use tokio_util::sync::CancellationToken;

use super::contract;

pub struct Server {
    pub address: SocketAddr,
    pub client: reqwest::Client,
    token: Option<String>,
    /// Cookie and proof of a signed-in browser.
    browser: Option<(String, String)>,
    /// Says to be the dashboard, as its own requests in local mode do.
    inspects: bool,
    stop: CancellationToken,
}

/// Response of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.text);
        let mut value: Value = parsed.unwrap_or_else(|e| panic!("{e}: {}", self.text));
        value.sort_all_objects();
        value
    }

    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text);
        self.json()
    }

    /// The body of a problem with this status and code.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{}", self.text);
        let kind = self.headers["content-type"].to_str().unwrap();
        assert_eq!(kind, "application/problem+json");
        assert_eq!(body["request_id"].as_str(), self.headers["x-request-id"].to_str().ok());
        assert!(body["detail"].is_string() && body["title"].is_string());
        body
    }

    /// The (pointer, code) pairs of a 422 for bad input.
    #[track_caller]
    pub fn input_problems(self) -> Vec<(String, String)> {
        let body = self.problem(422, "invalid_input");
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        let errors = body["errors"].as_array().unwrap();
        errors.iter().map(|e| (text(&e["pointer"]), text(&e["code"]))).collect()
    }
}

impl Server {
    pub async fn start(app: Arc<App>) -> Self {
        judge::llm::install_tls();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let limits = Limits::of(&app.settings.server);
        let router = service::router::router(app);
        tokio::spawn(http::server::serve(listener, router, stop.clone(), limits));
        let client = patient_client();
        Server { address, client, token: None, browser: None, inspects: false, stop }
    }

    fn copy(&self) -> Server {
        Server {
            address: self.address,
            client: self.client.clone(),
            token: self.token.clone(),
            browser: self.browser.clone(),
            inspects: self.inspects,
            stop: CancellationToken::new(),
        }
    }

    /// The same server, seen with a credential.
    pub fn with_token(&self, token: &str) -> Server {
        let mut seen = self.copy();
        (seen.token, seen.browser, seen.inspects) = (Some(token.to_owned()), None, false);
        seen
    }

    /// The same server, seen by a signed-in browser: its cookie, and the proof that its changes carry.
    pub fn with_browser(&self, cookie: &str, csrf: &str) -> Server {
        let mut seen = self.copy();
        (seen.token, seen.browser) = (None, Some((cookie.to_owned(), csrf.to_owned())));
        seen
    }

    /// The same server, seen by a person at the dashboard.
    pub fn inspecting(&self) -> Server {
        let mut seen = self.copy();
        seen.inspects = true;
        seen
    }

    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        let request = match self.inspects {
            true => request.header("x-evenhand-caller", "dashboard"),
            false => request,
        };
        let request = match &self.browser {
            Some((cookie, csrf)) => {
                request.header("cookie", cookie).header("x-evenhand-csrf", csrf)
            }
            None => request,
        };
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    pub async fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = self.request(method, path);
        self.send(match body {
            Some(body) => request.json(body),
            None => request,
        })
        .await
    }

    pub async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let request = request.build().unwrap();
        let (method, path) = (request.method().to_string(), request.url().path().to_owned());
        let response = self.client.execute(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let kind = headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
        contract::check(&method, &path, status, kind, &text);
        Answer { status, headers, text }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.call("PUT", path, Some(body)).await
    }

    pub async fn delete(&self, path: &str, body: &Value) -> Answer {
        self.call("DELETE", path, Some(body)).await
    }

    pub async fn publish(&self, body: &Value) -> Answer {
        self.post("/api/publish_interaction", body).await
    }
}

/// A client that gives idle connections up before the server does: one that is used at the moment it is closed fails.
pub fn patient_client() -> reqwest::Client {
    let idle = std::time::Duration::from_secs(2);
    reqwest::Client::builder().pool_idle_timeout(idle).build().unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
