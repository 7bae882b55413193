//! The server's words about itself, and requests that are no calls.

use std::collections::BTreeSet;

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::fake::Connection;
use crate::specification::component;

#[tokio::test]
async fn the_server_says_what_it_is_for_and_names_its_tools() {
    let c = Connection::open().await;
    let info = c.client.peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().unwrap().name, "evenhand");
    assert!(info.capabilities.tools.is_some() && info.capabilities.resources.is_some());
    let instructions = info.instructions.clone().unwrap();
    let tools = c.client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 7);
    for tool in tools {
        assert!(instructions.contains(tool.name.as_ref()), "{}", tool.name);
        assert!(tool.title.is_some() && tool.description.is_some_and(|text| text.len() > 100));
        let annotations = tool.annotations.unwrap();
        let adds = ["publish_turns", "report_outcome"].contains(&tool.name.as_ref());
        assert_eq!(annotations.read_only_hint, Some(!adds), "{}", tool.name);
        assert_eq!(annotations.destructive_hint, adds.then_some(false), "{}", tool.name);
        assert_eq!(annotations.open_world_hint, Some(false), "{}", tool.name);
        let idempotent = annotations.idempotent_hint;
        assert_eq!(idempotent, adds.then_some(tool.name == "publish_turns"), "{}", tool.name);
    }
}

#[tokio::test]
async fn schemas_are_plain_and_closed() {
    let c = Connection::open().await;
    for tool in c.client.list_all_tools().await.unwrap() {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        jsonschema::validator_for(&schema).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        let text = schema.to_string();
        for word in ["$ref", "$schema", "\"null\"", "null", "anyOf", "\"int64\"", "\"title\""] {
            assert!(!text.contains(word), "{} has {word}: {text}", tool.name);
        }
    }
}

/// The part of a schema that says something besides that null is taken too.
fn without_null(schema: &Value) -> Value {
    let choices = schema["oneOf"].as_array();
    let list = choices.and_then(|choices| choices.iter().find(|choice| choice["type"] == "array"));
    let choice = list.or_else(|| choices?.iter().find(|choice| choice["type"] != "null"));
    match (choice.unwrap_or(schema), schema["$ref"].as_str()) {
        (_, Some(reference)) => component(reference.rsplit('/').next().unwrap()),
        (choice, None) if choice["$ref"].is_string() => without_null(choice),
        (choice, None) => choice.clone(),
    }
}

/// Fails unless an argument takes what the interface takes.
fn compare(place: &str, argument: &Value, field: &Value) {
    let field = without_null(field);
    for limit in ["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "enum"] {
        // A role and a query say something, which the interface checks by other means.
        if limit == "minLength" && (place.ends_with("role") || place.ends_with("query")) {
            continue;
        }
        assert_eq!(argument[limit], field[limit], "{limit} of {place}");
    }
    if argument["items"].is_object() {
        compare(&format!("{place}[]"), &argument["items"], &field["items"]);
    }
    let Some(properties) = argument["properties"].as_object() else { return };
    for (name, inner) in properties {
        let name = if name == "turns" { "interaction_data_list" } else { name };
        let field = &field["properties"][name];
        assert!(field.is_object(), "the interface has no {place}.{name}");
        compare(&format!("{place}.{name}"), inner, field);
    }
    let required = |schema: &Value| -> BTreeSet<String> {
        let names = schema["required"].as_array().into_iter().flatten();
        names.map(|name| name.as_str().unwrap().replace("turns", "interaction_data_list")).collect()
    };
    // Times that are the present when absent are filled in by the tool.
    let filled_in = ["occurred_at", "from_ts", "to_ts"].map(str::to_owned);
    let missing: Vec<String> = required(&field).difference(&required(argument)).cloned().collect();
    assert!(missing.iter().all(|name| filled_in.contains(name)), "{place} needs {missing:?}");
}

#[tokio::test]
async fn arguments_have_the_limits_of_the_interface() {
    let c = Connection::open().await;
    let tools = c.client.list_all_tools().await.unwrap();
    for (tool, request) in [
        ("search_learnings", "SearchRequest"),
        ("publish_turns", "PublishRequest"),
        ("report_outcome", "SessionOutcomeRequest"),
        ("overview", "GetEvaluationOverviewRequest"),
    ] {
        let found = tools.iter().find(|found| found.name == tool).unwrap();
        let schema = Value::Object(found.input_schema.as_ref().clone());
        compare(tool, &schema, &component(request));
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let c = Connection::open().await;
    let error = c.try_call("erase_user", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains("erase_user") && error.message.contains("search_learnings"));
}

#[tokio::test]
async fn unreadable_arguments_are_an_error_of_the_protocol_and_reach_nobody() {
    let c = Connection::open().await;
    for (tool, arguments, says) in [
        ("search_learnings", json!({}), "missing field `query`"),
        (
            "search_learnings",
            json!({"query": "x", "user": "ada"}),
            "unknown field `user`, expected one of",
        ),
        ("search_learnings", json!({"query": "x", "top_k": "3"}), "invalid type: string \"3\""),
        (
            "publish_turns",
            json!({"user_id": "u", "session_id": "s", "turns": "hi"}),
            "expected a sequence",
        ),
        (
            "publish_turns",
            json!({"user_id": "u", "session_id": "s", "turns": [{"role": "User"}]}),
            "missing field `content`",
        ),
        ("report_outcome", json!({"session_id": "s", "outcome": "good"}), "unknown variant `good`"),
        ("session", json!({"session_id": "s"}), "missing field `user_id`"),
        ("session", json!({"user_id": "u", "session_id": "s", "first_turn": -1}), "invalid value"),
    ] {
        let error = c.try_call(tool, arguments).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{tool}");
        assert!(error.message.contains(says), "{tool}: {}", error.message);
    }
    assert_eq!(c.fake.requests(), []);
}
