//! The specification and the reading of requests say the same: every field the one has, the other checks.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use service::credentials::Role;

use crate::support::{Backend, Server, TestApp};

/// One field that can be wrong: how to wrap it into a body, and the pointer that must come back.
struct Place {
    pointer: String,
    body: Value,
}

pub fn specification() -> Value {
    serde_json::from_str(&service::router::json()).unwrap()
}

/// (method, path, operation) of the whole specification.
pub fn operations(spec: &Value) -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for (path, item) in spec["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push((method.to_uppercase(), path.clone(), operation.clone()));
        }
    }
    assert!(all.len() > 15, "{} operations", all.len());
    all
}

/// Every `$ref` of a value that leads nowhere.
fn broken_references(spec: &Value, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if let Some(reference) = object.get("$ref").and_then(Value::as_str)
                && spec.pointer(&reference[1..]).is_none()
            {
                found.push(reference.to_owned());
            }
            object.values().for_each(|inner| broken_references(spec, inner, found));
        }
        Value::Array(items) => items.iter().for_each(|item| broken_references(spec, item, found)),
        _ => {}
    }
}

#[test]
fn every_reference_of_the_specification_leads_somewhere() {
    let (spec, mut found) = (specification(), Vec::new());
    broken_references(&spec, &spec, &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// The schema of a body that is read field by field; that of another protocol (OTLP) names no properties.
pub fn body_schema(spec: &Value, operation: &Value) -> Option<Value> {
    let schema = operation.pointer("/requestBody/content/application~1json/schema")?;
    Some(resolve(spec, schema)).filter(|schema| schema["properties"].is_object())
}

/// Follows `$ref` and the one of `oneOf` that is not null, and puts the parts of `allOf` together.
pub fn resolve(spec: &Value, schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return resolve(spec, spec.pointer(&reference[1..]).unwrap());
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let one = choices.iter().find(|choice| choice["type"] != "null").unwrap();
        return resolve(spec, one);
    }
    let mut whole = schema.clone();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        let part = resolve(spec, part);
        for (name, property) in part["properties"].as_object().unwrap() {
            whole["properties"][name] = property.clone();
        }
        let all = required(&whole).union(&required(&part)).cloned().collect::<Vec<_>>();
        whole["required"] = json!(all);
    }
    whole
}

