//! The continuous distributions of the tests: normal, Student's t, chi-square.
//!
//! Tails are computed directly, never as one minus the other side, so that a p-value of 1e-200 is
//! as good as one of 0.05.

use super::special::{incomplete_beta, ln_beta, upper_incomplete_gamma};
use std::f64::consts::PI;

/// `P(Z > z)` for a standard normal variable.
#[must_use]
pub fn normal_upper_tail(z: f64) -> f64 {
    let tail = 0.5 * upper_incomplete_gamma(0.5, 0.5 * z * z);
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// The value that a standard normal variable exceeds with probability `tail`, `0 < tail < 1`.
#[must_use]
pub fn normal_critical_value(tail: f64) -> f64 {
    let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    critical_value(tail, normal_upper_tail, density)
}

/// `P(T > t)` for Student's t with `df > 0` degrees of freedom, not necessarily whole.
///
/// `½ I_x(df/2, ½)` with `x = df / (df + t²)`; the normal tail for infinite `df`.
#[must_use]
pub fn student_t_upper_tail(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return normal_upper_tail(t);
    }
    let odds = t * t / df;
    let (x, y) =
        if odds.is_infinite() { (0.0, 1.0) } else { ((1.0 + odds).recip(), odds / (1.0 + odds)) };
    let tail = 0.5 * incomplete_beta(0.5 * df, 0.5, x, y);
    if t >= 0.0 { tail } else { 1.0 - tail }
}

/// The two-sided p-value of a t statistic.
#[must_use]
pub fn student_t_two_sided_p(t: f64, df: f64) -> f64 {
    (2.0 * student_t_upper_tail(t.abs(), df)).min(1.0)
}

/// The value that Student's t with `df` degrees of freedom exceeds with probability `tail`,
/// `0 < tail < 1`.
#[must_use]
pub fn student_t_critical_value(tail: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return normal_critical_value(tail);
    }
    let scale = -ln_beta(0.5 * df, 0.5) - 0.5 * df.ln();
    let density = |t: f64| (scale - 0.5 * (df + 1.0) * (t * t / df).ln_1p()).exp();
    critical_value(tail, |t| student_t_upper_tail(t, df), density)
}

/// Inverts the upper tail of a distribution that is symmetric about zero.
///
/// Newton's method on `ln P(T > t)` as a function of `ln t`. That function is decreasing and
/// concave for these distributions, so that after the first step the iterates fall monotonically to
/// the root; a step so long that the tail underflows is halved. Convergence is quadratic: after a
/// step of 1e-9 the error is that of the tail itself.
fn critical_value(tail: f64, upper_tail: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64) -> f64 {
    const MAX_STEPS: usize = 200;
    if tail > 0.5 {
        return -critical_value(1.0 - tail, upper_tail, density);
    }
    if tail == 0.5 {
        return 0.0;
    }
    if tail.is_nan() || tail <= 0.0 {
        return f64::INFINITY;
    }
    let mut ln_t: f64 = 0.0;
    for _ in 0..MAX_STEPS {
        let t = ln_t.exp();
        let at_t = upper_tail(t);
        let mut step = (at_t / tail).ln() * at_t / (t * density(t));
        while upper_tail((ln_t + step).exp()) <= 0.0 {
            step *= 0.5;
        }
        ln_t += step;
        if step.abs() <= 1e-9 {
            break;
        }
    }
    ln_t.exp()
}

