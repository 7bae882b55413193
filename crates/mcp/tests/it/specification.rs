//! openapi.json: whole answers from the few fields that a test is about, and requests held against it.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Map, Value, json};

static SPECIFICATION: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../openapi.json")).unwrap());

/// A schema of the specification by its name.
pub fn component(name: &str) -> Value {
    whole(&json!({"$ref": format!("#/components/schemas/{name}")}))
}

/// The operation that answers a request, by its id. `path` has no query.
pub fn operation_of(method: &str, path: &str) -> &'static Value {
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        let same = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
        parts.len() == segments.len() && parts.iter().zip(&segments).all(same)
    };
    let paths = SPECIFICATION["paths"].as_object().unwrap();
    let found = paths.iter().filter(|(template, _)| fits(template));
    let (_, item) = found
        .min_by_key(|(template, _)| template.matches('{').count())
        .unwrap_or_else(|| panic!("openapi.json has no {path}"));
    item.get(method.to_lowercase()).unwrap_or_else(|| panic!("{path} takes no {method}"))
}

fn operation(id: &str) -> &'static Value {
    let paths = SPECIFICATION["paths"].as_object().unwrap();
    let all = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let mut named = all.filter(|operation| operation["operationId"] == id);
    named.next().unwrap_or_else(|| panic!("openapi.json has no operation {id}"))
}

/// A whole answer of an operation that says `given`.
pub fn answer(operation_id: &str, given: Value) -> Value {
    let schema =
        &operation(operation_id)["responses"]["200"]["content"]["application/json"]["schema"];
    let answer = filled(operation_id, schema, Some(&given));
    check(operation_id, schema, &answer);
    answer
}

/// Fails unless the operation has these parameters and takes this body.
pub fn check_request(operation: &Value, query: &[(String, String)], body: Option<&Value>) {
    let id = operation["operationId"].as_str().unwrap();
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    for (name, _) in query {
        let known = parameters.iter().any(|p| p["in"] == "query" && p["name"] == name.as_str());
        assert!(known, "{id} has no parameter {name}");
    }
    let schema = operation.pointer("/requestBody/content/application~1json/schema");
    assert_eq!(schema.is_some(), body.is_some(), "body of {id}");
    if let (Some(schema), Some(body)) = (schema, body) {
        filled(id, schema, Some(body));
        check(id, schema, body);
    }
}

fn check(place: &str, schema: &Value, value: &Value) {
    // Making one takes longer than a test.
    static VALIDATORS: LazyLock<Mutex<HashMap<String, Validator>>> = LazyLock::new(Mutex::default);
    let mut validators = VALIDATORS.lock().unwrap();
    let validator = validators.entry(schema.to_string()).or_insert_with(|| {
        let mut root = schema.clone();
        root["components"] = SPECIFICATION["components"].clone();
        jsonschema::validator_for(&root).unwrap()
    });
    let wrong: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    drop(validators);
    assert!(wrong.is_empty(), "{place}: {}\n{value}", wrong.join("\n"));
}

/// Follows references, and puts the parts of an `allOf` together.
fn whole(schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return whole(SPECIFICATION.pointer(&reference[1..]).unwrap());
    }
    let Some(parts) = schema["allOf"].as_array() else { return schema.clone() };
    let mut properties = Map::new();
    for part in parts {
        properties.extend(whole(part)["properties"].as_object().unwrap().clone());
    }
    json!({"type": "object", "properties": properties})
}

/// `given` with everything that the schema has besides, as empty as the schema allows. Fails on a property that the
/// schema does not name.
fn filled(place: &str, schema: &Value, given: Option<&Value>) -> Value {
    let schema = whole(schema);
    for choices in ["oneOf", "anyOf"] {
        let Some(choices) = schema[choices].as_array() else { continue };
        let null = choices.iter().any(|choice| choice["type"] == "null");
        if null && given.is_none_or(Value::is_null) {
            return Value::Null;
        }
        let fits = |choice: &&Value| match given {
            Some(Value::Object(_)) => whole(choice)["properties"].is_object(),
            Some(given) => !given.is_object() && choice["type"] != "null",
            None => choice["type"] != "null",
        };
        let choice = choices.iter().find(fits).unwrap_or_else(|| panic!("{place}: {given:?}"));
        return filled(place, choice, given);
    }
    if let (Some(properties), None | Some(Value::Object(_))) =
        (schema["properties"].as_object(), given)
    {
        let given = given.and_then(Value::as_object);
        for name in given.into_iter().flat_map(Map::keys) {
            assert!(properties.contains_key(name), "{place} has no property {name}");
        }
        let property = |(name, schema): (&String, &Value)| {
            let inner = given.and_then(|given| given.get(name));
            (name.clone(), filled(&format!("{place}.{name}"), schema, inner))
        };
        return properties.iter().map(property).collect::<Map<_, _>>().into();
    }
    match (given, &schema["items"]) {
        (Some(Value::Array(items)), inner) if inner.is_object() => {
            items.iter().map(|item| filled(place, inner, Some(item))).collect()
        }
        (Some(given), _) => given.clone(),
        (None, inner) => empty(place, &schema, inner),
    }
}

fn empty(place: &str, schema: &Value, items: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match &schema["type"] {
        Value::Array(types) if types.iter().any(|name| name == "null") => Value::Null,
        Value::String(name) => match name.as_str() {
            "string" => "".into(),
            "integer" => 0.into(),
            "number" => 0.0.into(),
            "boolean" => false.into(),
            "object" => json!({}),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                (0..least).map(|_| filled(place, items, None)).collect()
            }
            other => panic!("{place}: {other}"),
        },
        _ => Value::Null,
    }
}
