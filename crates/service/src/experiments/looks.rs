//! All looks at an experiment, taken together: what may be read every day without raising false alarms.

use stats::always_valid::{Look, RunningLooks};
use stats::sample_ratio::SequentialSampleRatio;
use stats::{Defined, Interval, NullReason};

/// The running intersection of the always-valid intervals, their smallest p-value, and the smallest p-values of the
/// sequential tests of the sample ratio and of the evaluation rate.
#[derive(Clone, Copy, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct Looks {
    /// Null before the first look, and when the looks have nothing in common.
    pub lower: Option<f64>,
    pub upper: Option<f64>,
    /// Null before the first look.
    pub p_value: Option<f64>,
    pub exposed_p: f64,
    pub published_p: f64,
    pub evaluated_p: f64,
    pub triggered_p: f64,
    pub evaluation_rate_p: f64,
}

impl Default for Looks {
    fn default() -> Self {
        Looks {
            lower: None,
            upper: None,
            p_value: None,
            exposed_p: 1.0,
            published_p: 1.0,
            evaluated_p: 1.0,
            triggered_p: 1.0,
            evaluation_rate_p: 1.0,
        }
    }
}

impl Looks {
    /// Takes one more always-valid look into account.
    pub fn absorb(&mut self, look: &Look) {
        let before = self.lower.zip(self.upper).map(|(l, u)| Interval::between(l, u));
        let mut running = RunningLooks::resumed(before, self.p_value);
        running.absorb(look);
        let interval = running.interval().ok();
        self.lower = interval.map(|interval| interval.lower);
        self.upper = interval.map(|interval| interval.upper);
        self.p_value = running.p_value().ok();
    }

    pub fn interval(&self) -> Defined<Interval> {
        match (self.lower.zip(self.upper), self.p_value) {
            (Some((lower, upper)), _) => Ok(Interval::between(lower, upper)),
            (None, Some(_)) => Err(NullReason::EmptyIntersection),
            (None, None) => Err(NullReason::NoLooks),
        }
    }

    pub fn p_value(&self) -> Defined<f64> {
        self.p_value.ok_or(NullReason::NoLooks)
    }

    /// Puts together what two replicas saw.
    pub fn merged(&self, other: &Self) -> Self {
        let mut merged = Looks {
            exposed_p: self.exposed_p.min(other.exposed_p),
            published_p: self.published_p.min(other.published_p),
            evaluated_p: self.evaluated_p.min(other.evaluated_p),
            triggered_p: self.triggered_p.min(other.triggered_p),
            evaluation_rate_p: self.evaluation_rate_p.min(other.evaluation_rate_p),
            ..*self
        };
        match (other.interval(), other.p_value) {
            (_, None) => {}
            (Ok(interval), Some(p_value)) => merged.absorb(&Look { interval, p_value }),
            (Err(_), Some(p_value)) => {
                (merged.lower, merged.upper) = (None, None);
                merged.p_value = Some(p_value.min(merged.p_value.unwrap_or(1.0)));
            }
        }
        merged
    }
}

/// The sequential p-value of the sample ratio at these counts (treatment, holdout), and over all looks: the new one
/// is kept in `smallest`.
pub fn sequential(counts: [u64; 2], holdout_share: f64, smallest: &mut f64) -> Defined<f64> {
    let [treatment, holdout] = counts;
    if treatment + holdout == 0 {
        return Err(NullReason::NoUsers);
    }
    let now = SequentialSampleRatio::new(holdout_share)?.look(treatment, holdout);
    *smallest = smallest.min(now);
    Ok(*smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(lower: f64, upper: f64, p_value: f64) -> Look {
        Look { interval: Interval::between(lower, upper), p_value }
    }

    #[test]
    fn looks_only_ever_narrow() {
        let mut looks = Looks::default();
        assert_eq!(looks.interval(), Err(NullReason::NoLooks));
        looks.absorb(&look(-0.1, 0.3, 0.4));
        looks.absorb(&look(0.0, 0.5, 0.2));
        assert_eq!(looks.interval(), Ok(Interval::between(0.0, 0.3)));
        looks.absorb(&look(-1.0, 1.0, 0.9));
        assert_eq!((looks.interval(), looks.p_value()), (Ok(Interval::between(0.0, 0.3)), Ok(0.2)));
        looks.absorb(&look(0.4, 0.5, 0.01));
        assert_eq!(looks.interval(), Err(NullReason::EmptyIntersection));
        looks.absorb(&look(0.0, 0.1, 0.5));
        assert_eq!(looks.interval(), Err(NullReason::EmptyIntersection), "for good");
    }

    #[test]
    fn what_two_replicas_saw_goes_together() {
        let (mut one, mut two) = (Looks::default(), Looks::default());
        one.absorb(&look(-0.1, 0.3, 0.4));
        two.absorb(&look(0.0, 0.5, 0.2));
        two.exposed_p = 0.5;
        let merged = one.merged(&two);
        assert_eq!(merged, two.merged(&one));
        assert_eq!(merged.interval(), Ok(Interval::between(0.0, 0.3)));
        assert_eq!(Looks::default().merged(&one), one.merged(&Looks::default()));
    }
}
