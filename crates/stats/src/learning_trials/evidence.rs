//! The effect of one text of a playbook, pooled over the epochs of that text.

use super::epoch::{Epoch, EpochEvidence};
use crate::interval::Interval;
use crate::reason::{Defined, NullReason};
use crate::summation::sum;

/// The evidence about one text of a playbook.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Success with the playbook minus success without it, as a fraction.
    pub effect: f64,
    /// Its standard error, from the variance of pooled residuals (`SE0`).
    pub standard_error: f64,
    /// How much likelier the outcomes are if there is some effect than if there is none, on a scale on which
    /// no effect reaches `1/α`, at any look ever, with a chance of at most `α`.
    pub e_value: f64,
    /// Evaluated users, counted once in each epoch.
    pub users: usize,
    /// Epochs with enough events.
    pub epochs: usize,
}

impl Evidence {
    /// Pools the epochs of one text, in the order of their numbers.
    ///
    /// ```text
    /// z = (p_with − p_without)/SE0,   E = (1 + nρ²)^(−1/2) · exp( z²·nρ² / (2(1 + nρ²)) )       of each epoch
    /// effect = Σ effect_e/SE0_e² / Σ 1/SE0_e²,   SE0² = 1 / Σ 1/SE0_e²,   E = Π E_e            of all
    /// ```
    ///
    /// Arms are drawn anew in each epoch, by a hash of the user and the epoch. Given everything before,
    /// no effect leaves the next `E_e` with a mean of at most 1, so that the product is an e-value; and the
    /// differences of two epochs are uncorrelated even when the same users come back.
    ///
    /// An epoch with too few events has factor 1 and no weight: it is left out. Whether it is left out depends
    /// on counts and on the common rate, not on the difference of the arms. If all are left out the evidence is
    /// null, with the reason of the newest epoch, and stands for an e-value of 0
    /// ([`judge_trials`](super::judge_trials)); 0 and 1 both call nothing.
    pub fn of(epochs: &[Epoch]) -> Defined<Self> {
        Ok(Pooled::of(epochs)?.evidence())
    }

    /// `effect / SE0`.
    #[must_use]
    pub fn z(&self) -> f64 {
        self.effect / self.standard_error
    }
}

/// The effect of one text of a playbook with its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialEffect {
    /// The effect, its standard error and its e-value.
    pub evidence: Evidence,
    /// The 95 % interval for one look: clustered Newcombe.
    pub interval: Interval,
    /// The 95 % interval that holds at all looks together.
    pub always_valid: Interval,
}

impl TrialEffect {
    /// Pools the epochs of one text, in the order of their numbers; null as [`Evidence::of`] is.
    ///
    /// Of one epoch, the intervals are the clustered Newcombe interval at Student's t and at the multiplier of
    /// the sequence. Of several, the distances to the limits of each epoch are weighted, squared and added, as
    /// Newcombe's interval does with those of its arms (Zou and Donner, 2008):
    ///
    /// ```text
    /// w_e = SE0²/SE0_e²,   lower = effect − √Σ w_e²(effect_e − lower_e)²,   upper alike
    /// ```
    ///
    /// The multiplier of the sequence is then that of the first epoch with enough events, at
    /// `n = n_1·SE0_1²/SE0²` users: as many as it would have taken there to know as much. Users of a later
    /// epoch with another share tell more or less each, and the sequence holds on the clock of what is known.
    pub fn of(epochs: &[Epoch]) -> Defined<Self> {
        let pooled = Pooled::of(epochs)?;
        Ok(Self {
            evidence: pooled.evidence(),
            interval: pooled.interval(None)?,
            always_valid: pooled.interval(Some(pooled.multiplier()?))?,
        })
    }
}

