//! From sums per user to effects: pure functions, so that an export gives the same numbers.

use stats::learning_trials::{
    Epoch, EpochPlan, Evidence, FoundUsers, NOTICEABLE_EFFECT, TrialEffect, TrialUser,
    days_until_visible, judge_trials, sample_ratio, smallest_visible_effect,
};
use stats::sample_ratio::level_of_one_check;
use stats::{Defined, Interval};

use std::collections::BTreeMap;

use super::{Effect, Estimate, ShrunkenEffect, TrialSide};

pub const DAY: i64 = 86_400;
/// Traffic is that of the last days.
const TRAFFIC_DAYS: i64 = 28;

/// Users of one side with the same sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsersAlike {
    pub users: u64,
    pub sums: TrialUser,
}

/// Users of one side for whom a playbook was found on this day for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundOnDay {
    /// Days since 1970.
    pub day: i64,
    pub users: u64,
}

/// Judged and found users of the sides of an epoch: those who were served, and those who were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SidesOfEpoch {
    pub judged: [Vec<UsersAlike>; 2],
    /// In the order of days.
    pub found: [Vec<FoundOnDay>; 2],
}

/// A user for whom a playbook was found in an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundUser {
    pub withheld: bool,
    /// Day on which it was found for them for the first time.
    pub first_day: i64,
    /// Their judged sessions in which it was found.
    pub sums: TrialUser,
}

impl SidesOfEpoch {
    /// The sides that single users make, in the same order as statements that group users.
    pub fn of_users(users: &[FoundUser]) -> Self {
        let mut sides = SidesOfEpoch::default();
        for (side, withheld) in [false, true].into_iter().enumerate() {
            let (mut alike, mut days) = (BTreeMap::<TrialUser, u64>::new(), BTreeMap::new());
            for user in users.iter().filter(|user| user.withheld == withheld) {
                *days.entry(user.first_day).or_default() += 1;
                if user.sums.sessions > 0 {
                    *alike.entry(user.sums).or_default() += 1;
                }
            }
            let alike = alike.into_iter().map(|(sums, users)| UsersAlike { users, sums });
            sides.judged[side] = alike.collect();
            let days = days.into_iter().map(|(day, users)| FoundOnDay { day, users });
            sides.found[side] = days.collect();
        }
        sides
    }

    fn users(&self) -> u64 {
        self.found.iter().flatten().map(|found| found.users).sum()
    }
}

/// An epoch of a trial with its users.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochOfTrial {
    pub epoch_no: i64,
    /// Digest of the playbook's text.
    pub digest: String,
    pub share: f64,
    pub is_settled: bool,
    pub planned_users: u64,
    pub started_at: i64,
    pub sides: SidesOfEpoch,
}

/// The epochs of one text of a playbook, the oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    pub agent_playbook_id: i64,
    pub epochs: Vec<EpochOfTrial>,
}

impl Trial {
    /// A trial per text, in the order in which the texts appeared; the present one is that of the newest epoch.
    pub fn by_text(agent_playbook_id: i64, epochs: Vec<EpochOfTrial>) -> Vec<Trial> {
        let mut trials: Vec<Trial> = Vec::new();
        for epoch in epochs {
            match trials.iter_mut().find(|trial| trial.epochs[0].digest == epoch.digest) {
                Some(trial) => trial.epochs.push(epoch),
                None => trials.push(Trial { agent_playbook_id, epochs: vec![epoch] }),
            }
        }
        trials
    }

    /// The trial of the present text.
    pub fn present(agent_playbook_id: i64, epochs: Vec<EpochOfTrial>) -> Option<Trial> {
        let newest = |trial: &Trial| trial.epochs.last().map(|epoch| epoch.epoch_no);
        Trial::by_text(agent_playbook_id, epochs).into_iter().max_by_key(newest)
    }

    /// Users for whom it was found, of all epochs.
    pub fn users(&self) -> u64 {
        self.epochs.iter().map(|epoch| epoch.sides.users()).sum()
    }
}

/// The effects of all playbooks together: by their shrunken means, the best first, then those without one.
pub fn effects(trials: &[Trial], now: i64) -> Vec<Effect> {
    let epochs: Vec<Vec<Epoch>> = trials.iter().map(|trial| usable(&trial.epochs)).collect();
    let evidence: Vec<Defined<Evidence>> =
        epochs.iter().map(|epochs| Evidence::of(epochs)).collect();
    let judged = judge_trials(&evidence);
    let checks: usize = trials.iter().map(|trial| trial.epochs.len()).sum();
    let of = |place: &usize| {
        let (trial, epochs) = (&trials[*place], &epochs[*place]);
        let found = judged.trials[*place];
        let newest = trial.epochs.last();
        let per_day = users_per_day(&trial.epochs, now);
        Effect {
            agent_playbook_id: trial.agent_playbook_id,
            state: found.state,
            estimate: Estimate::of(epochs),
            shrunken: found.shrunken.ok().map(|shrunken| {
                let interval = shrunken.interval.percentage_points();
                ShrunkenEffect {
                    mean: shrunken.mean * 100.0,
                    ci_lower: interval.lower,
                    ci_upper: interval.upper,
                    false_sign_rate: shrunken.false_sign_rate,
                }
            }),
            served: side(&trial.epochs, 0),
            withheld: side(&trial.epochs, 1),
            share: newest.map_or(0.0, |epoch| epoch.share),
            is_settled: newest.is_some_and(|epoch| epoch.is_settled),
            epochs: trial.epochs.len(),
            started_at: trial.epochs.first().map_or(0, |epoch| epoch.started_at),
            smallest_visible_effect: smallest_visible_effect(epochs, trials.len())
                .ok()
                .map(|effect| effect * 100.0),
            days_until_five_points: days_until_visible(
                epochs,
                trials.len(),
                per_day,
                NOTICEABLE_EFFECT,
            )
            .ok(),
            sample_ratio_ok: has_its_shares(&trial.epochs, checks),
        }
    };
    judged.order.iter().map(of).collect()
}

