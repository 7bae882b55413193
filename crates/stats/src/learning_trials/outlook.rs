//! The plan of an epoch, the smallest effect that could be seen by now, and the days until a given one could.

use super::epoch::Epoch;
use super::evidence::Pooled;
use super::state::FALSE_DISCOVERY_RATE;
use crate::distributions::normal_critical_value;
use crate::pooled::{SMALLEST_EXPECTED_EVENTS, SMALLEST_TRIAL_ARM};
use crate::reason::{Defined, NullReason};
use crate::summation::sum;

/// Weeks of traffic for which an epoch is planned.
const PLANNED_WEEKS: f64 = 12.0;
/// No epoch is planned for fewer users.
pub const SMALLEST_PLAN: u64 = 200;
/// The chance with which a visible effect is seen.
pub const POWER: f64 = 0.8;
/// The effect whose day is forecast: five percentage points.
pub const NOTICEABLE_EFFECT: f64 = 0.05;
/// No forecast looks further ahead: ten years.
const LONGEST_FORECAST: u64 = 3_650;

/// `n*` of an epoch that starts now: the users for whom the playbook is found in twelve weeks; without a
/// history, the median of what the organization's other playbooks are planned for. At least
/// [`SMALLEST_PLAN`]: with fewer users hardly anything can be seen, and a plan for fewer would only make the
/// evidence of later users weaker.
///
/// Of an even number of others, the median is the mean of the two in the middle, rounded down.
#[must_use]
pub fn planned_users(users_per_week: Option<f64>, others: &[u64]) -> u64 {
    let of_history = users_per_week
        .filter(|users| users.is_finite() && *users > 0.0)
        .map(|users| (PLANNED_WEEKS * users).round() as u64);
    let planned = of_history.unwrap_or_else(|| {
        let mut others = others.to_vec();
        others.sort_unstable();
        let at = |place: usize| others.get(place).copied().unwrap_or(0);
        u64::midpoint(at(others.len().saturating_sub(1) / 2), at(others.len() / 2))
    });
    planned.max(SMALLEST_PLAN)
}

/// The smallest effect that would be called by now, alone among `playbooks` playbooks, with a chance of 80 %.
///
/// A lone discovery needs `E ≥ K/q`. If every epoch showed the effect `δ`, the product of their e-values would
/// be as large at
///
/// ```text
/// δ² = (2 ln(K/q) + Σ ln(1 + i_e)) / Σ i_e/((1 + i_e)·SE0_e²),   i = nρ²
/// ```
///
/// of one epoch, `δ = k·SE0` with the sequence's multiplier at `α = q/K`. An estimate varies by `SE0` around
/// the effect, and is over `δ` with a chance of 80 % when the effect is `δ + z_0.8·SE0`: the answer. Where other
/// playbooks are called too a smaller one may be. Null as [`Evidence::of`](super::Evidence::of) is.
pub fn smallest_visible_effect(epochs: &[Epoch], playbooks: usize) -> Defined<f64> {
    let pooled = Pooled::of(epochs)?;
    let known: Vec<Known> = pooled
        .epochs
        .iter()
        .map(|(_, epoch)| Known { information: epoch.information, precision: epoch.precision() })
        .collect();
    Ok(visible(&known, playbooks))
}

/// The days until [`smallest_visible_effect`] is down to `effect`, if `users_per_day` more users are evaluated
/// every day in the newest epoch: 0 if it is already.
///
/// The variance of an epoch falls as one over its users. If the newest epoch has too few events yet, the
/// forecast takes an average user of both its arms and the share: the epoch counts from the day on which 20
/// withheld users and 10 of the rarer outcome among their sessions can be expected.
///
/// Null with `too_few_events` while the newest epoch has an arm without sessions, or nothing varies; and as out
/// of reach without traffic, for an effect of 0, and beyond ten years.
pub fn days_until_visible(
    epochs: &[Epoch],
    playbooks: usize,
    users_per_day: f64,
    effect: f64,
) -> Defined<u64> {
    let newest = epochs.last().ok_or(NullReason::TooFewEvents)?;
    let before = epochs.get(..epochs.len().saturating_sub(1)).unwrap_or_default();
    let settled: Vec<Known> = before
        .iter()
        .filter_map(|epoch| epoch.evidence().ok())
        .map(|epoch| Known { information: epoch.information, precision: epoch.precision() })
        .collect();
    let evidence = newest.evidence();
    let per_user = newest.per_user()?;
    let users = newest.user_counts().iter().sum::<usize>();
    let at = |day: u64| {
        let later = users as f64 + users_per_day * day as f64;
        let precision = match &evidence {
            Ok(evidence) => Some(evidence.precision() * later / users as f64),
            Err(_) => {
                let withheld = later * newest.share().min(1.0 - newest.share());
                let suffice = withheld >= SMALLEST_TRIAL_ARM as f64
                    && withheld * per_user.events >= SMALLEST_EXPECTED_EVENTS;
                suffice.then_some(per_user.precision * later)
            }
        };
        let mut known = settled.clone();
        if let (Some(precision), Ok(information)) =
            (precision, newest.sequence.information(later as usize))
        {
            known.push(Known { information, precision });
        }
        known
    };
    let is_visible = |day: u64| {
        let known = at(day);
        !known.is_empty() && visible(&known, playbooks) <= effect.abs()
    };
    if is_visible(0) {
        return Ok(0);
    }
    if !(users_per_day.is_finite() && users_per_day > 0.0 && is_visible(LONGEST_FORECAST)) {
        return Err(NullReason::OutOfReach);
    }
    let (mut before, mut from) = (0, LONGEST_FORECAST);
    while from - before > 1 {
        let middle = u64::midpoint(before, from);
        if is_visible(middle) {
            from = middle;
        } else {
            before = middle;
        }
    }
    Ok(from)
}

