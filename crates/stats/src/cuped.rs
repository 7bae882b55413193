//! Using what users did before the experiment to make the lift more precise (CUPED).
//!
//! Deng, Xu, Kohavi and Walker (2013), on ratio-linearised scores (Deng et al., 2018): a user's score
//! is `(s_g − p·n_g) / (N/G)`, after and before first exposure. Users without history score zero
//! before. An adjusted lift stands beside the headline and never replaces it.

use super::cluster::{Arm, UserSum};
use super::comparison::{t_interval, welch_satterthwaite};
use super::interval::Interval;
use super::reason::{Defined, NullReason};
use super::summation::sum;

/// No adjustment with fewer users, both arms together.
pub const SMALLEST_USER_COUNT: usize = 100;
/// No adjustment when a smaller share of the users has history.
pub const SMALLEST_SHARE_WITH_HISTORY: f64 = 0.2;

/// One user's sums in the experiment and in the thirty days before first exposure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserHistory {
    /// Sessions of the experiment.
    pub during: UserSum,
    /// Sessions before first exposure.
    pub before: UserSum,
}

/// Rates and second moments of the linearised scores of one group of users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of users.
    pub users: usize,
    /// Users with at least one session before.
    pub users_with_history: usize,
    /// Rate in the experiment.
    pub rate: f64,
    /// Rate before.
    pub rate_before: f64,
    /// Variance of the scores in the experiment.
    pub variance: f64,
    /// Variance of the scores before.
    pub variance_before: f64,
    /// Covariance of the two.
    pub covariance: f64,
}

impl Moments {
    /// Moments over the users with sessions in the experiment, with divisor `G − 1`.
    ///
    /// Null with fewer than two such users, or when nobody has history.
    pub fn of(users: &[UserHistory]) -> Defined<Self> {
        let mut users: Vec<_> =
            users.iter().filter(|user| user.during.sessions > 0).copied().collect();
        users.sort_unstable();
        let during: Arm = users.iter().map(|user| user.during).collect();
        let before: Arm = users.iter().map(|user| user.before).collect();
        let rate = during.mean()?;
        if users.len() < 2 {
            return Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm);
        }
        let rate_before = before.mean().map_err(|_| NullReason::TooLittleHistory)?;
        let count = users.len() as f64;
        let score =
            |arm: &Arm, user: &UserSum| arm.residual(user) / (arm.session_count() as f64 / count);
        let scores: Vec<_> = users
            .iter()
            .map(|user| (score(&during, &user.during), score(&before, &user.before)))
            .collect();
        let moment = |product: fn(f64, f64) -> f64| {
            sum(scores.iter().map(|&(y, x)| product(y, x))) / (count - 1.0)
        };
        Ok(Self {
            users: users.len(),
            users_with_history: before.user_count(),
            rate,
            rate_before,
            variance: moment(|y, _| y * y),
            variance_before: moment(|_, x| x * x),
            covariance: moment(|y, x| y * x),
        })
    }

    fn adjusted_variance(&self, theta: f64) -> f64 {
        let adjusted =
            self.variance - 2.0 * theta * self.covariance + theta * theta * self.variance_before;
        adjusted.max(0.0) / self.users as f64
    }
}

/// A lift adjusted with a given coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjustedLift {
    /// The coefficient of the pre-period.
    pub theta: f64,
    /// `(p_T − θ·q_T) − (p_C − θ·q_C)` with `q` the rate before.
    pub estimate: f64,
    /// Standard error by the delta method.
    pub standard_error: f64,
    /// Welch–Satterthwaite degrees of freedom.
    pub df: f64,
    /// 95 % interval.
    pub interval: Interval,
}

/// `θ = (c_T/G_T + c_C/G_C) / (v_T/G_T + v_C/G_C)`, which makes the variance of the adjusted lift
/// smallest; null when the rate before does not vary.
pub fn optimal_theta(treatment: &Moments, holdout: &Moments) -> Defined<f64> {
    let per_user = |moments: &Moments, value: f64| value / moments.users as f64;
    let variance =
        per_user(treatment, treatment.variance_before) + per_user(holdout, holdout.variance_before);
    if variance <= 0.0 {
        return Err(NullReason::ConstantPrePeriod);
    }
    let covariance =
        per_user(treatment, treatment.covariance) + per_user(holdout, holdout.covariance);
    Ok(covariance / variance)
}

/// The lift adjusted with any coefficient; `θ = 0` gives the plain lift with delta-method error.
///
/// Null when the adjusted variance is zero.
pub fn adjust(treatment: &Moments, holdout: &Moments, theta: f64) -> Defined<AdjustedLift> {
    let variances = [treatment.adjusted_variance(theta), holdout.adjusted_variance(theta)];
    let df = welch_satterthwaite(variances, [treatment.users, holdout.users])?;
    let standard_error = variances.iter().sum::<f64>().sqrt();
    let estimate =
        (treatment.rate - holdout.rate) - theta * (treatment.rate_before - holdout.rate_before);
    Ok(AdjustedLift {
        theta,
        estimate,
        standard_error,
        df,
        interval: t_interval(estimate, standard_error, df),
    })
}

/// The adjusted lift with what it gained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuped {
    /// The adjusted lift at the optimal coefficient.
    pub adjusted: AdjustedLift,
    /// `1 − V_adjusted / V_plain`.
    pub variance_reduction: f64,
    /// Share of the users with at least one session before.
    pub share_with_history: f64,
}

impl Cuped {
    /// Adjusts the lift of an experiment.
    ///
    /// Null with fewer than [`SMALLEST_USER_COUNT`] users, when fewer than
    /// [`SMALLEST_SHARE_WITH_HISTORY`] of them have history, when the rate before does not vary, and
    /// when the variance would not become smaller.
    pub fn of(treatment: &[UserHistory], holdout: &[UserHistory]) -> Defined<Self> {
        let (treatment, holdout) = (Moments::of(treatment)?, Moments::of(holdout)?);
        let users = treatment.users + holdout.users;
        let with_history = treatment.users_with_history + holdout.users_with_history;
        let share_with_history = with_history as f64 / users as f64;
        if users < SMALLEST_USER_COUNT {
            return Err(NullReason::FewerThanHundredUsers);
        }
        if share_with_history < SMALLEST_SHARE_WITH_HISTORY {
            return Err(NullReason::TooLittleHistory);
        }
        let theta = optimal_theta(&treatment, &holdout)?;
        let plain = adjust(&treatment, &holdout, 0.0)?;
        let adjusted = adjust(&treatment, &holdout, theta)?;
        let remaining = (adjusted.standard_error / plain.standard_error).powi(2);
        if remaining >= 1.0 {
            return Err(NullReason::VarianceNotReduced);
        }
        Ok(Self { adjusted, variance_reduction: 1.0 - remaining, share_with_history })
    }
}

/// The users' sums before first exposure as an arm: a comparison of two such arms shows whether
/// they were alike before anything happened.
#[must_use]
pub fn before(users: &[UserHistory]) -> Arm {
    users.iter().map(|user| user.before).collect()
}
