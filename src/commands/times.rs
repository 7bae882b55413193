//! Times as people type them.

use anyhow::{Result, anyhow};

use service::http::fields::parse_time;

/// A moment in any of the forms people type; a duration is that long ago.
pub fn moment(text: &str, now: i64) -> Result<i64> {
    if let Some(ago) = duration(text) {
        return Ok(now - ago);
    }
    parse_time(text, true)
        .or_else(|| parse_time(&format!("{text}T00:00:00Z"), false))
        .ok_or_else(|| anyhow!("{text} is no time: write 2026-01-31T12:00:00Z, 2026-01-31 or 7d"))
}

/// `90s`, `15m`, `24h`, `7d` or `2w` in seconds.
pub fn duration(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok().filter(|n| *n >= 0)?;
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_type_them() {
        assert_eq!(moment("7d", 700_000).unwrap(), 700_000 - 604_800);
        assert_eq!(moment("1970-01-02", 0).unwrap(), 86_400);
        assert_eq!(moment("1970-01-02T00:00:01Z", 0).unwrap(), 86_401);
        assert_eq!(moment("86400", 0).unwrap(), 86_400);
        assert!(moment("noon", 0).is_err());
        assert_eq!(duration("2w"), Some(1_209_600));
        assert_eq!((duration("-1d"), duration("d"), duration("")), (None, None, None));
    }
}
