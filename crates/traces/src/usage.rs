//! Model, tokens, cost and latency of calls.

use std::ops::Add;

use serde::Serialize;
use serde_json::Value;

/// The largest numbers that the interface takes. A larger one is a mistake of its record, for which no turn is refused.
const MOST: u64 = 1_000_000_000;
const MOST_DOLLARS: f64 = 1e6;

/// The model of a call, and what the call took, as far as its record says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "is_unknown")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "is_unknown")]
    pub output_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "is_unknown_cost")]
    pub cost_usd: Option<f64>,
    /// Milliseconds until the whole answer was there.
    #[serde(skip_serializing_if = "is_unknown")]
    pub latency_ms: Option<u64>,
}

#[expect(clippy::ref_option)] // serde's form
fn is_unknown(number: &Option<u64>) -> bool {
    number.is_none_or(|number| number > MOST)
}

#[expect(clippy::ref_option)] // serde's form
fn is_unknown_cost(cost: &Option<f64>) -> bool {
    cost.is_none_or(|cost| cost > MOST_DOLLARS)
}

impl Usage {
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }

    /// Several calls as one. The first model that is known stands for all.
    pub(crate) fn sum<'a>(calls: impl Iterator<Item = &'a Usage>) -> Self {
        fn plus<T: Add<Output = T> + Copy>(sum: &mut Option<T>, more: Option<T>) {
            *sum = match (*sum, more) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
        }
        let mut sum = Usage::default();
        for call in calls {
            sum.model = sum.model.or_else(|| call.model.clone());
            plus(&mut sum.input_tokens, call.input_tokens);
            plus(&mut sum.output_tokens, call.output_tokens);
            plus(&mut sum.cost_usd, call.cost_usd);
            plus(&mut sum.latency_ms, call.latency_ms);
        }
        sum
    }

    /// Takes over what is missing here.
    pub(crate) fn fill(&mut self, other: Usage) {
        self.model = self.model.take().or(other.model);
        self.input_tokens = self.input_tokens.or(other.input_tokens);
        self.output_tokens = self.output_tokens.or(other.output_tokens);
        self.cost_usd = self.cost_usd.or(other.cost_usd);
        self.latency_ms = self.latency_ms.or(other.latency_ms);
    }
}

/// A number of tokens or of milliseconds. Some tools write numbers as text, or as floating-point numbers.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (None, Some(float)) if float >= 0.0 && float.fract() == 0.0 => float as u64,
            (whole, _) => whole?,
        },
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    Some(number).filter(|number| *number <= MOST)
}

/// An amount of money or of time.
pub(crate) fn amount(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_are_none_are_left_out() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!(" 7 "), Some(7)),
            (json!(7.5), None),
            (json!(-1), None),
            (json!("many"), None),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!(null), None),
            (json!({"total": 7}), None),
        ] {
            assert_eq!(count(&value), expected, "{value}");
        }
        assert_eq!(amount(&json!("0.0025")), Some(0.0025));
        assert_eq!(amount(&json!(2)), Some(2.0));
        for value in [json!(-0.5), json!("NaN"), json!("inf"), json!([1])] {
            assert_eq!(amount(&value), None, "{value}");
        }
    }

    #[test]
    fn numbers_beyond_the_limits_are_not_sent() {
        let most = Usage { input_tokens: Some(MOST), cost_usd: Some(1.0), ..Usage::default() };
        assert_eq!(json!(most), json!({"input_tokens": MOST, "cost_usd": 1.0}));
        let wild = Usage {
            model: Some("m".to_owned()),
            input_tokens: Some(2 * MOST),
            output_tokens: Some(u64::MAX),
            cost_usd: Some(1e7),
            latency_ms: Some(MOST + 1),
        };
        assert_eq!(json!(wild), json!({"model": "m"}));
    }

    #[test]
    fn several_calls_as_one() {
        let first = Usage { input_tokens: Some(5), latency_ms: Some(10), ..Usage::default() };
        let second = Usage {
            model: Some("m".to_owned()),
            input_tokens: Some(7),
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        let sum = Usage::sum([&first, &second].into_iter());
        let expected = Usage { input_tokens: Some(12), latency_ms: Some(10), ..second };
        assert_eq!(sum, expected);
        assert!(Usage::sum([].into_iter()).is_empty());
    }
}
