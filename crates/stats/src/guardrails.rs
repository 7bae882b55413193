//! Outcomes that must not get worse: tests of non-inferiority, adjusted over all guardrails.

use super::ALPHA;
use super::cluster::Variance;
use super::comparison::{CiMethod, Comparison};
use super::distributions::student_t_upper_tail;
use super::interval::Interval;
use super::multiplicity::holm;
use super::reason::{Defined, NullReason};

/// Direction in which an outcome gets worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HarmfulChange {
    /// More is worse: corrections, turns, escalations, tokens.
    Increase,
    /// Less is worse: success.
    Decrease,
}

/// One outcome to be guarded.
#[derive(Clone, Copy, Debug)]
pub struct Guardrail<'a> {
    /// The arms for this outcome.
    pub comparison: Comparison<'a>,
    /// Direction in which the outcome gets worse.
    pub harmful: HarmfulChange,
    /// Tolerable harm, in the unit of the outcome; not negative.
    pub margin: f64,
}

base::vocabulary! {
    /// Verdict on one guardrail.
    pub enum GuardrailVerdict {
        /// Shown to be worse by less than the margin.
        Passed = "passed",
        /// Shown to be worse, and not shown to be within the margin. Vetoes a positive decision.
        Failed = "failed",
        /// Neither is shown.
        Undecided = "undecided",
    }
}

/// A one-sided test and its adjustment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjustedP {
    /// The p-value of this guardrail alone.
    pub p_value: f64,
    /// Adjusted over all guardrails after Holm.
    pub adjusted: f64,
}

/// The assessment of one guardrail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// The difference between the arms in the harmful direction; positive is worse.
    pub harm: Defined<f64>,
    /// 95 % interval of the difference (treatment minus holdout) on CR2; null when an arm is uniform.
    pub interval: Defined<Interval>,
    /// Test of "harm reaches the margin", `P(T ≤ (harm − margin)/SE)`: small means passed.
    pub non_inferiority: Defined<AdjustedP>,
    /// Test of "no harm", `P(T ≥ harm/SE)`: small means worse.
    pub deterioration: Defined<AdjustedP>,
    /// Verdict of the adjusted tests at one-sided 2.5 %, as in a 95 % interval.
    pub verdict: GuardrailVerdict,
}

/// Assesses all guardrails of an experiment together, in the order given.
///
/// The tests are Student's t on CR2 with Bell–McCaffrey degrees of freedom. They are null as the
/// standard error is, when an arm is uniform (its variance says nothing, and any difference would look
/// certain), and for a negative margin; such a guardrail is undecided and does not count in the adjustment.
#[must_use]
pub fn assess(guardrails: &[Guardrail<'_>]) -> Vec<Assessment> {
    let within = adjust(guardrails.iter().map(|guardrail| {
        let tested = guardrail.t(guardrail.margin)?;
        Ok(student_t_upper_tail(-tested.t, tested.df))
    }));
    let worse = adjust(guardrails.iter().map(|guardrail| {
        let tested = guardrail.t(0.0)?;
        Ok(student_t_upper_tail(tested.t, tested.df))
    }));
    let results = guardrails.iter().zip(within).zip(worse);
    results
        .map(|((guardrail, non_inferiority), deterioration)| Assessment {
            harm: guardrail.harm(),
            interval: guardrail.interval(),
            non_inferiority,
            deterioration,
            verdict: verdict(non_inferiority, deterioration),
        })
        .collect()
}

struct Tested {
    t: f64,
    df: f64,
}

impl Guardrail<'_> {
    fn harm(&self) -> Defined<f64> {
        let difference = self.comparison.lift()?;
        Ok(match self.harmful {
            HarmfulChange::Increase => difference,
            HarmfulChange::Decrease => -difference,
        })
    }

    fn interval(&self) -> Defined<Interval> {
        let interval = self.comparison.interval(CiMethod::Cr2BellMcCaffrey)?;
        self.require_variance_in_both_arms()?;
        Ok(interval)
    }

    fn t(&self, harm: f64) -> Defined<Tested> {
        let distance = self.harm()? - harm;
        if self.margin.is_nan() || self.margin < 0.0 {
            return Err(NullReason::InputOutOfRange);
        }
        let standard_error = self.comparison.standard_error(Variance::Cr2)?;
        self.require_variance_in_both_arms()?;
        Ok(Tested { t: distance / standard_error, df: self.comparison.bell_mccaffrey_df()? })
    }

    fn require_variance_in_both_arms(&self) -> Defined<()> {
        let Comparison { treatment, holdout } = self.comparison;
        if treatment.has_zero_variance() || holdout.has_zero_variance() {
            return Err(NullReason::ZeroVariance);
        }
        Ok(())
    }
}

