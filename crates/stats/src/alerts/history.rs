//! The measured sums, hour by hour and by group of users.

use super::Direction;
use crate::grouped::{GROUPS, GroupSums};
use std::cmp::Ordering;

/// Seconds of an hour.
pub const HOUR: i64 = 3_600;
/// Seconds of a day.
pub const DAY: i64 = 24 * HOUR;
/// Hours of a day.
pub(super) const HOURS: usize = 24;

/// A number of each group.
pub(super) type PerGroup = [f64; GROUPS];

/// The sums of one hour, or a part of them: parts of the same hour add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// A time within the hour, in seconds since 1970.
    pub time: i64,
    /// Sessions that began in the hour and have a value, and the sums of their values, by group of users.
    pub sums: GroupSums,
}

/// The sums of one day, in UTC.
#[derive(Clone, Debug)]
pub(super) struct Day {
    pub(super) hours: [GroupSums; HOURS],
    /// Sessions of the hours.
    pub(super) sessions: [f64; HOURS],
    pub(super) whole: GroupSums,
}

impl Default for Day {
    fn default() -> Self {
        Self {
            hours: [GroupSums::default(); HOURS],
            sessions: [0.0; HOURS],
            whole: GroupSums::default(),
        }
    }
}

/// Days one after the other, with signs turned so that more is better.
#[derive(Clone, Debug)]
pub(super) struct History {
    direction: Direction,
    first_day: i64,
    days: Vec<Day>,
    empty: Box<Day>,
}

impl History {
    pub(super) fn new(direction: Direction) -> Self {
        Self { direction, first_day: 0, days: Vec::new(), empty: Box::default() }
    }

    /// Adds what a block has.
    pub(super) fn add(&mut self, block: &Block) {
        let (number, hour) = place(block.time);
        let sign = self.direction.sign();
        let day = self.day_mut(number);
        for (group, sums) in block.sums.groups().iter().enumerate() {
            if sums.sessions != 0.0 || sums.successes != 0.0 {
                day.hours[hour].add(group, sums.sessions, sign * sums.successes);
                day.sessions[hour] += sums.sessions;
                day.whole.add(group, sums.sessions, sign * sums.successes);
            }
        }
    }

    /// The sums of a day, counted from 1970; nothing for one that is not there.
    pub(super) fn day(&self, number: i64) -> &Day {
        let index = usize::try_from(number - self.first_day).ok();
        index.and_then(|index| self.days.get(index)).unwrap_or(&self.empty)
    }

    fn day_mut(&mut self, number: i64) -> &mut Day {
        if self.days.is_empty() {
            self.first_day = number;
        }
        let missing = usize::try_from(self.first_day - number).unwrap_or(0);
        if missing > 0 {
            self.days.splice(0..0, std::iter::repeat_n(Day::default(), missing));
            self.first_day = number;
        }
        let index = usize::try_from(number - self.first_day).unwrap_or(0);
        if index >= self.days.len() {
            self.days.resize(index + 1, Day::default());
        }
        &mut self.days[index]
    }
}

/// Day and hour of the day of a time.
pub(super) fn place(time: i64) -> (i64, usize) {
    let hour = usize::try_from(time.rem_euclid(DAY) / HOUR).unwrap_or(0);
    (time.div_euclid(DAY), hour)
}

/// The order in which blocks are added, so that they give the same sums to the last digit however they come.
pub(super) fn in_order(one: &Block, other: &Block) -> Ordering {
    let by_sums = || {
        let pairs = one.sums.groups().iter().zip(other.sums.groups());
        let compared = pairs.map(|(a, b)| {
            a.sessions.total_cmp(&b.sessions).then(a.successes.total_cmp(&b.successes))
        });
        compared.fold(Ordering::Equal, Ordering::then)
    };
    place(one.time).cmp(&place(other.time)).then_with(by_sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_come_in_any_order() {
        let mut history = History::new(Direction::LessIsBetter);
        let mut sums = GroupSums::default();
        sums.add(3, 2.0, 5.0);
        for time in [10 * DAY, 7 * DAY + 5 * HOUR, 12 * DAY - 1, 7 * DAY + 6 * HOUR - 1, -1] {
            history.add(&Block { time, sums });
        }
        let values = |number: i64, hour: usize| {
            let day = history.day(number);
            (day.sessions[hour], day.hours[hour].successes(), day.whole.successes())
        };
        assert_eq!(values(10, 0), (2.0, -5.0, -5.0));
        assert_eq!(values(7, 5), (4.0, -10.0, -10.0));
        assert_eq!(values(11, 23), (2.0, -5.0, -5.0));
        assert_eq!(values(-1, 23), (2.0, -5.0, -5.0));
        for missing in [-2, 0, 8, 12, 1_000] {
            assert_eq!(values(missing, 0), (0.0, 0.0, 0.0));
        }
    }
}
