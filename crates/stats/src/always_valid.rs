//! An interval that may be looked at every day.
//!
//! A fixed 95 % interval is right 95 % of the time at one look; over sixty daily looks it raises a
//! false alarm in a quarter to nearly half of all experiments. The interval here is wider, and holds
//! at all looks together.

use super::ALPHA;
use super::comparison::Comparison;
use super::interval::Interval;
use super::newcombe::{clustered_interval, touching_value};
use super::reason::{Defined, NullReason};

/// No always-valid interval before the smaller arm has this many evaluated users.
pub const SMALLEST_ARM: usize = 30;

/// Asymptotic confidence sequence by a normal mixture (Robbins, 1970; Waudby-Smith et al., 2021).
///
/// ```text
/// k = √( (nρ²+1)/(nρ²) · ln((nρ²+1)/α²) ),   ρ² = (−2 ln α + ln(1 − 2 ln α)) / n*
/// ```
///
/// The interval is the headline's construction with `k` in the place of Student's t. It is not
/// `lift ± k·SE`: in an arm that happens to be uniform the variance between users is estimated as zero, and that
/// form says "harms" by luck in up to a third of experiments without any effect.
///
/// `n` is the number of evaluated users, `n*` the planned number, at which the interval is tightest;
/// it has to be fixed when the experiment starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlwaysValid {
    alpha: f64,
    rho_squared: f64,
}

/// Always-valid interval and p-value of one look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The always-valid interval for the lift, clamped to ±100 percentage points.
    pub interval: Interval,
    /// The always-valid p-value of no lift.
    pub p_value: f64,
}

impl AlwaysValid {
    /// At 95 % confidence, tightest at `planned_users`; null if nobody is planned.
    pub fn planned_for(planned_users: u64) -> Defined<Self> {
        Self::with_alpha(planned_users, ALPHA)
    }

    /// At another error level, strictly between 0 and 1.
    pub fn with_alpha(planned_users: u64, alpha: f64) -> Defined<Self> {
        if planned_users == 0 || !(alpha > 0.0 && alpha < 1.0) {
            return Err(NullReason::InputOutOfRange);
        }
        let twice = -2.0 * alpha.ln();
        Ok(Self { alpha, rho_squared: (twice + twice.ln_1p()) / planned_users as f64 })
    }

    /// `k`, the critical value of the interval with `users` evaluated users; null for none.
    pub fn multiplier(&self, users: usize) -> Defined<f64> {
        Ok(mixture_multiplier(self.information(users)?, self.alpha))
    }

    /// `ln E = ½(z²·nρ²/(1 + nρ²) − ln(1 + nρ²))`: the logarithm of the evidence against no lift, whose
    /// exponential is an e-value at every look. Null without users.
    pub fn ln_e_value(&self, z: f64, users: usize) -> Defined<f64> {
        Ok(ln_mixture(z, self.information(users)?))
    }

    /// `√(nρ²+1) / exp(nρ²·z²/(2(nρ²+1)))`, at most 1: the error level at which `z` is the critical value.
    /// Null without users.
    pub fn p_value(&self, z: f64, users: usize) -> Defined<f64> {
        Ok((-self.ln_e_value(z, users)?).exp().clamp(f64::MIN_POSITIVE, 1.0))
    }

