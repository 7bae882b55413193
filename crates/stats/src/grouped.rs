//! Rates and changes outside experiments, from 32 groups of users.
//!
//! Sessions come in users, so that an interval from the number of sessions alone is far too narrow (it covers
//! 54 to 76 % at an intraclass correlation of .2 to .4). Sums by user are too many to add up for a page; sums
//! by one of 32 groups, into which a stable hash puts every user, are few, add up over days and sources, and
//! still show how much users differ: leaving out one group at a time is the delete-a-group jackknife (Kott,
//! 2001).

use super::ALPHA;
use super::distributions::student_t_critical_value;
use super::interval::Interval;
use super::newcombe::{Rate, square_and_add_correlated};
use super::reason::{Defined, NullReason};
use super::summation::sum;
use super::wilson::wilson;

/// Number of groups.
pub const GROUPS: usize = 32;
/// With fewer groups that have sessions no interval is given.
pub const SMALLEST_GROUPS: usize = 5;
/// With fewer groups that have sessions the interval is marked.
pub const SUFFICIENT_GROUPS: usize = 10;
/// The intraclass correlation that is assumed as long as there are too few failures (or successes) to see it.
const ASSUMED_CORRELATION: f64 = 0.2;

/// Sessions and successes of one group of users: counts, or sums of weights that are scaled to mean 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupSum {
    /// `n_b`.
    pub sessions: f64,
    /// `s_b`, from 0 to `n_b`.
    pub successes: f64,
}

/// The sums of all groups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupSums([GroupSum; GROUPS]);

impl GroupSums {
    /// The sums of the groups, in their order.
    #[must_use]
    pub const fn new(groups: [GroupSum; GROUPS]) -> Self {
        Self(groups)
    }

    /// The groups, in their order.
    #[must_use]
    pub const fn groups(&self) -> &[GroupSum; GROUPS] {
        &self.0
    }

    /// Adds sessions of a user whose hash, modulo [`GROUPS`], is `group`. Negative numbers take sessions
    /// away.
    pub fn add(&mut self, group: usize, sessions: f64, successes: f64) {
        if let Some(sums) = self.0.get_mut(group % GROUPS) {
            sums.sessions += sessions;
            sums.successes += successes;
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (group, sums) in other.0.iter().enumerate() {
            self.add(group, sums.sessions, sums.successes);
        }
        self
    }

    /// `n`, all sessions.
    #[must_use]
    pub fn sessions(&self) -> f64 {
        sum(self.0.iter().map(|group| group.sessions))
    }

    /// `s`, all successes.
    #[must_use]
    pub fn successes(&self) -> f64 {
        sum(self.0.iter().map(|group| group.successes))
    }

    /// True if `0 ≤ s_b ≤ n_b` in every group; if not, the line has to be computed anew.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.0.iter().all(|group| 0.0 <= group.successes && group.successes <= group.sessions)
    }

    /// `K`, the groups with sessions.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.0.iter().filter(|group| group.sessions > 0.0).count()
    }
}

/// A rate with an interval that accounts for users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupedRate {
    /// `p = s/n`, and its 95 % interval.
    pub rate: Rate,
    /// `n/deff`: as many independent sessions would tell as much.
    pub effective_sample_size: f64,
    /// True if fewer than [`SUFFICIENT_GROUPS`] groups have sessions, so that the interval is shown with a
    /// mark.
    pub few_users: bool,
}

/// The change of a rate with an interval that accounts for users, also for those who are in both periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupedChange {
    /// The rate now minus the rate before.
    pub change: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// True if either rate is of few users.
    pub few_users: bool,
}

/// The rate and its interval.
///
/// With `K` groups that have sessions, `p = s/n` and all sums over groups:
///
/// ```text
/// u_b = −(s_b − p·n_b)/(n − n_b),  V = (K−1)/K · Σu_b²,  own = V·n/(p(1−p))   (delete-a-group jackknife)
/// m = (32/31)·Σ(n_b − n/32)²/n over all 32, within [1, n],  d0 = 1 + 0.2(m − 1)   (assumed beforehand)
/// e_b = the rarer outcome in group b,  ke = (Σe)²/Σe²,  kn = n²/Σn_b²
/// deff = d0 if p is 0 or 1 or V = 0, else a = max(own, 1), w = min(ke / min(8, 2kn/3), 1),
///        deff = max(a, w·a + (1−w)·d0)
/// df = floor(min(kn, max(ke, 8)) − 0.5) within [1, K−1];  Wilson with t_df and n/deff
/// ```
///
/// Null without sessions, and `too_few_users` with fewer than [`SMALLEST_GROUPS`] groups.
pub fn grouped_rate(sums: &GroupSums) -> Defined<GroupedRate> {
    Ok(Jackknife::of(sums)?.rate())
}

