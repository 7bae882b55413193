//! Every answer that a test's client sees is held against the specification: its status is one that the operation
//! names, and its body fits the schema, without properties that the schema lacks.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

static SPECIFICATION: LazyLock<Value> = LazyLock::new(|| {
    let mut spec: Value = serde_json::from_str(&service::router::json()).unwrap();
    close_objects(&mut spec);
    spec
});

/// Refuses properties that a schema does not name. Parts of an `allOf` stay open, the whole is closed.
fn close_objects(spec: &mut Value) {
    let mut parts = BTreeSet::new();
    note_parts(&spec["components"]["schemas"], &mut parts);
    for (name, schema) in spec["components"]["schemas"].as_object_mut().unwrap() {
        let is_part = parts.contains(&format!("#/components/schemas/{name}"));
        if !is_part {
            close(schema);
        }
    }
}

fn note_parts(value: &Value, parts: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for part in object.get("allOf").and_then(Value::as_array).into_iter().flatten() {
                parts.extend(part["$ref"].as_str().map(str::to_owned));
            }
            object.values().for_each(|value| note_parts(value, parts));
        }
        Value::Array(values) => values.iter().for_each(|value| note_parts(value, parts)),
        _ => {}
    }
}

fn close(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    let named = object.contains_key("properties") || object.contains_key("allOf");
    if named && !object.contains_key("additionalProperties") {
        object.insert("unevaluatedProperties".to_owned(), json!(false));
    }
    for (name, inner) in object.iter_mut().filter(|(name, _)| *name != "allOf") {
        match (name.as_str(), inner) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(close),
            ("oneOf" | "anyOf", Value::Array(choices)) => choices.iter_mut().for_each(close),
            (_, inner @ Value::Object(_)) => close(inner),
            _ => {}
        }
    }
}

/// The operation that a path belongs to, if the specification has one. Literal segments win over parameters.
fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        let same = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
        parts.len() == segments.len() && parts.iter().zip(&segments).all(same)
    };
    let paths = SPECIFICATION["paths"].as_object().unwrap();
    let found = paths.iter().filter(|(template, _)| fits(template));
    let (template, item) = found.min_by_key(|(template, _)| template.matches('{').count())?;
    Some((template, item.get(method.to_lowercase())?))
}

/// Fails when the answer is not one that the specification describes.
pub fn check(method: &str, path: &str, status: u16, content_type: &str, text: &str) {
    let Some((template, operation)) = operation(method, path) else { return };
    // A fault of the server is never part of the contract.
    if status == 500 {
        return;
    }
    let place = format!("{method} {template}: {status}");
    let answer = operation["responses"].get(status.to_string());
    let answer = answer.unwrap_or_else(|| panic!("{place} is not in openapi.json: {text}"));
    let kind = content_type.split(';').next().unwrap_or_default();
    let Some(content) = answer["content"].as_object() else {
        assert!(text.is_empty(), "{place} has a body that openapi.json does not describe: {text}");
        return;
    };
    // Files (text/csv, lines of JSON, archives) have no schema.
    let is_file = kind != "application/json" && !kind.ends_with("+json");
    let content = match content.get(kind) {
        None if is_file => return,
        content => {
            content.unwrap_or_else(|| panic!("{place} comes as {kind}, not in openapi.json"))
        }
    };
    let schema = &content["schema"];
    if is_file || schema.is_null() {
        return;
    }
    let body: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{place}: {e}: {text}"));
    validate(&place, schema, &body);
    count(&place);
}

fn validate(place: &str, schema: &Value, body: &Value) {
    static VALIDATORS: LazyLock<Mutex<HashMap<String, &'static Validator>>> =
        LazyLock::new(Mutex::default);
    let key = schema.to_string();
    let known = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
    let validator = known.unwrap_or_else(|| {
        let mut whole = schema.clone();
        whole["components"] = SPECIFICATION["components"].clone();
        let made: &'static Validator =
            Box::leak(Box::new(jsonschema::validator_for(&whole).unwrap()));
        VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner).insert(key, made);
        made
    });
    let wrong: Vec<String> =
        validator.iter_errors(body).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(wrong.is_empty(), "{place} does not fit its schema:\n{}\n{body}", wrong.join("\n"));
}

/// Notes the answer in the file that `COUNT_ANSWERS` names, for counting what a whole run validated.
fn count(place: &str) {
    let Ok(file) = std::env::var("COUNT_ANSWERS") else { return };
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{place}\n").as_bytes()).unwrap();
}
