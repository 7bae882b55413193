//! Does the lift change from week to week?
//!
//! The slope of `outcome ~ arm + week + arm × week`, clustered by user. Because a user belongs to
//! one arm, this is one straight line per arm, and CR2 needs only 2 × 2 matrices: with
//! `X_g` the rows `(1, week)` of user g, `S_g = X_g'X_g` and `M = (ΣS_g)⁻¹`,
//! `(I − X_g M X_g')^{-1/2} X_g = X_g (I − M S_g)^{-1/2}`.

use super::cluster::{Arm, UserSum, Variance};
use super::comparison::{Comparison, t_interval};
use super::distributions::student_t_two_sided_p;
use super::interval::Interval;
use super::linear::{Matrix2, Vector2};
use super::reason::{Defined, NullReason};
use super::summation::{Sum, sum};
use std::collections::BTreeMap;

/// A residual below this share of the sums it is a difference of is rounding.
const ROUNDING: f64 = 1e-9;

/// One user's sums by week since the start.
pub type WeeklyUser = BTreeMap<u32, UserSum>;

/// The lift of one week.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeeklyLift {
    /// The week, counted from the start.
    pub week: u32,
    /// `p_T − p_C` within the week.
    pub lift: Defined<f64>,
    /// CR2 standard error.
    pub standard_error: Defined<f64>,
    /// Bell–McCaffrey degrees of freedom.
    pub df: Defined<f64>,
}

/// The change of the lift per week.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Change of the lift per week, as a fraction.
    pub per_week: f64,
    /// CR1 standard error: CR0 times `G/(G−1)·(N−1)/(N−4)`, over both arms.
    pub cr1_standard_error: f64,
    /// CR2 standard error (Bell and McCaffrey, 2002).
    pub cr2_standard_error: f64,
    /// Bell–McCaffrey degrees of freedom.
    pub df: f64,
    /// Two-sided p-value of no change, on CR2; null when the residuals of an arm are zero up to rounding.
    pub p_value: Defined<f64>,
    /// 95 % interval on CR2; null as the p-value is.
    pub interval: Defined<Interval>,
}

/// The lift of every week in which anybody was evaluated.
#[must_use]
pub fn weekly_lifts(treatment: &[WeeklyUser], holdout: &[WeeklyUser]) -> Vec<WeeklyLift> {
    let mut weeks: BTreeMap<u32, [Vec<UserSum>; 2]> = BTreeMap::new();
    for (week, sums) in treatment.iter().flatten() {
        let [users, _] = weeks.entry(*week).or_default();
        users.push(*sums);
    }
    for (week, sums) in holdout.iter().flatten() {
        let [_, users] = weeks.entry(*week).or_default();
        users.push(*sums);
    }
    let compared = weeks.into_iter().map(|(week, arms)| {
        let [treatment, holdout] = arms.map(Arm::new);
        let comparison = Comparison::new(&treatment, &holdout);
        WeeklyLift {
            week,
            lift: comparison.lift(),
            standard_error: comparison.standard_error(Variance::Cr2),
            df: comparison.bell_mccaffrey_df(),
        }
    });
    compared.collect()
}

impl Slope {
    /// Estimates the change of the lift per week.
    ///
    /// Null if an arm has no evaluated session, fewer than two evaluated users or fewer than two
    /// weeks, and when one user alone decides the slope of an arm.
    pub fn of(treatment: &[WeeklyUser], holdout: &[WeeklyUser]) -> Defined<Self> {
        let (treatment, holdout) = (Line::fit(treatment)?, Line::fit(holdout)?);
        let per_week = treatment.slope - holdout.slope;
        let users = (treatment.users + holdout.users) as f64;
        let sessions = treatment.sessions + holdout.sessions;
        let factor = users / (users - 1.0) * ((sessions - 1.0) / (sessions - 4.0));
        let expected = treatment.expected + holdout.expected;
        let df = expected * expected / (treatment.spread + holdout.spread);
        let cr2_standard_error = (treatment.cr2 + holdout.cr2).sqrt();
        // An arm on its line has no variance to show, and the slope would look certain by the luck of that
        // arm.
        let certain = treatment.is_exact || holdout.is_exact;
        let unless_certain = |value: f64| {
            if certain { Err(NullReason::ZeroVariance) } else { Ok(value) }
        };
        Ok(Self {
            per_week,
            cr1_standard_error: (factor * (treatment.cr0 + holdout.cr0)).sqrt(),
            cr2_standard_error,
            df,
            p_value: unless_certain(per_week / cr2_standard_error)
                .map(|t| student_t_two_sided_p(t, df)),
            interval: unless_certain(cr2_standard_error)
                .map(|standard_error| t_interval(per_week, standard_error, df)),
        })
    }
}

/// The straight line of one arm, with what its slope contributes to variance and df.
struct Line {
    users: usize,
    sessions: f64,
    slope: f64,
    /// True if every user lies on the line, up to rounding.
    is_exact: bool,
    cr0: f64,
    cr2: f64,
    /// `c'Mc`: the expected CR2 variance under independent sessions of unit variance.
    expected: f64,
    /// Half the variance of the CR2 estimator under the same model.
    spread: f64,
}

