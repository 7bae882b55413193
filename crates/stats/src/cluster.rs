//! One arm as a set of users, and the variance of its mean when sessions of a user go together.
//!
//! Notation, as in the description of the experiment: user g has `n_g` sessions with total `s_g`
//! (successes, or the sum of any whole-numbered outcome); `N = Σn`, `S = Σs`, `p = S/N`, `G` users,
//! `r_g = s_g − p·n_g`, `f_g = n_g/N`.

use super::reason::{Defined, NullReason};
use super::summation::sum;

/// Contribution of one user: the number of sessions, and the total of the outcome over them.
///
/// Every outcome of a session is a whole number (success, escalation, corrections, turns, tokens),
/// so that totals, and the question whether there is any variance at all, are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserSum {
    /// Number of sessions, `n_g`.
    pub sessions: u64,
    /// Sum of the outcome over these sessions, `s_g`.
    pub total: i64,
}

impl UserSum {
    /// Sum of both contributions.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            sessions: self.sessions.saturating_add(other.sessions),
            total: self.total.saturating_add(other.total),
        }
    }
}

/// No user with a smaller share of the sessions dominates an arm.
pub const DOMINATING_SHARE: f64 = 0.1;
/// No user with fewer sessions than this many times the average dominates an arm.
pub const DOMINATING_MULTIPLE: f64 = 5.0;
/// Exponent by which the sample size falls with the share of a dominating user.
const DOMINATION_POWER: i32 = 2;

/// Estimator of the variance between users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variance {
    /// `Σ r² / N²`: the plain sandwich (Liang and Zeger, 1986). Too small with few users.
    Cr0,
    /// CR0 times `G/(G−1) · (N−1)/(N−2)`, counted over both arms together; see
    /// [`Comparison::cr1_factor`](super::Comparison::cr1_factor). Of one arm alone it is CR0.
    Cr1,
    /// CR0 times `G/(G−1)`: the delta method for a ratio of per-user means.
    Delta,
    /// `Σ r²/(1−f) / N²`: unbiased when users are alike (Bell and McCaffrey, 2002).
    Cr2,
    /// `Σ r²/(1−f)² / N²`: close to the jackknife (Mancl and DeRouen, 2001).
    Cr3,
}

/// Users who contribute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    /// Contribution of each of these users.
    pub user: UserSum,
    /// Number of these users.
    pub count: u64,
}

/// The users of one arm that have at least one session, in canonical order.
///
/// Those who contribute the same are kept together: of a hundred thousand users with a few sessions each, a hundred
/// are different, and every sum over users is one over them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    alike: Vec<Alike>,
    users: usize,
    sessions: u64,
    total: i64,
}

impl Arm {
    /// Collects an arm. Users without sessions carry no information and are left out.
    #[must_use]
    pub fn new(users: impl IntoIterator<Item = UserSum>) -> Self {
        let mut users: Vec<_> = users.into_iter().filter(|user| user.sessions > 0).collect();
        users.sort_unstable();
        let sessions = users.iter().fold(0, |sum: u64, user| sum.saturating_add(user.sessions));
        let total = users.iter().fold(0, |sum: i64, user| sum.saturating_add(user.total));
        let alike = users
            .chunk_by(|one, other| one == other)
            .map(|alike| Alike { user: alike[0], count: alike.len() as u64 })
            .collect();
        Self { alike, users: users.len(), sessions, total }
    }

    /// Collects an arm of users who are already counted together, in any order.
    #[must_use]
    pub fn of_alike(alike: impl IntoIterator<Item = Alike>) -> Self {
        let is_user = |alike: &Alike| alike.user.sessions > 0 && alike.count > 0;
        let mut given: Vec<_> = alike.into_iter().filter(is_user).collect();
        given.sort_unstable_by_key(|alike| alike.user);
        let mut arm = Self::default();
        for Alike { user, count } in given {
            let total = user.total.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
            arm.users = arm.users.saturating_add(usize::try_from(count).unwrap_or(usize::MAX));
            arm.sessions = arm.sessions.saturating_add(user.sessions.saturating_mul(count));
            arm.total = arm.total.saturating_add(total);
            match arm.alike.last_mut().filter(|last| last.user == user) {
                Some(last) => last.count = last.count.saturating_add(count),
                None => arm.alike.push(Alike { user, count }),
            }
        }
        arm
    }

    /// The users, by number of sessions and total, ascending; those who contribute the same together.
    #[must_use]
    pub fn alike(&self) -> &[Alike] {
        &self.alike
    }

