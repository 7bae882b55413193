//! `/docs`: the API for people, rendered from the specification, without script and without other hosts.

use std::fmt::Write;
use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use utoipa::openapi::OpenApi as Spec;

use crate::app::App;

const STYLE: &str = include_str!("docs.css");

pub fn routes(spec: &Spec) -> Router<Arc<App>> {
    let spec = serde_json::to_value(spec).unwrap_or_default();
    let page: Arc<str> = api_page(&spec).into();
    Router::new()
        .route("/docs", get(async move || html(page.to_string())))
        .route("/docs.css", get(async || ([(header::CONTENT_TYPE, "text/css")], STYLE)))
}

pub(super) fn html(body: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, body).into_response()
}

fn api_page(spec: &Value) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Evenhand API</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"stylesheet\" href=\"/docs.css\"></head><body><main>\n<h1>Evenhand API</h1>\n\
         <p>Every error is a problem body with a stable <code>code</code>; bad input lists all its problems in \
         <code>errors</code>. For programs: <a href=\"/openapi.json\">openapi.json</a>.</p>\n",
    );
    let empty = serde_json::Map::new();
    let paths = spec["paths"].as_object().unwrap_or(&empty);
    let operations = |tag: &str| {
        let mut found = Vec::new();
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap_or(&empty) {
                if operation["tags"][0] == tag {
                    found.push((path.as_str(), method.to_uppercase(), operation));
                }
            }
        }
        found
    };
    for tag in spec["tags"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let name = tag["name"].as_str().unwrap_or("");
        let title = escape(tag["description"].as_str().unwrap_or(name));
        let _ = writeln!(page, "<h2>{title}</h2>");
        for (path, method, operation) in operations(name) {
            write_operation(&mut page, spec, path, &method, operation);
        }
    }
    page.push_str("</main></body></html>\n");
    page
}

fn write_operation(page: &mut String, spec: &Value, path: &str, method: &str, operation: &Value) {
    let summary = escape(operation["summary"].as_str().unwrap_or(""));
    let _ = writeln!(
        page,
        "<details><summary><b>{method}</b> <code>{}</code> {summary}</summary>",
        escape(path)
    );
    if let Some(more) = operation["description"].as_str() {
        let _ = writeln!(page, "<p>{}</p>", escape(more));
    }
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !parameters.is_empty() {
        page.push_str("<h3>Parameters</h3><dl>\n");
        for p in parameters {
            let place = p["in"].as_str().unwrap_or("");
            write_field(
                page,
                p["name"].as_str().unwrap_or(""),
                p["required"] == true,
                &p["schema"],
                place,
                &p["description"],
            );
        }
        page.push_str("</dl>\n");
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        page.push_str("<h3>Body</h3>");
        write_schema(page, spec, body, 0);
    }
    for status in ["200", "202"] {
        let answer = &operation["responses"][status]["content"]["application/json"]["schema"];
        if !answer.is_null() {
            let _ = write!(page, "<h3>Answer {status}</h3>");
            write_schema(page, spec, answer, 0);
        }
    }
    page.push_str("</details>\n");
}

/// The fields of an object, following references a few levels down.
fn write_schema(page: &mut String, spec: &Value, schema: &Value, depth: usize) {
    let schema = resolve(spec, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        write_schema(page, spec, part, depth);
    }
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    page.push_str("<dl>\n");
    for (name, property) in properties {
        let is_required = required.iter().any(|r| r == name.as_str());
        write_field(page, name, is_required, property, "", &property["description"]);
        let inner = [property, &property["items"]]
            .into_iter()
            .chain(property["oneOf"].as_array().into_iter().flatten());
        for inner in inner.filter(|inner| inner["$ref"].is_string() && depth < 4) {
            page.push_str("<dd>");
            write_schema(page, spec, inner, depth + 1);
            page.push_str("</dd>\n");
        }
    }
    page.push_str("</dl>\n");
}

fn write_field(
    page: &mut String,
    name: &str,
    required: bool,
    schema: &Value,
    place: &str,
    about: &Value,
) {
    let kind = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    };
    let required = if required { " <b>required</b>" } else { "" };
    let _ =
        writeln!(page, "<dt><code>{}</code> <i>{kind} {place}</i>{required}</dt>", escape(name));
    if let Some(about) = about.as_str() {
        let _ = writeln!(page, "<dd>{}</dd>", escape(about));
    }
}

fn resolve<'a>(spec: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|r| r.strip_prefix('#')) {
        Some(pointer) => spec.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
