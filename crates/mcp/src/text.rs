//! Numbers, times and long texts as a model reads them.

use base::clock::rfc3339;
use serde_json::{Map, Value, json};

/// The fields of an object that say something: neither null, nor an empty text, nor an empty list.
pub fn pick(object: &Value, names: &[&str]) -> Map<String, Value> {
    let named = names.iter().map(|name| ((*name).to_owned(), object[*name].clone()));
    named.filter(|(_, value)| says_something(value)).collect()
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// Leaves out what says nothing.
pub fn compact(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| says_something(value));
    }
    object
}

/// At most this many characters, with a mark where the rest is missing.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{} […] ({} characters in all)", &text[..end], text.chars().count())
        }
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Unix seconds as RFC 3339; null stays null.
pub fn moment(seconds: &Value) -> Value {
    seconds.as_i64().map(rfc3339).into()
}

/// A number times `factor`, with two decimals; null stays null.
pub fn scaled(value: &Value, factor: f64) -> Value {
    value.as_f64().map(|number| round(number * factor)).into()
}

/// Both ends of an interval times `factor`; null stays null.
pub fn scaled_interval(value: &Value, factor: f64) -> Value {
    match list(value) {
        [low, high] => json!([scaled(low, factor), scaled(high, factor)]),
        _ => Value::Null,
    }
}

fn round(number: f64) -> f64 {
    // Adding zero makes -0 a 0.
    (number * 100.0).round() / 100.0 + 0.0
}

/// ` (95 %: 1.5 to 4.25)`, or nothing without an interval.
pub fn interval(ends: &Value) -> String {
    match list(ends) {
        [low, high] => format!(" (95 %: {low} to {high})"),
        _ => String::new(),
    }
}

/// `+1.5`, `-2.0`.
pub fn signed(value: &Value) -> String {
    value.as_f64().map_or_else(|| "unknown".to_owned(), |number| format!("{number:+}"))
}

/// True if an interval has zero inside: the change may be none.
pub fn contains_zero(ends: &Value) -> bool {
    match list(ends) {
        [low, high] => {
            low.as_f64().is_some_and(|low| low <= 0.0)
                && high.as_f64().is_some_and(|high| high >= 0.0)
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("käse", 4), "käse");
        assert_eq!(cut("käse", 2), "kä […] (4 characters in all)");
    }

    #[test]
    fn numbers_keep_two_decimals_and_their_sign() {
        assert_eq!(scaled(&json!(0.81234), 100.0), json!(81.23));
        assert_eq!(scaled(&json!(-0.000_01), 100.0), json!(0.0));
        assert_eq!(scaled(&Value::Null, 100.0), Value::Null);
        assert_eq!(signed(&json!(1.5)), "+1.5");
        assert_eq!(interval(&json!([-1.0, 2.5])), " (95 %: -1.0 to 2.5)");
        assert_eq!(interval(&Value::Null), "");
    }

    #[test]
    fn a_change_may_be_none_unless_its_interval_leaves_zero_out() {
        assert!(contains_zero(&json!([-1.0, 2.0])) && contains_zero(&Value::Null));
        assert!(!contains_zero(&json!([0.5, 2.0])) && !contains_zero(&json!([-2.0, -0.5])));
    }
}
