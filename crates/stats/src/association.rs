//! Association of a rule with success, where nothing was randomised.
//!
//! Success of sessions that cite a rule against success of sessions that do not, of the same users, or, for
//! users who have none, of the same source and agent version. Rules are cited where they fit, easy or hard,
//! so no matching makes this an effect; a trial does.

use super::ALPHA;
use super::cluster::UserSum;
use super::distributions::{normal_critical_value, normal_upper_tail};
use super::interval::Interval;
use super::multiplicity::benjamini_hochberg;
use super::reason::{Defined, NullReason};
use super::shrinkage::{Centre, NoisyEffect, ShrunkenEffect, shrink};
use super::summation::sum;
use std::collections::BTreeMap;

/// An association is null until this many users have a session that cites the rule and one to compare with.
pub const SMALLEST_USERS: usize = 20;
/// An association is null until this many successes and failures are expected among the sessions that cite
/// the rule.
pub const SMALLEST_EXPECTED_EVENTS: f64 = 10.0;
/// The share of false marks among all marks.
pub const FALSE_DISCOVERY_RATE: f64 = 0.1;

/// One user's sessions in one stratum (source and agent version), by whether they cite the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CitingUser {
    /// The user, by number.
    pub user: u32,
    /// Source and agent version, by number.
    pub stratum: u32,
    /// Sessions that cite the rule.
    pub citing: UserSum,
    /// Sessions that do not.
    pub other: UserSum,
}

/// The difference of success between sessions that cite a rule and sessions that do not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Association {
    /// The matched difference, as a fraction. Zero is "no difference".
    pub difference: f64,
    /// Its standard error, clustered by user, with residuals under "no difference".
    pub standard_error: f64,
    /// 95 % interval.
    pub interval: Interval,
    /// Two-sided p-value of no difference.
    pub p_value: f64,
    /// Users with a session that cites the rule and was compared.
    pub users: usize,
    /// Sessions that cite the rule and were compared.
    pub sessions: u64,
}

/// A rule among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkedAssociation {
    /// As it is by itself.
    pub association: Association,
    /// Drawn towards zero by what all rules show.
    pub shrunken: ShrunkenEffect,
    /// The p-value adjusted over all rules after Benjamini and Hochberg.
    pub adjusted_p_value: f64,
    /// True if it is significant: the adjusted p-value is under [`FALSE_DISCOVERY_RATE`].
    pub is_marked: bool,
}

