//! Sessions that were published but never judged, or judged but never attributed.

use super::always_valid::AlwaysValid;
use super::cluster::{Arm, UserSum, Variance};
use super::comparison::Comparison;
use super::interval::Interval;
use super::pooled::{PooledDifference, require_expected_events};
use super::reason::{Defined, NullReason};

/// Counts of sessions in one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct EvaluationCounts {
    /// Published sessions.
    pub published: u64,
    /// Those that have a verdict.
    pub evaluated: u64,
    /// Those whose verdict is success.
    pub successes: u64,
}

impl EvaluationCounts {
    /// `evaluated / published`; null without published sessions.
    pub fn evaluation_rate(&self) -> Defined<f64> {
        self.rate(self.evaluated)
    }

    /// The success rate if all sessions without a verdict had failed, and if all had succeeded.
    fn extremes(&self) -> Defined<Interval> {
        let unevaluated = self.published.saturating_sub(self.evaluated);
        Ok(Interval::between(
            self.rate(self.successes)?,
            self.rate(self.successes.saturating_add(unevaluated))?,
        ))
    }

    fn rate(&self, sessions: u64) -> Defined<f64> {
        if self.published == 0 {
            return Err(NullReason::ArmWithoutPublishedSessions);
        }
        Ok(sessions as f64 / self.published as f64)
    }
}

/// Share of the evaluated sessions that belong to an arm; null when nothing is evaluated.
pub fn evaluated_session_coverage(attributed: u64, unattributed: u64) -> Defined<f64> {
    match attributed.saturating_add(unattributed) {
        0 => Err(NullReason::NoEvaluatedSessions),
        all => Ok(attributed as f64 / all as f64),
    }
}

/// The lift in the two worst cases (Manski, 1990): every session without a verdict failed in
/// treatment and succeeded in the holdout, and the other way round.
///
/// Makes no assumption whatever about why a verdict is missing, and does not express chance. Null
/// if an arm has no published session.
pub fn worst_case_bounds(
    treatment: &EvaluationCounts,
    holdout: &EvaluationCounts,
) -> Defined<Interval> {
    let (treatment, holdout) = (treatment.extremes()?, holdout.extremes()?);
    Ok(Interval::between(treatment.lower - holdout.upper, treatment.upper - holdout.lower))
}

/// Published and evaluated sessions of one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishedUser {
    /// Published sessions.
    pub published: u64,
    /// Those that have a verdict.
    pub evaluated: u64,
}

/// Difference of the evaluation rates of the arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferentialEvaluation {
    /// Evaluation rate of treatment.
    pub treatment_rate: f64,
    /// Evaluation rate of the holdout.
    pub holdout_rate: f64,
    /// Their difference.
    pub difference: f64,
    /// CR2 standard error of the difference, clustered by user.
    pub standard_error: Defined<f64>,
    /// Bell–McCaffrey degrees of freedom.
    pub df: Defined<f64>,
    /// Two-sided p-value of no difference, by inverting the headline's interval.
    pub p_value: Defined<f64>,
    /// The same from CR2, which is far too small when an arm is judged completely; null without variance.
    pub cr2_p_value: Defined<f64>,
}

impl DifferentialEvaluation {
    /// Compares the evaluation rates with the machinery of the lift.
    ///
    /// Null if an arm has no published session; the test is null with fewer than two users in an
    /// arm.
    pub fn of(
        treatment: impl IntoIterator<Item = PublishedUser>,
        holdout: impl IntoIterator<Item = PublishedUser>,
    ) -> Defined<Self> {
        let (treatment, holdout) = (evaluated_of(treatment), evaluated_of(holdout));
        let rate = |arm: &Arm| arm.mean().map_err(|_| NullReason::ArmWithoutPublishedSessions);
        let comparison = Comparison::new(&treatment, &holdout);
        let (treatment_rate, holdout_rate) = (rate(&treatment)?, rate(&holdout)?);
        Ok(Self {
            treatment_rate,
            holdout_rate,
            difference: treatment_rate - holdout_rate,
            standard_error: comparison.standard_error(Variance::Cr2),
            df: comparison.bell_mccaffrey_df(),
            p_value: comparison.p_value(),
            cr2_p_value: comparison.cr2_p_value(),
        })
    }
}

