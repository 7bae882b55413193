//! `docs/interface.md` is the reference: its tables are held against the specification.

use serde_json::Value;

use crate::conformance::{operations, resolve, specification};

struct Field {
    name: String,
    always: bool,
    kind: String,
    limit: String,
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/interface.md");
    std::fs::read_to_string(path).unwrap()
}

/// The cells of a table's row; `\|` is part of a cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|').replace("\\|", "\u{1}");
    inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The types of the page with their fields.
fn types(page: &str) -> Vec<(String, Vec<Field>)> {
    let part = page.split("## Endpoints").next().unwrap();
    let sections = part.split("\n### ").skip(1);
    let field = |line: &str| {
        let cells = cells(line);
        let always = cells[0].ends_with('*');
        let name = cells[0].trim_end_matches('*').trim_matches('`').to_owned();
        Field { name, always, kind: cells[1].clone(), limit: cells[2].clone() }
    };
    let read = |section: &str| {
        let (name, body) = section.split_once('\n').unwrap();
        let rows = body.lines().filter(|line| line.starts_with("| `"));
        (name.trim().to_owned(), rows.map(field).collect())
    };
    sections.map(read).collect()
}

fn allows(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

fn is_nullable(schema: &Value) -> bool {
    let of = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
    allows(schema, "null")
        || of("oneOf").iter().chain(&of("anyOf")).any(|choice| allows(choice, "null"))
}

/// The name of the schema that a property refers to, if it refers to one.
fn reference(schema: &Value) -> Option<String> {
    let direct = schema["$ref"].as_str();
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let named =
        direct.or_else(|| choices.chain(parts).find_map(|choice| choice["$ref"].as_str()))?;
    named.rsplit('/').next().map(str::to_owned)
}

/// Mismatch of a property with the kind that the page names, if any.
fn mismatch(spec: &Value, property: &Value, kind: &str) -> Option<String> {
    let (kind, nullable) = match kind.strip_suffix('?') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    if nullable != is_nullable(property) {
        return Some(format!("is nullable: {}, the page says {nullable}", !nullable));
    }
    let whole = resolve(spec, property);
    if let Some(item) = kind.strip_prefix('[').and_then(|kind| kind.strip_suffix(']')) {
        if !allows(&whole, "array") {
            return Some("is no list".to_owned());
        }
        return mismatch(spec, &whole["items"], item);
    }
    if kind.contains('|') {
        let words: Vec<&str> =
            whole["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let listed: Vec<&str> = kind.split('|').collect();
        return (words != listed).then(|| format!("has the words {words:?}"));
    }
    let fits = match kind {
        "string" | "integer" | "number" | "boolean" => allows(&whole, kind),
        "list" => allows(&whole, "array"),
        named => {
            return (reference(property).as_deref() != Some(named))
                .then(|| format!("is {property}"));
        }
    };
    (!fits).then(|| format!("is {}", whole["type"]))
}

/// Mismatch of a property with the limit that the page names in words, if any.
fn unlimited(property: &Value, limit: &str) -> Option<String> {
    let numbers: Vec<u64> =
        limit.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    let found = match (limit.ends_with("characters"), numbers.as_slice()) {
        (_, []) => return None,
        (true, [low, high]) => property["minLength"] == *low && property["maxLength"] == *high,
        (false, [most]) => property["maxItems"] == *most,
        _ => panic!("a limit that this test cannot read: {limit}"),
    };
    (!found).then(|| format!("has not the limit {limit}: {property}"))
}

#[test]
fn types_have_the_fields_words_and_limits_of_the_page() {
    let (spec, mut wrong, mut checked) = (specification(), Vec::new(), 0);
    for (name, fields) in types(&page()) {
        let schema = &spec["components"]["schemas"][&name];
        if schema.is_null() {
            wrong.push(format!("{name} is not in openapi.json"));
            continue;
        }
        let schema = resolve(&spec, schema);
        assert!(!fields.is_empty(), "{name} has no table");
        for field in fields {
            checked += 1;
            let property = &schema["properties"][&field.name];
            let place = format!("{name}.{}", field.name);
            if property.is_null() {
                wrong.push(format!("{place} is not in openapi.json"));
                continue;
            }
            let required = schema["required"]
                .as_array()
                .is_some_and(|all| all.contains(&field.name.clone().into()));
            if field.always && !required {
                wrong.push(format!("{place} is not required"));
            }
            let why = mismatch(&spec, property, &field.kind);
            wrong.extend(why.map(|why| format!("{place} {why}; the page says {}", field.kind)));
            let why = unlimited(&resolve(&spec, property), &field.limit);
            wrong.extend(why.map(|why| format!("{place} {why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 110, "{checked} fields");
}

#[test]
fn endpoints_take_and_give_what_the_page_says() {
    let (spec, page) = (specification(), page());
    let part = page.split("## Endpoints").nth(1).unwrap();
    let known = operations(&spec);
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for line in part.lines().filter(|line| line.starts_with("| GET") || line.starts_with("| POST"))
    {
        checked += 1;
        let cells = cells(line);
        let (method, path) = (&cells[0], cells[1].trim_matches('`'));
        let found = known.iter().find(|(m, p, _)| m == method && p == path);
        let Some((.., operation)) = found else {
            wrong.push(format!("{method} {path} is not in openapi.json"));
            continue;
        };
        let body = operation.pointer("/requestBody/content/application~1json/schema");
        let body = body.map(|schema| resolve(&spec, schema)).unwrap_or_default();
        let query = operation["parameters"].as_array().cloned().unwrap_or_default();
        for field in cells[2].split(',').map(str::trim).filter(|field| !field.is_empty()) {
            let required = field.ends_with('*');
            let name = field.trim_end_matches('*').trim_matches('`');
            let parameter = query.iter().find(|p| p["name"] == name);
            let is_required = match parameter {
                Some(parameter) => parameter["required"] == true,
                None => body["required"].as_array().is_some_and(|all| all.contains(&name.into())),
            };
            if parameter.is_none() && body["properties"][name].is_null() {
                wrong.push(format!("{method} {path} has no {name}"));
            } else if is_required != required {
                wrong.push(format!("{method} {path}: {name} is required: {is_required}"));
            }
        }
        let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let whole = resolve(&spec, answer);
        let told = &cells[3];
        if told.starts_with(char::is_uppercase) {
            if reference(answer).as_deref() != Some(told) {
                wrong.push(format!("{method} {path} answers {answer}, the page says {told}"));
            }
        } else if let Some((name, kind)) = told.split_once(": ") {
            let why = mismatch(&spec, &whole["properties"][name], kind);
            wrong.extend(why.map(|why| format!("{method} {path} {name} {why}")));
        } else if told.starts_with('`') {
            for name in told.split(',').map(|name| name.trim().trim_matches('`')) {
                if whole["properties"][name].is_null() {
                    wrong.push(format!("{method} {path} answers without {name}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(checked, 14);
}
