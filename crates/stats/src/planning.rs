//! Planning for the decision that is made: read every day, by an always-valid interval, about users who come
//! back.

use super::always_valid::{AlwaysValid, SMALLEST_ARM};
use super::cluster::Arm;
use super::distributions::normal_upper_tail;
use super::newcombe::critical_value_touching;
use super::power::{Clustering, intraclass_correlation};
use super::reason::{Defined, NullReason};

/// No plan names more users.
const MOST_USERS: u64 = 1 << 40;

/// Assumptions about an experiment that has not run yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionPlanner {
    /// Success rate without retrieval.
    pub baseline: f64,
    /// Share of the users who are held out.
    pub holdout_share: f64,
    /// Probability of deciding for an effect that is there.
    pub power: f64,
}

/// The size of an experiment that decides about a given effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionSize {
    /// Users in treatment.
    pub treatment_users: u64,
    /// Users in the holdout.
    pub holdout_users: u64,
}

impl DecisionSize {
    /// Both arms together: the number to plan the always-valid interval for.
    #[must_use]
    pub const fn users(&self) -> u64 {
        self.treatment_users.saturating_add(self.holdout_users)
    }
}

/// The time in which a finite number of users who come back suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionTime {
    /// Days until the experiment has run long enough.
    pub days: u64,
    /// The users who have a session in that time.
    pub size: DecisionSize,
}