/// A test of whether the arms are judged equally often that may be looked at as often as one likes.
///
/// The always-valid p-value of the difference of evaluation rates, clustered by user, with the variance of
/// pooled residuals ([`PooledDifference`]) and the sequence of the always-valid interval. A session counts as
/// published when it should have been judged: those that sampling left out count neither way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialEvaluationRate {
    sequence: AlwaysValid,
    p_value: f64,
}

impl SequentialEvaluationRate {
    /// Starts with p = 1.
    #[must_use]
    pub const fn new(sequence: AlwaysValid) -> Self {
        Self { sequence, p_value: 1.0 }
    }

    /// Goes on from the smallest p-value of earlier looks.
    #[must_use]
    pub const fn resumed(sequence: AlwaysValid, p_value: f64) -> Self {
        Self { sequence, p_value }
    }

    /// Looks at the sums so far (not the increments) and answers the p-value, which never rises.
    ///
    /// A look says nothing until the smaller arm has 20 users and 10 judged and 10 unjudged sessions are
    /// expected in it ([`require_expected_events`]), nor while all sessions of both arms are judged.
    pub fn look(
        &mut self,
        treatment: impl IntoIterator<Item = PublishedUser>,
        holdout: impl IntoIterator<Item = PublishedUser>,
    ) -> f64 {
        let (treatment, holdout) = (evaluated_of(treatment), evaluated_of(holdout));
        let comparison = Comparison::new(&treatment, &holdout);
        let p_value = require_expected_events(&comparison).and_then(|()| {
            let pooled = PooledDifference::of(&comparison)?;
            self.sequence.p_value(pooled.z(0.0), pooled.users)
        });
        if let Ok(p_value) = p_value {
            self.p_value = self.p_value.min(p_value);
        }
        self.p_value
    }

    /// The smallest p-value so far, in `(0, 1]`.
    #[must_use]
    pub const fn p_value(&self) -> f64 {
        self.p_value
    }
}

fn evaluated_of(users: impl IntoIterator<Item = PublishedUser>) -> Arm {
    let sums = users.into_iter().map(|user| UserSum {
        sessions: user.published,
        total: i64::try_from(user.evaluated).unwrap_or(i64::MAX),
    });
    sums.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_every_verdict_known_the_bounds_are_the_lift() {
        let counts =
            |published, successes| EvaluationCounts { published, evaluated: published, successes };
        assert_eq!(
            worst_case_bounds(&counts(4, 3), &counts(2, 1)),
            Ok(Interval::between(0.25, 0.25))
        );
        assert_eq!(
            worst_case_bounds(&counts(4, 3), &counts(0, 0)),
            Err(NullReason::ArmWithoutPublishedSessions)
        );
    }

    #[test]
    fn an_arm_that_is_judged_completely_proves_nothing() {
        let (all, some) = (
            PublishedUser { published: 3, evaluated: 3 },
            PublishedUser { published: 3, evaluated: 2 },
        );
        let tested = DifferentialEvaluation::of([all; 4], [all; 3]).map(|d| d.p_value);
        assert_eq!(tested, Ok(Ok(1.0)));
        let nearly: Vec<_> = (0..100).map(|n| if n < 10 { some } else { all }).collect();
        let tested = DifferentialEvaluation::of(nearly, [all; 5]);
        let p_values = tested.and_then(|d| Ok((d.p_value?, d.cr2_p_value?)));
        assert!(p_values.is_ok_and(|(p, cr2)| p > 0.5 && cr2 < 0.05), "{p_values:?}");
    }

    #[test]
    fn the_sequential_check_sees_a_difference_and_never_forgets_it() {
        let user = |published, evaluated| PublishedUser { published, evaluated };
        let mut check = AlwaysValid::planned_for(400).map(SequentialEvaluationRate::new).unwrap();
        let often = |n: u64| user(4, 4 - u64::from(n.is_multiple_of(4)));
        assert!(check.look((0..15).map(often), (0..15).map(|_| user(4, 0))) >= 1.0, "too few");
        assert!(check.look((0..300).map(often), (0..100).map(often)) > 0.1);
        let low = check.look((0..300).map(often), (0..100).map(|n| user(4, n % 3)));
        assert!(low < 1e-6, "{low}");
        let after = check.look((0..300).map(often), (0..100).map(often));
        assert!((after - low).abs() < f64::EPSILON);
    }
}
