//! Fieller's interval for a ratio of two estimates.

use super::interval::Interval;
use super::reason::{Defined, NullReason};

/// Two estimates, of which the ratio is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The estimate above the line, `a`.
    pub numerator: f64,
    /// The estimate below the line, `b`.
    pub denominator: f64,
    /// Variance of the numerator.
    pub numerator_variance: f64,
    /// Variance of the denominator.
    pub denominator_variance: f64,
    /// Covariance of the two; zero when they come from different users.
    pub covariance: f64,
}

impl Ratio {
    /// All `ρ` with `(a − ρb)² ≤ t²·(V_a − 2ρ·C + ρ²·V_b)` (Fieller, 1954).
    ///
    /// Null when the denominator is zero; when the numerator and both variances leave a single point,
    /// because an interval of zero width would claim certainty; and when the denominator is within
    /// `t` standard errors of zero, because the set is then not an interval, or has no end.
    pub fn interval(&self, critical_value: f64) -> Defined<Interval> {
        if self.denominator == 0.0 {
            return Err(NullReason::ZeroBaseline);
        }
        let certain = self.numerator_variance <= 0.0 && self.denominator_variance <= 0.0;
        if certain {
            return Err(NullReason::ZeroVariance);
        }
        // a2·ρ² − 2·a1·ρ + a0 ≤ 0
        let square = critical_value * critical_value;
        let a2 = self.denominator.powi(2) - square * self.denominator_variance;
        let a1 = self.numerator * self.denominator - square * self.covariance;
        let a0 = self.numerator.powi(2) - square * self.numerator_variance;
        if a2 <= 0.0 {
            return Err(NullReason::UnboundedInterval);
        }
        let root = (a1 * a1 - a2 * a0).max(0.0).sqrt();
        let far = a1 + root.copysign(a1);
        // The nearer root by Vieta, to avoid subtracting nearly equal numbers.
        let near = if far == 0.0 { 0.0 } else { a0 / far };
        let interval =
            Interval::between(far / a2, near).including(self.numerator / self.denominator);
        if interval.width() > 0.0 { Ok(interval) } else { Err(NullReason::ZeroVariance) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: f64, denominator: f64) -> Ratio {
        Ratio {
            numerator,
            denominator,
            numerator_variance: 0.01,
            denominator_variance: 0.02,
            covariance: 0.005,
        }
    }

    #[test]
    fn the_ends_satisfy_the_definition() {
        for numerator in [-2.0, 0.0, 0.3, 5.0] {
            let ratio = ratio(numerator, 1.5);
            let ends = ratio.interval(2.0).map(|ci| [ci.lower, ci.upper]);
            assert!(ends.is_ok_and(|ends| ends.iter().all(|rho| {
                let distance = (ratio.numerator - rho * ratio.denominator).powi(2);
                let variance = ratio.numerator_variance - 2.0 * rho * ratio.covariance
                    + rho * rho * ratio.denominator_variance;
                (distance - 4.0 * variance).abs() < 1e-12
            })));
        }
    }

    #[test]
    fn nulls_have_reasons() {
        assert_eq!(ratio(1.0, 0.0).interval(2.0), Err(NullReason::ZeroBaseline));
        assert_eq!(ratio(1.0, 0.2).interval(2.0), Err(NullReason::UnboundedInterval));
        let certain = Ratio {
            numerator_variance: 0.0,
            denominator_variance: 0.0,
            covariance: 0.0,
            ..ratio(1.0, 2.0)
        };
        assert_eq!(certain.interval(2.0), Err(NullReason::ZeroVariance));
        let nothing = Ratio { numerator_variance: 0.0, covariance: 0.0, ..ratio(0.0, 2.0) };
        assert_eq!(nothing.interval(2.0), Err(NullReason::ZeroVariance));
    }
}