/// The change from one period to another and its interval: the correlated MOVER of two [`grouped_rate`]s.
///
/// ```text
/// r = Σu^a·u^b / √(Σu^a²·Σu^b²) within [−1, .95], times √(f_a·f_b)
/// f = min(own/deff, 1), or 0 where own is undefined
/// ```
///
/// Null as either rate is.
pub fn grouped_change(now: &GroupSums, before: &GroupSums) -> Defined<GroupedChange> {
    let (now, before) = (Jackknife::of(now)?, Jackknife::of(before)?);
    let (rate_now, rate_before) = (now.rate(), before.rate());
    Ok(GroupedChange {
        change: now.estimate - before.estimate,
        interval: square_and_add_correlated(
            rate_now.rate,
            rate_before.rate,
            now.correlation(&before),
        ),
        few_users: rate_now.few_users || rate_before.few_users,
    })
}

/// A mean of a number per session, with an interval that accounts for users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupedMean {
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// True if fewer than [`SUFFICIENT_GROUPS`] groups have sessions.
    pub few_users: bool,
}

/// The mean of a number that is not between 0 and 1, whose sums stand in the place of the successes:
/// `mean ± t·√V` with the jackknife's `V` and `df = floor(kn − 0.5)` within `[1, K−1]`.
///
/// Null as [`grouped_rate`] is, and with `zero_variance` when all groups have the same mean.
pub fn grouped_mean(sums: &GroupSums) -> Defined<GroupedMean> {
    let (jackknife, margin) = mean_and_margin(sums)?;
    Ok(GroupedMean {
        mean: jackknife.estimate,
        interval: Interval::around(jackknife.estimate, margin),
        few_users: jackknife.group_count < SUFFICIENT_GROUPS,
    })
}

/// The change of a [`grouped_mean`], whose margins are those of both means with the correlation of their groups.
pub fn grouped_mean_change(now: &GroupSums, before: &GroupSums) -> Defined<GroupedChange> {
    let ((now, margin_now), (before, margin_before)) =
        (mean_and_margin(now)?, mean_and_margin(before)?);
    let shared = 2.0 * now.shift_correlation(&before) * margin_now * margin_before;
    let margin = (margin_now.powi(2) + margin_before.powi(2) - shared).max(0.0).sqrt();
    let change = now.estimate - before.estimate;
    Ok(GroupedChange {
        change,
        interval: Interval::around(change, margin),
        few_users: now.group_count.min(before.group_count) < SUFFICIENT_GROUPS,
    })
}

fn mean_and_margin(sums: &GroupSums) -> Defined<(Jackknife, f64)> {
    let jackknife = Jackknife::of(sums)?;
    let groups = sums.groups();
    let kn = jackknife.sessions.powi(2) / sum(groups.iter().map(|group| group.sessions.powi(2)));
    let count = jackknife.group_count as f64;
    let df = (kn - 0.5).floor().clamp(1.0, count - 1.0);
    let squares = sum(jackknife.shifts.iter().map(|shift| shift * shift));
    let margin =
        student_t_critical_value(ALPHA / 2.0, df) * ((count - 1.0) / count * squares).sqrt();
    if margin > 1e-12 { Ok((jackknife, margin)) } else { Err(NullReason::ZeroVariance) }
}

/// Jackknife: the rate and its variance from leaving out one group at a time.
struct Jackknife {
    estimate: f64,
    sessions: f64,
    group_count: usize,
    /// `u_b`: how the rate moves without group b.
    shifts: [f64; GROUPS],
    /// The design effect that is seen; none when the rate is 0 or 1, or no group moves it.
    own: Option<f64>,
    design_effect: f64,
    df: f64,
}

