//! All playbooks together: which of them help or hurt, by how much, and in which order.

use super::evidence::Evidence;
use crate::multiplicity::e_benjamini_hochberg;
use crate::reason::{Defined, NullReason};
use crate::shrinkage::{NoisyEffect, ShrunkenEffect, shrink_over_spreads};

/// The share of false ones among all playbooks that are said to help or to hurt.
pub const FALSE_DISCOVERY_RATE: f64 = 0.1;

base::vocabulary! {
    /// Is it known whether a playbook helps?
    pub enum TrialState {
        /// Success is higher with it.
        Helps = "helps",
        /// Success is lower with it.
        Hurts = "hurts",
        /// Neither is shown yet.
        NoSignYet = "no_sign_yet",
    }
}

/// A playbook among others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedTrial {
    /// Whether it helps or hurts.
    pub state: TrialState,
    /// The e-value that decided: 0 while the evidence is null.
    pub e_value: f64,
    /// The effect drawn towards zero by what all playbooks show; null as the evidence is.
    pub shrunken: Defined<ShrunkenEffect>,
}

/// All playbooks on trial.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedTrials {
    /// In the order of the input.
    pub trials: Vec<JudgedTrial>,
    /// The standard deviation of the true effects around zero.
    pub spread: f64,
    /// Places in `trials`, from the most helpful to the most harmful; those without evidence last.
    pub order: Vec<usize>,
}

/// Judges all playbooks on trial together.
///
/// e-BH at [`FALSE_DISCOVERY_RATE`] over all of them, also those without evidence, whose e-value is 0; the
/// sign of the effect says which of the rejected help. It looks at the current e-values, not at the largest
/// so far: an e-value holds at a moment that is chosen by looking, its running maximum does not.
/// In a world without effects anything is ever called with a chance of at most 10 %, because `k` e-values of
/// `K/(q·k)` make their mean over all playbooks `1/q`.
///
/// Effects are drawn towards zero and not towards their mean: zero is "no difference", few playbooks do not
/// show their mean well enough, and where all help alike the spread around zero makes up for it. They are
/// averaged over spreads ([`shrink_over_spreads`]): where ten playbooks differ by one point, the one spread that
/// fits best is mostly 0, and intervals of no width cover less than half of the effects. The order is by
/// posterior mean; of equal ones, by `effect/SE0`, then by place.
#[must_use]
pub fn judge_trials(trials: &[Defined<Evidence>]) -> JudgedTrials {
    let e_values: Vec<f64> =
        trials.iter().map(|trial| trial.map_or(0.0, |evidence| evidence.e_value)).collect();
    let rejected = e_benjamini_hochberg(&e_values, FALSE_DISCOVERY_RATE);
    let effects: Vec<NoisyEffect> = trials
        .iter()
        .flatten()
        .map(|e| NoisyEffect { estimate: e.effect, standard_error: e.standard_error })
        .collect();
    let shrinkage = shrink_over_spreads(&effects);
    let mut shrunken = shrinkage.effects.into_iter();
    let judged: Vec<JudgedTrial> = trials
        .iter()
        .zip(e_values.iter().zip(rejected))
        .map(|(trial, (&e_value, is_rejected))| {
            let state = match trial {
                Ok(evidence) if is_rejected && evidence.effect > 0.0 => TrialState::Helps,
                Ok(evidence) if is_rejected && evidence.effect < 0.0 => TrialState::Hurts,
                _ => TrialState::NoSignYet,
            };
            let shrunken = trial.and_then(|_| shrunken.next().ok_or(NullReason::TooFewEvents));
            JudgedTrial { state, e_value, shrunken }
        })
        .collect();
    let key = |place: usize| {
        let mean = judged.get(place).and_then(|trial| trial.shrunken.ok()).map(|s| s.mean);
        let z = trials.get(place).and_then(|trial| trial.ok()).map(|evidence| evidence.z());
        [mean, z].map(|value| value.unwrap_or(f64::NEG_INFINITY))
    };
    let mut order: Vec<usize> = (0..trials.len()).collect();
    order.sort_by(|&one, &other| {
        let ([mean, z], [other_mean, other_z]) = (key(one), key(other));
        other_mean.total_cmp(&mean).then(other_z.total_cmp(&z))
    });
    JudgedTrials { trials: judged, spread: shrinkage.spread, order }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(effect: f64, e_value: f64) -> Defined<Evidence> {
        Ok(Evidence { effect, standard_error: 0.05, e_value, users: 400, epochs: 1 })
    }

    #[test]
    fn called_by_e_value_and_sign_and_ordered_by_posterior_mean() {
        let null = Err(NullReason::TooFewEvents);
        let judged = judge_trials(&[
            with(0.01, 0.3),
            with(-0.3, 1e6),
            null,
            with(0.2, 26.0),
            with(0.1, 2.0),
        ]);
        // K/q = 50: the second of two needs 25.
        let states: Vec<_> = judged.trials.iter().map(|trial| trial.state).collect();
        let none = TrialState::NoSignYet;
        assert_eq!(states, [none, TrialState::Hurts, none, TrialState::Helps, none]);
        assert_eq!(judged.order, [3, 4, 0, 1, 2]);
        assert!(judged.spread > 0.1);
        let silent = judged.trials.get(2).map(|trial| trial.shrunken);
        assert_eq!(silent, Some(Err(NullReason::TooFewEvents)));
        let mean = judged.trials.get(1).and_then(|trial| trial.shrunken.ok()).map(|s| s.mean);
        assert!(mean.is_some_and(|mean| mean < -0.2 && mean > -0.3));
    }

    #[test]
    fn playbooks_without_evidence_count_among_those_on_trial() {
        let mut trials = vec![with(0.2, 45.0)];
        let state = |trials: &[Defined<Evidence>]| judge_trials(trials).trials[0].state;
        assert_eq!(state(&trials), TrialState::Helps);
        trials.extend([Err(NullReason::TooFewEvents); 4]);
        assert_eq!(state(&trials), TrialState::NoSignYet);
        assert!(judge_trials(&[]).order.is_empty());
    }

    #[test]
    fn what_is_less_certain_is_drawn_further() {
        let vague =
            Ok(Evidence { effect: 0.12, standard_error: 0.2, e_value: 0.4, users: 60, epochs: 1 });
        let judged = judge_trials(&[vague, with(0.1, 2.0), with(-0.02, 0.1), with(0.03, 0.1)]);
        assert_eq!(judged.order, [1, 3, 0, 2]);
        let rate = |place: usize| judged.trials[place].shrunken.map_or(0.0, |s| s.false_sign_rate);
        assert!(rate(1) < rate(3) && rate(3) < 0.5);
    }
}
