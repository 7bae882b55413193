//! A difference of means with one variance for both arms.
//!
//! In an arm that happens to be uniform the variance between its own users is estimated as zero. The variance
//! of the residuals of both arms around their common mean does not collapse so, which makes it the one to
//! test with.

use super::cluster::{Arm, UserSum};
use super::comparison::Comparison;
use super::interval::Interval;
use super::reason::{Defined, NullReason};

/// An e-value is 0 until the smaller arm has this many users.
pub const SMALLEST_TRIAL_ARM: usize = 20;
/// An e-value is 0 until this many successes and failures are expected among the sessions of the smaller arm.
pub const SMALLEST_EXPECTED_EVENTS: f64 = 10.0;

/// `p_T − p_C` with the standard error of pooled residuals.
///
/// ```text
/// P = (S_T + S_C)/(N_T + N_C),  r_g = s_g − P·n_g,  τ² = Σ r_g² / Σ n_g² over both arms
/// V_a = τ² · Σ_a n_g² / N_a²,   SE0² = V_T + V_C
/// ```
///
/// The score test of a difference of means, clustered by user: residuals are taken under "no difference", as
/// in Rao's test, and a user's variance grows with the square of the number of sessions, as it does when all
/// sessions of a user end alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledDifference {
    /// `p_T − p_C`.
    pub difference: f64,
    /// `SE0`, never zero.
    pub standard_error: f64,
    /// Evaluated users of both arms together.
    pub users: usize,
}

impl PooledDifference {
    /// Null if an arm has no evaluated session, if both arms together have fewer than two users, and when all
    /// users of both arms have the same mean.
    pub fn of(comparison: &Comparison<'_>) -> Defined<Self> {
        let difference = comparison.lift()?;
        let Comparison { treatment, holdout } = comparison;
        let users = treatment.user_count() + holdout.user_count();
        let pooled = Pooled::of(treatment, holdout);
        let residuals = [treatment, holdout]
            .map(|arm| arm.sum_over_users(|user| pooled.residual(user).powi(2)))
            .iter()
            .sum::<f64>();
        let [squares_t, squares_c] = [treatment, holdout]
            .map(|arm| arm.sum_over_users(|user| (user.sessions as f64).powi(2)));
        if residuals <= 0.0 {
            return Err(NullReason::ZeroVariance);
        }
        let spread = residuals / (squares_t + squares_c);
        let per_session = squares_t / (treatment.session_count() as f64).powi(2)
            + squares_c / (holdout.session_count() as f64).powi(2);
        Ok(Self { difference, standard_error: (spread * per_session).sqrt(), users })
    }

    /// `(difference − from) / SE0`.
    #[must_use]
    pub fn z(&self, from: f64) -> f64 {
        (self.difference - from) / self.standard_error
    }

    /// `difference ± m·SE0`, where `m` is Student's t or the multiplier of a sequence.
    #[must_use]
    pub fn interval(&self, multiplier: f64) -> Interval {
        Interval::around(self.difference, multiplier * self.standard_error)
    }
}

/// Condition for testing a difference of proportions with pooled residuals: the smaller arm has
/// [`SMALLEST_TRIAL_ARM`] users, and [`SMALLEST_EXPECTED_EVENTS`] successes and failures are expected among
/// the sessions of the arm with fewer.
pub fn require_expected_events(comparison: &Comparison<'_>) -> Defined<()> {
    require_expected_events_in_units(comparison, 1.0)
}

/// The same of arms whose sessions are sums of weights, with `unit` the mean weight of a session.
pub(super) fn require_expected_events_in_units(
    comparison: &Comparison<'_>,
    unit: f64,
) -> Defined<()> {
    comparison.lift()?;
    let Comparison { treatment, holdout } = comparison;
    let users = treatment.user_count().min(holdout.user_count());
    let sessions = treatment.session_count().min(holdout.session_count()) as f64 / unit;
    let rate = Pooled::of(treatment, holdout).rate();
    if users < SMALLEST_TRIAL_ARM || sessions * rate.min(1.0 - rate) < SMALLEST_EXPECTED_EVENTS {
        return Err(NullReason::TooFewEvents);
    }
    Ok(())
}

/// Both arms together, exactly.
struct Pooled {
    sessions: i128,
    total: i128,
}

impl Pooled {
    fn of(treatment: &Arm, holdout: &Arm) -> Self {
        Self {
            sessions: i128::from(treatment.session_count()) + i128::from(holdout.session_count()),
            total: i128::from(treatment.total()) + i128::from(holdout.total()),
        }
    }

    fn rate(&self) -> f64 {
        self.total as f64 / self.sessions as f64
    }

    /// `s_g − P·n_g`, zero exactly when the user's mean is the pooled one.
    fn residual(&self, user: &UserSum) -> f64 {
        let own = i128::from(user.total).saturating_mul(self.sessions);
        let expected = self.total.saturating_mul(i128::from(user.sessions));
        own.saturating_sub(expected) as f64 / self.sessions as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn arm(users: &[(u64, i64)]) -> Arm {
        users.iter().map(|&(sessions, total)| UserSum { sessions, total }).collect()
    }

    #[test]
    fn by_hand() {
        let (t, c) = (arm(&[(2, 2), (1, 0)]), arm(&[(3, 1), (2, 1)]));
        // P = 1/2; residuals 1, −½, −½, 0; τ² = 1.5/18.
        let spread = 1.5 / 18.0;
        let expected = (spread * (5.0 / 9.0 + 13.0 / 25.0_f64)).sqrt();
        let pooled = PooledDifference::of(&Comparison::new(&t, &c));
        close(pooled.map_or(0.0, |p| p.standard_error), expected, 1e-14);
        close(pooled.map_or(0.0, |p| p.difference), 2.0 / 3.0 - 2.0 / 5.0, 1e-14);
    }

    #[test]
    fn a_uniform_arm_borrows_the_variance_of_the_other() {
        let (t, c) = (arm(&[(4, 4), (4, 2), (4, 3)]), arm(&[(4, 4), (4, 4)]));
        let pooled = PooledDifference::of(&Comparison::new(&t, &c));
        assert!(pooled.is_ok_and(|p| p.standard_error > 0.1));
        let (t, c) = (arm(&[(4, 2), (2, 1)]), arm(&[(6, 3)]));
        assert_eq!(PooledDifference::of(&Comparison::new(&t, &c)), Err(NullReason::ZeroVariance));
    }

    #[test]
    fn events_are_expected_in_the_smaller_arm() {
        let many = arm(&[(4, 3); 100]);
        let some = arm(&[(4, 3); 20]);
        assert_eq!(require_expected_events(&Comparison::new(&many, &some)), Ok(()));
        let few = arm(&[(1, 1); 20]);
        let null = require_expected_events(&Comparison::new(&many, &few));
        assert_eq!(null, Err(NullReason::TooFewEvents));
        let users = arm(&[(40, 30); 19]);
        let null = require_expected_events(&Comparison::new(&many, &users));
        assert_eq!(null, Err(NullReason::TooFewEvents));
    }
}