impl Jackknife {
    fn of(sums: &GroupSums) -> Defined<Self> {
        let (sessions, successes) = (sums.sessions(), sums.successes());
        if sessions <= 0.0 {
            return Err(NullReason::NoEvaluatedSessions);
        }
        let group_count = sums.group_count();
        if group_count < SMALLEST_GROUPS {
            return Err(NullReason::TooFewUsers);
        }
        let estimate = successes / sessions;
        let shifts = sums.groups().map(|group| {
            if group.sessions > 0.0 {
                -(group.successes - estimate * group.sessions) / (sessions - group.sessions)
            } else {
                0.0
            }
        });
        let over_groups = |term: &dyn Fn(&GroupSum) -> f64| sum(sums.groups().iter().map(term));
        let rarer = |group: &GroupSum| {
            if estimate <= 0.5 { group.successes } else { group.sessions - group.successes }
        };
        let count = group_count as f64;
        let variance = (count - 1.0) / count * sum(shifts.iter().map(|shift| shift * shift));
        let binomial = estimate * (1.0 - estimate) / sessions;
        // Weights may leave a rounding where counts leave zero.
        let own = (binomial > 1e-15 && variance > 1e-24).then_some(variance / binomial);

        let mean = sessions / GROUPS as f64;
        let scale = GROUPS as f64 / (GROUPS as f64 - 1.0);
        let size = scale * over_groups(&|group| (group.sessions - mean).powi(2)) / sessions;
        let beforehand = 1.0 + ASSUMED_CORRELATION * (size.clamp(1.0, sessions.max(1.0)) - 1.0);
        let squares = over_groups(&|group| rarer(group).powi(2));
        let ke = if squares > 0.0 { over_groups(&rarer).powi(2) / squares } else { 0.0 };
        let kn = sessions * sessions / over_groups(&|group| group.sessions.powi(2));
        let design_effect = own.map_or(beforehand, |own| {
            let seen = own.max(1.0);
            let trust = (ke / (2.0 * kn / 3.0).min(8.0)).min(1.0);
            seen.max(trust * seen + (1.0 - trust) * beforehand)
        });
        let df = (kn.min(ke.max(8.0)) - 0.5).floor().clamp(1.0, count - 1.0);
        Ok(Self { estimate, sessions, group_count, shifts, own, design_effect, df })
    }

    fn rate(&self) -> GroupedRate {
        let effective_sample_size = self.sessions / self.design_effect;
        let critical_value = student_t_critical_value(ALPHA / 2.0, self.df);
        GroupedRate {
            rate: Rate {
                estimate: self.estimate,
                interval: wilson(self.estimate, effective_sample_size, critical_value),
            },
            effective_sample_size,
            few_users: self.group_count < SUFFICIENT_GROUPS,
        }
    }

    fn correlation(&self, other: &Self) -> f64 {
        let trust = |one: &Self| one.own.map_or(0.0, |own| (own / one.design_effect).min(1.0));
        self.shift_correlation(other) * (trust(self) * trust(other)).sqrt()
    }

    fn shift_correlation(&self, other: &Self) -> f64 {
        let product = |one: &Self, other: &Self| {
            sum(one.shifts.iter().zip(&other.shifts).map(|(a, b)| a * b))
        };
        let scale = (product(self, self) * product(other, other)).sqrt();
        if scale > 0.0 { (product(self, other) / scale).clamp(-1.0, 0.95) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, UserSum, Variance};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Users by number, in groups by a hash of it.
    fn grouped(users: &[(u64, u64)]) -> GroupSums {
        let mut sums = GroupSums::default();
        for (number, (sessions, successes)) in users.iter().enumerate() {
            let group = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59;
            sums.add(group as usize, *sessions as f64, *successes as f64);
        }
        sums
    }

    fn users() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let user =
            (1_u64..12, 0.0..=1.0_f64).prop_map(|(n, rate)| (n, (rate * n as f64).round() as u64));
        vec(user, 0..400)
    }

    #[test]
    fn few_groups_are_refused_or_marked() {
        let line = |groups: usize| {
            let mut sums = GroupSums::default();
            (0..groups).for_each(|group| sums.add(group, 10.0, 7.0 + (group % 3) as f64));
            grouped_rate(&sums)
        };
        assert_eq!(line(0), Err(NullReason::NoEvaluatedSessions));
        assert_eq!(line(1), Err(NullReason::TooFewUsers));
        assert_eq!(line(4), Err(NullReason::TooFewUsers));
        assert!(line(5).is_ok_and(|rate| rate.few_users));
        assert!(line(9).is_ok_and(|rate| rate.few_users));
        assert!(line(10).is_ok_and(|rate| !rate.few_users));
    }

