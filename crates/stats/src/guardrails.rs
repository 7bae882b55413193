//! Outcomes that must not get worse: tests of non-inferiority, adjusted over all guardrails.

use super::ALPHA;
use super::always_valid::AlwaysValid;
use super::cluster::Variance;
use super::comparison::{CiMethod, Comparison};
use super::distributions::student_t_upper_tail;
use super::events::require_events;
use super::interval::Interval;
use super::multiplicity::holm;
use super::newcombe::{clustered_interval, touching_value_at};
use super::pooled::PooledDifference;
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
    /// 95 % interval of the difference (treatment minus holdout): always-valid, or on CR2 and then null when
    /// an arm is uniform.
    pub interval: Defined<Interval>,
    /// Test of "harm reaches the margin": small means passed.
    pub non_inferiority: Defined<AdjustedP>,
    /// Test of "no harm": small means worse.
    pub deterioration: Defined<AdjustedP>,
    /// The conclusion from the adjusted tests at the level of a 95 % interval.
    pub verdict: GuardrailVerdict,
}

/// Assesses all guardrails of an experiment together, in the order given, once: read every day, it fails by
/// luck. [`assess_always_valid`] is the form to decide with.
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
            verdict: verdict(non_inferiority, deterioration, ALPHA / 2.0),
        })
        .collect()
}

/// Assesses all guardrails of an experiment together, in the order given, so that they may be read every day.
///
/// Outcomes between 0 and 1 have the always-valid interval of the headline family; the others have
/// `difference ± k·SE0` with the variance of pooled residuals ([`PooledDifference`]) and the multiplier `k`
/// of the sequence. The p-values invert these intervals and are adjusted after Holm (1979); they are
/// two-sided, and count only in the direction that they test, so that a verdict needs 5 %, as the interval
/// does.
///
/// Null under `too_few_events`, for a negative margin, and when nothing varies; such a guardrail is undecided
/// and does not count in the adjustment. A uniform arm is nothing special.
#[must_use]
pub fn assess_always_valid(
    guardrails: &[Guardrail<'_>],
    sequence: &AlwaysValid,
) -> Vec<Assessment> {
    let tested: Vec<Defined<Sequential>> =
        guardrails.iter().map(|guardrail| guardrail.sequential(sequence)).collect();
    let within = adjust(tested.iter().map(|tested| tested.map(|tested| tested.within)));
    let worse = adjust(tested.iter().map(|tested| tested.map(|tested| tested.worse)));
    let results = guardrails.iter().zip(tested).zip(within.into_iter().zip(worse));
    results
        .map(|((guardrail, tested), (non_inferiority, deterioration))| Assessment {
            harm: guardrail.harm(),
            interval: tested.map(|tested| tested.interval),
            non_inferiority,
            deterioration,
            verdict: verdict(non_inferiority, deterioration, ALPHA),
        })
        .collect()
}

/// One guardrail at one look: the interval of the difference and the p-values of both directions.
#[derive(Clone, Copy)]
struct Sequential {
    interval: Interval,
    within: f64,
    worse: f64,
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

    fn sequential(&self, sequence: &AlwaysValid) -> Defined<Sequential> {
        let harm = self.harm()?;
        if self.margin.is_nan() || self.margin < 0.0 {
            return Err(NullReason::InputOutOfRange);
        }
        require_events(&self.comparison)?;
        let Comparison { treatment, holdout } = self.comparison;
        let users = treatment.user_count() + holdout.user_count();
        let k = sequence.multiplier(users)?;
        let margin = match self.harmful {
            HarmfulChange::Increase => self.margin,
            HarmfulChange::Decrease => -self.margin,
        };
        let (interval, at_margin, at_zero) = if treatment.is_binary() && holdout.is_binary() {
            (
                clustered_interval(&self.comparison, k)?,
                touching_value_at(&self.comparison, margin)?,
                touching_value_at(&self.comparison, 0.0)?,
            )
        } else {
            let pooled = PooledDifference::of(&self.comparison)?;
            (pooled.interval(k), pooled.z(margin), pooled.z(0.0))
        };
        let p_value = |counts: bool, z: f64| {
            if counts { sequence.p_value(z, users) } else { Ok(1.0) }
        };
        Ok(Sequential {
            interval,
            within: p_value(harm < self.margin, at_margin)?,
            worse: p_value(harm > 0.0, at_zero)?,
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
    level: f64,
) -> GuardrailVerdict {
    let shown = |test: Defined<AdjustedP>| test.is_ok_and(|test| test.adjusted < level);
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

    fn assess_daily(treatment: &Arm, holdout: &Arm, margin: f64) -> Vec<Assessment> {
        let guardrail = Guardrail {
            comparison: Comparison::new(treatment, holdout),
            harmful: HarmfulChange::Increase,
            margin,
        };
        AlwaysValid::planned_for(80)
            .map_or(Vec::new(), |sequence| assess_always_valid(&[guardrail], &sequence))
    }

    #[test]
    fn daily_reading_decides_what_is_clear() {
        let (worse, same) = (arm(7), arm(5));
        let counts = |arm: &Arm| -> Arm {
            arm.alike()
                .iter()
                .flat_map(|a| std::iter::repeat_n(a.user, a.count as usize))
                .map(|u| UserSum { sessions: u.sessions, total: 10 * u.total })
                .collect()
        };
        for (worse, same, scale) in [(&worse, &same, 1.0), (&counts(&worse), &counts(&same), 10.0)]
        {
            let verdicts = |margin: f64| {
                assess_daily(worse, same, margin * scale).into_iter().map(|a| a.verdict)
            };
            assert!(verdicts(0.4).eq([GuardrailVerdict::Passed]), "{scale}");
            assert!(verdicts(0.02).eq([GuardrailVerdict::Failed]), "{scale}");
            assert!(verdicts(-1.0).eq([GuardrailVerdict::Undecided]), "{scale}");
        }
        let small: Arm = (0..29).map(|_| UserSum { sessions: 10, total: 5 }).collect();
        let null = assess_daily(&worse, &small, 0.1);
        assert!(null.iter().all(|a| a.deterioration == Err(NullReason::TooFewEvents)));
    }

    #[test]
    fn a_uniform_arm_has_an_interval_every_day() {
        let never: Arm = (0..40).map(|_| UserSum { sessions: 10, total: 0 }).collect();
        let some: Arm =
            (0..40).map(|n| UserSum { sessions: 10, total: i64::from(n < 6) }).collect();
        let assessed = assess_daily(&some, &never, 0.02);
        assert!(
            assessed.iter().all(|a| a.verdict == GuardrailVerdict::Undecided
                && a.interval.is_ok_and(|interval| interval.contains(0.0))),
            "{assessed:?}"
        );
    }
}
