//! The headline interval: Newcombe's interval for a difference of proportions, clustered by user.
//!
//! The usual interval `lift ± t·SE` fails where these experiments live: with a holdout of five to
//! twenty users and a success rate of 92 % the estimated variance is itself so variable that it
//! covers far less than it promises. Wilson's limits for each arm, taken at the effective sample
//! size and combined by squaring and adding, do not collapse when an arm happens to be uniform.

use super::cluster::Arm;
use super::comparison::Comparison;
use super::interval::Interval;
use super::reason::{Defined, NullReason};
use super::wilson::wilson;

/// A rate with an interval of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The point estimate.
    pub estimate: f64,
    /// Its interval, which contains the estimate.
    pub interval: Interval,
}

/// The interval of a difference from the intervals of its parts: square and add (Newcombe, 1998,
/// method 10; Zou and Donner, 2008, for rates in general).
///
/// ```text
/// [ d − √((p_T − l_T)² + (u_C − p_C)²),  d + √((u_T − p_T)² + (p_C − l_C)²) ]
/// ```
///
/// clamped to ±100 percentage points. It contains `d = p_T − p_C` by construction.
#[must_use]
pub fn square_and_add(treatment: Rate, holdout: Rate) -> Interval {
    let (below_t, above_t) = treatment.distances();
    let (below_c, above_c) = holdout.distances();
    let difference = treatment.estimate - holdout.estimate;
    Interval::between(difference - below_t.hypot(above_c), difference + above_t.hypot(below_c))
        .clamped(Interval::between(-1.0, 1.0))
}

impl Rate {
    fn distances(&self) -> (f64, f64) {
        (self.estimate - self.interval.lower, self.interval.upper - self.estimate)
    }
}

/// The clustered Newcombe interval at a given critical value: Wilson's interval for each arm at its effective sample
/// size, squared and added. The headline uses Student's t with Bell–McCaffrey degrees of freedom, the always-valid
/// interval the multiplier of its sequence.
///
/// Null if an arm has no evaluated session, fewer than two evaluated users, or an outcome that is
/// not binary. Never of zero width: where there is no variance between users, the number of users
/// stands in for the effective sample size.
pub fn clustered_interval(comparison: &Comparison<'_>, critical_value: f64) -> Defined<Interval> {
    let [treatment, holdout] = sizes(comparison)?;
    Ok(interval_at([treatment, holdout], critical_value))
}

/// The critical value at which [`clustered_interval`] touches zero: 0 when the arms have the same rate, and finite
/// always, because the interval of either arm grows towards `[0, 1]`.
///
/// This inverts the interval: it excludes zero exactly at the critical values below. Null as the interval is.
pub fn touching_value(comparison: &Comparison<'_>) -> Defined<f64> {
    let (lift, sizes) = (comparison.lift()?, sizes(comparison)?);
    if lift == 0.0 {
        return Ok(0.0);
    }
    let excludes_zero = |critical_value: f64| !interval_at(sizes, critical_value).contains(0.0);
    let mut beyond = 1.0;
    while excludes_zero(beyond) {
        beyond *= 2.0;
    }
    let mut within = 0.0;
    // Halving ends where no number lies between the two.
    loop {
        let middle = f64::midpoint(within, beyond);
        if middle <= within || middle >= beyond {
            return Ok(beyond);
        }
        if excludes_zero(middle) {
            within = middle;
        } else {
            beyond = middle;
        }
    }
}

/// The rate and the effective sample size of treatment and holdout: all that the interval depends on.
fn sizes(comparison: &Comparison<'_>) -> Defined<[(f64, f64); 2]> {
    comparison.lift()?;
    if !(comparison.treatment.is_binary() && comparison.holdout.is_binary()) {
        return Err(NullReason::OutcomeNotBinary);
    }
    let size = |arm: &Arm| Ok((arm.mean()?, arm.effective_sample_size()?));
    Ok([size(comparison.treatment)?, size(comparison.holdout)?])
}

fn interval_at(sizes: [(f64, f64); 2], critical_value: f64) -> Interval {
    let [treatment, holdout] =
        sizes.map(|(estimate, n)| Rate { estimate, interval: wilson(estimate, n, critical_value) });
    square_and_add(treatment, holdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CiMethod, UserSum};

    fn arm(users: &[(u64, i64)]) -> Arm {
        users.iter().map(|&(sessions, total)| UserSum { sessions, total }).collect()
    }

    #[test]
    fn uniform_arms_have_an_interval_all_the_same() {
        let (all, half) = (arm(&[(3, 3), (5, 5)]), arm(&[(2, 1), (4, 2)]));
        let comparison = Comparison::new(&all, &half);
        assert!(half.has_zero_variance());
        let headline = comparison.interval(CiMethod::ClusteredNewcombe);
        assert!(headline.is_ok_and(|ci| ci.contains(0.5) && ci.width() > 0.1));
        assert_eq!(comparison.interval(CiMethod::Cr2BellMcCaffrey), Err(NullReason::ZeroVariance));
    }

    #[test]
    fn counts_are_not_proportions() {
        let (many, few) = (arm(&[(3, 9), (5, 5)]), arm(&[(2, 1), (4, 2)]));
        assert_eq!(
            Comparison::new(&many, &few).interval(CiMethod::ClusteredNewcombe),
            Err(NullReason::OutcomeNotBinary)
        );
        assert!(Comparison::new(&many, &few).interval(CiMethod::Cr2BellMcCaffrey).is_ok());
    }

    #[test]
    fn an_empty_arm_is_named_before_a_single_user() {
        let (none, one) = (arm(&[(0, 0)]), arm(&[(2, 1)]));
        let null = |t: &Arm, c: &Arm| Comparison::new(t, c).interval(CiMethod::ClusteredNewcombe);
        assert_eq!(null(&one, &none), Err(NullReason::ArmWithoutEvaluatedSessions));
        assert_eq!(null(&one, &one), Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm));
    }
}
