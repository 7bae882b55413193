//! One epoch of a trial: the users of both arms, and what they say by themselves.

use crate::always_valid::AlwaysValid;
use crate::cluster::{Arm, UserSum};
use crate::comparison::Comparison;
use crate::interval::Interval;
use crate::newcombe::interval_at;
use crate::pooled::{PooledDifference, require_expected_events_in_units};
use crate::reason::{Defined, NullReason};

/// The evaluated sessions of one user in which the playbook was found, in one epoch.
///
/// A session that stands for others, because not every session is judged, counts by a whole weight: the
/// inverse of its chance to be judged, in any unit that is the same for all. Only the proportions of the
/// weights matter: they are scaled to mean 1 over both arms of the epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialUser {
    /// Number of sessions.
    pub sessions: u64,
    /// Sum of their weights.
    pub weight: u64,
    /// Sum of the weights of those that succeeded.
    pub successes: u64,
}

impl TrialUser {
    /// A user whose sessions all count alike.
    #[must_use]
    pub const fn unweighted(sessions: u64, successes: u64) -> Self {
        Self { sessions, weight: sessions, successes }
    }

    fn is_consistent(&self) -> bool {
        self.successes <= self.weight && (self.sessions > 0) == (self.weight > 0)
    }

    fn sum(&self) -> UserSum {
        let total = i64::try_from(self.successes).unwrap_or(i64::MAX);
        UserSum { sessions: self.weight, total }
    }
}

/// The two numbers that are fixed when an epoch starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochPlan {
    /// The share of users from whom the playbook is withheld, strictly between 0 and 1.
    pub share: f64,
    /// `n*`, the evaluated users at which the evidence is sharpest: see [`planned_users`](super::planned_users).
    pub planned_users: u64,
}

/// The users of both arms of one epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// In units of the weights, as `withheld`.
    served: Arm,
    withheld: Arm,
    /// Mean weight of a session of both arms.
    unit: f64,
    share: f64,
    pub(super) sequence: AlwaysValid,
}

/// The difference between the arms of one epoch, tested by pooled residuals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EpochEvidence {
    /// `p_with − p_without`.
    pub(super) difference: f64,
    /// `SE0`.
    pub(super) standard_error: f64,
    /// Evaluated users of both arms.
    pub(super) users: usize,
    /// `nρ²`.
    pub(super) information: f64,
    pub(super) ln_e_value: f64,
}

impl Epoch {
    /// Collects the users of both arms, in any order. Users without sessions are left out.
    ///
    /// Null when the plan is out of range, when the successes of a user weigh more than the sessions, and when
    /// a user has sessions without weight or weight without sessions.
    pub fn new(
        served: impl IntoIterator<Item = TrialUser>,
        withheld: impl IntoIterator<Item = TrialUser>,
        plan: EpochPlan,
    ) -> Defined<Self> {
        let served: Vec<TrialUser> = served.into_iter().collect();
        let withheld: Vec<TrialUser> = withheld.into_iter().collect();
        let (mut sessions, mut weight) = (0_u128, 0_u128);
        for user in served.iter().chain(&withheld) {
            if !user.is_consistent() {
                return Err(NullReason::InputOutOfRange);
            }
            sessions += u128::from(user.sessions);
            weight += u128::from(user.weight);
        }
        let unit = if sessions > 0 { weight as f64 / sessions as f64 } else { 1.0 };
        let [served, withheld] =
            [served, withheld].map(|users| users.iter().map(TrialUser::sum).collect());
        Self::of_arms_in_units(served, withheld, unit, plan)
    }

    /// The same from arms whose sessions all count alike.
    pub fn of_arms(served: Arm, withheld: Arm, plan: EpochPlan) -> Defined<Self> {
        if !(served.is_binary() && withheld.is_binary()) {
            return Err(NullReason::OutcomeNotBinary);
        }
        Self::of_arms_in_units(served, withheld, 1.0, plan)
    }

    fn of_arms_in_units(
        served: Arm,
        withheld: Arm,
        unit: f64,
        EpochPlan { share, planned_users }: EpochPlan,
    ) -> Defined<Self> {
        if !(share > 0.0 && share < 1.0) {
            return Err(NullReason::InputOutOfRange);
        }
        let sequence = AlwaysValid::planned_for(planned_users)?;
        Ok(Self { served, withheld, unit, share, sequence })
    }

    /// The share of users from whom the playbook is withheld.
    #[must_use]
    pub const fn share(&self) -> f64 {
        self.share
    }

    /// Users with an evaluated session: served and withheld.
    #[must_use]
    pub fn user_counts(&self) -> [usize; 2] {
        [self.served.user_count(), self.withheld.user_count()]
    }

    /// Success with the playbook and without it; null in an arm without evaluated sessions.
    pub fn rates(&self) -> [Defined<f64>; 2] {
        [self.served.mean(), self.withheld.mean()]
    }

    /// The evidence of this epoch alone.
    ///
    /// Null with `too_few_events` until the smaller arm has 20 evaluated users and 10 successes and 10
    /// failures are expected among the sessions of the arm with fewer: nearly always the withheld one. Null
    /// with `zero_variance` while all users have exactly the same rate.
    pub(super) fn evidence(&self) -> Defined<EpochEvidence> {
        let comparison = self.comparison();
        require_expected_events_in_units(&comparison, self.unit)
            .map_err(|_| NullReason::TooFewEvents)?;
        let PooledDifference { difference, standard_error, users } =
            PooledDifference::of(&comparison)?;
        Ok(EpochEvidence {
            difference,
            standard_error,
            users,
            information: self.sequence.information(users)?,
            ln_e_value: self.sequence.ln_e_value(difference / standard_error, users)?,
        })
    }

    /// The clustered Newcombe interval at a critical value; at Student's t with Bell–McCaffrey degrees of
    /// freedom if none is given.
    pub(super) fn interval(&self, critical_value: Option<f64>) -> Defined<Interval> {
        let critical_value = match critical_value {
            Some(value) => value,
            None => self.comparison().critical_value()?,
        };
        let size = |arm: &Arm| {
            let sessions = arm.session_count() as f64 / self.unit;
            Ok((arm.mean()?, arm.headline_sample_size_of(sessions)?))
        };
        Ok(interval_at([size(&self.served)?, size(&self.withheld)?], critical_value))
    }

    /// Variance per user from both arms together, for forecasts with more users; null as `too_few_events` while an arm has no
    /// session or nothing varies.
    pub(super) fn per_user(&self) -> Defined<PerUser> {
        let comparison = self.comparison();
        let pooled = PooledDifference::of(&comparison).map_err(|_| NullReason::TooFewEvents)?;
        let users = pooled.users as f64;
        let [served, withheld] = self.user_counts().map(|count| count as f64);
        let weights = [&self.served, &self.withheld].map(|arm| arm.session_count() as f64);
        let successes = (self.served.total() + self.withheld.total()) as f64;
        let rate = successes / (weights[0] + weights[1]);
        let variance = pooled.standard_error.powi(2) * served * withheld / users;
        Ok(PerUser {
            precision: self.share * (1.0 - self.share) / variance,
            events: (weights[0] + weights[1]) / self.unit / users * rate.min(1.0 - rate),
        })
    }

    fn comparison(&self) -> Comparison<'_> {
        Comparison::new(&self.served, &self.withheld)
    }
}

/// Contribution of an average user to an epoch, served with the chance that the share leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct PerUser {
    /// To `1/SE0²`.
    pub(super) precision: f64,
    /// To the rarer of successes and failures.
    pub(super) events: f64,
}
