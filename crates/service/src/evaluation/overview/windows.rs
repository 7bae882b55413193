//! The windows of the overview, and how a window is covered by whole weeks, days and hours.

use std::collections::BTreeMap;

use super::sql::rollups::{DAY, GRAINS, HOUR, WEEK};

/// Seconds from `low`, included, to `high`, not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub low: i64,
    pub high: i64,
}

impl Span {
    pub fn ends(self) -> (i64, i64) {
        (self.low, self.high)
    }
}

/// Time windows of an overview.
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

base::vocabulary! {
    /// Bucket of the charts, in UTC.
    pub enum Bucket {
        Day = "day",
        /// From Monday on.
        Week = "week",
    }
}

impl Bucket {
    pub fn seconds(self) -> i64 {
        match self {
            Bucket::Day => DAY,
            Bucket::Week => WEEK,
        }
    }

    /// The start of the bar that a time is in.
    pub fn start(self, time: i64) -> i64 {
        // Weeks begin on Monday, and day 0 was a Thursday.
        let shift = if self == Bucket::Week { 3 * DAY } else { 0 };
        time - (time + shift).rem_euclid(self.seconds())
    }
}

/// The grain of what the rows themselves have: a cover that is no coarser is of rows alone.
pub const ROWS: i64 = 1;

/// One stretch of a cover: `grain` says which sums have it; [`ROWS`] means that the rows themselves do. What a stretch with
/// `sign` −1 comes to is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub sign: i64,
    pub grain: i64,
    pub span: Span,
}

/// Covers a span exactly once, with lines of at most `coarsest` seconds as far as they go, with finer ones and at last
/// rows at the ragged ends. An end just before the end of a day is the whole day without its last hour, not 23 hours.
pub fn cover(span: Span, coarsest: i64) -> Vec<Stretch> {
    let mut grains: Vec<(i64, i64)> =
        GRAINS.into_iter().filter(|(seconds, _)| *seconds <= coarsest).collect();
    grains.sort_unstable();
    let mut stretches = Vec::new();
    fill(span, 1, &grains, &mut stretches);
    stretches
}

fn fill(span: Span, sign: i64, grains: &[(i64, i64)], stretches: &mut Vec<Stretch>) {
    let Span { low, high } = span;
    let Some((&(seconds, shift), finer)) = grains.split_last() else {
        if low < high {
            stretches.push(Stretch { sign, grain: ROWS, span });
        }
        return;
    };
    let nearest = |time: i64| {
        let time = time + seconds / 2;
        time - (time + shift).rem_euclid(seconds)
    };
    let (first, last) = (nearest(low), nearest(high));
    if first >= last {
        return fill(span, sign, finer, stretches);
    }
    // From one time to another: added when it goes forward, taken away when it goes back.
    let mut step = |from: i64, to: i64| {
        if from <= to {
            fill(Span { low: from, high: to }, sign, finer, stretches);
        } else {
            fill(Span { low: to, high: from }, -sign, finer, stretches);
        }
    };
    step(low, first);
    step(last, high);
    stretches.push(Stretch { sign, grain: seconds, span: Span { low: first, high: last } });
}

/// The covers of several windows, as JSON lists of `[tag, grain, low, high]`.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// Ranges of rollup lines, as JSON.
    pub lines: String,
    /// Ranges of single rows, as JSON.
    pub rows: String,
}

/// Covers windows, each named by a bit, and reads no time twice: a range is tagged with the windows that it is added to
/// and those that it is taken away from (see [`share`]).
pub fn ranges(windows: &[(i64, Span)], coarsest: i64) -> Ranges {
    covers(windows, coarsest, 1)
}

/// The same by lines of all sources and versions, which are kept under negated grains.
pub fn ranges_of_whole(windows: &[(i64, Span)], coarsest: i64) -> Ranges {
    covers(windows, coarsest, -1)
}