impl Association {
    /// The difference over matched sets h, after Mantel and Haenszel (1959) as a risk difference (Greenland
    /// and Robins, 1985): with `n₁, s₁` the sessions and successes that cite the rule, `n₀, s₀` the others
    /// and `n = n₁ + n₀`,
    ///
    /// ```text
    /// d = Σ (s₁·n₀ − s₀·n₁)/n / Σ n₁·n₀/n
    /// U_g = Σ ((s₁g − m·n₁g)·n₀ − (s₀g − m·n₀g)·n₁)/n,  m = (s₁ + s₀)/n;   SE = √ΣU² / Σ n₁·n₀/n
    /// ```
    ///
    /// A user with sessions of both kinds is a set. The citing sessions of the others form one set per
    /// stratum, with all sessions of the stratum that do not cite the rule. `U_g` adds up what a user
    /// contributes to all sets, so that the test is clustered by user; its residuals are those of no
    /// difference (a score test), so that a rule whose sessions all succeeded is not certain.
    ///
    /// Null with nothing to compare with, and `too_few_events` with fewer than [`SMALLEST_USERS`] users,
    /// fewer than [`SMALLEST_EXPECTED_EVENTS`] successes or failures expected among the citing sessions, or
    /// when nothing varies.
    pub fn of(rows: &[CitingUser]) -> Defined<Self> {
        let mut rows = rows.to_vec();
        rows.sort_unstable();
        let sets = matched_sets(&rows);
        let mut influences: Vec<(u32, f64)> = Vec::new();
        let mut citing_users: Vec<u32> = Vec::new();
        let (mut numerator, mut weight, mut expected, mut sessions) = (0.0, 0.0, 0.0, 0_u64);
        for set in &sets {
            let (n1, n0) = (set.citing.sessions as f64, set.other.sessions as f64);
            let (s1, s0) = (set.citing.total as f64, set.other.total as f64);
            let (n, mean) = (n1 + n0, (s1 + s0) / (n1 + n0));
            numerator += (s1 * n0 - s0 * n1) / n;
            weight += n1 * n0 / n;
            expected += mean * n1;
            sessions = sessions.saturating_add(set.citing.sessions);
            for member in &set.members {
                let part = |sums: &UserSum| sums.total as f64 - mean * sums.sessions as f64;
                let influence = (part(&member.citing) * n0 - part(&member.other) * n1) / n;
                influences.push((member.user, influence));
                if member.citing.sessions > 0 {
                    citing_users.push(member.user);
                }
            }
        }
        if weight <= 0.0 {
            return Err(NullReason::NothingToCompareWith);
        }
        citing_users.sort_unstable();
        citing_users.dedup();
        influences.sort_by_key(|(user, _)| *user);
        let by_user = influences.chunk_by(|one, other| one.0 == other.0);
        let squares = sum(by_user.map(|parts| {
            let influence: f64 = parts.iter().map(|(_, influence)| influence).sum();
            influence * influence
        }));
        let unlikely = expected.min(sessions as f64 - expected);
        if citing_users.len() < SMALLEST_USERS
            || unlikely < SMALLEST_EXPECTED_EVENTS
            || squares <= 0.0
        {
            return Err(NullReason::TooFewEvents);
        }
        let (difference, standard_error) = (numerator / weight, squares.sqrt() / weight);
        let z = difference / standard_error;
        Ok(Self {
            difference,
            standard_error,
            interval: Interval::around(
                difference,
                normal_critical_value(ALPHA / 2.0) * standard_error,
            ),
            p_value: (2.0 * normal_upper_tail(z.abs())).min(1.0),
            users: citing_users.len(),
            sessions,
        })
    }
}

/// Sessions that are compared with each other.
#[derive(Default)]
struct MatchedSet {
    citing: UserSum,
    other: UserSum,
    members: Vec<CitingUser>,
}

impl MatchedSet {
    /// A user's sessions in all strata, as one member.
    fn of_user(rows: &[CitingUser], first: CitingUser) -> Self {
        let total = |part: fn(&CitingUser) -> UserSum| {
            rows.iter().map(part).fold(UserSum::default(), UserSum::plus)
        };
        let (citing, other) = (total(|row| row.citing), total(|row| row.other));
        MatchedSet { citing, other, members: vec![CitingUser { citing, other, ..first }] }
    }

    fn push(&mut self, member: CitingUser) {
        self.citing = self.citing.plus(member.citing);
        self.other = self.other.plus(member.other);
        self.members.push(member);
    }

    fn can_compare(&self) -> bool {
        self.citing.sessions > 0 && self.other.sessions > 0
    }
}

/// The sets, from rows in the order of users.
fn matched_sets(rows: &[CitingUser]) -> Vec<MatchedSet> {
    let mut sets = Vec::new();
    let mut strata: BTreeMap<u32, MatchedSet> = BTreeMap::new();
    for of_user in rows.chunk_by(|one, other| one.user == other.user) {
        // Most users never cite the rule.
        let cites = of_user.iter().any(|row| row.citing.sessions > 0);
        let own =
            of_user.first().filter(|_| cites).map(|first| MatchedSet::of_user(of_user, *first));
        let own = own.filter(MatchedSet::can_compare);
        for row in of_user {
            let citing = if own.is_some() { UserSum::default() } else { row.citing };
            strata.entry(row.stratum).or_default().push(CitingUser { citing, ..*row });
        }
        sets.extend(own);
    }
    sets.extend(strata.into_values().filter(MatchedSet::can_compare));
    sets
}