/// `nρ²` and `1/SE0²` of an epoch.
#[derive(Clone, Copy)]
struct Known {
    information: f64,
    precision: f64,
}

fn visible(known: &[Known], playbooks: usize) -> f64 {
    let ln_needed = (playbooks.max(1) as f64 / FALSE_DISCOVERY_RATE).ln();
    let cost = sum(known.iter().map(|epoch| epoch.information.ln_1p()));
    let gain = sum(known.iter().map(|epoch| epoch.precision / (1.0 + epoch.information.recip())));
    let standard_error = sum(known.iter().map(|epoch| epoch.precision)).sqrt().recip();
    ((2.0 * ln_needed + cost) / gain).sqrt() + normal_critical_value(1.0 - POWER) * standard_error
}

#[cfg(test)]
mod tests {
    use super::super::epoch::{EpochPlan, TrialUser};
    use super::super::evidence::Evidence;
    use super::*;
    use crate::always_valid::AlwaysValid;
    use crate::testing::close;

    const PLAN: EpochPlan = EpochPlan { share: 0.2, planned_users: 720 };

    /// `count` users with two sessions, one in ten of whom fails in both.
    fn users(count: usize) -> impl Iterator<Item = TrialUser> {
        (0..count).map(|n| TrialUser::unweighted(2, if n % 10 == 0 { 0 } else { 2 }))
    }

    fn epoch(served: usize, withheld: usize) -> Epoch {
        Epoch::new(users(served), users(withheld), PLAN).expect("users are consistent")
    }

    #[test]
    fn twelve_weeks_or_the_median_of_the_others() {
        assert_eq!(planned_users(Some(60.0), &[9_000]), 720);
        assert_eq!(planned_users(Some(2.5), &[9_000]), 200);
        assert_eq!(planned_users(None, &[900, 300, 100]), 300);
        assert_eq!(planned_users(None, &[900, 300, 100, 601]), 450);
        assert_eq!(planned_users(None, &[10]), 200);
        assert_eq!(planned_users(Some(0.0), &[]), 200);
    }

    #[test]
    fn an_estimate_at_the_threshold_has_the_e_value_of_a_lone_discovery() {
        let epochs = [epoch(480, 120)];
        let evidence = Evidence::of(&epochs).expect("enough events");
        let smallest = smallest_visible_effect(&epochs, 100).expect("enough events");
        let threshold = smallest - normal_critical_value(0.2) * evidence.standard_error;
        let sequence = AlwaysValid::planned_for(720).expect("planned");
        let ln_e_value = sequence.ln_e_value(threshold / evidence.standard_error, 600);
        close(ln_e_value.map_or(0.0, f64::exp), 1_000.0, 1e-9);
        let twice = [epoch(480, 120), epoch(480, 120)];
        assert!(smallest_visible_effect(&twice, 100).is_ok_and(|effect| effect < smallest));
        assert!(smallest_visible_effect(&epochs, 10).is_ok_and(|effect| effect < smallest));
        let null = smallest_visible_effect(&[epoch(20, 2)], 100);
        assert_eq!(null, Err(NullReason::TooFewEvents));
    }

    #[test]
    fn on_the_day_of_the_forecast_the_effect_is_visible() {
        let days = |epochs: &[Epoch], per_day: f64| {
            days_until_visible(epochs, 100, per_day, NOTICEABLE_EFFECT)
        };
        let now = [epoch(480, 120)];
        let needed = days(&now, 10.0).expect("within reach");
        assert!(needed > 30);
        let then = |days: u64| {
            let more = 10 * days as usize;
            smallest_visible_effect(&[epoch(480 + more * 4 / 5, 120 + more / 5)], 100)
        };
        assert!(then(needed + 2).is_ok_and(|effect| effect <= NOTICEABLE_EFFECT));
        assert!(then(needed - 2).is_ok_and(|effect| effect > NOTICEABLE_EFFECT));
        // Nearly the same from the first withheld users on.
        let early = days(&[epoch(40, 10)], 10.0).expect("within reach");
        assert!(early.abs_diff(needed + 55) < 5, "{early} {needed}");
        assert_eq!(days(&now, 0.0), Err(NullReason::OutOfReach));
        assert_eq!(days(&now, 0.001), Err(NullReason::OutOfReach));
        assert_eq!(days_until_visible(&now, 100, 0.0, 0.9), Ok(0));
        assert_eq!(days_until_visible(&now, 100, 10.0, 0.0), Err(NullReason::OutOfReach));
        assert_eq!(days(&[epoch(40, 0)], 10.0), Err(NullReason::TooFewEvents));
        assert_eq!(days(&[], 10.0), Err(NullReason::TooFewEvents));
        // Each epoch spreads its evidence over effects of all sizes anew, which costs as much here as the first
        // of the two knew.
        let second = days(&[epoch(480, 120), epoch(40, 10)], 10.0);
        assert!(second.is_ok_and(|days| days.abs_diff(early) < 5), "{second:?} {early}");
    }
}