impl DecisionPlanner {
    /// The probability that the decision is in favour of `effect` on some day until `users` users have been
    /// evaluated, when the experiment was planned for as many.
    ///
    /// ```text
    /// z = the critical value at which the interval of rates p + effect and p touches 0, n_eff = users·m/DEFF
    /// k = the multiplier of the sequence at the planned number of users
    /// c = the slope of t ↦ k(t)·√t at t = 1,   a = k − c,   μ = z − c
    /// σ = z·√(Σ p(1−p)/n_eff) / effect
    /// power = Φ((z − k)/σ) + exp(2aμ/σ²)·Φ(−(μ + a)/σ)
    /// ```
    ///
    /// The first term is the chance that the last look decides; the second that an earlier one did, for a
    /// straight line in the place of the curve `k(t)·√t` (Anderson, 1960), which it touches at the end.
    /// Taking `z` from the interval itself accounts for its asymmetry at high success rates; `σ`, for rates
    /// that vary by more or less than the interval supposes at the point where it touches 0.
    ///
    /// Null when an assumption is out of range, the effect is 0, and with fewer than 30 users in an arm.
    pub fn power_at(&self, effect: f64, users: f64, clustering: &Clustering) -> Defined<f64> {
        let [treatment, holdout] = [1.0 - self.holdout_share, self.holdout_share];
        let rates = [self.baseline + effect, self.baseline];
        let within = |value: f64| value > 0.0 && value < 1.0;
        let sessions = clustering.mean_sessions;
        if !(within(holdout)
            && rates.into_iter().all(within)
            && sessions.is_finite()
            && sessions > 0.0
            && users.is_finite())
        {
            return Err(NullReason::InputOutOfRange);
        }
        if users * treatment.min(holdout) < SMALLEST_ARM as f64 {
            return Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm);
        }
        let per_user = sessions / clustering.design_effect();
        let sizes =
            [(rates[0], users * treatment * per_user), (rates[1], users * holdout * per_user)];
        let z = critical_value_touching(sizes, 0.0);
        let (k, slope) = AlwaysValid::planned_for(1)?.at_planned_users();
        let variance: f64 = sizes.iter().map(|(rate, size)| rate * (1.0 - rate) / size).sum();
        let deviation = z * variance.sqrt() / effect.abs();
        if effect == 0.0 || z == 0.0 {
            return Err(NullReason::InputOutOfRange);
        }
        let [k, z, slope] = [k, z, slope].map(|value| value / deviation);
        let (start, drift) = (k - slope, z - slope);
        let earlier = (2.0 * start * drift).exp() * normal_upper_tail(drift + start);
        let power = normal_upper_tail(k - z) + if earlier.is_finite() { earlier } else { 0.0 };
        Ok(power.min(1.0))
    }

    /// The users needed to decide about `effect` with the planned power, when there is no end of them and
    /// each has as many sessions as `clustering` says. At least 30 users in each arm.
    ///
    /// Null when an assumption is out of range, or the effect is 0.
    pub fn users_for(&self, effect: f64, clustering: &Clustering) -> Defined<DecisionSize> {
        self.require_power()?;
        let suffices = |users: u64| match self.power_at(effect, users as f64, clustering) {
            Ok(power) => Ok(power >= self.power),
            Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm) => Ok(false),
            Err(reason) => Err(reason),
        };
        if !suffices(MOST_USERS)? {
            return Err(NullReason::OutOfReach);
        }
        let (mut too_few, mut enough) = (0, MOST_USERS);
        while enough - too_few > 1 {
            let middle = u64::midpoint(too_few, enough);
            if suffices(middle)? {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        Ok(self.split(enough as f64))
    }

    /// The smallest improvement that `users` users decide about with the planned power.
    ///
    /// Null when an assumption is out of range, with fewer than 30 users in an arm, and as out of reach when
    /// not even success everywhere would be told from the baseline.
    pub fn smallest_detectable_effect(&self, users: f64, clustering: &Clustering) -> Defined<f64> {
        self.require_power()?;
        let room = 1.0 - self.baseline;
        let suffices = |effect: f64| Ok(self.power_at(effect, users, clustering)? >= self.power);
        if !suffices(room * (1.0 - 1e-9))? {
            return Err(NullReason::OutOfReach);
        }
        let (mut too_small, mut enough) = (0.0, room * (1.0 - 1e-9));
        while enough - too_small > 1e-9 {
            let middle = f64::midpoint(too_small, enough);
            if suffices(middle)? {
                enough = middle;
            } else {
                too_small = middle;
            }
        }
        Ok(enough)
    }

    /// The days that a finite base of users who come back needs to decide about `effect`.
    ///
    /// Null as [`DecisionPlanner::users_for`] is, and as out of reach when `longest` days do not suffice: ask
    /// then for the smallest detectable effect of [`ReturningUsers::within`] as many days.
    pub fn days_for(
        &self,
        effect: f64,
        base: &ReturningUsers,
        longest: u64,
    ) -> Defined<DecisionTime> {
        self.require_power()?;
        for days in 1..=longest {
            let reach = base.within(days as f64);
            match self.power_at(effect, reach.users, &reach.clustering) {
                Ok(power) if power >= self.power => {
                    return Ok(DecisionTime { days, size: self.split(reach.users) });
                }
                Ok(_) | Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm) => {}
                Err(reason) => return Err(reason),
            }
        }
        Err(NullReason::OutOfReach)
    }

    fn split(&self, users: f64) -> DecisionSize {
        let of = |share: f64| (users * share).ceil() as u64;
        DecisionSize {
            treatment_users: of(1.0 - self.holdout_share),
            holdout_users: of(self.holdout_share),
        }
    }

    fn require_power(&self) -> Defined<()> {
        if self.power > 0.0 && self.power < 1.0 { Ok(()) } else { Err(NullReason::InputOutOfRange) }
    }
}

/// A finite number of users who come back, as a past period shows them.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturningUsers {
    past: Arm,
    days: f64,
    intraclass_correlation: f64,
}

/// The users and sessions that some days are expected to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Distinct users.
    pub users: f64,
    /// Clustering of their sessions.
    pub clustering: Clustering,
}

impl ReturningUsers {
    /// The users of a past period of this many days; null as [`intraclass_correlation`] is, and unless the
    /// period has a length. A negative correlation counts as none.
    pub fn seen_in(past: Arm, days: f64) -> Defined<Self> {
        if !(days.is_finite() && days > 0.0) {
            return Err(NullReason::InputOutOfRange);
        }
        let intraclass_correlation = intraclass_correlation(&past)?.max(0.0);
        Ok(Self { past, days, intraclass_correlation })
    }

