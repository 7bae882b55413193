//! A running server that a command talks to.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::AsyncWriteExt;

/// The longest time between two pieces of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Address of a server, and the key that it knows the caller by.
#[derive(Args, Clone)]
pub struct Remote {
    /// The server to talk to
    #[arg(long, env = "EVENHAND_URL", default_value = "http://127.0.0.1:8700")]
    pub url: String,
    /// A key of a role that may do this (`evenhand keys create`); not needed if the server is in local mode
    #[arg(long, env = "EVENHAND_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
}

impl Remote {
    pub fn client(&self) -> Result<RemoteClient> {
        judge::llm::install_tls();
        let http = Client::builder().connect_timeout(PATIENCE).read_timeout(PATIENCE).build()?;
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

    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value> {
        self.read(self.request(Method::GET, &with_query(path, query)?)).await
    }

    pub async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value> {
        self.read(self.request(Method::POST, path).json(body)).await
    }

    async fn read(&self, request: RequestBuilder) -> Result<Value> {
        self.json(self.send(request).await?).await
    }

    /// The value in an answer.
    pub async fn json<T: DeserializeOwned>(&self, answer: Response) -> Result<T> {
        answer.json().await.map_err(|error| {
            let url = &self.remote.url;
            anyhow!("{url} does not answer as Evenhand does: {error}. Is EVENHAND_URL its address?")
        })
    }

    /// The answer to a request, also a refusal.
    pub async fn reach(&self, request: RequestBuilder) -> Result<Response> {
        request.send().await.map_err(|error| {
            let url = &self.remote.url;
            anyhow!(
                "{url} does not answer: {error}. Is it running, and is EVENHAND_URL its address?"
            )
        })
    }

    /// The answer to a request, if it was a success.
    pub async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let answer = self.reach(request).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
        let failure = format!("the server answered {status}: {}", detail(&text));
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                bail!("{failure} Give a key of a role that may do this with --token.")
            }
            _ => bail!(failure),
        }
    }

    /// Writes the answer to a request into a new file, and says its length.
    pub async fn download(&self, request: RequestBuilder, output: &Path) -> Result<u64> {
        let name = output.display();
        let file = base::private_files::options().create_new(true).open(output);
        let file = file.with_context(|| format!("cannot write {name}"))?;
        let written = self.write(request, tokio::fs::File::from_std(file)).await;
        if written.is_err() {
            // Half an answer looks like a whole one.
            let _ = std::fs::remove_file(output);
        }
        written
    }

    async fn write(&self, request: RequestBuilder, mut file: tokio::fs::File) -> Result<u64> {
        let mut answer = self.send(request).await?;
        let mut written = 0;
        while let Some(piece) = answer.chunk().await.context("the answer ended early")? {
            file.write_all(&piece).await?;
            written += piece.len() as u64;
        }
        file.sync_all().await?;
        Ok(written)
    }
}

/// The path of these segments, each encoded.
pub fn path(segments: &[&str]) -> Result<String> {
    let mut url = Url::parse("http://server/")?;
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.clear().extend(segments);
    }
    Ok(url.path().to_owned())
}

/// A path with parameters.
pub fn with_query(path: &str, query: &[(&str, String)]) -> Result<String> {
    if query.is_empty() {
        return Ok(path.to_owned());
    }
    let url = Url::parse_with_params("http://server/", query)?;
    Ok(format!("{path}?{}", url.query().unwrap_or_default()))
}

/// The sentence of a problem body.
pub fn detail(text: &str) -> String {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    body["detail"].as_str().unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_encoded_in_paths() {
        assert_eq!(path(&["api", "a/b c", "?é"]).unwrap(), "/api/a%2Fb%20c/%3F%C3%A9");
        assert_eq!(with_query("/a", &[("b", "c d&é".to_owned())]).unwrap(), "/a?b=c+d%26%C3%A9");
        assert_eq!(with_query("/a", &[]).unwrap(), "/a");
        assert_eq!(detail("{\"detail\": \"No.\"}"), "No.");
        assert_eq!(detail("<html>"), "<html>");
    }
}
