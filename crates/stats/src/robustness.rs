//! Does the lift hang on a few users?

use super::cluster::{Arm, UserSum};
use super::comparison::{Comparison, t_interval, welch_satterthwaite};
use super::distributions::student_t_two_sided_p;
use super::interval::Interval;
use super::reason::Defined;

/// The lift when every user counts the same, whatever the number of sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UserWeighted {
    /// Difference of the means of the users' own rates.
    pub lift: f64,
    /// Welch's test of the lift; null when no arm varies.
    pub test: Defined<WelchTest>,
}

/// Welch's (1947) t test for two means with unequal variances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WelchTest {
    /// Welch–Satterthwaite degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// 95 % interval. Not clamped.
    pub interval: Interval,
}

/// Compares the users' own rates `s_g/n_g` by Welch's test, which is nonsense when an arm is uniform; the
/// form to show is [`UserEqual`](super::user_equal::UserEqual).
///
/// Far from the headline lift, it says that heavy and light users differ. Null if an arm has no
/// evaluated session or fewer than two evaluated users.
pub fn user_weighted(comparison: &Comparison<'_>) -> Defined<UserWeighted> {
    comparison.lift()?;
    let moments = |arm: &Arm| {
        arm.require_two_users()?;
        let users = arm.user_count() as f64;
        let rate = |user: &UserSum| user.total as f64 / user.sessions as f64;
        let mean = arm.sum_over_users(rate) / users;
        let squares = arm.sum_over_users(|user| (rate(user) - mean).powi(2));
        let uniform = arm.has_zero_variance();
        Ok((mean, if uniform { 0.0 } else { squares / (users - 1.0) / users }))
    };
    let (mean_t, variance_t) = moments(comparison.treatment)?;
    let (mean_c, variance_c) = moments(comparison.holdout)?;
    let lift = mean_t - mean_c;
    let users = [comparison.treatment.user_count(), comparison.holdout.user_count()];
    let test = welch_satterthwaite([variance_t, variance_c], users).map(|df| {
        let standard_error = (variance_t + variance_c).sqrt();
        WelchTest {
            df,
            p_value: student_t_two_sided_p(lift / standard_error, df),
            interval: t_interval(lift, standard_error, df),
        }
    });
    Ok(UserWeighted { lift, test })
}

/// Influence of single users on the lift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Influence {
    /// The largest change of the lift, in absolute value, when one user is left out.
    pub largest_leave_one_user_out_shift: f64,
    /// The largest share of one user in the sessions of their arm.
    pub largest_user_share: f64,
}

/// Leaves out every user in turn: without user g the rate moves by `−r_g / (N − n_g)`.
///
/// Null if an arm has no evaluated session or fewer than two evaluated users.
pub fn influence(comparison: &Comparison<'_>) -> Defined<Influence> {
    comparison.lift()?;
    comparison.bell_mccaffrey_df()?;
    let arms = [comparison.treatment, comparison.holdout];
    let largest = |value: fn(&Arm, &UserSum) -> f64| {
        arms.iter()
            .flat_map(|arm| arm.alike().iter().map(|alike| value(arm, &alike.user)))
            .fold(0.0, f64::max)
    };
    Ok(Influence {
        largest_leave_one_user_out_shift: largest(|arm, user| {
            arm.residual(user).abs() / arm.session_count().saturating_sub(user.sessions) as f64
        }),
        largest_user_share: largest(Arm::share),
    })
}
