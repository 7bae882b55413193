//! Using what users did before the experiment to make the lift more precise (CUPED).
//!
//! Deng, Xu, Kohavi and Walker (2013), on ratio-linearised scores (Deng et al., 2018): a user's score
//! is `(s_g − p·n_g) / (N/G)`, after and before first exposure. Users without history score zero
//! before. An adjusted lift stands beside the headline and never replaces it.
//!
//! [`Ancova`] is the form to show. [`Cuped`] takes the variance of each arm by itself, which is nonsense in
//! an arm that happens to be uniform; it is kept for comparison with other packages.

use super::cluster::{Arm, UserSum};
use super::comparison::{Comparison, t_interval, welch_satterthwaite};
use super::distributions::student_t_two_sided_p;
use super::events::require_events;
use super::interval::Interval;
use super::pooled::require_expected_events;
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

/// No adjustment when one user has a larger share of the sessions of an arm.
pub const LARGEST_SHARE: f64 = 0.1;

/// The lift adjusted by analysis of covariance, with one residual variance for both arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ancova {
    /// The coefficient of the arm: the adjusted lift.
    pub lift: f64,
    /// The coefficient of the score before.
    pub theta: f64,
    /// Standard error from the pooled residual variance.
    pub standard_error: f64,
    /// Users minus coefficients: `G − 3`, and one fewer when some users have no history.
    pub df: f64,
    /// 95 % interval. Not clamped.
    pub interval: Interval,
    /// Two-sided p-value of no lift; below 0.05 exactly when the interval excludes zero.
    pub p_value: f64,
    /// `1 − V_adjusted / V_plain`, the plain one from the same regression without the score before; negative when
    /// the score explains nothing.
    pub variance_reduction: f64,
    /// Share of the users with at least one session before.
    pub share_with_history: f64,
}

impl Ancova {
    /// Least squares of `y ~ 1 + arm + w`, over the users with sessions in the experiment.
    ///
    /// `y = (s − P·n)/n̄` with `P` the rate and `n̄` the mean number of sessions of both arms together (the
    /// linearisation of Deng et al., 2018, at the pooled rate), and `w` the same score over the thirty days
    /// before first exposure. Users without history have the mean, which is zero, and an indicator of their
    /// own. The variance is that of the residuals of both arms (the textbook analysis of covariance; Fisher,
    /// 1932).
    ///
    /// Null if an arm has no evaluated session, under `too_few_events`, which here also means fewer than 10
    /// successes or failures expected in the smaller arm (before that its mean is far from normal), with fewer than
    /// [`SMALLEST_USER_COUNT`] users, when one user has more than [`LARGEST_SHARE`] of the sessions of an arm, when
    /// fewer than [`SMALLEST_SHARE_WITH_HISTORY`] have history, when the score before does not vary, and when nothing
    /// varies. It is given also when the variance is not reduced: an interval that is shown only when it happens to
    /// be narrow covers less than it says.
    pub fn of(treatment: &[UserHistory], holdout: &[UserHistory]) -> Defined<Self> {
        let arms = [treatment, holdout].map(|users| {
            let mut users: Vec<_> =
                users.iter().filter(|user| user.during.sessions > 0).copied().collect();
            users.sort_unstable();
            users
        });
        let during =
            [&arms[0], &arms[1]].map(|users| -> Arm { users.iter().map(|u| u.during).collect() });
        let comparison = Comparison::new(&during[0], &during[1]);
        require_events(&comparison)?;
        if during.iter().all(Arm::is_binary) {
            require_expected_events(&comparison)?;
        }
        let users = arms.concat();
        if users.len() < SMALLEST_USER_COUNT {
            return Err(NullReason::FewerThanHundredUsers);
        }
        if during.iter().any(|arm| arm.largest_share() > LARGEST_SHARE) {
            return Err(NullReason::OneUserDominates);
        }
        let before: Arm = users.iter().map(|user| user.before).collect();
        let share_with_history = before.user_count() as f64 / users.len() as f64;
        if share_with_history < SMALLEST_SHARE_WITH_HISTORY {
            return Err(NullReason::TooLittleHistory);
        }
        if before.has_zero_variance() {
            return Err(NullReason::ConstantPrePeriod);
        }
        let all: Arm = users.iter().map(|user| user.during).collect();
        let scores = |arm: &Arm, sums: fn(&UserHistory) -> UserSum| -> Vec<f64> {
            let mean_sessions = arm.session_count() as f64 / arm.user_count() as f64;
            users.iter().map(|user| arm.residual(&sums(user)) / mean_sessions).collect()
        };
        let (y, w) = (scores(&all, |user| user.during), scores(&before, |user| user.before));
        let column = |value: &dyn Fn(usize) -> bool| -> Vec<f64> {
            (0..users.len()).map(|place| f64::from(u8::from(value(place)))).collect()
        };
        let one = column(&|_| true);
        let arm = column(&|place| place < arms[0].len());
        let mut around = vec![one.clone()];
        if before.user_count() < users.len() {
            around.push(column(&|place| users.get(place).is_some_and(|u| u.before.sessions == 0)));
        }
        let plain = Fit::of(&y, &arm, vec![one]).ok_or(NullReason::ZeroVariance)?;
        let mut with_arm = around.clone();
        with_arm.push(arm.clone());
        let theta = Fit::of(&y, &w, with_arm).ok_or(NullReason::ConstantPrePeriod)?;
        around.push(w);
        let adjusted = Fit::of(&y, &arm, around).ok_or(NullReason::ZeroVariance)?;
        let remaining = (adjusted.standard_error / plain.standard_error).powi(2);
        Ok(Self {
            lift: adjusted.coefficient,
            theta: theta.coefficient,
            standard_error: adjusted.standard_error,
            df: adjusted.df,
            interval: t_interval(adjusted.coefficient, adjusted.standard_error, adjusted.df),
            p_value: student_t_two_sided_p(
                adjusted.coefficient / adjusted.standard_error,
                adjusted.df,
            ),
            variance_reduction: 1.0 - remaining,
            share_with_history,
        })
    }
}

