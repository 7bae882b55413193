//! The four weeks before a day: what to expect of each hour, and how much users and days differ.

use super::Smallest;
use super::history::{Day, HOURS, History, PerGroup};
use crate::grouped::{GROUPS, GroupSums, SUFFICIENT_GROUPS};
use crate::reason::{Defined, NullReason};

/// Days of a baseline.
pub const BASELINE_DAYS: i64 = 28;
/// As many of them need to have sessions.
pub const SMALLEST_DAYS: usize = 14;
const WEEKDAYS: usize = 7;

/// The four weeks before a day.
///
/// The expectation of an hour is the mean of the four weeks, moved by the difference of its day of the week and
/// of its hour of the day. A difference is believed as far as it can be known, `κ = m²/(m² + φ/n)`: entirely if
/// there are many sessions, hardly if there are few, where it would only add noise.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    mean: f64,
    influence: PerGroup,
    weekdays: [Season; WEEKDAYS],
    hours: [Season; HOURS],
    /// `N_0`.
    pub(super) sessions: f64,
    /// Share of each group in the sessions.
    pub(super) shares: PerGroup,
    /// `φ`: the variance of a session's value, times the design effect of the users of one day.
    pub(super) dispersion: f64,
    /// `σ²`: the variance of whole days beyond that.
    pub(super) day_variance: f64,
    /// `ν_d`: its degrees of freedom.
    pub(super) day_df: f64,
    /// `L_0`: as many days of equal size would tell as much.
    pub(super) effective_days: f64,
    /// `m`: the smallest change that is worth an alert.
    pub(super) smallest: f64,
}

/// A day of the week, or an hour of the day.
#[derive(Clone, Copy, Debug)]
struct Season {
    /// Difference of its mean to that of all, as far as it is believed.
    effect: f64,
    /// `κ`.
    trust: f64,
    /// How its own mean moves with each group.
    influence: PerGroup,
}

/// The mean of some sums, and how it moves with each group: `(s_b − mean·n_b)/n`, the linear part of leaving the
/// group in.
struct Mean {
    mean: f64,
    sessions: f64,
    influence: PerGroup,
}

impl Mean {
    fn of(sums: &GroupSums) -> Option<Self> {
        let sessions = sums.sessions();
        let mean = sums.successes() / sessions;
        let influence =
            sums.groups().map(|group| (group.successes - mean * group.sessions) / sessions);
        (sessions > 0.0).then_some(Self { mean, sessions, influence })
    }
}

/// Sessions of a window by day of the week and by hour of the day.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mix {
    weekdays: [f64; WEEKDAYS],
    hours: [f64; HOURS],
}

impl Mix {
    pub(super) fn add(&mut self, day: i64, hour: usize, sessions: f64) {
        self.weekdays[weekday(day)] += sessions;
        self.hours[hour] += sessions;
    }
}

fn weekday(day: i64) -> usize {
    usize::try_from(day.rem_euclid(WEEKDAYS as i64)).unwrap_or(0)
}