    /// The sum of `term` over all users.
    pub(super) fn sum_over_users(&self, term: impl Fn(&UserSum) -> f64) -> f64 {
        sum(self.alike.iter().map(|alike| alike.count as f64 * term(&alike.user)))
    }

    /// `G`, the number of users with at least one session.
    #[must_use]
    pub fn user_count(&self) -> usize {
        self.users
    }

    /// `N`, the number of sessions.
    #[must_use]
    pub fn session_count(&self) -> u64 {
        self.sessions
    }

    /// `S`, the sum of the outcome.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.total
    }

    /// `p = S/N`, the success rate or the mean outcome per session; null without sessions.
    pub fn mean(&self) -> Defined<f64> {
        if self.sessions == 0 {
            return Err(NullReason::ArmWithoutEvaluatedSessions);
        }
        Ok(self.total as f64 / self.sessions as f64)
    }

    /// True if every total could be a number of successes.
    #[must_use]
    pub fn is_binary(&self) -> bool {
        let is_binary =
            |user: &UserSum| u64::try_from(user.total).is_ok_and(|total| total <= user.sessions);
        self.alike.iter().all(|alike| is_binary(&alike.user))
    }

    /// Kish's (1965) effective number of users, `N² / Σn²`: how many users of equal size would
    /// weigh as much. Null without sessions.
    pub fn kish_effective_users(&self) -> Defined<f64> {
        self.mean()?;
        Ok(self.sessions as f64 / self.mean_size_by_session())
    }

    /// `Σn² / N`: the size of the user of a session drawn at random; 0 without sessions.
    #[must_use]
    pub fn mean_size_by_session(&self) -> f64 {
        self.sum_over_users(|user| user.sessions as f64 * self.share(user))
    }

    /// `f_g`, the user's share of the sessions of the arm.
    #[must_use]
    pub fn share(&self, user: &UserSum) -> f64 {
        user.sessions as f64 / self.sessions as f64
    }

    /// `1/(1 − f_g)`; infinite for the only user of an arm.
    #[must_use]
    pub fn leverage_factor(&self, user: &UserSum) -> f64 {
        self.sessions as f64 / self.sessions.saturating_sub(user.sessions) as f64
    }

    /// `r_g = s_g − p·n_g`, rounded once from the exact fraction `(s_g·N − S·n_g)/N`.
    ///
    /// It is zero exactly when the user's rate is the rate of the arm.
    #[must_use]
    pub fn residual(&self, user: &UserSum) -> f64 {
        let own = i128::from(user.total).saturating_mul(i128::from(self.sessions));
        let expected = i128::from(self.total).saturating_mul(i128::from(user.sessions));
        own.saturating_sub(expected) as f64 / self.sessions as f64
    }

    /// True if all users have exactly the same rate: `s_g·N = S·n_g` for every g, in integers.
    #[must_use]
    pub fn has_zero_variance(&self) -> bool {
        self.alike.iter().all(|alike| self.residual(&alike.user) == 0.0)
    }

    /// The variance of the mean of this arm.
    ///
    /// Null without sessions; except for CR0, null with a single user, whose variance is not
    /// identified. Zero exactly when [`Arm::has_zero_variance`].
    pub fn variance(&self, estimator: Variance) -> Defined<f64> {
        self.mean()?;
        let users = self.users as f64;
        let cr0 = matches!(estimator, Variance::Cr0 | Variance::Cr1);
        if !cr0 {
            self.require_two_users()?;
        }
        let sessions = self.sessions as f64;
        Ok(self.sum_over_users(|user| {
            let factor = match estimator {
                Variance::Cr0 | Variance::Cr1 => 1.0,
                Variance::Delta => users / (users - 1.0),
                Variance::Cr2 => self.leverage_factor(user),
                Variance::Cr3 => self.leverage_factor(user).powi(2),
            };
            (self.residual(user) / sessions).powi(2) * factor
        }))
    }

    /// `B = Σ f² + (Σ u)² − Σ u²` with `u = f²/(1−f)`: this arm's part in the degrees of freedom of
    /// Bell and McCaffrey (2002) for a difference of means.
    ///
    /// The last two terms are twice the sum of `u_g·u_h` over pairs. With users in ascending order
    /// the pairs are summed without any subtraction, so that one dominant user costs no precision.
    pub fn bell_mccaffrey_b(&self) -> Defined<f64> {
        self.require_two_users()?;
        let squares = self.sum_over_users(|user| self.share(user).powi(2));
        let mut smaller = 0.0;
        let pairs = sum(self.alike.iter().map(|Alike { user, count }| {
            let (u, count) = (self.share(user).powi(2) * self.leverage_factor(user), *count as f64);
            let products = u * (count * smaller + u * (count * (count - 1.0) / 2.0));
            smaller += count * u;
            products
        }));
        Ok(squares + 2.0 * pairs)
    }

    /// `n_eff = min(p(1−p)/V2, N)`, or `G` when `V2 = 0`: how many independent sessions would give
    /// the same variance. Proportions only; null as [`Arm::variance`] is.
    pub fn effective_sample_size(&self) -> Defined<f64> {
        self.effective_sample_size_of(self.sessions as f64)
    }

    /// The same of an arm whose sessions are sums of weights and count as this many.
    fn effective_sample_size_of(&self, sessions: f64) -> Defined<f64> {
        match self.design_effect_of(sessions) {
            Ok(design_effect) => Ok(sessions / design_effect.max(1.0)),
            Err(NullReason::ZeroVariance) => Ok(self.users as f64),
            Err(reason) => Err(reason),
        }
    }

    /// The largest share of one user in the sessions of the arm; 0 without users.
    #[must_use]
    pub fn largest_share(&self) -> f64 {
        self.alike.last().map_or(0.0, |alike| self.share(&alike.user))
    }

    /// The share above which one user dominates the arm: 10 % of the sessions, and no less than
    /// [`DOMINATING_MULTIPLE`] times the share of an average user.
    ///
    /// The multiple keeps users apart who are large only because the arm is small: among ten users with a
    /// geometric number of sessions the largest has 29 % on average, and there the degrees of freedom already
    /// make up for it.
    #[must_use]
    pub fn dominating_share(&self) -> f64 {
        DOMINATING_SHARE.max(DOMINATING_MULTIPLE / self.users as f64)
    }

    /// True if one user's share exceeds [`Arm::dominating_share`].
    #[must_use]
    pub fn one_user_dominates(&self) -> bool {
        self.largest_share() > self.dominating_share()
    }

    /// The sample size that the headline interval uses: [`Arm::effective_sample_size`], and when one user
    /// dominates with a share `f` above the dominating share `f₀`, that times `((1−f)/(1−f₀))²`.
    ///
    /// The CR2 variance rests on the residuals of the other users, and on one residual of the dominating
    /// user, which its own pull on the mean makes small: without the factor the interval covers down to 87 %
    /// at `f = 0.3` and to 74 % at `f = 0.7`. The factor is 1 at `f₀`, so that the interval does not jump.
    /// Its power and `f₀` were chosen by simulation (`bench/truth`).
    pub fn headline_sample_size(&self) -> Defined<f64> {
        self.headline_sample_size_of(self.sessions as f64)
    }

    /// The same of an arm whose sessions are sums of weights and count as this many. Nothing else in the
    /// interval depends on the unit of the weights.
    pub(super) fn headline_sample_size_of(&self, sessions: f64) -> Defined<f64> {
        let size = self.effective_sample_size_of(sessions)?;
        let (share, threshold) = (self.largest_share(), self.dominating_share());
        if share > threshold {
            return Ok(size * ((1.0 - share) / (1.0 - threshold)).powi(DOMINATION_POWER));
        }
        Ok(size)
    }

    /// `V2 / (p(1−p)/N)`: the variance over that of as many independent sessions (Kish, 1965).
    ///
    /// Below 1 when users happen to be more alike than chance would make them. Proportions only;
    /// null when the variance is zero, and as [`Arm::variance`] is.
    pub fn design_effect(&self) -> Defined<f64> {
        self.design_effect_of(self.sessions as f64)
    }

    fn design_effect_of(&self, sessions: f64) -> Defined<f64> {
        let (rate, variance) = (self.mean()?, self.variance(Variance::Cr2)?);
        if !self.is_binary() {
            return Err(NullReason::OutcomeNotBinary);
        }
        if variance == 0.0 {
            return Err(NullReason::ZeroVariance);
        }
        Ok(variance * sessions / (rate * (1.0 - rate)))
    }

    pub(super) fn require_two_users(&self) -> Defined<()> {
        match self.users {
            0 => Err(NullReason::ArmWithoutEvaluatedSessions),
            1 => Err(NullReason::FewerThanTwoEvaluatedUsersInAnArm),
            _ => Ok(()),
        }
    }
}

impl FromIterator<UserSum> for Arm {
    fn from_iter<T: IntoIterator<Item = UserSum>>(users: T) -> Self {
        Self::new(users)
    }
}
