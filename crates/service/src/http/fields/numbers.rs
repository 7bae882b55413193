//! Numbers and flags.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::describe::Shape;
use super::{Fields, kind};

impl Fields<'_> {
    pub fn integer(&mut self, name: &'static str, range: RangeInclusive<i64>) -> Option<i64> {
        self.describe(name, |_| Shape::Integer(range.clone()));
        let value = self.take(name)?;
        let number = match value {
            Value::String(text) if self.from_query => text.trim().parse().ok(),
            value => value.as_i64(),
        };
        match number {
            Some(number) if range.contains(&number) => Some(number),
            Some(_) => {
                let (low, high) = (range.start(), range.end());
                self.refuse(name, "out_of_range", format!("must be from {low} to {high}"))
            }
            None => {
                let got = kind(value);
                self.refuse(name, "wrong_type", format!("expected a 64-bit integer, got {got}"))
            }
        }
    }

    /// An integer that reads as `default` when it is absent.
    pub fn integer_or(
        &mut self,
        name: &'static str,
        range: RangeInclusive<i64>,
        default: i64,
    ) -> i64 {
        let number = self.integer(name, range).unwrap_or(default);
        self.describe_default(name, || default.into());
        number
    }

    pub fn required_integer(&mut self, name: &'static str, range: RangeInclusive<i64>) -> i64 {
        self.required(name, |f| f.integer(name, range))
    }

    /// A finite number.
    pub fn number(&mut self, name: &'static str) -> Option<f64> {
        self.number_from(name, f64::NEG_INFINITY)
    }

    /// A finite number that is not below `least`.
    pub fn number_from(&mut self, name: &'static str, least: f64) -> Option<f64> {
        self.describe(name, |_| Shape::Number { least });
        let value = self.take(name)?;
        let number = match value {
            Value::String(text) if self.from_query => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        match number.filter(|n: &f64| n.is_finite()) {
            Some(number) if number >= least => Some(number),
            Some(_) => self.refuse(name, "out_of_range", format!("must not be below {least}")),
            None => {
                let got = kind(value);
                self.refuse(name, "wrong_type", format!("expected a number, got {got}"))
            }
        }
    }

    /// A number of a range, both ends included.
    pub fn number_within(&mut self, name: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        self.describe(name, |_| Shape::Within(range.clone()));
        let number = self.number(name)?;
        if range.contains(&number) {
            return Some(number);
        }
        let detail = format!("must be from {} to {}", range.start(), range.end());
        self.refuse(name, "out_of_range", detail)
    }

    /// A number greater than `above` and less than `below`.
    pub fn number_between(&mut self, name: &'static str, above: f64, below: f64) -> Option<f64> {
        self.describe(name, |_| Shape::Between { above, below });
        let number = self.number(name)?;
        if number > above && number < below {
            return Some(number);
        }
        let detail = format!("must be greater than {above} and less than {below}");
        self.refuse(name, "out_of_range", detail)
    }

    /// A number between two others that reads as `default` when it is absent.
    pub fn number_between_or(
        &mut self,
        name: &'static str,
        above: f64,
        below: f64,
        default: f64,
    ) -> f64 {
        let number = self.number_between(name, above, below).unwrap_or(default);
        self.describe_default(name, || default.into());
        number
    }

    /// True or false; absent reads as false.
    pub fn flag(&mut self, name: &'static str) -> bool {
        self.flag_or(name, false)
    }

    /// True or false; absent reads as `default`.
    pub fn flag_or(&mut self, name: &'static str, default: bool) -> bool {
        let flag = self.optional_flag(name).unwrap_or(default);
        self.describe_default(name, || default.into());
        flag
    }

    pub fn optional_flag(&mut self, name: &'static str) -> Option<bool> {
        self.describe(name, |_| Shape::Flag);
        match self.take(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::String(text) if self.from_query && matches!(text.as_str(), "true" | "1") => {
                Some(true)
            }
            Value::String(text) if self.from_query && matches!(text.as_str(), "false" | "0") => {
                Some(false)
            }
            other => {
                let got = kind(other);
                self.refuse(name, "wrong_type", format!("expected true or false, got {got}"))
            }
        }
    }
}