    #[test]
    fn with_one_user_per_group_the_jackknife_is_that_of_users() {
        // Equal sizes: V = Σ r²/N² · K/(K−1), which is CR2.
        let users: Vec<UserSum> =
            (0..32).map(|n| UserSum { sessions: 5, total: (n * n % 6).min(5) }).collect();
        let mut sums = GroupSums::default();
        for (group, user) in users.iter().enumerate() {
            sums.add(group, user.sessions as f64, user.total as f64);
        }
        let arm: Arm = users.into_iter().collect();
        let variance = arm.variance(Variance::Cr2).unwrap_or_default();
        let p = arm.mean().unwrap_or_default();
        let size = grouped_rate(&sums).map_or(0.0, |rate| rate.effective_sample_size);
        assert!((size - p * (1.0 - p) / variance).abs() < 1e-9, "{size}");
    }

    #[test]
    fn a_mean_has_the_margin_of_its_groups() {
        // Equal groups: the jackknife is the standard error of the mean of group means.
        let mut sums = GroupSums::default();
        (0..32).for_each(|group| sums.add(group, 10.0, 20.0 + (group % 4) as f64));
        let means: Vec<f64> = (0..32).map(|group| 2.0 + f64::from(group % 4) / 10.0).collect();
        let mean = means.iter().sum::<f64>() / 32.0;
        let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 31.0 / 32.0;
        let margin = student_t_critical_value(0.025, 31.0) * variance.sqrt();
        let given = grouped_mean(&sums).map(|m| (m.mean - mean, m.interval.width() / 2.0 - margin));
        assert!(given.is_ok_and(|(a, b)| a.abs() < 1e-12 && b.abs() < 1e-9), "{given:?}");
        let same = grouped_mean_change(&sums, &sums).map(|c| c.interval.width() / 2.0 < margin);
        assert_eq!(same, Ok(true));
        let mut alike = GroupSums::default();
        (0..32).for_each(|group| alike.add(group, 10.0, 20.0));
        assert_eq!(grouped_mean(&alike), Err(NullReason::ZeroVariance));
    }

    #[test]
    fn the_same_period_twice_has_not_changed_by_much() {
        let users: Vec<_> = (0..300).map(|n| (1 + n % 5, (1 + n % 5) * (n % 3).min(1))).collect();
        let sums = grouped(&users);
        let change = grouped_change(&sums, &sums).map(|change| change.interval.width());
        let apart = grouped_rate(&sums).map(|rate| rate.rate.interval.width());
        assert!(change.and_then(|c| Ok(c < apart?)) == Ok(true), "{change:?} {apart:?}");
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_users(one in users(), other in users()) {
            let both: Vec<_> = one.iter().chain(&other).copied().collect();
            let sums = grouped(&one).plus(&grouped(&other));
            let sessions: u64 = both.iter().map(|user| user.0).sum();
            let successes: u64 = both.iter().map(|user| user.1).sum();
            prop_assert!((sums.sessions() - sessions as f64).abs() < 1e-9);
            prop_assert!((sums.successes() - successes as f64).abs() < 1e-9);
            prop_assert!(sums.is_consistent());
        }

        #[test]
        fn intervals_contain_their_estimates(one in users(), other in users()) {
            let (one, other) = (grouped(&one), grouped(&other));
            if let Ok(rate) = grouped_rate(&one) {
                prop_assert!(rate.rate.interval.contains(rate.rate.estimate));
                prop_assert!(rate.rate.interval.width() > 0.0);
                prop_assert!(rate.effective_sample_size <= one.sessions() + 1e-9);
            }
            if let Ok(change) = grouped_change(&one, &other) {
                prop_assert!(change.interval.contains(change.change));
            }
        }

        #[test]
        fn near_the_exact_variance_of_users(seed in 0_u64..1_000_000) {
            // Many alike users: the groups see the variance between users, up to their own chance.
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / (1_u64 << 31) as f64
            };
            let users: Vec<(u64, u64)> = (0..2_000)
                .map(|_| {
                    let (n, rate) = (1 + (next() * 6.0) as u64, if next() < 0.5 { 0.9 } else { 0.5 });
                    (n, (0..n).filter(|_| next() < rate).count() as u64)
                })
                .collect();
            let arm: Arm = users.iter().map(|u| UserSum { sessions: u.0, total: u.1 as i64 }).collect();
            let exact = arm.effective_sample_size().unwrap_or_default();
            let size = grouped_rate(&grouped(&users)).map_or(0.0, |rate| rate.effective_sample_size);
            prop_assert!(size > 0.35 * exact && size < 2.8 * exact, "{} {}", size, exact);
        }
    }
}
