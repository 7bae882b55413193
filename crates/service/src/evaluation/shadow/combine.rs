//! Combination of two calls into one verdict, and of a session's verdicts into one preference.

use judge::BetterRequest;
use judge::verdicts::ShadowVerdict;

base::vocabulary! {
    /// Preference of a session's comparisons: for the responses it was given, or for those published beside
    /// them.
    pub enum ShadowPreference {
        RegularIsBetter = "regular_is_better",
        RegularIsSlightlyBetter = "regular_is_slightly_better",
        Tied = "tied",
        ShadowIsSlightlyBetter = "shadow_is_slightly_better",
        ShadowIsBetter = "shadow_is_better",
    }
}

/// Combined verdict of two calls on one pair, in the positions of the first.
#[derive(Debug, PartialEq, Eq)]
pub struct Combined {
    pub better_request: BetterRequest,
    pub is_significantly_better: bool,
    pub comparison_reason: String,
    pub order_consistent: bool,
}

/// The same winner twice is the winner, significantly if both say so; anything else is a tie. `swapped` is the
/// verdict on the pair in the other order.
pub fn combine(first: &ShadowVerdict, swapped: &ShadowVerdict) -> Combined {
    let order_consistent = first.better_request == swapped.better_request.swapped();
    let better_request = if order_consistent { first.better_request } else { BetterRequest::Tie };
    let comparison_reason = if order_consistent {
        first.comparison_reason.clone()
    } else {
        format!("The other order gave another answer. {}", first.comparison_reason)
    };
    Combined {
        better_request,
        is_significantly_better: better_request != BetterRequest::Tie
            && first.is_significantly_better
            && swapped.is_significantly_better,
        comparison_reason,
        order_consistent,
    }
}

/// Score of a turn for the service: 2 or 1 for a win, −2 or −1 for a loss, 0 for a tie.
pub fn score(service_is_request_1: bool, better: BetterRequest, significantly: bool) -> i64 {
    let size = if significantly { 2 } else { 1 };
    match better {
        BetterRequest::Tie => 0,
        better if (better == BetterRequest::First) == service_is_request_1 => size,
        _ => -size,
    }
}

/// A session's preference from the scores of its turns: by the mean, beyond ±1, beyond 0, or tied. Nothing without
/// turns.
pub fn preference(scores: &[i64]) -> Option<ShadowPreference> {
    let n = i64::try_from(scores.len()).ok().filter(|n| *n > 0)?;
    let sum: i64 = scores.iter().sum();
    Some(match sum {
        sum if sum > n => ShadowPreference::RegularIsBetter,
        sum if sum > 0 => ShadowPreference::RegularIsSlightlyBetter,
        0 => ShadowPreference::Tied,
        sum if sum >= -n => ShadowPreference::ShadowIsSlightlyBetter,
        _ => ShadowPreference::ShadowIsBetter,
    })
}

#[cfg(test)]
mod tests {
    use super::BetterRequest::{First, Second, Tie};
    use super::ShadowPreference::*;
    use super::*;

    fn said(better_request: BetterRequest, is_significantly_better: bool) -> ShadowVerdict {
        ShadowVerdict { better_request, is_significantly_better, comparison_reason: "r".to_owned() }
    }

    #[test]
    fn only_a_winner_of_both_orders_wins() {
        for (first, swapped, better, significantly, consistent) in [
            ((First, true), (Second, true), First, true, true),
            ((First, true), (Second, false), First, false, true),
            ((Second, false), (First, false), Second, false, true),
            ((First, true), (First, true), Tie, false, false),
            ((Second, true), (Second, false), Tie, false, false),
            ((First, true), (Tie, false), Tie, false, false),
            ((Tie, false), (Second, true), Tie, false, false),
            ((Tie, false), (Tie, false), Tie, false, true),
        ] {
            let combined = combine(&said(first.0, first.1), &said(swapped.0, swapped.1));
            let got = (
                combined.better_request,
                combined.is_significantly_better,
                combined.order_consistent,
            );
            assert_eq!(got, (better, significantly, consistent), "{first:?} {swapped:?}");
        }
    }

    #[test]
    fn the_mean_decides_the_preference() {
        for (scores, want) in [
            (&[2, 2][..], Some(RegularIsBetter)),
            (&[2, 1], Some(RegularIsBetter)),
            (&[1, 1], Some(RegularIsSlightlyBetter)),
            (&[2, 0], Some(RegularIsSlightlyBetter)),
            (&[1, -1], Some(Tied)),
            (&[0], Some(Tied)),
            (&[-1, 0, 0], Some(ShadowIsSlightlyBetter)),
            (&[-2, 0], Some(ShadowIsSlightlyBetter)),
            (&[-2, -1], Some(ShadowIsBetter)),
            (&[], None),
        ] {
            assert_eq!(preference(scores), want, "{scores:?}");
        }
    }

    #[test]
    fn the_position_says_whose_win_it_is() {
        assert_eq!(score(true, First, true), 2);
        assert_eq!(score(false, First, true), -2);
        assert_eq!(score(false, Second, false), 1);
        assert_eq!(score(true, Tie, false), 0);
    }
}
