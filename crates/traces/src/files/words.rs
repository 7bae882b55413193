//! Words of records that have no messages: any JSON that went in or came out.

use serde_json::Value;

use super::fields::{is_set, json_inside};

/// The side of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    /// Names that programs give to the words, the likeliest first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Side::Input => &[
                "input",
                "question",
                "query",
                "prompt",
                "user_input",
                "user_message",
                "message",
                "text",
                "content",
                "value",
                "prompts",
                "kwargs",
                "args",
            ],
            Side::Output => &[
                "output",
                "answer",
                "response",
                "result",
                "completion",
                "generation",
                "message",
                "text",
                "content",
                "value",
                "return_value",
            ],
        }
    }
}

/// The words in a value: text as it is, the likeliest field of an object, otherwise the JSON itself.
pub fn words(value: &Value, side: Side) -> String {
    if !is_set(Some(value)) {
        return String::new();
    }
    found(value, side).unwrap_or_else(|| value.to_string())
}

fn found(value: &Value, side: Side) -> Option<String> {
    match value {
        Value::String(text) => match json_inside(text) {
            Some(inside) => found(&inside, side).or_else(|| Some(text.clone())),
            None => Some(text.clone()),
        },
        Value::Array(items) => match items.as_slice() {
            [one] => found(one, side),
            _ => None,
        },
        Value::Object(map) => {
            let mut named = side.names().iter().filter_map(|name| map.get(*name));
            let filled = |value: &&Value| is_set(Some(value));
            let only = || if map.len() == 1 { map.values().next() } else { None };
            found(named.find(filled).or_else(only)?, side)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_likeliest_words_are_found() {
        for (value, expected) in [
            (json!("Hello"), "Hello"),
            (json!({"question": "Hello", "top_k": 3}), "Hello"),
            (json!({"input": {"query": "Hello"}}), "Hello"),
            (json!("{\"input\": \"Hello\"}"), "Hello"),
            (json!({"args": ["Hello"], "kwargs": {}}), "Hello"),
            (json!({"anything": "Hello"}), "Hello"),
            (json!({"order": 7, "limit": 1}), r#"{"limit":1,"order":7}"#),
            (json!({}), ""),
            (json!(null), ""),
        ] {
            let said = words(&value, Side::Input);
            let same = said == expected
                || serde_json::from_str::<Value>(&said).is_ok_and(|said| said == value);
            assert!(same, "{value}: {said}");
        }
        assert_eq!(words(&json!({"answer": "Hi", "documents": []}), Side::Output), "Hi");
    }
}
