//! The dashboard: `ui/dist/site`, embedded in release builds and read from disk in debug builds.
//!
//! Files under `assets/` carry a hash in their name and are kept by browsers for ever; the page itself is asked
//! for anew each time. What was compressed when it was built is sent compressed. Without a built dashboard, `/`
//! says how to build it.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::HttpError;
use super::docs::html;
use storage::error::{Code, Error};

#[derive(RustEmbed)]
#[folder = "../../ui/dist/site"]
#[allow_missing = true]
struct Site;

/// The dashboard's pages: each of these paths, and whatever is below them, is the one document.
const PAGES: &[&str] = &[
    "",
    "overview",
    "sessions",
    "shadow",
    "experiments",
    "learnings",
    "review",
    "jobs",
    "governance",
    "settings",
    "connect",
    "sign-in",
];

/// First parts of paths that are for programs: what is not there is a problem in JSON, whoever asks.
const INTERFACES: &[&str] = &[
    "api",
    "auth",
    "health",
    "meta",
    "v1",
    "mcp",
    "docs",
    "openapi.json",
    "assets",
    "stall_state",
];

/// No inline script or style, nothing from or to another host, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The fallback route: a file of the dashboard, one of its pages, or 404. A browser gets the 404 as the dashboard, which
/// says that there is no such page.
pub async fn page_or_nothing(method: Method, uri: Uri, mut headers: HeaderMap) -> Response {
    if matches!(method, Method::GET | Method::HEAD) {
        let path = uri.path().trim_start_matches('/');
        if path != "index.html"
            && let Some(response) = file(path, &headers)
        {
            return response;
        }
        let first = path.split('/').next().unwrap_or("");
        let is_page = PAGES.contains(&first);
        if is_page || !INTERFACES.contains(&first) && wants_html(&headers) {
            if !is_page {
                // "Not modified" would hide that it is not there.
                headers.remove(header::IF_NONE_MATCH);
            }
            let index = file("index.html", &headers);
            let mut response = index.unwrap_or_else(|| html(NOT_BUILT.to_owned()));
            if !is_page {
                *response.status_mut() = StatusCode::NOT_FOUND;
            }
            return response;
        }
    }
    HttpError::from(Error::refused(Code::NotFound, "There is no such path; /docs lists them."))
        .into_response()
}

/// True for a browser that goes to an address, as against a program, or a page that loads something.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|list| {
        let mut kinds = list.split(',').map(|kind| kind.split(';').next().unwrap_or("").trim());
        kinds.any(|kind| kind.eq_ignore_ascii_case("text/html"))
    })
}

/// A file in the best form that the browser takes.
fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let kind = content_type(path)?;
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes = |encoding: &str| accepted.is_some_and(|list| accepts(list, encoding));
    let compressed = [("br", "br"), ("gzip", "gz")].into_iter().find_map(|(encoding, ending)| {
        let found = takes(encoding).then(|| Site::get(&format!("{path}.{ending}")))??;
        Some((encoding, found))
    });
    let (encoding, found) = match compressed {
        Some((encoding, found)) => (Some(encoding), found),
        None => (None, Site::get(path)?),
    };
    let tag = etag(&found);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| names_tag(known, &tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(found.data.into_owned()).into_response()
    };
    let lasting = path.starts_with("assets/");
    let keep = if lasting { "public, max-age=31536000, immutable" } else { "no-store" };
    let set = response.headers_mut();
    set.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    set.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    set.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    set.insert(header::ETAG, HeaderValue::from_str(&tag).ok()?);
    set.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    set.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Some(encoding) = encoding {
        set.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    Some(response)
}

/// True if a list such as `gzip;q=0.5, br` accepts an encoding; a quality of 0 refuses it, `*` stands for all
/// others.
fn accepts(list: &str, encoding: &str) -> bool {
    let quality = |wanted: &str| {
        list.split(',').find_map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let is_it = parts.next()?.eq_ignore_ascii_case(wanted);
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse().ok());
            is_it.then(|| quality.unwrap_or(1.0_f32))
        })
    };
    quality(encoding).or_else(|| quality("*")).is_some_and(|quality| quality > 0.0)
}

/// True if `If-None-Match` names the tag: in a list, as a weak one, or by `*`.
fn names_tag(list: &str, tag: &str) -> bool {
    let plain = |entry: &str| entry.trim().trim_start_matches("W/") == tag;
    list.trim() == "*" || list.split(',').any(plain)
}

fn etag(found: &EmbeddedFile) -> String {
    format!("\"{}\"", hex::encode(&found.metadata.sha256_hash()[..16]))
}

fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "woff2" => "font/woff2",
        _ => return None,
    })
}

const NOT_BUILT: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Evenhand</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/docs.css"></head><body><main>
<h1>Evenhand is running</h1>
<p>Is the agent succeeding? Does what it learned actually help? Can we forget a person, and prove it?</p>
<p>This binary was built without its dashboard. With Node 20 or newer:</p>
<pre>make ui
cargo build --release</pre>
<p>Everything works without it, too. Publish a first session:</p>
<pre>curl -s http://127.0.0.1:8700/api/publish_interaction -H 'Content-Type: application/json' -d '{
  "user_id": "ada", "session_id": "first",
  "interaction_data_list": [
    {"role": "User", "content": "Where is my parcel?"},
    {"role": "Assistant", "content": "It arrives on Tuesday."}
  ]}'</pre>
<ul>
<li><a href="/docs">The API</a>, and <a href="/openapi.json">openapi.json</a></li>
<li><a href="/api/sessions">Sessions</a> as JSON, <a href="/api/jobs">jobs</a>, <a href="/health/ready">health</a></li>
</ul>
</main></body></html>
"#;

#[cfg(test)]
mod tests {
    use super::{accepts, names_tag};

    #[test]
    fn refused_encodings_are_not_sent() {
        for (list, br, gzip) in [
            ("gzip, deflate, br", true, true),
            ("br;q=0, gzip", false, true),
            ("br; q=0.0, *", false, true),
            ("*;q=0", false, false),
            ("identity", false, false),
            ("BR;q=0.1", true, false),
            ("", false, false),
        ] {
            assert_eq!((accepts(list, "br"), accepts(list, "gzip")), (br, gzip), "{list}");
        }
    }

    #[test]
    fn a_known_tag_is_found_in_a_list() {
        let tag = "\"abc\"";
        for (list, known) in [
            ("\"abc\"", true),
            ("\"x\", W/\"abc\"", true),
            ("*", true),
            ("\"abcd\"", false),
            ("abc", false),
        ] {
            assert_eq!(names_tag(list, tag), known, "{list}");
        }
    }
}