/// One coefficient of a regression.
struct Fit {
    coefficient: f64,
    standard_error: f64,
    df: f64,
}

impl Fit {
    /// The coefficient of `x` in the least squares of `y` on it and `others` (Frisch and Waugh, 1933, by
    /// modified Gram–Schmidt). `None` when `x` is a combination of the others, or nothing is left to vary.
    fn of(y: &[f64], x: &[f64], others: Vec<Vec<f64>>) -> Option<Self> {
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(others.len() + 1);
        for column in others {
            let left = without(&column, &basis);
            if dot(&left, &left) > SINGULAR * dot(&column, &column) {
                basis.push(left);
            }
        }
        let own = without(x, &basis);
        let information = dot(&own, &own);
        if information <= SINGULAR * dot(x, x) {
            return None;
        }
        let coefficient = dot(&own, y) / information;
        basis.push(own);
        let residuals = without(y, &basis);
        let (left, all) = (dot(&residuals, &residuals), dot(y, y));
        let df = y.len() as f64 - basis.len() as f64;
        if df < 1.0 || left <= SINGULAR * all {
            return None;
        }
        Some(Self { coefficient, standard_error: (left / df / information).sqrt(), df })
    }
}

/// A part of a column that is smaller than this share of its square is rounding.
const SINGULAR: f64 = 1e-12;

fn dot(one: &[f64], other: &[f64]) -> f64 {
    sum(one.iter().zip(other).map(|(a, b)| a * b))
}