fn adjust(p_values: impl Iterator<Item = Defined<f64>>) -> Vec<Defined<AdjustedP>> {
    let p_values: Vec<_> = p_values.collect();
    let defined: Vec<_> = p_values.iter().flatten().copied().collect();
    let mut adjusted = holm(&defined).into_iter();
    p_values
        .into_iter()
        .map(|p_value| {
            p_value.map(|p_value| AdjustedP { p_value, adjusted: adjusted.next().unwrap_or(1.0) })
        })
        .collect()
}

fn verdict(
    non_inferiority: Defined<AdjustedP>,
    deterioration: Defined<AdjustedP>,
) -> GuardrailVerdict {
    let shown = |test: Defined<AdjustedP>| test.is_ok_and(|test| test.adjusted < ALPHA / 2.0);
    if shown(non_inferiority) {
        GuardrailVerdict::Passed
    } else if shown(deterioration) {
        GuardrailVerdict::Failed
    } else {
        GuardrailVerdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arm, UserSum};

    fn arm(rate: i64) -> Arm {
        (0..40).map(|user| UserSum { sessions: 10, total: rate + user % 3 - 1 }).collect()
    }

    fn assess_one(treatment: &Arm, holdout: &Arm, margin: f64) -> Vec<Assessment> {
        assess(&[Guardrail {
            comparison: Comparison::new(treatment, holdout),
            harmful: HarmfulChange::Increase,
            margin,
        }])
    }

    #[test]
    fn harm_within_a_margin_passes_and_beyond_it_fails() {
        let (worse, same) = (arm(6), arm(5));
        let verdicts = |margin| assess_one(&worse, &same, margin).into_iter().map(|a| a.verdict);
        assert!(verdicts(0.2).eq([GuardrailVerdict::Passed]));
        assert!(verdicts(0.05).eq([GuardrailVerdict::Failed]));
        assert!(verdicts(-1.0).eq([GuardrailVerdict::Undecided]));
        let unharmed = assess_one(&same, &worse, 0.0);
        assert!(unharmed.iter().all(|a| a.verdict == GuardrailVerdict::Passed));
    }

    #[test]
    fn a_uniform_arm_decides_nothing() {
        let never: Arm = (0..40).map(|_| UserSum { sessions: 10, total: 0 }).collect();
        for (treatment, holdout) in [(&arm(5), &never), (&never, &arm(5))] {
            let assessed = assess_one(treatment, holdout, 0.05);
            assert!(assessed.iter().all(|a| a.verdict == GuardrailVerdict::Undecided
                && a.interval == Err(NullReason::ZeroVariance)));
        }
    }

    #[test]
    fn a_guardrail_without_variance_is_undecided_and_not_counted() {
        let never =
            Arm::new([UserSum { sessions: 3, total: 0 }, UserSum { sessions: 2, total: 0 }]);
        let (worse, same) = (arm(6), arm(5));
        let pair = [(&never, &never), (&worse, &same)].map(|(t, c)| Guardrail {
            comparison: Comparison::new(t, c),
            harmful: HarmfulChange::Increase,
            margin: 0.05,
        });
        let assessed = assess(&pair);
        let null = assessed.first().map(|a| (a.verdict, a.deterioration));
        assert_eq!(null, Some((GuardrailVerdict::Undecided, Err(NullReason::ZeroVariance))));
        let counted = assessed.last().map(|a| a.deterioration.map(|p| p.adjusted == p.p_value));
        assert_eq!(counted, Some(Ok(true)));
    }
}
