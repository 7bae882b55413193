//! Schemas of arguments, from the types that read them.

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of `T`, in a form that all clients understand: some follow no references, know no type `null`, or refuse
/// formats that are not in their list.
pub fn of<T: JsonSchema>() -> JsonObject {
    let plain = |settings: &mut SchemaSettings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    };
    let generator = SchemaSettings::draft2020_12()
        .with(plain)
        .with_transform(RecursiveTransform(simplify))
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.as_object().cloned().unwrap_or_default()
}

/// Takes out nulls (optional arguments are left out), formats that only generators know, and breaks of lines.
fn simplify(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if schema.get("format").is_some_and(|format| format != "date-time") {
        schema.remove("format");
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = choices.as_mut_slice() {
            let only = only.take();
            schema.remove("anyOf");
            for (name, value) in only.as_object().into_iter().flatten() {
                if !schema.as_object().is_some_and(|known| known.contains_key(name)) {
                    schema.insert(name.clone(), value.clone());
                }
            }
        }
    }
}
