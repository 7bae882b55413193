//! A closed interval of real numbers.

/// A closed interval; `lower <= upper` always holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The smallest value that is not excluded.
    pub lower: f64,
    /// The largest value that is not excluded.
    pub upper: f64,
}

impl Interval {
    /// The interval between two ends given in any order.
    #[must_use]
    pub fn between(one: f64, other: f64) -> Self {
        Self { lower: one.min(other), upper: one.max(other) }
    }

    /// `centre ± half_width`.
    #[must_use]
    pub fn around(centre: f64, half_width: f64) -> Self {
        Self::between(centre - half_width, centre + half_width)
    }

    /// True if `value` lies in the interval, ends included.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// Upper end minus lower end.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// True if the whole interval lies strictly inside `±margin`.
    #[must_use]
    pub fn is_within(&self, margin: f64) -> bool {
        -margin < self.lower && self.upper < margin
    }

    /// Both ends brought into `limits`.
    #[must_use]
    pub fn clamped(&self, limits: Self) -> Self {
        Self {
            lower: self.lower.clamp(limits.lower, limits.upper),
            upper: self.upper.clamp(limits.lower, limits.upper),
        }
    }

    /// The smallest interval that also contains `value`.
    #[must_use]
    pub fn including(&self, value: f64) -> Self {
        Self { lower: self.lower.min(value), upper: self.upper.max(value) }
    }

    /// Intersection of both intervals; `None` when they do not meet.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let (lower, upper) = (self.lower.max(other.lower), self.upper.min(other.upper));
        (lower <= upper).then_some(Self { lower, upper })
    }

    /// The interval moved by `offset`.
    #[must_use]
    pub fn shifted(&self, offset: f64) -> Self {
        Self::between(self.lower + offset, self.upper + offset)
    }

    /// A difference of rates in percentage points instead of fractions.
    #[must_use]
    pub fn percentage_points(&self) -> Self {
        Self::between(self.lower * 100.0, self.upper * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intersection_of_disjoint_intervals_is_none() {
        let low = Interval::between(0.0, 1.0);
        assert_eq!(low.intersection(&Interval::between(2.0, 3.0)), None);
        assert_eq!(
            low.intersection(&Interval::between(3.0, 0.5)),
            Some(Interval::between(0.5, 1.0))
        );
    }

    #[test]
    fn within_a_margin_is_strict() {
        assert!(Interval::around(0.0, 0.01).is_within(0.02));
        assert!(!Interval::around(0.0, 0.02).is_within(0.02));
    }
}