fn covers(windows: &[(i64, Span)], coarsest: i64, sign_of_grain: i64) -> Ranges {
    let mut cuts: Vec<i64> = windows.iter().flat_map(|(_, span)| [span.low, span.high]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    // Beside a cut the same stretch is often added to what is on one side and taken away from the other.
    let mut windows_of = BTreeMap::<(i64, i64, i64), (i64, i64)>::new();
    for (&low, &high) in cuts.iter().zip(cuts.iter().skip(1)) {
        let inside = windows.iter().filter(|(_, span)| span.low <= low && high <= span.high);
        let bits: i64 = inside.map(|(bit, _)| bit).sum();
        for Stretch { sign, grain, span } in cover(Span { low, high }, coarsest) {
            let (added, taken) = windows_of.entry((grain, span.low, span.high)).or_default();
            if sign > 0 { *added |= bits } else { *taken |= bits }
        }
    }
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for ((grain, low, high), (added, taken)) in windows_of {
        let both = added & taken;
        let tag = tag(added & !both, taken & !both);
        if tag != 0 {
            let range = (tag, sign_of_grain * grain, low, high);
            if grain < HOUR { rows.push(range) } else { lines.push(range) }
        }
    }
    let json = |ranges: &[(i64, i64, i64, i64)]| serde_json::to_string(ranges).unwrap_or_default();
    Ranges { lines: json(&lines), rows: json(&rows) }
}

/// Bits of a tag for the windows that a range is added to; those that it is taken away from have as many above them.
const BITS: u32 = 8;

fn tag(added: i64, taken: i64) -> i64 {
    added | taken << BITS
}

/// Sign of a line with this tag in a window: 1 added, 0 not part of it, −1 subtracted.
pub fn share(tag: i64, window: i64) -> i64 {
    i64::from(tag & window != 0) - i64::from(tag >> BITS & window != 0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::sql::FOUR_WEEKS;
    use super::*;

    /// 2024-02-29 00:00:00 UTC, a Thursday.
    const LEAP_DAY: i64 = 1_709_164_800;

    #[test]
    fn a_cover_has_every_second_once() {
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
                _ => 200 * DAY,
            };
            let high = low + below(longest) + 1;
            for coarsest in [1, HOUR, DAY, WEEK, FOUR_WEEKS] {
                // Changes of the cover count from one second to the next.
                let mut changes: BTreeMap<i64, i64> = [(low, -1), (high, 1)].into();
                for Stretch { sign, grain, span } in cover(Span { low, high }, coarsest) {
                    assert!(span.high > span.low && grain <= coarsest.max(1));
                    if let Some((seconds, shift)) = GRAINS.into_iter().find(|(s, _)| *s == grain) {
                        assert_eq!((span.low + shift) % seconds, 0);
                        assert_eq!((span.high + shift) % seconds, 0);
                    } else {
                        assert!(
                            coarsest == 1 || span.high - span.low < HOUR,
                            "rows for minutes only"
                        );
                    }
                    let lines = (span.high - span.low) / grain;
                    assert!(
                        sign == 1 || lines <= 12 || grain == 1,
                        "at most half is taken away: {lines} of {grain}"
                    );
                    *changes.entry(span.low).or_default() += sign;
                    *changes.entry(span.high).or_default() -= sign;
                }
                assert!(changes.values().all(|change| *change == 0), "{low} to {high}");
            }
        }
    }

    #[test]
    fn ranges_tell_their_windows_and_read_no_time_twice() {
        let windows = Windows::new(LEAP_DAY - 9 * DAY, LEAP_DAY - 1);
        let named = [(1, windows.trend), (2, windows.current), (4, windows.previous)];
        let Ranges { lines, rows } = ranges(&named, WEEK);
        let read =
            |json: &str| -> Vec<(i64, i64, i64, i64)> { serde_json::from_str(json).unwrap() };
        let all = [read(&lines), read(&rows)].concat();
        let seconds = |window: i64| -> i64 {
            all.iter().map(|(tag, _, low, high)| share(*tag, window) * (high - low)).sum()
        };
        for (bit, span) in named {
            assert_eq!(seconds(bit), span.high - span.low);
        }
        assert!(all.len() < 12, "{all:?}");
    }

    #[test]
    fn a_stretch_beside_a_cut_is_read_once_for_both_sides() {
        // Both windows end ten minutes after an hour, where one begins as the other ends.
        let cut = LEAP_DAY + 10 * HOUR + 600;
        let (before, after) =
            (Span { low: LEAP_DAY, high: cut }, Span { low: cut, high: LEAP_DAY + DAY });
        let whole = Span { low: LEAP_DAY, high: LEAP_DAY + DAY };
        let Ranges { rows, .. } = ranges(&[(1, whole), (2, before), (4, after)], DAY);
        let rows: Vec<(i64, i64, i64, i64)> = serde_json::from_str(&rows).unwrap();
        let [(tag, ROWS, low, high)] = rows[..] else { panic!("{rows:?}") };
        assert_eq!((low, high), (cut - 600, cut));
        assert_eq!([1, 2, 4].map(|window| share(tag, window)), [0, 1, -1]);
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