/// `column` without its projections on `basis`, whose members are orthogonal.
fn without(column: &[f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let mut left = column.to_vec();
    for member in basis {
        let along = dot(&left, member) / dot(member, member);
        for (value, direction) in left.iter_mut().zip(member) {
            *value -= along * direction;
        }
    }
    left
}

/// The users' sums before first exposure as an arm: a comparison of two such arms shows whether
/// they were alike before anything happened.
#[must_use]
pub fn before(users: &[UserHistory]) -> Arm {
    users.iter().map(|user| user.before).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;

    fn user(during: (u64, i64), before: (u64, i64)) -> UserHistory {
        let sum = |(sessions, total)| UserSum { sessions, total };
        UserHistory { during: sum(during), before: sum(before) }
    }

    /// 120 users, some of them without history, whose outcome goes with what they did before.
    fn users(from: u64, count: u64) -> Vec<UserHistory> {
        (from..from + count)
            .map(|n| {
                let sessions = 1 + n * 7 % 4;
                let good = (n * 13 % 5) as i64;
                let total = (good * sessions as i64 / 4).min(sessions as i64);
                let before = if n % 6 == 0 { (0, 0) } else { (4, good) };
                user((sessions, total), before)
            })
            .collect()
    }

    #[test]
    fn the_regression_solves_the_normal_equations() {
        let (treatment, holdout) = (users(0, 85), users(40, 35));
        let ancova = Ancova::of(&treatment, &holdout).unwrap();
        assert!(ancova.variance_reduction > 0.3, "{ancova:?}");
        close(ancova.df, 120.0 - 4.0, 0.0);
        // Residuals at the solution are orthogonal to every column.
        let all: Vec<_> = treatment.iter().chain(&holdout).copied().collect();
        let (n, s) = all.iter().fold((0.0, 0.0), |(n, s), u| {
            (n + u.during.sessions as f64, s + u.during.total as f64)
        });
        let (m, q) = all.iter().fold((0.0, 0.0), |(n, s), u| {
            (n + u.before.sessions as f64, s + u.before.total as f64)
        });
        let with_history = all.iter().filter(|u| u.before.sessions > 0).count() as f64;
        let y: Vec<f64> = all
            .iter()
            .map(|u| (u.during.total as f64 - s / n * u.during.sessions as f64) / (n / 120.0))
            .collect();
        let w: Vec<f64> = all
            .iter()
            .map(|u| {
                (u.before.total as f64 - q / m * u.before.sessions as f64) / (m / with_history)
            })
            .collect();
        let arm: Vec<f64> = (0..120).map(|n| f64::from(u8::from(n < 85))).collect();
        let none: Vec<f64> =
            all.iter().map(|u| f64::from(u8::from(u.before.sessions == 0))).collect();
        let left: Vec<f64> =
            (0..120).map(|n| y[n] - ancova.lift * arm[n] - ancova.theta * w[n]).collect();
        let residuals = without(&left, &[vec![1.0; 120], without(&none, &[vec![1.0; 120]])]);
        assert!(dot(&residuals, &arm).abs() < 1e-9 && dot(&residuals, &w).abs() < 1e-9);
    }

    #[test]
    fn each_null_rule() {
        let (treatment, holdout) = (users(0, 85), users(40, 35));
        let null = |t: &[UserHistory], c: &[UserHistory]| Ancova::of(t, c).err();
        assert_eq!(null(&treatment, &holdout[..29]), Some(NullReason::TooFewEvents));
        assert_eq!(null(&treatment[..60], &holdout[..30]), Some(NullReason::FewerThanHundredUsers));
        let mut heavy = treatment.clone();
        heavy.push(user((40, 20), (4, 2)));
        assert_eq!(null(&heavy, &holdout), Some(NullReason::OneUserDominates));
        let strip = |users: &[UserHistory], before| -> Vec<_> {
            users.iter().map(|u| UserHistory { before, ..*u }).collect()
        };
        let none = UserSum::default();
        assert_eq!(
            null(&strip(&treatment, none), &strip(&holdout, none)),
            Some(NullReason::TooLittleHistory)
        );
        let same = UserSum { sessions: 4, total: 2 };
        assert_eq!(
            null(&strip(&treatment, same), &strip(&holdout, same)),
            Some(NullReason::ConstantPrePeriod)
        );
    }
}
