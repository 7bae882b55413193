//! One word about an experiment, safe to read every day.

use super::always_valid::Look;
use super::reason::{Defined, NullReason};

base::vocabulary! {
    /// Decision on the lift so far.
    pub enum LiftDecision {
        /// Too early for an always-valid interval.
        Collecting = "collecting",
        /// Retrieval helps: the always-valid interval lies above zero.
        Positive = "positive",
        /// Retrieval harms: the always-valid interval lies below zero.
        Negative = "negative",
        /// Any effect is smaller than the margin that matters.
        NoEffectAtPrecision = "no_effect_at_precision",
        /// None of these yet, or a failed guardrail speaks against a positive answer.
        Inconclusive = "inconclusive",
    }
}

impl LiftDecision {
    /// Decides from the current look at the experiment, not from what all looks have in common: that may be empty.
    ///
    /// `margin` is the smallest lift that matters, as a fraction. Null when a health check failed:
    /// ill health suppresses the decision, never the numbers.
    pub fn from_look(
        look: &Defined<Look>,
        margin: f64,
        is_healthy: bool,
        has_failed_guardrail: bool,
    ) -> Defined<Self> {
        if !is_healthy {
            return Err(NullReason::Unhealthy);
        }
        let Ok(look) = look else {
            return Ok(Self::Collecting);
        };
        Ok(if look.interval.upper < 0.0 {
            Self::Negative
        } else if look.interval.lower > 0.0 {
            if has_failed_guardrail { Self::Inconclusive } else { Self::Positive }
        } else if look.interval.is_within(margin) {
            Self::NoEffectAtPrecision
        } else {
            Self::Inconclusive
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interval;

    #[test]
    fn every_branch() {
        let decide = |lower, upper, is_healthy, has_failed_guardrail| {
            let look = Ok(Look { interval: Interval::between(lower, upper), p_value: 0.5 });
            LiftDecision::from_look(&look, 0.02, is_healthy, has_failed_guardrail)
        };
        assert_eq!(decide(0.01, 0.05, true, false), Ok(LiftDecision::Positive));
        assert_eq!(decide(0.01, 0.05, true, true), Ok(LiftDecision::Inconclusive));
        assert_eq!(decide(-0.05, -0.01, true, true), Ok(LiftDecision::Negative));
        assert_eq!(decide(-0.01, 0.01, true, false), Ok(LiftDecision::NoEffectAtPrecision));
        assert_eq!(decide(-0.01, 0.03, true, false), Ok(LiftDecision::Inconclusive));
        assert_eq!(decide(0.01, 0.05, false, false), Err(NullReason::Unhealthy));
        let early = Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm);
        assert_eq!(
            LiftDecision::from_look(&early, 0.02, true, false),
            Ok(LiftDecision::Collecting)
        );
    }
}
