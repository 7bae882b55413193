//! The lift when each user counts once, built like the headline.

use super::ALPHA;
use super::cluster::{Arm, UserSum};
use super::comparison::Comparison;
use super::distributions::{student_t_critical_value, student_t_two_sided_p};
use super::events::require_events;
use super::interval::Interval;
use super::newcombe::{Sized, critical_value_touching, interval_at};
use super::reason::{Defined, NullReason};

/// With fewer users who have the rarer outcome, the variance between users is not trusted alone.
const SUFFICIENT_EVENTS: f64 = 8.0;

/// The difference of the means of the users' own rates.
///
/// Far from the headline lift, it says that heavy and light users differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserEqual {
    /// `m_T − m_C`, with `m` the mean of `x_g = s_g/n_g` over the users of an arm.
    pub lift: f64,
    /// `n_eff` of treatment and holdout.
    pub effective_sample_sizes: [f64; 2],
    /// Bell–McCaffrey degrees of freedom, every user with the same weight.
    pub df: f64,
    /// Newcombe's 95 % interval on users.
    pub interval: Interval,
    /// The level at which the interval touches zero.
    pub p_value: f64,
}

impl UserEqual {
    /// ```text
    /// v = s²/G with s² the variance of x over the G users of an arm
    /// n_eff = min(m(1−m)/v, N), or G when v = 0
    /// e_g = the rarer outcome of x_g,  k = (Σe)²/Σe²,  w = min(k/8, 1)
    /// n_eff = w·n_eff + (1−w)·min(n_eff, G)
    /// ```
    ///
    /// The last line is for arms in which few users have the rarer outcome: with a single failure of a user
    /// who has hundreds of sessions `v` is next to nothing and `n_eff` would be `N`, although the arm is all
    /// but uniform; there the interval covers 90 % without it.
    ///
    /// then Wilson's limits for each arm, squared and added (Newcombe, 1998, method 10), with Student's t.
    /// The degrees of freedom are those of the headline with `n_g = 1` (Bell and McCaffrey, 2002).
    ///
    /// Null if an arm has no evaluated session, under `too_few_events`, and for outcomes that are not between
    /// 0 and 1.
    pub fn of(comparison: &Comparison<'_>) -> Defined<Self> {
        require_events(comparison)?;
        let Comparison { treatment, holdout } = comparison;
        if !(treatment.is_binary() && holdout.is_binary()) {
            return Err(NullReason::OutcomeNotBinary);
        }
        let sizes = [size(treatment)?, size(holdout)?];
        let df = degrees_of_freedom([treatment.user_count(), holdout.user_count()]);
        Ok(Self {
            lift: sizes[0].0 - sizes[1].0,
            effective_sample_sizes: sizes.map(|(_, n)| n),
            df,
            interval: interval_at(sizes, student_t_critical_value(ALPHA / 2.0, df)),
            p_value: student_t_two_sided_p(critical_value_touching(sizes, 0.0), df),
        })
    }
}

/// The mean of the users' rates and its effective sample size.
fn size(arm: &Arm) -> Defined<Sized> {
    arm.require_two_users()?;
    let users = arm.user_count() as f64;
    let rate = |user: &UserSum| user.total as f64 / user.sessions as f64;
    if arm.has_zero_variance() {
        return Ok((arm.mean()?, users));
    }
    let mean = arm.sum_over_users(rate) / users;
    let squares = arm.sum_over_users(|user| (rate(user) - mean).powi(2));
    let variance = squares / (users - 1.0) / users;
    let size = (mean * (1.0 - mean) / variance).min(arm.session_count() as f64);
    let rarer = |user: &UserSum| if mean <= 0.5 { rate(user) } else { 1.0 - rate(user) };
    let events = arm.sum_over_users(rarer).powi(2) / arm.sum_over_users(|user| rarer(user).powi(2));
    let trust = (events / SUFFICIENT_EVENTS).min(1.0);
    Ok((mean, trust * size + (1.0 - trust) * size.min(users)))
}

/// Of users with the same weight, `B = 1/(G−1)`, and `df = (1/G_T + 1/G_C)² / Σ 1/(G²(G−1))`.
fn degrees_of_freedom(users: [usize; 2]) -> f64 {
    let [treatment, holdout] = users.map(|count| count as f64);
    let spread = |users: f64| (users * users * (users - 1.0)).recip();
    (treatment.recip() + holdout.recip()).powi(2) / (spread(treatment) + spread(holdout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CiMethod;
    use proptest::prelude::*;

    #[test]
    fn with_one_session_each_it_is_the_headline() {
        let arm = |users: usize, failures: usize| -> Arm {
            (0..users).map(|n| UserSum { sessions: 1, total: i64::from(n >= failures) }).collect()
        };
        let (treatment, holdout) = (arm(90, 20), arm(40, 4));
        let comparison = Comparison::new(&treatment, &holdout);
        let equal = UserEqual::of(&comparison);
        let headline = comparison.interval(CiMethod::ClusteredNewcombe);
        let both = equal.and_then(|equal| Ok((equal.interval, headline?)));
        assert!(both.is_ok_and(|(equal, headline)| {
            (equal.lower - headline.lower).abs() < 1e-12
                && (equal.upper - headline.upper).abs() < 1e-12
        }));
    }

    proptest! {
        #[test]
        fn p_agrees_with_the_interval(
            t in proptest::collection::vec((1_u64..6, 0.0..=1.0_f64), 30..60),
            c in proptest::collection::vec((1_u64..6, 0.0..=1.0_f64), 30..40),
        ) {
            let arm = |users: &[(u64, f64)]| -> Arm {
                users.iter().map(|(sessions, rate)| UserSum {
                    sessions: *sessions,
                    total: (rate * *sessions as f64).round() as i64,
                }).collect()
            };
            let (t, c) = (arm(&t), arm(&c));
            if let Ok(equal) = UserEqual::of(&Comparison::new(&t, &c)) {
                prop_assert!(equal.interval.contains(equal.lift));
                prop_assert!(equal.interval.width() > 0.0);
                prop_assert_eq!(equal.p_value < ALPHA, !equal.interval.contains(0.0));
            }
        }
    }
}
