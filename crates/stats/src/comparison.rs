//! Treatment against holdout: the lift, its standard errors, degrees of freedom and intervals.

use super::ALPHA;
use super::cluster::{Arm, Variance};
use super::distributions::{
    normal_critical_value, student_t_critical_value, student_t_two_sided_p,
};
use super::fieller;
use super::interval::Interval;
use super::newcombe;
use super::reason::{Defined, NullReason};

base::vocabulary! {
    /// Method of an interval for the lift.
    #[derive(Default)]
    pub enum CiMethod {
        /// The headline: Newcombe's interval on effective sample sizes with Bell–McCaffrey t.
        #[default]
        ClusteredNewcombe = "clustered_newcombe_tbm",
        /// `lift ± t · SE(CR2)` with Bell–McCaffrey degrees of freedom.
        Cr2BellMcCaffrey = "cr2_bell_mccaffrey",
        /// `lift ± t · SE(CR1)` with `G − 1` degrees of freedom.
        Cr1 = "cr1_t_clusters_minus_1",
        /// `lift ± t · SE(delta)` with Welch–Satterthwaite degrees of freedom.
        DeltaWelch = "delta_welch",
        /// Newcombe's interval on effective sample sizes with the normal quantile.
        NewcombeNormal = "newcombe_neff",
    }
}

/// The two arms of an experiment, for one outcome.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Users whose retrieval works as usual.
    pub treatment: &'a Arm,
    /// Users held out from retrieval.
    pub holdout: &'a Arm,
}

impl<'a> Comparison<'a> {
    /// Sets the two arms against each other.
    #[must_use]
    pub const fn new(treatment: &'a Arm, holdout: &'a Arm) -> Self {
        Self { treatment, holdout }
    }

    /// `lift = p_T − p_C`; null if an arm has no evaluated session.
    pub fn lift(&self) -> Defined<f64> {
        Ok(self.treatment.mean()? - self.holdout.mean()?)
    }

    /// `lift / p_C`; null if there is no lift or `p_C` is 0.
    pub fn relative_lift(&self) -> Defined<f64> {
        let (lift, baseline) = (self.lift()?, self.holdout.mean()?);
        if baseline == 0.0 {
            return Err(NullReason::ZeroBaseline);
        }
        Ok(lift / baseline)
    }

    /// True if one user has so many of the sessions of an arm that the headline interval is widened for it.
    #[must_use]
    pub fn one_user_dominates(&self) -> bool {
        self.treatment.one_user_dominates() || self.holdout.one_user_dominates()
    }

    /// The standard error of the lift; null if an arm has fewer than two evaluated users.
    pub fn standard_error(&self, estimator: Variance) -> Defined<f64> {
        self.require_variance()?;
        let factor = match estimator {
            Variance::Cr1 => self.cr1_factor(),
            _ => 1.0,
        };
        let [treatment, holdout] = self.variances(estimator)?;
        Ok((factor * (treatment + holdout)).sqrt())
    }

    /// `G/(G−1) · (N−1)/(N−2)` over both arms: the small-sample factor of CR1 for a regression on
    /// an intercept and the arm (the convention of Stata). Infinite at its poles.
    #[must_use]
    pub fn cr1_factor(&self) -> f64 {
        let users = (self.treatment.user_count() + self.holdout.user_count()) as f64;
        let sessions = self.treatment.session_count() as f64 + self.holdout.session_count() as f64;
        users / (users - 1.0) * ((sessions - 1.0) / (sessions - 2.0))
    }

    /// `G − 1` over both arms; null if an arm has fewer than two evaluated users.
    pub fn clusters_minus_one(&self) -> Defined<f64> {
        self.require_variance()?;
        Ok((self.treatment.user_count() + self.holdout.user_count()) as f64 - 1.0)
    }

    /// `(1/N_T + 1/N_C)² / (B_T/N_T² + B_C/N_C²)` (Bell and McCaffrey, 2002): the Satterthwaite
    /// degrees of freedom of CR2 when sessions are independent and equally variable.
    ///
    /// At least 1; few when an arm has few users or one of them dominates. Null if an arm has fewer
    /// than two evaluated users.
    pub fn bell_mccaffrey_df(&self) -> Defined<f64> {
        self.require_variance()?;
        // Multiplied through by N_T·N_C, to stay exact for any size.
        let ratio = self.treatment.session_count() as f64 / self.holdout.session_count() as f64;
        let spread =
            self.treatment.bell_mccaffrey_b()? / ratio + self.holdout.bell_mccaffrey_b()? * ratio;
        Ok((2.0 + ratio + ratio.recip()) / spread)
    }

    /// `(V_T + V_C)² / (V_T²/(G_T−1) + V_C²/(G_C−1))` on delta-method variances (Welch, 1947).
    ///
    /// Null if an arm has fewer than two evaluated users, or if both variances are zero.
    pub fn welch_df(&self) -> Defined<f64> {
        let [treatment, holdout] = self.variances(Variance::Delta)?;
        welch_satterthwaite(
            [treatment, holdout],
            [self.treatment.user_count(), self.holdout.user_count()],
        )
    }