impl Baseline {
    /// The four weeks before `day`. Null with `too_little_history` if fewer than [`SMALLEST_DAYS`] of them have
    /// sessions, with `too_few_users` below [`SUFFICIENT_GROUPS`] groups, and with `zero_baseline` if the
    /// smallest change is a share of a mean of 0.
    ///
    /// ```text
    /// φ = Σ K/(K−1)·(s_b − p·n_b)² / Σ n            over days and groups, p the mean of the day, K its groups
    /// ```
    pub(super) fn before(history: &History, day: i64, smallest: Smallest) -> Defined<Self> {
        let mut by_weekday = [GroupSums::default(); WEEKDAYS];
        let mut by_hour = [GroupSums::default(); HOURS];
        let mut days: Vec<(i64, &Day, f64)> = Vec::new();
        let (mut squares, mut counted) = (0.0, 0.0);
        for number in day - BASELINE_DAYS..day {
            let of_day = history.day(number);
            let Some(Mean { sessions, influence, .. }) = Mean::of(&of_day.whole) else { continue };
            days.push((number, of_day, sessions));
            by_weekday[weekday(number)] = by_weekday[weekday(number)].plus(&of_day.whole);
            for (hour, sums) in by_hour.iter_mut().enumerate() {
                if of_day.sessions[hour] > 0.0 {
                    *sums = sums.plus(&of_day.hours[hour]);
                }
            }
            let groups = of_day.whole.group_count() as f64;
            if groups > 1.0 {
                let of_day: f64 = influence.iter().map(|moved| (moved * sessions).powi(2)).sum();
                squares += groups / (groups - 1.0) * of_day;
                counted += sessions;
            }
        }
        if days.len() < SMALLEST_DAYS {
            return Err(NullReason::TooLittleHistory);
        }
        let all = by_weekday.iter().fold(GroupSums::default(), |all, sums| all.plus(sums));
        if all.group_count() < SUFFICIENT_GROUPS || counted <= 0.0 {
            return Err(NullReason::TooFewUsers);
        }
        let Some(Mean { mean, sessions, influence }) = Mean::of(&all) else {
            return Err(NullReason::NoEvaluatedSessions);
        };
        let smallest = smallest.of(mean);
        if smallest <= 0.0 {
            return Err(NullReason::ZeroBaseline);
        }
        let dispersion = squares / counted;
        let season = |sums: &GroupSums| Season::of(sums, mean, smallest * smallest, dispersion);
        let squared_days: f64 = days.iter().map(|(_, _, n)| n * n).sum();
        let mut baseline = Self {
            mean,
            influence,
            weekdays: centred(by_weekday.map(|sums| season(&sums)), &by_weekday),
            hours: centred(by_hour.map(|sums| season(&sums)), &by_hour),
            sessions,
            shares: all.groups().map(|group| group.sessions / sessions),
            dispersion,
            day_variance: 0.0,
            day_df: 0.0,
            effective_days: sessions * sessions / squared_days,
            smallest,
        };
        (baseline.day_variance, baseline.day_df) = baseline.variance_of_days(&days);
        Ok(baseline)
    }

    /// The value that is expected of a session of this hour.
    pub(super) fn expected(&self, day: i64, hour: usize) -> f64 {
        self.mean + self.weekdays[weekday(day)].effect + self.hours[hour].effect
    }

    /// How the expectation of a window moves with each group of the four weeks.
    pub(super) fn influences(&self, mix: &Mix, sessions: f64) -> PerGroup {
        let mut moved = [0.0; GROUPS];
        let mut add = |weight: f64, influence: &PerGroup| {
            moved.iter_mut().zip(influence).for_each(|(moved, one)| *moved += weight * one);
        };
        let by_weekday = self.weekdays.iter().zip(&mix.weekdays);
        let by_hour = self.hours.iter().zip(&mix.hours);
        let mut own = 1.0;
        for (season, n) in by_weekday.chain(by_hour).filter(|(_, n)| **n > 0.0) {
            let weight = season.trust * n / sessions;
            own -= weight;
            add(weight, &season.influence);
        }
        add(own, &self.influence);
        moved
    }

    /// `σ²` and `ν_d`, by moments (DerSimonian and Laird, 1986) with days weighted by their sessions:
    ///
    /// ```text
    /// ν_d = J − 1 − 6κ                                               J days, κ the mean of the weekdays'
    /// σ² = max( Σ n_j·(p_j − expected_j)² − φ·ν_d, 0 ) / (N − Σn_j²/N)
    /// ```
    fn variance_of_days(&self, days: &[(i64, &Day, f64)]) -> (f64, f64) {
        let trust = self.weekdays.iter().map(|season| season.trust).sum::<f64>() / WEEKDAYS as f64;
        let df = days.len() as f64 - 1.0 - (WEEKDAYS as f64 - 1.0) * trust;
        let mut squares = 0.0;
        for (number, day, sessions) in days {
            let hours = day.sessions.iter().enumerate();
            let expected: f64 = hours.map(|(hour, n)| n * self.expected(*number, hour)).sum();
            squares += (day.whole.successes() - expected).powi(2) / sessions;
        }
        let scale = self.sessions * (1.0 - self.effective_days.recip());
        (((squares - self.dispersion * df) / scale).max(0.0), df)
    }
}

impl Season {
    fn of(sums: &GroupSums, mean: f64, prior_variance: f64, dispersion: f64) -> Self {
        let Some(own) = Mean::of(sums) else {
            return Self { effect: 0.0, trust: 0.0, influence: [0.0; GROUPS] };
        };
        let trust = prior_variance / (prior_variance + dispersion / own.sessions);
        Self { effect: trust * (own.mean - mean), trust, influence: own.influence }
    }
}

