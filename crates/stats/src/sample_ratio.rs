//! Did the split come out as planned? Fixed, exact and sequential tests of the sample ratio.
//!
//! A mismatch means that users were lost or added differently in the two arms, and that no number
//! of the experiment can be trusted. Tested for exposed, published and evaluated users.

use super::binomial::binomial_two_sided_p;
use super::distributions::chi_square_upper_tail;
use super::reason::{Defined, NullReason};
use super::special::ln_beta;

/// Below this expected count the chi-square approximation is not used.
pub const SMALLEST_EXPECTED_COUNT: f64 = 5.0;
/// A single test is flagged below this p-value.
pub const MISMATCH_P: f64 = 0.001;
/// The sequential test is flagged below this p-value, when it is the only check.
pub const SEQUENTIAL_MISMATCH_P: f64 = 0.01;

/// The level of one of `checks` sequential checks of health, all of them together 1 % (Bonferroni): sample
/// ratios of all stages, sources and versions, the triggered one and the evaluation rate.
#[must_use]
pub fn level_of_one_check(checks: usize) -> f64 {
    SEQUENTIAL_MISMATCH_P / checks.max(1) as f64
}
/// Concentration `k` of the prior of the sequential test.
pub const CONCENTRATION: f64 = 100.0;

/// The sample ratio at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRatio {
    /// The planned share of the holdout, `h`.
    pub expected_holdout_share: f64,
    /// `O_C / n`.
    pub observed_holdout_share: f64,
    /// `(O_C − n·h)² / (n·h·(1−h))` (Pearson, 1900).
    pub chi_square: f64,
    /// Its upper tail, one degree of freedom.
    pub chi_square_p: f64,
    /// Exact two-sided binomial p-value.
    pub exact_binomial_p: f64,
    /// True if an arm expects fewer than five users, so that the exact test decides.
    pub low_expected_count: bool,
}

impl SampleRatio {
    /// Tests the counts of users against the planned share.
    ///
    /// Null without users, or if the share is not strictly between 0 and 1.
    pub fn test(treatment: u64, holdout: u64, holdout_share: f64) -> Defined<Self> {
        require_share(holdout_share)?;
        let users = treatment.saturating_add(holdout);
        if users == 0 {
            return Err(NullReason::NoUsers);
        }
        let (n, observed) = (users as f64, holdout as f64);
        let (expected, other) = (n * holdout_share, n * (1.0 - holdout_share));
        let chi_square = (observed - expected).powi(2) / (expected * (1.0 - holdout_share));
        Ok(Self {
            expected_holdout_share: holdout_share,
            observed_holdout_share: observed / n,
            chi_square,
            chi_square_p: chi_square_upper_tail(chi_square, 1.0),
            exact_binomial_p: binomial_two_sided_p(holdout, users, holdout_share),
            low_expected_count: expected.min(other) < SMALLEST_EXPECTED_COUNT,
        })
    }

    /// The p-value that counts: exact when an expected count is small, else chi-square.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        if self.low_expected_count { self.exact_binomial_p } else { self.chi_square_p }
    }

    /// True if the split is too unlikely to be chance.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        self.p_value() < MISMATCH_P
    }
}

/// The logarithm of the Bayes factor for "some other share" against the planned share `h`, under a
/// beta prior with mean `h` and concentration `k` (Lindon and Malek, 2022):
///
/// `lnB(k·h + O_C, k(1−h) + O_T) − lnB(k·h, k(1−h)) − O_C·ln h − O_T·ln(1−h)`.
///
/// Null if the share is not strictly between 0 and 1 or `k` is not positive.
pub fn log_bayes_factor(
    treatment: u64,
    holdout: u64,
    holdout_share: f64,
    concentration: f64,
) -> Defined<f64> {
    require_share(holdout_share)?;
    if !(concentration.is_finite() && concentration > 0.0) {
        return Err(NullReason::InputOutOfRange);
    }
    let (holdout, treatment) = (holdout as f64, treatment as f64);
    let prior_holdout = concentration * holdout_share;
    let prior_treatment = concentration * (1.0 - holdout_share);
    Ok(ln_beta(prior_holdout + holdout, prior_treatment + treatment)
        - ln_beta(prior_holdout, prior_treatment)
        - holdout * holdout_share.ln()
        - treatment * (-holdout_share).ln_1p())
}

/// A test of the sample ratio that may be looked at as often as one likes.
///
/// Under the planned share the Bayes factor is a martingale of mean one, so that by Ville's
/// inequality the running minimum of its inverse is a p-value at every look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialSampleRatio {
    holdout_share: f64,
    concentration: f64,
    p_value: f64,
}

impl SequentialSampleRatio {
    /// Starts with p = 1 and [`CONCENTRATION`]; null if the share is not strictly between 0 and 1.
    pub fn new(holdout_share: f64) -> Defined<Self> {
        Self::with_concentration(holdout_share, CONCENTRATION)
    }

    /// Starts with p = 1 and another concentration of the prior.
    pub fn with_concentration(holdout_share: f64, concentration: f64) -> Defined<Self> {
        log_bayes_factor(0, 0, holdout_share, concentration)?;
        Ok(Self { holdout_share, concentration, p_value: 1.0 })
    }

    /// Looks at the counts so far (not the increments) and answers the p-value, which never rises.
    pub fn look(&mut self, treatment: u64, holdout: u64) -> f64 {
        if let Ok(log_bayes_factor) =
            log_bayes_factor(treatment, holdout, self.holdout_share, self.concentration)
        {
            // Never quite zero, however long the mismatch lasts.
            let inverse = (-log_bayes_factor).exp().max(f64::MIN_POSITIVE);
            self.p_value = self.p_value.min(inverse);
        }
        self.p_value
    }

    /// The smallest p-value so far, in `(0, 1]`.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        self.p_value
    }

    /// True if the split is too unlikely to be chance, at any number of looks.
    #[must_use]
    pub fn is_mismatch(&self) -> bool {
        self.is_mismatch_at(SEQUENTIAL_MISMATCH_P)
    }

    /// The same at the level of one check among several, [`level_of_one_check`].
    #[must_use]
    pub fn is_mismatch_at(&self, level: f64) -> bool {
        self.p_value < level
    }
}

fn require_share(share: f64) -> Defined<()> {
    if share > 0.0 && share < 1.0 { Ok(()) } else { Err(NullReason::InputOutOfRange) }
}