fn is(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind
        || schema["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
}

fn required(schema: &Value) -> BTreeSet<String> {
    let names = schema["required"].as_array().cloned().unwrap_or_default();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Every property of a schema with a value of a wrong type in its place, lists of objects included.
fn wrong_types(spec: &Value, schema: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    for (name, property) in schema["properties"].as_object().unwrap() {
        let property = resolve(spec, property);
        let wrong = if is(&property, "object") { json!(7) } else { json!({"a": 1}) };
        places.push(Place { pointer: format!("/{name}"), body: json!({name: wrong}) });
        if !is(&property, "array") {
            continue;
        }
        let item = resolve(spec, &property["items"]);
        let wrong = if is(&item, "object") { json!([[]]) } else { json!([{"a": 1}]) };
        places.push(Place { pointer: format!("/{name}/0"), body: json!({name: wrong}) });
        if item["properties"].is_object() {
            for inner in wrong_types(spec, &item) {
                places.push(Place {
                    pointer: format!("/{name}/0{}", inner.pointer),
                    body: json!({name: [inner.body]}),
                });
            }
        }
    }
    places
}

/// Every object inside a schema, empty: the pointer to it, the body that has it, what it must not lack.
fn empty_objects(spec: &Value, schema: &Value) -> Vec<(Place, BTreeSet<String>)> {
    let root = Place { pointer: String::new(), body: json!({}) };
    let mut places = vec![(root, required(schema))];
    for (name, property) in schema["properties"].as_object().unwrap() {
        let property = resolve(spec, property);
        let item = resolve(spec, &property["items"]);
        if is(&property, "array") && item["properties"].is_object() {
            for (inner, lacking) in empty_objects(spec, &item) {
                let pointer = format!("/{name}/0{}", inner.pointer);
                places.push((Place { pointer, body: json!({name: [inner.body]}) }, lacking));
            }
        }
    }
    places
}

/// A server with a credential that may call everything: reading is what is tested here.
pub async fn may_call_all(t: &TestApp, server: &Server) -> Server {
    let org = "default".into();
    let granted = service::credentials::create(
        &t.app,
        &org,
        service::credentials::NewCredential::of(Role::Dashboard, "test").with_grant(true),
    )
    .await;
    server.with_token(&granted.unwrap().1)
}

async fn problems(
    server: &Server,
    method: &str,
    path: &str,
    body: &Value,
) -> Vec<(String, String)> {
    let answer = server.call(method, path, Some(body)).await;
    match answer.status {
        200 => Vec::new(),
        // The path names nothing, and nothing is wrong with the body.
        404 if path.contains('{') => Vec::new(),
        404 => panic!("{method} {path} {body} got past its fields: {}", answer.text),
        _ => answer.input_problems(),
    }
}

#[tokio::test]
async fn what_the_specification_requires_is_what_reading_requires() {
    let t = TestApp::new(Backend::Sqlite).await;
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let spec = specification();
    let mut checked = 0;
    for (method, path, operation) in operations(&spec) {
        let Some(schema) = body_schema(&spec, &operation) else {
            continue;
        };
        for (place, lacking) in empty_objects(&spec, &schema) {
            let found: BTreeSet<String> = problems(&server, &method, &path, &place.body)
                .await
                .into_iter()
                .filter(|(_, code)| code == "required")
                .filter_map(|(pointer, _)| {
                    pointer.strip_prefix(&format!("{}/", place.pointer)).map(str::to_owned)
                })
                .filter(|name| !name.contains('/'))
                .collect();
            assert_eq!(found, lacking, "{method} {path} {}", place.body);
            checked += 1;
        }
    }
    assert!(checked >= 12, "only {checked} objects were checked");
}

#[tokio::test]
async fn every_property_of_the_specification_is_read_with_its_type() {
    let t = TestApp::new(Backend::Sqlite).await;
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let spec = specification();
    let (mut checked, mut unread) = (0, Vec::new());
    for (method, path, operation) in operations(&spec) {
        let Some(schema) = body_schema(&spec, &operation) else {
            continue;
        };
        for place in wrong_types(&spec, &schema) {
            let found = problems(&server, &method, &path, &place.body).await;
            let noticed =
                found.iter().any(|(pointer, code)| *pointer == place.pointer && code != "required");
            if !noticed {
                unread.push(format!("{method} {path} {} → {found:?}", place.body));
            }
            checked += 1;
        }
    }
    assert!(unread.is_empty(), "{}", unread.join("\n"));
    assert!(checked >= 60, "only {checked} properties were checked");
}

#[tokio::test]
async fn every_query_parameter_that_is_no_text_is_read_with_its_type() {
    let t = TestApp::new(Backend::Sqlite).await;
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let spec = specification();
    let mut checked = 0;
    for (method, path, operation) in operations(&spec) {
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        for parameter in
            parameters.iter().filter(|p| p["in"] == "query" && !is(&p["schema"], "string"))
        {
            let name = parameter["name"].as_str().unwrap();
            let body = operation.get("requestBody").map(|_| json!({}));
            let answer =
                server.call(&method, &format!("{path}?{name}=%7B%7D"), body.as_ref()).await;
            let found = answer.input_problems();
            assert!(
                found.iter().any(|(pointer, code)| {
                    *pointer == format!("/{name}")
                        && matches!(code.as_str(), "wrong_type" | "not_a_time")
                }),
                "{method} {path} {name}: {found:?}"
            );
            checked += 1;
        }
    }
    assert!(checked >= 2, "only {checked} parameters were checked");
}

#[tokio::test]
async fn the_served_specification_is_the_printed_one() {
    let t = TestApp::new(Backend::Sqlite).await;
    let served = t.serve().await.get("/openapi.json").await;
    assert_eq!(served.headers["content-type"], "application/json");
    assert_eq!(served.text, service::router::json());
}
