//! One message over HTTP: to an address that was checked, in bounded time, and no further.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use super::addresses::is_public;

/// The longest time of one attempt, from the look-up of the name to the end of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 1024;
/// Characters of an error that the log keeps.
const ERROR_LENGTH: usize = 200;

/// A message that did not arrive: the status of the answer, if there was one, and the beginning of the error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSent {
    pub status: Option<u16>,
    pub error: String,
}

impl NotSent {
    pub fn because(error: impl std::fmt::Display) -> Self {
        NotSent { status: None, error: shortened(&error.to_string()) }
    }
}

/// One line of a bounded length.
fn shortened(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    line.chars().take(ERROR_LENGTH).collect()
}

/// Reason that a URL can be no target, if it cannot. Names are looked up only when something is sent.
pub fn refusal(url: &str, allow_private: bool) -> Option<&'static str> {
    let Ok(url) = Url::parse(url) else {
        return Some("must be a URL, for example https://hooks.example.org/evenhand");
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Some("must not have a user or password in it");
    }
    let Some(host) = url.host_str() else {
        return Some("must name a host");
    };
    let is_private = literal(host).map_or_else(|| is_local_name(host), |ip| !is_public(ip));
    match url.scheme() {
        "https" | "http" if allow_private => None,
        "https" if is_private => Some(
            "leads to this machine or its network; webhooks.allow_private_addresses = true allows that",
        ),
        "https" => None,
        "http" => Some(
            "must begin with https://; webhooks.allow_private_addresses = true allows http:// too",
        ),
        _ => Some("must begin with https:// or mailto:"),
    }
}

/// The address that a host is, if it is no name.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_matches(['[', ']']).parse().ok()
}

fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Posts a body, and reads no more of the answer than the log keeps. Gives the status of success.
pub async fn post(
    url: &str,
    headers: Vec<(&'static str, String)>,
    body: String,
    allow_private: bool,
) -> Result<u16, NotSent> {
    let sent = async {
        let url = Url::parse(url).map_err(NotSent::because)?;
        let client = client(&url, allow_private).await?;
        let mut request = client.post(url).header("content-type", "application/json").body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        // The address may be a secret itself: it is not in the error.
        let answer = request.send().await.map_err(|error| failure(error.without_url()))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(status.as_u16());
        }
        let error = shortened(&beginning(answer).await);
        Err(NotSent { status: Some(status.as_u16()), error })
    };
    let timed_out = || NotSent::because(format!("no answer within {} s", PATIENCE.as_secs()));
    tokio::time::timeout(PATIENCE, sent).await.unwrap_or_else(|_| Err(timed_out()))
}

/// A client that connects to addresses of the URL's host that were checked, whatever the name means later.
async fn client(url: &Url, allow_private: bool) -> Result<Client, NotSent> {
    let host = url.host_str().ok_or_else(|| NotSent::because("the URL names no host"))?;
    let port = url.port_or_known_default().unwrap_or(443);
    let found: Vec<SocketAddr> = match literal(host) {
        Some(address) => vec![SocketAddr::new(address, port)],
        None => tokio::net::lookup_host((host, port)).await.map_err(NotSent::because)?.collect(),
    };
    let allowed: Vec<SocketAddr> =
        found.into_iter().filter(|found| allow_private || is_public(found.ip())).collect();
    if allowed.is_empty() {
        return Err(NotSent::because(
            "refused: the host has no public address; webhooks.allow_private_addresses allows others",
        ));
    }
    Client::builder()
        .redirect(Policy::none())
        // A proxy would look the name up again.
        .no_proxy()
        .timeout(PATIENCE)
        .user_agent(concat!("evenhand/", env!("CARGO_PKG_VERSION")))
        .resolve_to_addrs(host, &allowed)
        .build()
        .map_err(NotSent::because)
}

/// The innermost cause: the outer ones only say that a request failed.
fn failure(error: reqwest::Error) -> NotSent {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    NotSent::because(cause)
}

async fn beginning(mut answer: reqwest::Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER_BYTES {
        match answer.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            _ => break,
        }
    }
    bytes.truncate(ANSWER_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_public_and_encrypted_unless_allowed() {
        for url in [
            "https://hooks.example.org/a?b=c",
            "https://1.1.1.1/",
            "https://[2606:4700::1111]:8443/x",
        ] {
            assert_eq!(refusal(url, false), None, "{url}");
        }
        for url in [
            "http://hooks.example.org/",
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://[::ffff:10.0.0.1]/",
            "https://localhost./",
            "https://a.localhost/",
            "https://169.254.169.254/latest",
            "https://user:secret@hooks.example.org/",
            "ftp://hooks.example.org/",
            "hooks.example.org",
        ] {
            assert!(refusal(url, false).is_some(), "{url}");
        }
        assert_eq!(refusal("http://127.0.0.1:9/", true), None);
        assert!(refusal("ftp://127.0.0.1:9/", true).is_some());
        assert!(refusal("http://a:b@127.0.0.1:9/", true).is_some());
    }

    #[test]
    fn errors_are_one_short_line() {
        assert_eq!(shortened("no\r\nsuch \u{7}\tthing"), "no such thing");
        assert_eq!(shortened(&"é".repeat(500)).chars().count(), ERROR_LENGTH);
    }

    #[tokio::test]
    async fn names_that_mean_this_machine_are_refused_when_something_is_sent() {
        let sent = post("https://localhost:9/", Vec::new(), String::new(), false).await;
        assert!(sent.unwrap_err().error.starts_with("refused: the host has no public address"));
    }
}