/// The seasons with effects that come to nothing over all sessions.
fn centred<const N: usize>(mut seasons: [Season; N], sums: &[GroupSums; N]) -> [Season; N] {
    let sizes = sums.each_ref().map(GroupSums::sessions);
    let total: f64 = seasons.iter().zip(&sizes).map(|(season, n)| season.effect * n).sum();
    let mean = total / sizes.iter().sum::<f64>();
    seasons.iter_mut().for_each(|season| season.effect -= mean);
    seasons
}

#[cfg(test)]
mod tests {
    use super::super::Direction;
    use super::super::history::{Block, DAY, HOUR};
    use super::*;
    use crate::testing::close;

    /// Four weeks in which every hour has sessions in all groups, worth what is said of day and hour.
    fn weeks(sessions: f64, value: impl Fn(i64, usize, usize) -> f64) -> History {
        let mut history = History::new(Direction::MoreIsBetter);
        for day in 0..BASELINE_DAYS {
            for hour in 0..HOURS {
                let mut sums = GroupSums::default();
                (0..GROUPS).for_each(|group| {
                    sums.add(group, sessions, sessions * value(day, hour, group))
                });
                history.add(&Block { time: day * DAY + hour as i64 * HOUR, sums });
            }
        }
        history
    }

    fn before(history: &History) -> Baseline {
        Baseline::before(history, BASELINE_DAYS, Smallest::Absolute(0.03)).expect("four weeks")
    }

    #[test]
    fn an_hour_is_expected_to_be_like_its_weekday_and_time() {
        let value = |day: i64, hour: usize| {
            0.8 - if day % 7 >= 5 { 0.05 } else { 0.0 } - if hour < 6 { 0.03 } else { 0.0 }
        };
        let many = weeks(1e6, |day, hour, group| value(day, hour) + 0.001 * (group % 2) as f64);
        let baseline = before(&many);
        for (day, hour) in [(28, 0), (28, 12), (33, 3), (34, 23)] {
            close(baseline.expected(day, hour), value(day, hour) + 0.0005, 1e-6);
        }
        assert!(baseline.day_variance < 1e-12);
        // If users differ much, so many sessions tell hardly anything of a weekday.
        let noisy = weeks(1e6, |day, hour, group| value(day, hour) + 3.0 * (group % 2) as f64);
        let baseline = before(&noisy);
        assert!((baseline.expected(33, 3) - baseline.expected(28, 12)).abs() < 0.01);
    }

    #[test]
    fn days_that_differ_for_everybody_are_noticed() {
        let shift = |day: i64| if (day / 7) % 2 == 0 { 0.04 } else { -0.04 };
        let history = weeks(1e6, |day, _, group| 0.8 + shift(day) + 0.01 * (group % 2) as f64);
        // All days are ±.04, and none is explained by its weekday: σ² = 28·.0016/27 up to the degrees that weekdays take.
        close(before(&history).day_variance, 0.0016 * 28.0 / 27.0, 1e-3);
    }

    #[test]
    fn dispersion_is_that_of_a_day() {
        let history = weeks(1.0, |_, _, group| if group % 2 == 0 { 1.0 } else { 0.0 });
        // 24 sessions of a group in a day, each 12 from the mean: 32·144 a day with 768 sessions.
        close(before(&history).dispersion, 32.0 / 31.0 * 32.0 * 144.0 / 768.0, 1e-12);
    }

    #[test]
    fn four_weeks_may_be_too_little() {
        let mut history = History::new(Direction::MoreIsBetter);
        let null =
            |history: &History, smallest| Baseline::before(history, BASELINE_DAYS, smallest).err();
        let absolute = Smallest::Absolute(0.03);
        assert_eq!(null(&history, absolute), Some(NullReason::TooLittleHistory));
        let add = |history: &mut History, groups: std::ops::Range<usize>| {
            for day in 10..24 {
                let mut sums = GroupSums::default();
                groups.clone().for_each(|group| sums.add(group, 1.0, 0.0));
                history.add(&Block { time: day * DAY, sums });
            }
        };
        add(&mut history, 0..9);
        assert_eq!(null(&history, absolute), Some(NullReason::TooFewUsers));
        add(&mut history, 9..10);
        assert_eq!(null(&history, absolute), None);
        assert_eq!(null(&history, Smallest::ShareOfMean(0.1)), Some(NullReason::ZeroBaseline));
        assert_eq!(
            Baseline::before(&history, 39, absolute).err(),
            Some(NullReason::TooLittleHistory),
            "thirteen days are left"
        );
    }
}
