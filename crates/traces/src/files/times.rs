//! Times in every form in which tools write them, as whole seconds or milliseconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::Wrong;

/// The first of these fields that is set, in seconds.
pub fn seconds(record: &Value, names: &[&str]) -> Result<Option<i64>, Wrong> {
    Ok(milliseconds(record, names)?.map(|milliseconds| milliseconds / 1000))
}

/// The first of these fields that is set, in milliseconds.
pub fn milliseconds(record: &Value, names: &[&str]) -> Result<Option<i64>, Wrong> {
    let found = names.iter().filter_map(|name| record.get(name)).find(|value| !value.is_null());
    found.map(read).transpose()
}

/// RFC 3339 or the same without a zone, which means UTC, or a number since 1970 in seconds or smaller units.
fn read(value: &Value) -> Result<i64, Wrong> {
    let found = match value {
        Value::Number(number) => number.as_f64().and_then(from_number),
        Value::String(text) => from_text(text.trim()),
        _ => None,
    };
    found.filter(|milliseconds| *milliseconds >= 0).ok_or(Wrong::BadTime)
}

fn from_text(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<f64>() {
        return from_number(number);
    }
    let text = text.strip_suffix("UTC").map_or(text, str::trim_end);
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let local = text.parse::<DateTime>().ok()?;
    local.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp().as_millisecond())
}

/// The unit follows from the size: as seconds, every such number would lie after the year 5000.
fn from_number(number: f64) -> Option<i64> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    let milliseconds = match number {
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    (milliseconds < 1e14).then_some(milliseconds as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_read() {
        for time in [
            json!("2024-05-29T13:46:19.963Z"),
            json!("2024-05-29T13:46:19.963+00:00"),
            json!("2024-05-29T15:46:19.963+02:00"),
            json!("2024-05-29 13:46:19.963000"),
            json!("2024-05-29T13:46:19.963000"),
            json!("2024-05-29 13:46:19.963 UTC"),
            json!(1716990379.963),
            json!("1716990379.963"),
            json!(1716990379963_u64),
            json!(1716990379963000_u64),
            json!(1716990379963000000_u64),
        ] {
            let record = json!({"a": null, "b": time});
            assert_eq!(milliseconds(&record, &["a", "b"]), Ok(Some(1716990379963)), "{time}");
            assert_eq!(seconds(&record, &["a", "b"]), Ok(Some(1716990379)), "{time}");
        }
        for time in [json!("2024-05-29T15:46:19+02:00"), json!(1716990379), json!("1716990379")] {
            assert_eq!(read(&time), Ok(1716990379000), "{time}");
        }
    }

    #[test]
    fn no_time_is_made_up() {
        for wrong in [json!("yesterday"), json!(""), json!(-5), json!(true), json!("1969-12-31")] {
            assert_eq!(read(&wrong), Err(Wrong::BadTime), "{wrong}");
        }
        assert_eq!(seconds(&json!({"a": null}), &["a", "b"]), Ok(None));
    }
}
