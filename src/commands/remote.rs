//! A running server that a command talks to.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use reqwest::{Client, Method, RequestBuilder};

/// The longest time that a request may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Address of a server, and the key that it knows the caller by.
#[derive(Args, Clone)]
pub struct Remote {
    /// The server to talk to
    #[arg(long, env = "EVENHAND_URL", default_value = "http://127.0.0.1:8700")]
    pub url: String,
    /// A key of a role that may do this (`evenhand keys create`); not needed if the server is in local mode
    #[arg(long, env = "EVENHAND_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl Remote {
    pub fn client(&self) -> Result<RemoteClient> {
        judge::llm::install_tls();
        let http = Client::builder().timeout(PATIENCE).build()?;
        Ok(RemoteClient { http, remote: self.clone() })
    }
}

/// Connections to that server.
#[derive(Clone)]
pub struct RemoteClient {
    http: Client,
    remote: Remote,
}

impl RemoteClient {
    /// A request to a path, which begins with a slash.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.remote.url.trim_end_matches('/'));
        let request = self.http.request(method, url);
        match &self.remote.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}