impl Estimate {
    fn of(epochs: &[Epoch]) -> Self {
        let shown = TrialEffect::of(epochs);
        let points = |interval: fn(&TrialEffect) -> Interval| {
            shown.as_ref().ok().map(|shown| interval(shown).percentage_points())
        };
        let (once, always) = (points(|shown| shown.interval), points(|shown| shown.always_valid));
        Estimate {
            effect: shown.ok().map(|shown| shown.evidence.effect * 100.0),
            ci_lower: once.map(|interval| interval.lower),
            ci_upper: once.map(|interval| interval.upper),
            always_valid_lower: always.map(|interval| interval.lower),
            always_valid_upper: always.map(|interval| interval.upper),
            null_reason: shown.err(),
            e_value: shown.map_or(0.0, |shown| shown.evidence.e_value),
        }
    }

    /// Evidence of the epochs of one text, without other playbooks.
    pub fn of_trial(epochs: &[EpochOfTrial]) -> Self {
        Estimate::of(&usable(epochs))
    }
}

fn usable(epochs: &[EpochOfTrial]) -> Vec<Epoch> {
    let users = |alike: &[UsersAlike]| -> Vec<TrialUser> {
        let expand = |alike: &UsersAlike| {
            std::iter::repeat_n(alike.sums, usize::try_from(alike.users).unwrap_or(usize::MAX))
        };
        alike.iter().flat_map(expand).collect()
    };
    epochs
        .iter()
        .filter_map(|epoch| {
            let [served, withheld] = &epoch.sides.judged;
            let plan = EpochPlan { share: epoch.share, planned_users: epoch.planned_users };
            Epoch::new(users(served), users(withheld), plan).ok()
        })
        .collect()
}

/// One side of all epochs together.
pub fn side(epochs: &[EpochOfTrial], index: usize) -> TrialSide {
    let mut side = TrialSide::default();
    let (mut weight, mut successes) = (0u128, 0u128);
    for epoch in epochs {
        side.found_users += epoch.sides.found[index].iter().map(|found| found.users).sum::<u64>();
        for alike in &epoch.sides.judged[index] {
            side.users += alike.users;
            side.sessions += alike.users * alike.sums.sessions;
            weight += u128::from(alike.users) * u128::from(alike.sums.weight);
            successes += u128::from(alike.users) * u128::from(alike.sums.successes);
        }
    }
    side.success_rate = (weight > 0).then(|| successes as f64 / weight as f64 * 100.0);
    side
}

/// Users a day for whom it was found for the first time lately.
fn users_per_day(epochs: &[EpochOfTrial], now: i64) -> f64 {
    let Some(newest) = epochs.last() else { return 0.0 };
    let days = ((now - newest.started_at) / DAY + 1).clamp(1, TRAFFIC_DAYS);
    let since = now / DAY - days;
    let found = newest.sides.found.iter().flatten().filter(|found| found.day > since);
    found.map(|found| found.users).sum::<u64>() as f64 / days as f64
}

/// True if every epoch has users on its sides in the proportion of its share, as far as chance goes over all looks and
/// `checks` epochs.
pub fn has_its_shares(epochs: &[EpochOfTrial], checks: usize) -> Option<bool> {
    let mut is_known = false;
    for epoch in epochs {
        let daily = cumulative(&epoch.sides.found);
        let Some(ratio) = sample_ratio(&daily, epoch.share).ok().filter(|_| !daily.is_empty())
        else {
            continue;
        };
        is_known = true;
        if ratio.is_mismatch_at(level_of_one_check(checks)) {
            return Some(false);
        }
    }
    is_known.then_some(true)
}

/// Users found until the end of each day on which somebody was.
fn cumulative(found: &[Vec<FoundOnDay>; 2]) -> Vec<FoundUsers> {
    let mut days: Vec<i64> = found.iter().flatten().map(|found| found.day).collect();
    days.sort_unstable();
    days.dedup();
    let until = |side: &[FoundOnDay], day: i64| {
        side.iter().filter(|found| found.day <= day).map(|found| found.users).sum()
    };
    days.into_iter()
        .map(|day| FoundUsers { served: until(&found[0], day), withheld: until(&found[1], day) })
        .collect()
}
