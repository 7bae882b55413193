//! Attributes by name, and in the flattened lists that some conventions make of messages.

use std::collections::BTreeMap;
use std::ops::Bound;

use serde_json::Value;

use super::messages::{LONGEST_ID, parsed};
use super::wire::{Any, KeyValue};

#[derive(Default)]
pub(super) struct Attributes<'a>(BTreeMap<&'a str, &'a Any>);

impl<'a> Attributes<'a> {
    pub fn new(pairs: &'a [KeyValue]) -> Self {
        let known = pairs
            .iter()
            .filter_map(|pair| Some((pair.key.as_str(), pair.value.as_ref()?.value.as_ref()?)));
        Attributes(known.collect())
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Text that is not empty.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        match self.0.get(key) {
            Some(Any::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// An id, which may be a number. Text that nothing would store as an id is none.
    pub fn id(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Any::Text(text) => {
                let text = text.trim();
                let fits =
                    text.chars().nth(LONGEST_ID).is_none() && !text.contains(char::is_control);
                (!text.is_empty() && fits).then(|| text.to_owned())
            }
            Any::Int(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The first of several ids.
    pub fn first_id(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.id(key))
    }

    /// Something structured, or text, which is read when it is JSON.
    pub fn value(&self, key: &str) -> Option<Value> {
        match self.0.get(key)? {
            Any::Text(text) => Some(parsed(text).unwrap_or_else(|| Value::from(text.as_str()))),
            other => Some(other.to_json()),
        }
    }

    /// All as one object.
    pub fn object(&self) -> Value {
        self.0.iter().map(|(key, value)| ((*key).to_owned(), value.to_json())).collect()
    }

    /// The elements of a list that is flattened to `<prefix>N.<rest>`, in their order. N may be any number: a list is as
    /// long as it has elements.
    pub fn list(&self, prefix: &str) -> Vec<Attributes<'a>> {
        let mut found: BTreeMap<u32, Attributes<'a>> = BTreeMap::new();
        let from = (Bound::Included(prefix), Bound::Unbounded);
        for (key, value) in self.0.range::<str, _>(from) {
            let Some(rest) = key.strip_prefix(prefix) else { break };
            let (number, rest) = rest.split_once('.').unwrap_or((rest, ""));
            if let Ok(number) = number.parse() {
                found.entry(number).or_default().0.insert(rest, value);
            }
        }
        found.into_values().collect()
    }

    pub fn has_list(&self, prefix: &str) -> bool {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        self.0.range::<str, _>(from).next().is_some_and(|(key, _)| key.starts_with(prefix))
    }
}