    /// The look at an experiment.
    ///
    /// Null as the headline interval is, and until each arm has [`SMALLEST_ARM`] evaluated users.
    pub fn look(&self, comparison: &Comparison<'_>) -> Defined<Look> {
        comparison.lift()?;
        let [treatment, holdout] =
            [comparison.treatment, comparison.holdout].map(|arm| arm.user_count());
        if treatment.min(holdout) < SMALLEST_ARM {
            return Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm);
        }
        let users = treatment + holdout;
        Ok(Look {
            interval: clustered_interval(comparison, self.multiplier(users)?)?,
            p_value: self.p_value(touching_value(comparison)?, users)?,
        })
    }

    /// The multiplier when the planned users have come, and the slope there of `t ↦ k(t)·√t`, with `t` the
    /// share of them who have: `k² = (1 + 1/I)(ln(1+I) − 2 ln α)` and `(ln(1+I) − 2 ln α + 1) / 2k` with
    /// `I = n*·ρ²`, whatever `n*` is.
    pub(super) fn at_planned_users(&self) -> (f64, f64) {
        let twice = -2.0 * self.alpha.ln();
        let information = twice + twice.ln_1p();
        let ln_bound = information.ln_1p() + twice;
        let k = ((1.0 + information.recip()) * ln_bound).sqrt();
        (k, (ln_bound + 1.0) / (2.0 * k))
    }

    /// `nρ²`; null without users.
    pub(super) fn information(&self, users: usize) -> Defined<f64> {
        if users == 0 {
            return Err(NullReason::NoUsers);
        }
        Ok(users as f64 * self.rho_squared)
    }
}

/// `½(z²·I/(1 + I) − ln(1 + I))`: the logarithm of the evidence that a normal mixture finds in `z`, with `I` the
/// variance of the mixture over that of the estimate.
pub(super) fn ln_mixture(z: f64, information: f64) -> f64 {
    0.5 * (z * z / (1.0 + information.recip()) - information.ln_1p())
}

/// The `z` at which the evidence of [`ln_mixture`] is `1/α`.
pub(super) fn mixture_multiplier(information: f64, alpha: f64) -> f64 {
    let ln_bound = information.ln_1p() - 2.0 * alpha.ln();
    ((1.0 + information.recip()) * ln_bound).sqrt()
}

/// All looks so far taken together: the running intersection and the smallest p-value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningLooks(Option<(Defined<Interval>, f64)>);

impl RunningLooks {
    /// Goes on from what earlier looks left: their intersection (none when they have nothing in common) and
    /// smallest p-value (none before the first look).
    #[must_use]
    pub fn resumed(interval: Option<Interval>, p_value: Option<f64>) -> Self {
        Self(p_value.map(|p| (interval.ok_or(NullReason::EmptyIntersection), p)))
    }

    /// Takes one more look into account.
    pub fn absorb(&mut self, look: &Look) {
        self.0 = Some(match self.0 {
            None => (Ok(look.interval), look.p_value),
            Some((interval, p_value)) => (
                interval.and_then(|interval| {
                    interval.intersection(&look.interval).ok_or(NullReason::EmptyIntersection)
                }),
                p_value.min(look.p_value),
            ),
        });
    }

    /// Intersection of the intervals of all looks. Null before the first look, and when it is empty, which
    /// happens when the effect itself changes.
    pub fn interval(&self) -> Defined<Interval> {
        self.0.map_or(Err(NullReason::NoLooks), |(interval, _)| interval)
    }

    /// The smallest p-value so far; null before the first look.
    pub fn p_value(&self) -> Defined<f64> {
        self.0.map_or(Err(NullReason::NoLooks), |(_, p)| Ok(p))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_is_the_level_at_which_the_interval_touches_zero() {
        let level = 0.013;
        let touching = AlwaysValid::with_alpha(400, level).and_then(|sequence| {
            let z = sequence.multiplier(250)?;
            sequence.p_value(z, 250)
        });
        assert!(touching.is_ok_and(|p| (p - level).abs() < 1e-14));
    }

    #[test]
    fn looks_with_nothing_in_common() {
        let look = |centre| Look { interval: Interval::around(centre, 0.1), p_value: 0.5 };
        let mut running = RunningLooks::default();
        assert_eq!(running.interval(), Err(NullReason::NoLooks));
        running.absorb(&look(0.0));
        running.absorb(&look(1.0));
        assert_eq!(running.interval(), Err(NullReason::EmptyIntersection));
        running.absorb(&look(0.0));
        assert_eq!(running.interval(), Err(NullReason::EmptyIntersection));
    }
}