/// The epochs with enough events: at least one.
pub(super) struct Pooled<'a> {
    first: (&'a Epoch, EpochEvidence),
    /// All of them, the first included.
    pub(super) epochs: Vec<(&'a Epoch, EpochEvidence)>,
}

impl<'a> Pooled<'a> {
    /// Null if there is none, with the reason of the newest.
    pub(super) fn of(epochs: &'a [Epoch]) -> Defined<Self> {
        let mut reason = NullReason::TooFewEvents;
        let mut given = Vec::new();
        for epoch in epochs {
            match epoch.evidence() {
                Ok(evidence) => given.push((epoch, evidence)),
                Err(null) => reason = null,
            }
        }
        let first = *given.first().ok_or(reason)?;
        Ok(Self { first, epochs: given })
    }

    /// `1/SE0² = Σ 1/SE0_e²`.
    pub(super) fn precision(&self) -> f64 {
        sum(self.epochs.iter().map(|(_, epoch)| epoch.precision()))
    }

    fn is_one(&self) -> bool {
        self.epochs.len() == 1
    }

    /// Of one epoch, its own difference to the last digit.
    fn effect(&self) -> f64 {
        if self.is_one() {
            return self.first.1.difference;
        }
        let weighted = self.epochs.iter().map(|(_, epoch)| epoch.precision() * epoch.difference);
        sum(weighted) / self.precision()
    }

    fn evidence(&self) -> Evidence {
        let ln_e_value = sum(self.epochs.iter().map(|(_, epoch)| epoch.ln_e_value));
        let standard_error = if self.is_one() {
            self.first.1.standard_error
        } else {
            self.precision().sqrt().recip()
        };
        Evidence {
            effect: self.effect(),
            standard_error,
            e_value: ln_e_value.exp().min(f64::MAX),
            users: self.epochs.iter().map(|(_, epoch)| epoch.users).sum(),
            epochs: self.epochs.len(),
        }
    }

    /// `k` of the sequence, on the clock of the first epoch.
    fn multiplier(&self) -> Defined<f64> {
        let (epoch, first) = &self.first;
        if self.is_one() {
            return epoch.sequence.multiplier(first.users);
        }
        let users = first.users as f64 * self.precision() / first.precision();
        epoch.sequence.multiplier(users.round() as usize)
    }

    /// Each epoch at this critical value, or at its own t.
    fn interval(&self, critical_value: Option<f64>) -> Defined<Interval> {
        if self.is_one() {
            return self.first.0.interval(critical_value);
        }
        let (effect, precision) = (self.effect(), self.precision());
        let mut distances = Vec::new();
        for (epoch, evidence) in &self.epochs {
            let Interval { lower, upper } = epoch.interval(critical_value)?;
            let weight = evidence.precision() / precision;
            let difference = evidence.difference;
            distances.push([weight * (difference - lower), weight * (upper - difference)]);
        }
        let reach = |side: usize| sum(distances.iter().map(|d| d[side] * d[side])).sqrt();
        Ok(Interval::between(effect - reach(0), effect + reach(1))
            .clamped(Interval::between(-1.0, 1.0)))
    }
}

impl EpochEvidence {
    /// `1/SE0²`.
    pub(super) fn precision(&self) -> f64 {
        (self.standard_error * self.standard_error).recip()
    }
}

#[cfg(test)]
mod tests {
    use super::super::epoch::{EpochPlan, TrialUser};
    use super::*;
    use crate::always_valid::AlwaysValid;
    use crate::testing::close;
    use crate::{Arm, CiMethod, Comparison, UserSum};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const PLAN: EpochPlan = EpochPlan { share: 0.2, planned_users: 200 };

    fn users(groups: &[(usize, u64, u64)]) -> Vec<TrialUser> {
        let alike = |&(count, sessions, successes): &(usize, u64, u64)| {
            std::iter::repeat_n(TrialUser::unweighted(sessions, successes), count)
        };
        groups.iter().flat_map(alike).collect()
    }

    fn epoch(served: &[(usize, u64, u64)], withheld: &[(usize, u64, u64)]) -> Epoch {
        Epoch::new(users(served), users(withheld), PLAN).expect("users are consistent")
    }

    /// 90 of 100 served and 12 of 20 withheld users succeed, with one session each.
    fn single_sessions() -> Epoch {
        epoch(&[(90, 1, 1), (10, 1, 0)], &[(12, 1, 1), (8, 1, 0)])
    }

    #[test]
    fn by_hand() {
        // P = 102/120 = .85, but 20·.15 = 3 failures are expected among the withheld.
        let null = Evidence::of(&[single_sessions()]);
        assert_eq!(null, Err(NullReason::TooFewEvents));
        // Four sessions a user, all alike within a user: 80·.15 = 12 are.
        let four = epoch(&[(90, 4, 4), (10, 4, 0)], &[(12, 4, 4), (8, 4, 0)]);
        let evidence = Evidence::of(&[four]).expect("enough events");
        close(evidence.effect, 0.3, 1e-14);
        // Residuals .6 and −3.4: Σr² = 102·.36 + 18·11.56 = 244.8, Σn² = 1920, τ² = .1275.
        // V_with = .1275·1600/400² = .001275, V_without = .1275·320/80² = .006375.
        close(evidence.standard_error, 0.007_65_f64.sqrt(), 1e-13);
        // nρ² = 120·(5.99146 + ln 6.99146)/200 = 4.761693, z² = .09/.00765 = 11.7647.
        let twice = -2.0 * 0.05_f64.ln();
        let information = 120.0 * (twice + (1.0 + twice).ln()) / 200.0;
        close(information, 4.761_693, 1e-6);
        let expected = (11.764_705_882_352_94 / 2.0 * information / (1.0 + information)).exp()
            / (1.0 + information).sqrt();
        close(evidence.e_value, expected, 1e-12);
        close(evidence.e_value, 53.8, 0.01);
        assert_eq!((evidence.users, evidence.epochs), (120, 1));
    }

    #[test]
    fn one_epoch_has_the_intervals_of_an_experiment() {
        let [served, withheld] = [
            users(&[(60, 3, 3), (30, 2, 1), (10, 4, 0)]),
            users(&[(12, 3, 3), (8, 2, 0), (5, 4, 2)]),
        ];
        let arm = |users: &[TrialUser]| -> Arm {
            let sum = |user: &TrialUser| UserSum {
                sessions: user.sessions,
                total: user.successes as i64,
            };
            users.iter().map(sum).collect()
        };
        let [with, without] = [arm(&served), arm(&withheld)];
        let comparison = Comparison::new(&with, &without);
        let epoch = Epoch::new(served, withheld, PLAN).expect("users are consistent");
        let same = Epoch::of_arms(with.clone(), without.clone(), PLAN);
        assert_eq!(same.as_ref(), Ok(&epoch));
        let effect = TrialEffect::of(&[epoch]).expect("enough events");
        assert_eq!(comparison.interval(CiMethod::ClusteredNewcombe), Ok(effect.interval));
        let sequence = AlwaysValid::planned_for(PLAN.planned_users);
        let expected = sequence
            .and_then(|sequence| sequence.multiplier(125))
            .and_then(|k| crate::newcombe::clustered_interval(&comparison, k));
        assert_eq!(expected, Ok(effect.always_valid));
        assert_eq!(comparison.lift(), Ok(effect.evidence.effect));
    }

    #[test]
    fn epochs_are_pooled_by_what_they_know() {
        let one = epoch(&[(90, 4, 4), (10, 4, 0)], &[(12, 4, 4), (8, 4, 0)]);
        let other = epoch(&[(50, 4, 4), (50, 4, 2)], &[(30, 4, 3), (10, 4, 1)]);
        let alone = [&one, &other].map(|epoch| {
            TrialEffect::of(std::slice::from_ref(epoch)).expect("enough events").evidence
        });
        let both = TrialEffect::of(&[one.clone(), other]).expect("enough events");
        let [a, b] = alone.map(|evidence| evidence.standard_error.powi(-2));
        let expected = (a * alone[0].effect + b * alone[1].effect) / (a + b);
        close(both.evidence.effect, expected, 1e-14);
        close(both.evidence.standard_error, (a + b).sqrt().recip(), 1e-14);
        close(both.evidence.e_value, alone[0].e_value * alone[1].e_value, 1e-12);
        assert!(both.interval.contains(expected) && both.always_valid.contains(expected));
        assert!(both.interval.width() < both.always_valid.width());
        // The same epoch twice: half the variance, the same effect.
        let twice = TrialEffect::of(&[one.clone(), one.clone()]).expect("enough events");
        let once = TrialEffect::of(std::slice::from_ref(&one)).expect("enough events");
        close(twice.interval.width(), once.interval.width() / 2.0_f64.sqrt(), 1e-12);
        // An epoch with too few events changes nothing, to the last digit.
        let early = TrialEffect::of(&[single_sessions(), one, single_sessions()]);
        assert_eq!(early, Ok(once));
    }

    #[test]
    fn nothing_is_known_too_early_or_when_nothing_varies() {
        assert_eq!(Evidence::of(&[]), Err(NullReason::TooFewEvents));
        let nobody = epoch(&[(90, 4, 4), (90, 4, 3)], &[]);
        assert_eq!(Evidence::of(&[nobody]), Err(NullReason::TooFewEvents));
        let nineteen = epoch(&[(90, 9, 4), (90, 9, 3)], &[(19, 9, 4)]);
        assert_eq!(Evidence::of(&[nineteen]), Err(NullReason::TooFewEvents));
        let alike = epoch(&[(90, 2, 1)], &[(30, 4, 2)]);
        assert_eq!(Evidence::of(&[alike]), Err(NullReason::ZeroVariance));
        let wrong = |user| Epoch::new([user], [], PLAN).err();
        let out_of_range = Some(NullReason::InputOutOfRange);
        assert_eq!(wrong(TrialUser::unweighted(1, 2)), out_of_range);
        assert_eq!(wrong(TrialUser { sessions: 1, weight: 0, successes: 0 }), out_of_range);
        let all = EpochPlan { share: 1.0, ..PLAN };
        assert_eq!(Epoch::new([], [], all).err(), out_of_range);
    }

    #[test]
    fn an_overwhelming_e_value_is_a_number() {
        let certain = epoch(&[(9_000, 4, 4), (90, 4, 3)], &[(2_000, 4, 0), (10, 4, 4)]);
        let evidence = Evidence::of(&[certain.clone(), certain]);
        assert!(evidence.is_ok_and(|evidence| evidence.e_value == f64::MAX));
    }

    #[test]
    fn weights_count_as_sessions_with_mean_one() {
        // A third of the users were judged with a chance of 1/2: one session that stands for two.
        let halved = |count: usize, successes: u64| {
            let user = TrialUser { sessions: 1, weight: 200, successes: 200 * successes };
            std::iter::repeat_n(user, count)
        };
        let plain = |groups: &[(usize, u64, u64)]| {
            users(groups).into_iter().map(|user| TrialUser {
                sessions: user.sessions,
                weight: 100 * user.sessions,
                successes: 100 * user.successes,
            })
        };
        let served = plain(&[(60, 4, 4), (20, 4, 1)]).chain(halved(30, 1)).chain(halved(10, 0));
        let withheld = plain(&[(20, 4, 4), (10, 4, 1)]).chain(halved(10, 1)).chain(halved(5, 0));
        let effect = Epoch::new(served, withheld, PLAN)
            .and_then(|epoch| TrialEffect::of(&[epoch]))
            .expect("enough events");
        // With: 60·4 + 20 + 60 of 320 + 80. Without: 80 + 10 + 20 of 120 + 30.
        close(effect.evidence.effect, 320.0 / 400.0 - 110.0 / 150.0, 1e-13);
        assert!(effect.interval.contains(effect.evidence.effect));
    }

    fn trial_users(least: usize) -> impl Strategy<Value = Vec<TrialUser>> {
        let user = (1_u64..6, 1_u64..4, 0.0..=1.0_f64).prop_map(|(sessions, scale, rate)| {
            let weight = 60 * sessions / scale;
            TrialUser { sessions, weight, successes: (rate * weight as f64) as u64 }
        });
        vec(user, least..60)
    }

    proptest! {
        /// Exchanging the arms changes the sign of the effect and nothing else.
        #[test]
        fn arms_are_exchangeable(served in trial_users(20), withheld in trial_users(20)) {
            let effect = |one: &Vec<TrialUser>, other: &Vec<TrialUser>| {
                let epoch = Epoch::new(one.clone(), other.clone(), PLAN)?;
                TrialEffect::of(&[epoch])
            };
            match (effect(&served, &withheld), effect(&withheld, &served)) {
                (Ok(one), Ok(other)) => {
                    prop_assert_eq!(one.evidence.effect, -other.evidence.effect);
                    close(one.evidence.e_value, other.evidence.e_value, 1e-9);
                    prop_assert!((one.interval.lower + other.interval.upper).abs() < 1e-12);
                    prop_assert!((one.always_valid.upper + other.always_valid.lower).abs() < 1e-12);
                    prop_assert!(one.interval.contains(one.evidence.effect));
                    prop_assert!(one.evidence.e_value >= 0.0);
                }
                (one, other) => prop_assert_eq!(one, other),
            }
        }

        /// The order of the users changes nothing, to the last digit.
        #[test]
        fn order_does_not_matter(
            served in trial_users(20).prop_shuffle(), withheld in trial_users(20), seed in any::<u64>(),
        ) {
            let shuffled = |users: &[TrialUser]| {
                let mut users = users.to_vec();
                users.sort_by_key(|user| (user.weight ^ user.successes).wrapping_mul(seed | 1));
                users
            };
            let effect = |one: Vec<TrialUser>, other: Vec<TrialUser>| {
                let epoch = Epoch::new(one, other, PLAN)?;
                TrialEffect::of(&[epoch])
            };
            let other = effect(shuffled(&served), shuffled(&withheld));
            prop_assert_eq!(effect(served, withheld), other);
        }

        /// The unit of the weights changes nothing but the last digits.
        #[test]
        fn the_unit_does_not_matter(
            served in trial_users(20), withheld in trial_users(20), unit in 2_u64..10_000,
        ) {
            let scaled = |users: &[TrialUser]| -> Vec<TrialUser> {
                let times = |user: &TrialUser| TrialUser {
                    sessions: user.sessions,
                    weight: unit * user.weight,
                    successes: unit * user.successes,
                };
                users.iter().map(times).collect()
            };
            let effect = |one: Vec<TrialUser>, other: Vec<TrialUser>| {
                let epoch = Epoch::new(one, other, PLAN)?;
                TrialEffect::of(&[epoch])
            };
            let large = effect(scaled(&served), scaled(&withheld));
            match (effect(served, withheld), large) {
                (Ok(one), Ok(other)) => {
                    close(one.evidence.standard_error, other.evidence.standard_error, 1e-12);
                    close(one.interval.width(), other.interval.width(), 1e-9);
                    close(one.evidence.e_value, other.evidence.e_value, 1e-9);
                }
                (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok()),
            }
        }
    }
}