/// Sums over the sessions of one user: `n, Σw, Σw², Σy, Σwy`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WeekSums {
    sessions: u64,
    weeks: i128,
    squares: i128,
    total: i64,
    products: i128,
}

impl WeekSums {
    fn of(user: &WeeklyUser) -> Self {
        let zero = Self { sessions: 0, weeks: 0, squares: 0, total: 0, products: 0 };
        user.iter().fold(zero, |sums, (&week, cell)| {
            let (week, sessions) = (i128::from(week), i128::from(cell.sessions));
            Self {
                sessions: sums.sessions.saturating_add(cell.sessions),
                weeks: sums.weeks.saturating_add(week.saturating_mul(sessions)),
                squares: sums.squares.saturating_add((week * week).saturating_mul(sessions)),
                total: sums.total.saturating_add(cell.total),
                products: sums.products.saturating_add(week * i128::from(cell.total)),
            }
        })
    }

    /// `X'X`.
    fn gram(&self) -> Matrix2 {
        let weeks = self.weeks as f64;
        Matrix2(self.sessions as f64, weeks, weeks, self.squares as f64)
    }

    /// `X'y`.
    fn cross(&self) -> Vector2 {
        Vector2(self.total as f64, self.products as f64)
    }
}

impl Line {
    fn fit(users: &[WeeklyUser]) -> Defined<Self> {
        let mut users: Vec<_> =
            users.iter().map(WeekSums::of).filter(|sums| sums.sessions > 0).collect();
        users.sort_unstable();
        match users.len() {
            0 => return Err(NullReason::ArmWithoutEvaluatedSessions),
            1 => return Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm),
            _ => {}
        }
        let over_users = |term: fn(&WeekSums) -> f64| sum(users.iter().map(term));
        let weeks = over_users(|user| user.weeks as f64);
        let sessions = over_users(|user| user.sessions as f64);
        let gram = Matrix2(sessions, weeks, weeks, over_users(|user| user.squares as f64));
        let cross =
            Vector2(over_users(|user| user.total as f64), over_users(|user| user.products as f64));
        let inverse = gram.inverse().ok_or(NullReason::FewerThanTwoWeeks)?;
        let coefficients = inverse.times(cross);
        let direction = inverse.times(Vector2(0.0, 1.0));

        let (mut cr0, mut cr2, mut own) = (Sum::default(), Sum::default(), Sum::default());
        let (mut outer, mut diagonal) = (Matrix2::default(), Sum::default());
        let mut is_exact = true;
        for user in &users {
            let gram = user.gram();
            let (fitted, cross) = (gram.times(coefficients), user.cross());
            let score = Vector2(cross.0 - fitted.0, cross.1 - fitted.1);
            is_exact &= score.0.abs() <= ROUNDING * (cross.0.abs() + user.sessions as f64)
                && score.1.abs() <= ROUNDING * (cross.1.abs() + user.squares as f64);
            let adjusted = inverse
                .product(gram)
                .inverse_root_of_complement()
                .ok_or(NullReason::OneUserDeterminesSlope)?
                .times(direction);
            cr0.add(direction.dot(score).powi(2));
            cr2.add(adjusted.dot(score).powi(2));
            own.add(direction.dot(gram.times(direction)).powi(2));
            let reach = gram.times(adjusted);
            outer = outer.plus(reach.outer());
            diagonal.add(reach.dot(inverse.times(reach)).powi(2));
        }
        // Σ_{g≠h} (q_g'M q_h)² = tr(MQMQ) − Σ_g (q_g'M q_g)² with Q = Σ q_g q_g'.
        let mixed = inverse.product(outer);
        let pairs = mixed.product(mixed).trace() - diagonal.value();
        Ok(Self {
            users: users.len(),
            sessions,
            slope: coefficients.1,
            is_exact,
            cr0: cr0.value(),
            cr2: cr2.value(),
            expected: direction.1,
            spread: own.value() + pairs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(weeks: [(u64, i64); 3]) -> WeeklyUser {
        (0..).zip(weeks.map(|(sessions, total)| UserSum { sessions, total })).collect()
    }

    #[test]
    fn a_line_without_residuals_has_no_certain_slope() {
        // A third is no binary fraction: the fit leaves a rounding, and the variance is not quite zero.
        let exact: Vec<_> = (0..9).map(|_| user([(3, 1), (3, 1), (3, 1)])).collect();
        let varied: Vec<_> = (0..9).map(|n| user([(3, n % 3), (2, 1), (3, (n + 1) % 3)])).collect();
        for (t, c) in [(&exact, &exact), (&varied, &exact), (&exact, &varied)] {
            let slope = Slope::of(t, c).map(|slope| (slope.p_value, slope.interval));
            assert_eq!(slope, Ok((Err(NullReason::ZeroVariance), Err(NullReason::ZeroVariance))));
        }
        assert!(Slope::of(&varied, &varied).is_ok_and(|slope| slope.p_value.is_ok()));
    }
}
