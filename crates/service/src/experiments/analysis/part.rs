//! A part of an analysis as it is sent: every number that can be null stands beside its reason.

use serde::Serialize;
use serde_json::{Map, Value, json};

use stats::{Defined, Interval};

/// An object under construction.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Part(Map<String, Value>);

impl Part {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// `name`, and `name_null_reason`.
    #[must_use]
    pub fn maybe(self, name: &str, value: Defined<impl Into<Value>>) -> Self {
        let (value, reason) = match value {
            Ok(value) => (value.into(), Value::Null),
            Err(reason) => (Value::Null, reason.as_str().into()),
        };
        self.with(name, value).with(&format!("{name}_null_reason"), reason)
    }

    /// A difference of rates, in percentage points.
    #[must_use]
    pub fn points(self, name: &str, value: Defined<f64>) -> Self {
        self.maybe(name, value.map(|value| value * 100.0))
    }

    #[must_use]
    pub fn interval(self, name: &str, interval: Defined<Interval>) -> Self {
        self.maybe(name, interval.map(|i| json!([i.lower, i.upper])))
    }

    #[must_use]
    pub fn interval_points(self, name: &str, interval: Defined<Interval>) -> Self {
        self.interval(name, interval.map(|interval| interval.percentage_points()))
    }

    /// Sets a value within a part of this one.
    #[must_use]
    pub fn inside(mut self, part: &str, name: &str, value: impl Into<Value>) -> Self {
        if let Some(Value::Object(part)) = self.0.get_mut(part) {
            part.insert(name.to_owned(), value.into());
        }
        self
    }

    pub fn get(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }
}

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        Value::Object(part.0)
    }
}