    /// Users and sessions of a period of `days` days. With `q` its length as a share of the past period:
    ///
    /// ```text
    /// users    = Σ 1 − (1 − q)^n_g,  all of them from q = 1 on
    /// sessions = q·N,   Σn² = q²·Σn(n−1) + q·N
    /// ```
    ///
    /// the means when each session of the past period falls on any of its days with the same chance; a longer
    /// period brings the same users more often, and nobody new.
    #[must_use]
    pub fn within(&self, days: f64) -> Reach {
        let q = days / self.days;
        let absent = (1.0 - q).max(0.0);
        let users = self.past.sum_over_users(|user| 1.0 - absent.powf(user.sessions as f64));
        let sessions = q * self.past.session_count() as f64;
        let mean_sessions = sessions / users;
        let size_by_session = 1.0 + q * (self.past.mean_size_by_session() - 1.0);
        Reach {
            users,
            clustering: Clustering {
                mean_sessions,
                squared_variation: size_by_session / mean_sessions - 1.0,
                intraclass_correlation: self.intraclass_correlation,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UserSum;

    const ONE_EACH: Clustering =
        Clustering { mean_sessions: 1.0, squared_variation: 0.0, intraclass_correlation: 0.0 };

    fn planner(baseline: f64, holdout_share: f64) -> DecisionPlanner {
        DecisionPlanner { baseline, holdout_share, power: 0.8 }
    }

    #[test]
    fn reading_every_day_costs_about_two_thirds_more_users_than_one_test() {
        let fixed = crate::power::Planner { baseline: 0.5, clustering: ONE_EACH, power: 0.8 };
        let fixed = fixed.size_for(0.02, 0.5, 1.0).map(|s| s.treatment_users + s.holdout_users);
        let daily = planner(0.49, 0.5).users_for(0.02, &ONE_EACH).map(|size| size.users());
        let ratio = daily.and_then(|daily| Ok(daily as f64 / fixed? as f64));
        assert!(ratio.is_ok_and(|ratio| (ratio - 1.66).abs() < 0.04), "{ratio:?}");
    }

    #[test]
    fn users_and_effect_invert_each_other() {
        let clustering = Clustering { intraclass_correlation: 0.2, mean_sessions: 3.0, ..ONE_EACH };
        let planner = planner(0.8, 0.1);
        let back = planner
            .users_for(0.05, &clustering)
            .and_then(|size| planner.smallest_detectable_effect(size.users() as f64, &clustering));
        assert!(back.is_ok_and(|effect| (effect - 0.05).abs() < 1e-4), "{back:?}");
        let small = planner.smallest_detectable_effect(299.0, &clustering);
        assert_eq!(small, Err(NullReason::FewerThanThirtyEvaluatedUsersInAnArm));
        assert_eq!(planner.users_for(0.0, &clustering), Err(NullReason::InputOutOfRange));
        assert_eq!(planner.users_for(0.2, &clustering), Err(NullReason::InputOutOfRange));
        let clear = planner.users_for(0.19, &clustering).map(|size| size.holdout_users);
        assert!(clear.is_ok_and(|users| users >= 30), "{clear:?}");
    }

    #[test]
    fn a_finite_base_sees_what_it_can() {
        let past: Arm = (0..400)
            .map(|n| UserSum {
                sessions: 1 + n % 5,
                total: ((1 + n % 5) * u64::from(n % 3 > 0)) as i64,
            })
            .collect();
        let base = ReturningUsers::seen_in(past, 30.0);
        let reach = |days| base.as_ref().map_or(0.0, |base| base.within(days).users);
        assert!((reach(30.0) - 400.0).abs() < 1e-9 && (reach(300.0) - 400.0).abs() < 1e-9);
        assert!(reach(10.0) < reach(20.0) && reach(20.0) < 400.0);
        let planner = planner(2.0 / 3.0, 0.5);
        let days = |effect| {
            base.as_ref().map_err(|r| *r).and_then(|base| planner.days_for(effect, base, 365))
        };
        assert!(days(0.2).is_ok_and(|time| time.days < 30 && time.size.users() < 401));
        assert_eq!(days(0.02), Err(NullReason::OutOfReach));
        assert_eq!(days(0.0), Err(NullReason::InputOutOfRange));
    }
}
