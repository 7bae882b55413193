//! Fields of records.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::publish::is_id;
use crate::usage;

/// The first of these fields that is text and not blank, or a number, as text.
pub fn text(record: &Value, names: &[&str]) -> Option<String> {
    names.iter().filter_map(|name| record.get(name)).find_map(as_id)
}

fn as_id(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The first of these fields, if it is a name that the service would store.
pub fn name(record: &Value, names: &[&str]) -> Option<String> {
    text(record, names).filter(|name| is_id(name))
}

/// The first of these fields that is a whole number.
pub fn count(record: &Value, names: &[&str]) -> Option<u64> {
    names.iter().filter_map(|name| record.get(name)).find_map(usage::count)
}

/// The first of these fields that is an amount.
pub fn amount(record: &Value, names: &[&str]) -> Option<f64> {
    names.iter().filter_map(|name| record.get(name)).find_map(usage::amount)
}

/// JSON inside of text, if it is an object or an array.
pub fn json_inside(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The field as an object, also if it was written as text.
pub fn object(record: &Value, name: &str) -> Value {
    match record.get(name) {
        Some(Value::String(text)) => json_inside(text).unwrap_or_default(),
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

/// True if there is something in it: fields and lists of nothing are nothing.
pub fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => items.iter().any(|item| is_set(Some(item))),
        Some(Value::Object(map)) => map.values().any(|value| is_set(Some(value))),
        Some(_) => true,
    }
}

/// SHA-256 of a value, whatever the order of its fields.
pub fn digest(value: &Value) -> String {
    let mut hasher = Sha256::new();
    add(&mut hasher, value);
    hex(&hasher.finalize())
}

/// SHA-256 of a text.
pub fn digest_of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every part goes in with its length, so that no two values give the same bytes.
fn add(hasher: &mut Sha256, value: &Value) {
    let mut part = |kind: &str, text: &str| {
        hasher.update(format!("{kind}{}:", text.len()).as_bytes());
        hasher.update(text.as_bytes());
    };
    match value {
        Value::Null => part("n", ""),
        Value::Bool(flag) => part("b", if *flag { "1" } else { "0" }),
        Value::Number(number) => part("d", &number.to_string()),
        Value::String(text) => part("s", text),
        Value::Array(items) => {
            part("a", &items.len().to_string());
            items.iter().for_each(|item| add(hasher, item));
        }
        Value::Object(map) => {
            part("o", &map.len().to_string());
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            for name in names {
                hasher.update(format!("k{}:{name}", name.len()).as_bytes());
                add(hasher, &map[name]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_tells_values_apart() {
        let values = [
            json!(null),
            json!(""),
            json!("1"),
            json!(1),
            json!(["a", "b"]),
            json!(["ab"]),
            json!({"a": "b"}),
            json!({"a": {"b": null}}),
        ];
        let digests: std::collections::BTreeSet<String> = values.iter().map(digest).collect();
        assert_eq!(digests.len(), values.len());
        assert_eq!(digest(&json!({"a": 1, "b": 2})), digest(&json!({"b": 2, "a": 1})));
    }
}
