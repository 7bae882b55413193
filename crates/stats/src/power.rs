//! Planning: how alike the sessions of a user are, and what an experiment of a given size can see.

use super::ALPHA;
use super::cluster::Arm;
use super::distributions::{normal_critical_value, normal_upper_tail};
use super::reason::{Defined, NullReason};

/// The power that is planned for unless something else is asked.
pub const DEFAULT_POWER: f64 = 0.8;
/// Fewer holdout users than this make a poor experiment, whatever the arithmetic says.
pub const SMALLEST_ADVISABLE_HOLDOUT: u64 = 30;

/// Intraclass correlation of a binary outcome by one-way analysis of variance (Donner, 1986):
/// `(F − 1)/(F + n0 − 1)` with `n0 = (N − Σn²/N)/(G − 1)`.
///
/// Negative when users are more alike than chance; 1 when every user always succeeds or always
/// fails. Null without sessions, with one user, when no user has two sessions, when all sessions
/// ended alike, and for outcomes that are not binary.
pub fn intraclass_correlation(past: &Arm) -> Defined<f64> {
    past.mean()?;
    if !past.is_binary() {
        return Err(NullReason::OutcomeNotBinary);
    }
    let (users, sessions) = (past.user_count() as f64, past.session_count() as f64);
    if past.user_count() < 2 {
        return Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm);
    }
    if past.session_count() == past.user_count() as u64 {
        return Err(NullReason::NoUserWithTwoSessions);
    }
    let between = past.sum_over_users(|user| past.residual(user).powi(2) / user.sessions as f64)
        / (users - 1.0);
    let within = past.sum_over_users(|user| {
        let (n, s) = (user.sessions as f64, user.total as f64);
        s * (n - s) / n
    }) / (sessions - users);
    let size = (sessions - past.mean_size_by_session()) / (users - 1.0);
    let total = between + (size - 1.0) * within;
    if between == 0.0 && within == 0.0 {
        return Err(NullReason::ZeroVariance);
    }
    Ok((between - within) / total)
}

/// Clustering of sessions in users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// Mean number of sessions of a user, `m`.
    pub mean_sessions: f64,
    /// Squared coefficient of variation of the number of sessions.
    pub squared_variation: f64,
    /// Intraclass correlation.
    pub intraclass_correlation: f64,
}

impl Clustering {
    /// The clustering seen in past sessions; null as [`intraclass_correlation`] is.
    pub fn seen_in(past: &Arm) -> Defined<Self> {
        let mean_sessions = past.session_count() as f64 / past.user_count() as f64;
        Ok(Self {
            intraclass_correlation: intraclass_correlation(past)?,
            mean_sessions,
            squared_variation: past.mean_size_by_session() / mean_sessions - 1.0,
        })
    }

    /// `1 + (Σn²/N − 1)·ICC`, where `Σn²/N = m·(1 + cv²)` (Eldridge, Ashby and Kerry, 2006). A
    /// negative correlation is not counted on.
    #[must_use]
    pub fn design_effect(&self) -> f64 {
        let size = self.mean_sessions * (1.0 + self.squared_variation);
        1.0 + (size - 1.0) * self.intraclass_correlation.max(0.0)
    }
}

/// Assumptions about an experiment that has not run yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planner {
    /// Success rate without retrieval.
    pub baseline: f64,
    /// Clustering of sessions in users.
    pub clustering: Clustering,
    /// Probability of seeing an effect that is there.
    pub power: f64,
}

/// The size of an experiment that sees a given effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Users in treatment.
    pub treatment_users: u64,
    /// Users in the holdout.
    pub holdout_users: u64,
    /// Days until they have come; `None` when nobody comes.
    pub days: Option<u64>,
}

impl Size {
    /// True if the holdout is smaller than is advisable.
    #[must_use]
    pub const fn is_small_holdout(&self) -> bool {
        self.holdout_users < SMALLEST_ADVISABLE_HOLDOUT
    }
}

impl Planner {
    /// The smallest effect seen with the planned power, as a fraction:
    /// `(z_{α/2} + z_β)·√(p(1−p)·DEFF·(1/n_T + 1/n_C))` with `n = users·m`.
    ///
    /// Null without users in an arm, or when an assumption is out of range.
    pub fn smallest_detectable_effect(&self, treatment: u64, holdout: u64) -> Defined<f64> {
        let quantiles = normal_critical_value(ALPHA / 2.0) + self.power_quantile()?;
        Ok(quantiles * self.standard_error(treatment, holdout)?)
    }

    /// The probability that a two-sided test rejects when the effect is as given.
    ///
    /// Null as [`Planner::smallest_detectable_effect`] is.
    pub fn power_at(&self, effect: f64, treatment: u64, holdout: u64) -> Defined<f64> {
        let critical_value = normal_critical_value(ALPHA / 2.0);
        let shift = effect / self.standard_error(treatment, holdout)?;
        Ok(normal_upper_tail(critical_value - shift) + normal_upper_tail(critical_value + shift))
    }

    /// Users and days needed to see `effect` with a given holdout share and new users per day.
    ///
    /// Null when an assumption, the effect or the share is out of range.
    pub fn size_for(&self, effect: f64, holdout_share: f64, users_per_day: f64) -> Defined<Size> {
        let price = small_holdout_price(holdout_share)?;
        if !(effect.is_finite() && effect != 0.0) {
            return Err(NullReason::InputOutOfRange);
        }
        let quantiles = normal_critical_value(ALPHA / 2.0) + self.power_quantile()?;
        let sessions = (quantiles * price / effect).powi(2) * 4.0 * self.session_variance()?;
        let users = sessions / self.clustering.mean_sessions;
        let holdout_users = (users * holdout_share).ceil();
        let treatment_users = (users * (1.0 - holdout_share)).ceil();
        let days = (users_per_day.is_finite() && users_per_day > 0.0)
            .then(|| ((holdout_users + treatment_users) / users_per_day).ceil() as u64);
        Ok(Size {
            treatment_users: treatment_users as u64,
            holdout_users: holdout_users as u64,
            days,
        })
    }

    fn standard_error(&self, treatment: u64, holdout: u64) -> Defined<f64> {
        if treatment == 0 || holdout == 0 {
            return Err(NullReason::NoUsers);
        }
        let users = (treatment as f64).recip() + (holdout as f64).recip();
        Ok((self.session_variance()? * users / self.clustering.mean_sessions).sqrt())
    }

    /// Variance of one session, the design effect included.
    fn session_variance(&self) -> Defined<f64> {
        let (p, sessions) = (self.baseline, self.clustering.mean_sessions);
        if p > 0.0 && p < 1.0 && sessions.is_finite() && sessions > 0.0 {
            Ok(p * (1.0 - p) * self.clustering.design_effect())
        } else {
            Err(NullReason::InputOutOfRange)
        }
    }

    fn power_quantile(&self) -> Defined<f64> {
        if self.power > 0.0 && self.power < 1.0 {
            Ok(-normal_critical_value(self.power))
        } else {
            Err(NullReason::InputOutOfRange)
        }
    }
}

/// Factor by which a holdout of this share raises the smallest detectable effect of an even split, with as
/// many users in all: `√(¼ / (h(1−h)))`. Null unless the share is strictly between 0 and 1.
pub fn small_holdout_price(holdout_share: f64) -> Defined<f64> {
    if holdout_share > 0.0 && holdout_share < 1.0 {
        Ok((0.25 / (holdout_share * (1.0 - holdout_share))).sqrt())
    } else {
        Err(NullReason::InputOutOfRange)
    }
}
