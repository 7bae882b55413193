//! Agreement of the judge with people, and with another version of itself.

use super::ALPHA;
use super::binomial::binomial_two_sided_p;
use super::distributions::{chi_square_upper_tail, normal_critical_value};
use super::interval::Interval;
use super::newcombe::Rate;
use super::reason::{Defined, NullReason};
use super::wilson::wilson;

/// Sessions by what the judge and a person say of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confusion {
    /// Both say success.
    pub true_passes: u64,
    /// The judge says success, the person failure.
    pub false_passes: u64,
    /// The judge says failure, the person success.
    pub false_failures: u64,
    /// Both say failure.
    pub true_failures: u64,
}

impl Confusion {
    /// Counts one session.
    pub fn count(&mut self, judge: bool, person: bool) {
        let cell = match (judge, person) {
            (true, true) => &mut self.true_passes,
            (true, false) => &mut self.false_passes,
            (false, true) => &mut self.false_failures,
            (false, false) => &mut self.true_failures,
        };
        *cell = cell.saturating_add(1);
    }

    /// The counts of both tables together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            true_passes: self.true_passes.saturating_add(other.true_passes),
            false_passes: self.false_passes.saturating_add(other.false_passes),
            false_failures: self.false_failures.saturating_add(other.false_failures),
            true_failures: self.true_failures.saturating_add(other.true_failures),
        }
    }

    /// All sessions.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.judged_success().saturating_add(self.false_failures.saturating_add(self.true_failures))
    }

    /// Sessions that the judge calls a success.
    #[must_use]
    pub const fn judged_success(&self) -> u64 {
        self.true_passes.saturating_add(self.false_passes)
    }

    /// Sessions that the person calls a success.
    #[must_use]
    pub const fn labelled_success(&self) -> u64 {
        self.true_passes.saturating_add(self.false_failures)
    }

    /// Share of sessions on which both agree; null without labels.
    pub fn agreement(&self) -> Defined<f64> {
        match self.total() {
            0 => Err(NullReason::NoLabels),
            total => Ok(self.true_passes.saturating_add(self.true_failures) as f64 / total as f64),
        }
    }

    /// Share of the person's successes that the judge sees, with Wilson's 95 % interval; null
    /// without labelled successes.
    pub fn sensitivity(&self) -> Defined<Rate> {
        let successes = self.labelled_success();
        rate(self.true_passes, successes).ok_or(NullReason::NoLabelledSuccesses)
    }

    /// Share of the person's failures that the judge sees, with Wilson's 95 % interval; null
    /// without labelled failures.
    pub fn specificity(&self) -> Defined<Rate> {
        let failures = self.false_passes.saturating_add(self.true_failures);
        rate(self.true_failures, failures).ok_or(NullReason::NoLabelledFailures)
    }

    /// Agreement beyond chance, with its 95 % interval (Cohen, 1960).
    ///
    /// `κ = (p_o − p_e)/(1 − p_e)`, standard error `√(p_o(1−p_o)/n)/(1 − p_e)`. Null without labels,
    /// and when everyone says the same about every session. The interval is null for perfect or no
    /// agreement, where the standard error is zero.
    pub fn kappa(&self) -> Defined<Kappa> {
        let observed = self.agreement()?;
        let total = self.total() as f64;
        let judge = self.judged_success() as f64 / total;
        let person = self.labelled_success() as f64 / total;
        let beyond_chance = judge * (1.0 - person) + (1.0 - judge) * person;
        if beyond_chance <= 0.0 {
            return Err(NullReason::NoVariationInLabels);
        }
        let kappa = 1.0 - (1.0 - observed) / beyond_chance;
        let standard_error = (observed * (1.0 - observed) / total).sqrt() / beyond_chance;
        let half_width = normal_critical_value(ALPHA / 2.0) * standard_error;
        Ok(Kappa {
            kappa,
            interval: if standard_error > 0.0 {
                Ok(Interval::around(kappa, half_width).clamped(Interval::between(-1.0, 1.0)))
            } else {
                Err(NullReason::ZeroVariance)
            },
        })
    }
}

/// Cohen's kappa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kappa {
    /// 1 for perfect agreement, 0 for agreement as by chance.
    pub kappa: f64,
    /// Its 95 % interval.
    pub interval: Defined<Interval>,
}

fn rate(hits: u64, trials: u64) -> Option<Rate> {
    (trials > 0).then(|| {
        let estimate = hits as f64 / trials as f64;
        let critical_value = normal_critical_value(ALPHA / 2.0);
        Rate { estimate, interval: wilson(estimate, trials as f64, critical_value) }
    })
}

/// The test of McNemar (1947) for paired verdicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct McNemar {
    /// `(b − c)²/(b + c)`.
    pub chi_square: f64,
    /// Its upper tail, one degree of freedom.
    pub chi_square_p: f64,
    /// Exact binomial p-value, to be preferred with few flips.
    pub exact_p: f64,
}

/// Do two judges flip verdicts in one direction more than in the other?
///
/// `to_success` sessions flip from failure to success, `to_failure` the other way. Null when no
/// verdict flips.
pub fn mcnemar(to_success: u64, to_failure: u64) -> Defined<McNemar> {
    let flips = to_success.saturating_add(to_failure);
    if flips == 0 {
        return Err(NullReason::NoDiscordantPairs);
    }
    let chi_square = (to_success.abs_diff(to_failure) as f64).powi(2) / flips as f64;
    Ok(McNemar {
        chi_square,
        chi_square_p: chi_square_upper_tail(chi_square, 1.0),
        exact_p: binomial_two_sided_p(to_success, flips, 0.5),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Confusion =
        Confusion { true_passes: 20, false_passes: 5, false_failures: 10, true_failures: 15 };

    #[test]
    fn kappa_of_the_textbook_table() {
        assert!(TABLE.kappa().is_ok_and(|k| (k.kappa - 0.4).abs() < 1e-15));
        assert!(TABLE.sensitivity().is_ok_and(|r| (r.estimate - 2.0 / 3.0).abs() < 1e-15));
        assert!(TABLE.specificity().is_ok_and(|r| (r.estimate - 0.75).abs() < 1e-15));
    }

    #[test]
    fn nulls_have_reasons() {
        let none = Confusion::default();
        assert_eq!(none.kappa(), Err(NullReason::NoLabels));
        assert_eq!(none.sensitivity(), Err(NullReason::NoLabelledSuccesses));
        assert_eq!(none.specificity(), Err(NullReason::NoLabelledFailures));
        let mut praise = none;
        praise.count(true, true);
        assert_eq!(praise.kappa(), Err(NullReason::NoVariationInLabels));
        assert_eq!(mcnemar(0, 0), Err(NullReason::NoDiscordantPairs));
    }

    #[test]
    fn perfect_agreement_has_no_interval() {
        let mut labels = Confusion::default();
        labels.count(true, true);
        labels.count(false, false);
        let kappa = labels.kappa().map(|k| (k.kappa, k.interval));
        assert_eq!(kappa, Ok((1.0, Err(NullReason::ZeroVariance))));
    }

    #[test]
    fn mcnemar_is_exact_for_few_flips() {
        let test = mcnemar(1, 9);
        assert!(test.is_ok_and(|test| (test.exact_p - 22.0 / 1024.0).abs() < 1e-15));
        assert!(test.is_ok_and(|test| (test.chi_square - 6.4).abs() < 1e-15));
    }
}