/// `P(X > x)` for a chi-square variable with `df` degrees of freedom.
#[must_use]
pub fn chi_square_upper_tail(x: f64, df: f64) -> f64 {
    upper_incomplete_gamma(0.5 * df, 0.5 * x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    #[test]
    fn normal_tail_matches_high_precision_values() {
        for (z, expected) in [
            (0.0, 0.5),
            (0.5, 0.3085375387259869),
            (1.0, 0.15865525393145705),
            (1.959963984540054, 0.025000000000000012),
            (-1.25, 0.8943502263331448),
            (5.0, 2.866515718791939e-07),
            (10.0, 7.619853024160525e-24),
            (37.0, 5.725571222524577e-300),
        ] {
            close(normal_upper_tail(z), expected, 2e-13);
        }
    }

    #[test]
    fn normal_critical_values_invert_the_tail() {
        for (tail, expected) in [
            (0.025, 1.9599639845400543),
            (0.2, 0.8416212335729142),
            (0.1, 1.2815515655446004),
            (0.005, 2.575829303548901),
            (0.4999, 0.00025066283008800747),
            (0.975, -1.9599639845400538),
            (1e-10, 6.361340902404057),
            (1e-200, 30.20559417957964),
        ] {
            close(normal_critical_value(tail), expected, 2e-12);
        }
        assert_eq!(normal_critical_value(0.5).to_bits(), 0.0_f64.to_bits());
        assert!(normal_critical_value(0.0) == f64::INFINITY);
        assert!(normal_critical_value(1.0) == f64::NEG_INFINITY);
    }

    #[test]
    fn student_t_tail_matches_high_precision_values() {
        for (t, df, expected) in [
            (0.1, 1.25, 0.4669708160116989),
            (1.5, 1.993, 0.13640528214922473),
            (12.7, 1.0, 0.02501216384467208),
            (4.0, 2.0725, 0.026951218445430997),
            (2.5, 5.3214, 0.02578998461254416),
            (1000000.0, 1.5, 3.770852432013216e-10),
            (1e+80, 2.0, 5e-161),
            (0.001, 47.66, 0.49960314480286777),
            (30.0, 300.0, 1.3031072100489278e-92),
            (2.0, 1000000.0, 0.022750266925659603),
            (3.0, 12345.678, 0.0013525918081409838),
        ] {
            close(student_t_upper_tail(t, df), expected, 1e-13);
            close(student_t_upper_tail(-t, df), 1.0 - expected, 1e-13);
        }
    }

    #[test]
    fn student_t_critical_values_match_high_precision_values() {
        for (tail, df, expected) in [
            (0.025, 1.0, 12.706204736174705),
            (0.025, 1.25, 8.02795137725206),
            (0.025, 1.9931, 4.316958569877705),
            (0.025, 2.0725, 4.161585771554135),
            (0.025, 3.459, 2.956381552858449),
            (0.025, 13.9, 2.1462351895250795),
            (0.025, 49.97, 2.0085889899326994),
            (0.025, 1000000.0, 1.959966356814107),
            (0.3, 2.5, 0.5973077382523175),
            (1e-12, 1.5, 52194694.27344635),
            (1e-30, 40.0, 32.5929585484389),
        ] {
            close(student_t_critical_value(tail, df), expected, 2e-13);
        }
    }

    #[test]
    fn chi_square_tail_matches_high_precision_values() {
        for (x, df, expected) in [
            (20.0, 1.0, 7.744216431044084e-06),
            (9e-10, 1.0, 0.9999760634631795),
            (7.408936154446117, 2.0, 0.024613306264406404),
            (3.5, 5.0, 0.623387627749582),
            (1400.0, 1.0, 2.1010145162642176e-306),
        ] {
            close(chi_square_upper_tail(x, df), expected, 5e-13);
        }
    }

    #[test]
    fn infinity_is_beyond_every_tail() {
        for df in [1.0, 2.5, 1e6, f64::INFINITY] {
            close(student_t_upper_tail(f64::INFINITY, df), 0.0, 0.0);
            close(student_t_upper_tail(f64::NEG_INFINITY, df), 1.0, 0.0);
            assert!(student_t_upper_tail(f64::NAN, df).is_nan());
        }
        close(chi_square_upper_tail(f64::INFINITY, 3.0), 0.0, 0.0);
        close(student_t_critical_value(0.025, f64::INFINITY), normal_critical_value(0.025), 0.0);
    }
}
