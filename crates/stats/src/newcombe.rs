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

/// [`square_and_add`] for two rates that are correlated by `r` (MOVER: Newcombe, 1998, for paired
/// differences; Zou, 2007): each square loses `2r` times the product of its parts.
#[must_use]
pub fn square_and_add_correlated(one: Rate, other: Rate, r: f64) -> Interval {
    let (below, above) = one.distances();
    let (other_below, other_above) = other.distances();
    let reach = |a: f64, b: f64| (a * a + b * b - 2.0 * r * a * b).max(0.0).sqrt();
    let difference = one.estimate - other.estimate;
    Interval::between(
        difference - reach(below, other_above),
        difference + reach(above, other_below),
    )
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
    Ok(interval_at(sizes(comparison)?, critical_value))
}

/// The critical value at which [`clustered_interval`] touches zero: 0 when the arms have the same rate, and finite
/// always, because the interval of either arm grows towards `[0, 1]`.
///
/// This inverts the interval: it excludes zero exactly at the critical values below. Null as the interval is.
pub fn touching_value(comparison: &Comparison<'_>) -> Defined<f64> {
    touching_value_at(comparison, 0.0)
}

/// The critical value at which [`clustered_interval`] touches `lift`; infinite when no interval reaches so
/// far, which happens only for lifts near ±100 percentage points. Null as the interval is.
pub fn touching_value_at(comparison: &Comparison<'_>, lift: f64) -> Defined<f64> {
    Ok(critical_value_touching(sizes(comparison)?, lift))
}

/// A rate and the number of independent trials that it is worth: all that the interval of an arm depends on.
pub(super) type Sized = (f64, f64);

/// The largest critical value at which the interval of the difference excludes `difference`.
pub(super) fn critical_value_touching(sizes: [Sized; 2], difference: f64) -> f64 {
    /// Beyond it Wilson's interval is all of `[0, 1]`, to working precision and for any number of users.
    const BEYOND_REACH: f64 = 1e12;
    let excludes = |critical_value: f64| !interval_at(sizes, critical_value).contains(difference);
    let [(one, _), (other, _)] = sizes;
    if one - other == difference {
        return 0.0;
    }
    let mut beyond = 1.0;
    while excludes(beyond) {
        beyond *= 2.0;
        if beyond > BEYOND_REACH {
            return f64::INFINITY;
        }
    }
    let mut within = 0.0;
    // Halving ends at two neighbouring numbers.
    loop {
        let middle = f64::midpoint(within, beyond);
        if middle <= within || middle >= beyond {
            return beyond;
        }
        if excludes(middle) {
            within = middle;
        } else {
            beyond = middle;
        }
    }
}

/// The rate and the sample size of treatment and holdout.
fn sizes(comparison: &Comparison<'_>) -> Defined<[Sized; 2]> {
    comparison.lift()?;
    if !(comparison.treatment.is_binary() && comparison.holdout.is_binary()) {
        return Err(NullReason::OutcomeNotBinary);
    }
    let size = |arm: &Arm| Ok((arm.mean()?, arm.headline_sample_size()?));
    Ok([size(comparison.treatment)?, size(comparison.holdout)?])
}

pub(super) fn interval_at(sizes: [Sized; 2], critical_value: f64) -> Interval {
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

    #[test]
    fn without_correlation_both_ways_of_adding_agree() {
        let rate = |estimate: f64, n| Rate { estimate, interval: wilson(estimate, n, 2.0) };
        let (one, other) = (rate(0.9, 50.0), rate(0.7, 80.0));
        let (plain, correlated) =
            (square_and_add(one, other), square_and_add_correlated(one, other, 0.0));
        assert!((plain.lower - correlated.lower).abs() < 1e-15);
        assert!((plain.upper - correlated.upper).abs() < 1e-15);
        assert!(square_and_add_correlated(one, other, 0.5).width() < plain.width());
    }

    #[test]
    fn a_lift_out_of_reach_is_touched_by_no_interval() {
        let (some, other) = (arm(&[(3, 1), (4, 2), (2, 2)]), arm(&[(2, 1), (4, 1), (5, 3)]));
        let comparison = Comparison::new(&some, &other);
        assert_eq!(touching_value_at(&comparison, 1.0), Ok(f64::INFINITY));
        let lift = comparison.lift().unwrap_or_default();
        assert_eq!(touching_value_at(&comparison, lift), Ok(0.0));
        let value = touching_value_at(&comparison, lift + 0.3);
        let touching = value.and_then(|value| clustered_interval(&comparison, value));
        assert!(touching.is_ok_and(|interval| (interval.upper - lift - 0.3).abs() < 1e-12));
    }

    #[test]
    fn a_dominating_user_widens_the_interval_and_no_other_user_does() {
        let others: Vec<_> = (0..40).map(|n| (5, 3 + i64::from(n % 2 == 0))).collect();
        let with = |sessions: u64| {
            let mut users = others.clone();
            users.push((sessions, sessions as i64 / 2));
            arm(&users)
        };
        let holdout = arm(&others);
        assert!(!Comparison::new(&with(20), &holdout).one_user_dominates());
        let calm = with(20);
        assert_eq!(calm.headline_sample_size(), calm.effective_sample_size());
        let heavy = with(100);
        assert!(Comparison::new(&heavy, &holdout).one_user_dominates());
        assert!(heavy.headline_sample_size() < heavy.effective_sample_size());
    }
}
