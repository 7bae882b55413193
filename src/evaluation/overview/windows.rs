//! The windows of the overview, and how a window is covered by whole weeks, days and hours.

use super::sql::{DAY, GRAINS, HOUR, WEEK};

/// Seconds from `low`, included, to `high`, not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub low: i64,
    pub high: i64,
}

/// What an overview is about.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    /// All that was asked for.
    pub trend: Span,
    /// Its last seven days.
    pub current: Span,
    /// The seven days before `current`.
    pub previous: Span,
}

impl Windows {
    /// Both ends are included.
    pub fn new(from_ts: i64, to_ts: i64) -> Self {
        let trend = Span { low: from_ts, high: to_ts + 1 };
        let current = Span { low: from_ts.max(to_ts - 7 * DAY), high: to_ts + 1 };
        let previous = Span { low: current.low - 7 * DAY, high: current.low };
        Windows { trend, current, previous }
    }
}

/// How long a bar of the charts is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bucket {
    Day,
    Week,
}

impl Bucket {
    pub fn seconds(self) -> i64 {
        match self {
            Bucket::Day => DAY,
            Bucket::Week => WEEK,
        }
    }

    /// Weeks begin on Monday, and day 0 was a Thursday.
    pub fn shift(self) -> i64 {
        match self {
            Bucket::Day => 0,
            Bucket::Week => 3 * DAY,
        }
    }
}

/// One stretch of a cover: `grain` says which sums have it; 1 means that the rows themselves do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub grain: i64,
    pub span: Span,
}

/// Covers a window without gap or overlap, with lines of at most `coarsest` seconds where whole ones fit and with rows
/// at the ragged ends.
pub fn cover(span: Span, coarsest: i64) -> Vec<Stretch> {
    let mut grains: Vec<(i64, i64)> =
        GRAINS.into_iter().filter(|(seconds, _)| *seconds <= coarsest).collect();
    grains.sort_unstable();
    let mut stretches = Vec::new();
    fill(span, &grains, &mut stretches);
    stretches
}

fn fill(span: Span, grains: &[(i64, i64)], stretches: &mut Vec<Stretch>) {
    if span.low >= span.high {
        return;
    }
    let Some((&(seconds, shift), finer)) = grains.split_last() else {
        stretches.push(Stretch { grain: 1, span });
        return;
    };
    let floor = |time: i64| time - (time + shift).rem_euclid(seconds);
    let (first, last) = (floor(span.low + seconds - 1), floor(span.high));
    if first >= last {
        return fill(span, finer, stretches);
    }
    fill(Span { low: span.low, high: first }, finer, stretches);
    stretches.push(Stretch { grain: seconds, span: Span { low: first, high: last } });
    fill(Span { low: last, high: span.high }, finer, stretches);
}

/// Covers of several windows, each under its tag, as `{ranges:$n}` takes them: the lines, then the rows.
pub fn ranges(windows: &[(i64, Span)], coarsest: i64) -> (String, String) {
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for (tag, span) in windows {
        for Stretch { grain, span } in cover(*span, coarsest) {
            let range = (tag, grain, span.low, span.high);
            if grain < HOUR { rows.push(range) } else { lines.push(range) }
        }
    }
    let json = |ranges: &[(&i64, i64, i64, i64)]| serde_json::to_string(ranges).unwrap_or_default();
    (json(&lines), json(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-02-29 00:00:00 UTC, a Thursday.
    const LEAP_DAY: i64 = 1_709_164_800;

    #[test]
    fn a_cover_has_no_gap_and_no_overlap() {
        let mut state = 7u64;
        let mut below = move |n: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(state >> 33).unwrap() % n
        };
        for _ in 0..20_000 {
            let mut low = LEAP_DAY - 20 * DAY + below(40 * DAY);
            match below(4) {
                0 => low -= low % HOUR,
                1 => low -= low % DAY,
                _ => {}
            }
            let longest = match below(4) {
                0 => 10,
                1 => HOUR,
                2 => 3 * DAY,
                _ => 60 * DAY,
            };
            let high = low + below(longest) + 1;
            for coarsest in [1, HOUR, DAY, WEEK] {
                let mut at = low;
                for Stretch { grain, span } in cover(Span { low, high }, coarsest) {
                    assert_eq!(span.low, at);
                    assert!(span.high > span.low && grain <= coarsest.max(1));
                    if let Some((seconds, shift)) = GRAINS.into_iter().find(|(s, _)| *s == grain) {
                        assert_eq!((span.low + shift) % seconds, 0);
                        assert_eq!((span.high + shift) % seconds, 0);
                    } else {
                        assert!(
                            coarsest == 1 || span.high - span.low < 2 * HOUR,
                            "rows for minutes only"
                        );
                    }
                    at = span.high;
                }
                assert_eq!(at, high);
            }
        }
    }

    #[test]
    fn the_last_seven_days_and_the_seven_before() {
        let windows = Windows::new(LEAP_DAY - 30 * DAY, LEAP_DAY);
        assert_eq!(windows.current, Span { low: LEAP_DAY - 7 * DAY, high: LEAP_DAY + 1 });
        assert_eq!(windows.previous, Span { low: LEAP_DAY - 14 * DAY, high: LEAP_DAY - 7 * DAY });
        let short = Windows::new(LEAP_DAY, LEAP_DAY);
        assert_eq!(short.current, short.trend);
        assert_eq!(short.previous, Span { low: LEAP_DAY - 7 * DAY, high: LEAP_DAY });
    }
}
