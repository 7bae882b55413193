//! The effect on sessions that really got a learning.
//!
//! Not every treatment session retrieves something. The lift spread over those that did is the
//! effect on compliers (Imbens and Angrist, 1994), provided that being in treatment changes nothing
//! for the others.

use super::cluster::{Arm, UserSum, Variance};
use super::comparison::Comparison;
use super::fieller::Ratio;
use super::interval::Interval;
use super::reason::{Defined, NullReason};
use super::summation::sum;

/// One user's sums with the number of sessions that got a learning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveredUser {
    /// Sessions and outcome.
    pub outcome: UserSum,
    /// Sessions that got at least one learning.
    pub delivered: u64,
}

/// Share of `some` in the learnings handed over; null when none was handed over.
pub fn share_of_served(some: u64, served: u64) -> Defined<f64> {
    match served {
        0 => Err(NullReason::NothingServed),
        served => Ok(some as f64 / served as f64),
    }
}

/// Delivery in both arms and the effect on compliers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComplierEffect {
    /// `p_T − p_C`, the effect of assignment.
    pub lift: f64,
    /// Share of treatment sessions that got a learning, `d_T`.
    pub treatment_delivery: f64,
    /// Share of holdout sessions that got one, `d_C`; should be 0.
    pub holdout_delivery: f64,
    /// `lift / (d_T − d_C)` (Wald, 1940); null when delivery does not differ.
    pub effect: Defined<f64>,
    /// Its CR0 standard error, as of two-stage least squares clustered by user; null as the effect.
    pub standard_error: Defined<f64>,
    /// Fieller's 95 % interval on CR2 with Bell–McCaffrey t; null as the effect, with fewer than two
    /// evaluated users in an arm, without variance, and when the difference in delivery cannot be
    /// told from zero.
    pub interval: Defined<Interval>,
}

impl ComplierEffect {
    /// Estimates the effect; null if an arm has no evaluated session.
    pub fn of(treatment: &[DeliveredUser], holdout: &[DeliveredUser]) -> Defined<Self> {
        let (treatment, holdout) = (Delivery::new(treatment), Delivery::new(holdout));
        let lift = treatment.outcome.mean()? - holdout.outcome.mean()?;
        let treatment_delivery = treatment.delivered.mean()?;
        let holdout_delivery = holdout.delivered.mean()?;
        let first_stage = treatment_delivery - holdout_delivery;
        let effect = if first_stage == 0.0 {
            Err(NullReason::NoDifferenceInDelivery)
        } else {
            Ok(lift / first_stage)
        };
        Ok(Self {
            lift,
            treatment_delivery,
            holdout_delivery,
            effect,
            standard_error: effect.map(|effect| {
                let variance = treatment.cr0(effect) + holdout.cr0(effect);
                variance.sqrt() / first_stage.abs()
            }),
            interval: effect.and_then(|_| fieller(&treatment, &holdout, lift, first_stage)),
        })
    }
}

fn fieller(
    treatment: &Delivery,
    holdout: &Delivery,
    lift: f64,
    first_stage: f64,
) -> Defined<Interval> {
    let critical_value = Comparison::new(&treatment.outcome, &holdout.outcome).critical_value()?;
    let both = |arm: fn(&Delivery) -> &Arm| {
        Ok(arm(treatment).variance(Variance::Cr2)? + arm(holdout).variance(Variance::Cr2)?)
    };
    let ratio = Ratio {
        numerator: lift,
        denominator: first_stage,
        numerator_variance: both(|arm| &arm.outcome)?,
        denominator_variance: both(|arm| &arm.delivered)?,
        covariance: treatment.cr2_covariance() + holdout.cr2_covariance(),
    };
    ratio.interval(critical_value)
}

/// One arm seen twice: by outcome and by delivery.
struct Delivery {
    users: Vec<(UserSum, UserSum)>,
    outcome: Arm,
    delivered: Arm,
}

impl Delivery {
    fn new(users: &[DeliveredUser]) -> Self {
        let mut users: Vec<_> = users
            .iter()
            .filter(|user| user.outcome.sessions > 0)
            .map(|user| {
                let delivered = UserSum {
                    sessions: user.outcome.sessions,
                    total: i64::try_from(user.delivered).unwrap_or(i64::MAX),
                };
                (user.outcome, delivered)
            })
            .collect();
        users.sort_unstable();
        Self {
            outcome: users.iter().map(|(outcome, _)| *outcome).collect(),
            delivered: users.iter().map(|(_, delivered)| *delivered).collect(),
            users,
        }
    }

    /// CR0 of the mean of `outcome − effect·delivered`.
    fn cr0(&self, effect: f64) -> f64 {
        let sessions = self.outcome.session_count() as f64;
        sum(self.users.iter().map(|(outcome, delivered)| {
            let residual =
                self.outcome.residual(outcome) - effect * self.delivered.residual(delivered);
            (residual / sessions).powi(2)
        }))
    }

    /// CR2 covariance of the two means.
    fn cr2_covariance(&self) -> f64 {
        let sessions = self.outcome.session_count() as f64;
        sum(self.users.iter().map(|(outcome, delivered)| {
            let residuals = (self.outcome.residual(outcome) / sessions)
                * (self.delivered.residual(delivered) / sessions);
            residuals * self.outcome.leverage_factor(outcome)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(sessions: u64, total: i64, delivered: u64) -> DeliveredUser {
        DeliveredUser { outcome: UserSum { sessions, total }, delivered }
    }

    #[test]
    fn full_delivery_leaves_the_lift_as_it_is() {
        let treatment = [user(4, 3, 4), user(5, 5, 5), user(3, 1, 3)];
        let holdout = [user(4, 2, 0), user(2, 0, 0)];
        let effect = ComplierEffect::of(&treatment, &holdout);
        assert!(effect.is_ok_and(|e| e.effect == Ok(e.lift) && e.interval.is_ok()));
    }

    #[test]
    fn equal_delivery_has_no_effect_to_estimate() {
        let users = [user(4, 2, 0), user(2, 0, 0)];
        let effect = ComplierEffect::of(&users, &users).map(|e| (e.effect, e.interval));
        let null = NullReason::NoDifferenceInDelivery;
        assert_eq!(effect, Ok((Err(null), Err(null))));
    }
}
