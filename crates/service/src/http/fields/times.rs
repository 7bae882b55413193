//! Moments and ranges of time.

use serde_json::Value;

use super::Fields;
use super::describe::Shape;

/// The year 2286: times beyond it are milliseconds sent by mistake.
const LATEST_TIME: i64 = 9_999_999_999;

/// The second that a moment with fractions lies in.
#[allow(clippy::cast_possible_truncation)] // saturates, and what is so far away is refused
fn whole_seconds(seconds: f64) -> i64 {
    seconds.floor() as i64
}

/// Unix seconds of RFC 3339, of a civil time (UTC) or, where all is text, of a number.
pub fn parse_time(text: &str, from_query: bool) -> Option<i64> {
    if from_query && let Ok(seconds) = text.parse::<f64>() {
        return seconds.is_finite().then(|| whole_seconds(seconds));
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_second());
    }
    let local = text.parse::<jiff::civil::DateTime>().ok()?;
    local.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|moment| moment.timestamp().as_second())
}

impl Fields<'_> {
    /// A moment as unix seconds or RFC 3339 (without an offset: UTC).
    pub fn time(&mut self, name: &'static str) -> Option<i64> {
        self.describe(name, |_| Shape::Time);
        let value = self.take(name)?;
        let seconds = match value {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(whole_seconds)),
            Value::String(text) => parse_time(text.trim(), self.from_query),
            _ => None,
        };
        match seconds {
            Some(seconds) if seconds > LATEST_TIME => self.refuse(
                name,
                "out_of_range",
                "lies beyond the year 2286; unix seconds are expected, not milliseconds".to_owned(),
            ),
            Some(seconds) => Some(seconds),
            None => self.refuse(
                name,
                "not_a_time",
                "expected RFC 3339 (2026-01-31T12:00:00Z) or unix seconds".to_owned(),
            ),
        }
    }

    /// A moment that something happened at: a time from 1970 on.
    pub fn moment(&mut self, name: &'static str) -> Option<i64> {
        let seconds = self.time(name)?;
        if seconds < 0 {
            return self.refuse(name, "out_of_range", "must not lie before 1970".to_owned());
        }
        Some(seconds)
    }

    /// `start_time` and `end_time`; the end must be after the start.
    pub fn time_range(&mut self) -> (Option<i64>, Option<i64>) {
        self.time_range_of("Included.")
    }

    /// The same, with a description of the start.
    pub fn time_range_of(&mut self, start: &'static str) -> (Option<i64>, Option<i64>) {
        let start = self.about(start).time("start_time");
        let end = self.about("Not included.").time("end_time");
        if let (Some(start), Some(end)) = (start, end)
            && end <= start
        {
            self.problem("end_time", "not_after_start", "must be after start_time");
        }
        (start, end)
    }
}