    /// The two-sided p-value of no lift: the level at which the headline interval touches zero. It is below 0.05
    /// exactly when the 95 % interval excludes zero.
    ///
    /// Null as the headline interval is.
    pub fn p_value(&self) -> Defined<f64> {
        self.require_variance()?;
        Ok(student_t_two_sided_p(newcombe::touching_value(self)?, self.bell_mccaffrey_df()?))
    }

    /// The two-sided p-value of no lift from CR2 and Bell–McCaffrey degrees of freedom. Far too small when an arm
    /// happens to be uniform: nothing is decided by it.
    ///
    /// Null as the degrees of freedom are, and when there is no variance.
    pub fn cr2_p_value(&self) -> Defined<f64> {
        let (lift, df) = (self.lift()?, self.bell_mccaffrey_df()?);
        let standard_error = self.positive_standard_error(Variance::Cr2)?;
        Ok(student_t_two_sided_p(lift / standard_error, df))
    }

    /// `t_{0.975, df}` with Bell–McCaffrey degrees of freedom.
    pub fn critical_value(&self) -> Defined<f64> {
        Ok(student_t_critical_value(ALPHA / 2.0, self.bell_mccaffrey_df()?))
    }

    /// The 95 % interval for the lift.
    ///
    /// Null if an arm has no evaluated session or fewer than two evaluated users. The symmetric
    /// methods are also null when there is no variance, because an interval of zero width would
    /// claim certainty; Newcombe's are null for outcomes that are not binary.
    pub fn interval(&self, method: CiMethod) -> Defined<Interval> {
        let lift = self.lift()?;
        self.require_variance()?;
        let (estimator, df) = match method {
            CiMethod::ClusteredNewcombe => {
                return newcombe::clustered_interval(self, self.critical_value()?);
            }
            CiMethod::NewcombeNormal => {
                return newcombe::clustered_interval(self, normal_critical_value(ALPHA / 2.0));
            }
            CiMethod::Cr2BellMcCaffrey => (Variance::Cr2, self.bell_mccaffrey_df()?),
            CiMethod::Cr1 => (Variance::Cr1, self.clusters_minus_one()?),
            CiMethod::DeltaWelch => (Variance::Delta, self.welch_df()?),
        };
        let standard_error = self.positive_standard_error(estimator)?;
        Ok(t_interval(lift, standard_error, df))
    }

    /// The 95 % interval for the relative lift: Fieller on CR2 with Bell–McCaffrey t.
    ///
    /// Null as [`Comparison::relative_lift`] and the interval are, when there is no variance, and
    /// when the holdout rate cannot be told from zero.
    pub fn relative_interval(&self) -> Defined<Interval> {
        let relative_lift = self.relative_lift()?;
        let critical_value = self.critical_value()?;
        let [numerator_variance, denominator_variance] = self.variances(Variance::Cr2)?;
        let ratio = fieller::Ratio {
            numerator: self.treatment.mean()?,
            denominator: self.holdout.mean()?,
            numerator_variance,
            denominator_variance,
            covariance: 0.0,
        };
        let interval = ratio.interval(critical_value)?.shifted(-1.0);
        Ok(interval.including(relative_lift))
    }

    fn variances(&self, estimator: Variance) -> Defined<[f64; 2]> {
        Ok([self.treatment.variance(estimator)?, self.holdout.variance(estimator)?])
    }

    fn positive_standard_error(&self, estimator: Variance) -> Defined<f64> {
        let standard_error = self.standard_error(estimator)?;
        if standard_error > 0.0 { Ok(standard_error) } else { Err(NullReason::ZeroVariance) }
    }

    /// An arm without sessions is named before an arm with a single user.
    fn require_variance(&self) -> Defined<()> {
        self.lift()?;
        self.treatment.require_two_users()?;
        self.holdout.require_two_users()
    }
}

/// `centre ± t_{0.975, df} · standard_error`.
#[must_use]
pub fn t_interval(centre: f64, standard_error: f64, df: f64) -> Interval {
    Interval::around(centre, student_t_critical_value(ALPHA / 2.0, df) * standard_error)
}

/// Degrees of freedom of a sum of two independent variances (Welch, 1947; Satterthwaite, 1946).
pub(super) fn welch_satterthwaite(variances: [f64; 2], users: [usize; 2]) -> Defined<f64> {
    let total: f64 = variances.iter().sum();
    if total <= 0.0 {
        return Err(NullReason::ZeroVariance);
    }
    let spread: f64 = variances
        .iter()
        .zip(users)
        .map(|(variance, users)| (variance / total).powi(2) / (users as f64 - 1.0))
        .sum();
    Ok(spread.recip())
}