/// Looks at all rules together, in their order: shrinks them towards zero and marks those that Benjamini and
/// Hochberg (1995) reject at [`FALSE_DISCOVERY_RATE`]. Rules that are null by themselves stay so and do not
/// count.
#[must_use]
pub fn mark(associations: &[Defined<Association>]) -> Vec<Defined<MarkedAssociation>> {
    let given: Vec<Association> = associations.iter().flatten().copied().collect();
    let effects: Vec<NoisyEffect> = given
        .iter()
        .map(|a| NoisyEffect { estimate: a.difference, standard_error: a.standard_error })
        .collect();
    let p_values: Vec<f64> = given.iter().map(|a| a.p_value).collect();
    let mut judged =
        shrink(&effects, Centre::Zero).effects.into_iter().zip(benjamini_hochberg(&p_values));
    associations
        .iter()
        .map(|association| {
            let association = (*association)?;
            let (shrunken, adjusted_p_value) =
                judged.next().ok_or(NullReason::NothingToCompareWith)?;
            Ok(MarkedAssociation {
                association,
                shrunken,
                adjusted_p_value,
                is_marked: adjusted_p_value < FALSE_DISCOVERY_RATE,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn sums((sessions, total): (u64, i64)) -> UserSum {
        UserSum { sessions, total }
    }

    fn row(user: u32, stratum: u32, citing: (u64, i64), other: (u64, i64)) -> CitingUser {
        CitingUser { user, stratum, citing: sums(citing), other: sums(other) }
    }

    #[test]
    fn a_user_with_both_kinds_is_compared_with_themselves() {
        // Users differ in level; within each, citing costs one of four.
        let rows: Vec<_> = (0..40)
            .map(|user| {
                let good = 1 + i64::from(user % 4);
                row(user, 0, (4, good - 1), (4, good))
            })
            .collect();
        let association = Association::of(&rows);
        assert!(association.is_ok_and(|a| (a.difference + 0.25).abs() < 1e-12), "{association:?}");
        assert!(association.is_ok_and(|a| a.p_value < 1e-6 && a.users == 40 && a.sessions == 160));
    }

    #[test]
    fn others_are_compared_within_source_and_version() {
        // Citing is common where success is rare: unmatched it would look harmful.
        let rows: Vec<_> = (0..200)
            .map(|user| match user % 10 {
                0..=3 => row(user, 0, (1, i64::from(user % 20 < 10)), (0, 0)),
                4 => row(user, 0, (0, 0), (2, 1)),
                5 => row(user, 1, (1, 1), (0, 0)),
                _ => row(user, 1, (0, 0), (2, 2)),
            })
            .collect();
        let association = Association::of(&rows);
        assert!(association.is_ok_and(|a| a.difference.abs() < 1e-12 && a.p_value > 0.9));
    }

    #[test]
    fn one_set_is_the_plain_difference() {
        let citing = (0..30).map(|u| row(u, 0, (2, i64::from(u % 3 > 0)), (0, 0)));
        let others = (30..90).map(|u| row(u, 0, (0, 0), (3, i64::from(u % 4))));
        let association = Association::of(&citing.chain(others).collect::<Vec<_>>());
        close(association.map_or(0.0, |a| a.difference), 20.0 / 60.0 - 90.0 / 180.0, 1e-12);
    }

    #[test]
    fn silent_without_users_events_or_anything_to_compare() {
        let alone: Vec<_> = (0..40).map(|user| row(user, user, (3, 2), (0, 0))).collect();
        assert_eq!(Association::of(&alone), Err(NullReason::NothingToCompareWith));
        let few: Vec<_> = (0..19).map(|user| row(user, 0, (9, 5), (9, 4))).collect();
        assert_eq!(Association::of(&few), Err(NullReason::TooFewEvents));
        let certain: Vec<_> = (0..90).map(|user| row(user, 0, (2, 2), (2, 2))).collect();
        assert_eq!(Association::of(&certain), Err(NullReason::TooFewEvents));
    }

    #[test]
    fn marks_keep_their_places() {
        let with = |difference: f64| Association {
            difference,
            standard_error: 0.05,
            interval: Interval::around(difference, 0.1),
            p_value: 2.0 * normal_upper_tail(difference.abs() / 0.05),
            users: 50,
            sessions: 100,
        };
        let null = Err(NullReason::TooFewEvents);
        let rules = [null, Ok(with(-0.3)), Ok(with(0.02)), null, Ok(with(0.01))];
        let marked: Vec<_> = mark(&rules).into_iter().map(|m| m.map(|m| m.is_marked)).collect();
        let silent = Err(NullReason::TooFewEvents);
        assert_eq!(marked, [silent, Ok(true), Ok(false), silent, Ok(false)]);
    }
}
