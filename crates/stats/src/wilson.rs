//! Wilson's interval for a proportion.

use super::interval::Interval;

/// Wilson's (1927) score interval for a proportion `p` of `n` trials, at critical value `t`.
///
/// ```text
/// c = (p + t²/2n) / (1 + t²/n)
/// w = t/(1 + t²/n) · √(p(1−p)/n + t²/4n²)
/// [c − w, c + w]
/// ```
///
/// `n` need not be whole. The interval always contains `p` and lies within `[0, 1]`; the rounding
/// of either is removed. It is never of zero width for finite `n > 0` and `t > 0`. With `n = 0` it
/// is all of `[0, 1]`.
#[must_use]
pub fn wilson(p: f64, n: f64, t: f64) -> Interval {
    let unit = Interval::between(0.0, 1.0);
    if n <= 0.0 {
        return unit;
    }
    let shrink = 1.0 + t * t / n;
    let centre = (p + t * t / (2.0 * n)) / shrink;
    let half = t / shrink * (p * (1.0 - p) / n + t * t / (4.0 * n * n)).sqrt();
    Interval::around(centre, half).clamped(unit).including(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_success_leaves_room_above_only() {
        let interval = wilson(0.0, 10.0, 1.959_963_984_540_054);
        assert_eq!(interval.lower.to_bits(), 0.0_f64.to_bits());
        assert!((interval.upper - 0.277_532_799_862_889_23).abs() < 1e-12);
    }

    #[test]
    fn a_known_interval() {
        // 81 of 263, 95 % (Newcombe, 1998, table I).
        let interval = wilson(81.0 / 263.0, 263.0, 1.959_963_984_540_054);
        assert!((interval.lower - 0.2553).abs() < 5e-5);
        assert!((interval.upper - 0.3662).abs() < 5e-5);
    }

    #[test]
    fn nothing_is_known_without_trials() {
        assert_eq!(wilson(0.5, 0.0, 2.0), Interval::between(0.0, 1.0));
    }
}
