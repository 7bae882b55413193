//! How two calls become one verdict, and a session's verdicts one preference.

use judge::verdicts::ShadowVerdict;

/// What two calls about one pair come to, in the positions of the first.
#[derive(Debug, PartialEq, Eq)]
pub struct Combined {
    pub better_request: &'static str,
    pub is_significantly_better: bool,
    pub comparison_reason: String,
    pub order_consistent: bool,
}

/// The same winner twice is the winner, significantly if both say so; anything else is a tie. `swapped` is the
/// verdict on the pair in the other order.
pub fn combine(first: &ShadowVerdict, swapped: &ShadowVerdict) -> Combined {
    let second = match swapped.better_request {
        "1" => "2",
        "2" => "1",
        _ => "tie",
    };
    let order_consistent = first.better_request == second;
    let better_request = if order_consistent { first.better_request } else { "tie" };
    let comparison_reason = if order_consistent {
        first.comparison_reason.clone()
    } else {
        format!("The other order gave another answer. {}", first.comparison_reason)
    };
    Combined {
        better_request,
        is_significantly_better: better_request != "tie"
            && first.is_significantly_better
            && swapped.is_significantly_better,
        comparison_reason,
        order_consistent,
    }
}

/// What a turn says for the service: 2 or 1 for a win, −2 or −1 for a loss, 0 for a tie.
pub fn score(service_is_request_1: bool, better_request: &str, significantly: bool) -> i64 {
    let size = if significantly { 2 } else { 1 };
    match better_request {
        "tie" => 0,
        better if (better == "1") == service_is_request_1 => size,
        _ => -size,
    }
}

/// A session's preference from the scores of its turns: by the mean, beyond ±1, beyond 0, or tied. Nothing without
/// turns.
pub fn preference(scores: &[i64]) -> Option<&'static str> {
    let n = i64::try_from(scores.len()).ok().filter(|n| *n > 0)?;
    let sum: i64 = scores.iter().sum();
    Some(match sum {
        sum if sum > n => "regular_is_better",
        sum if sum > 0 => "regular_is_slightly_better",
        0 => "tied",
        sum if sum >= -n => "shadow_is_slightly_better",
        _ => "shadow_is_better",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(better_request: &'static str, is_significantly_better: bool) -> ShadowVerdict {
        ShadowVerdict { better_request, is_significantly_better, comparison_reason: "r".to_owned() }
    }

    #[test]
    fn only_a_winner_of_both_orders_wins() {
        for (first, swapped, better, significantly, consistent) in [
            (("1", true), ("2", true), "1", true, true),
            (("1", true), ("2", false), "1", false, true),
            (("2", false), ("1", false), "2", false, true),
            (("1", true), ("1", true), "tie", false, false),
            (("2", true), ("2", false), "tie", false, false),
            (("1", true), ("tie", false), "tie", false, false),
            (("tie", false), ("2", true), "tie", false, false),
            (("tie", false), ("tie", false), "tie", false, true),
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
            (&[2, 2][..], Some("regular_is_better")),
            (&[2, 1], Some("regular_is_better")),
            (&[1, 1], Some("regular_is_slightly_better")),
            (&[2, 0], Some("regular_is_slightly_better")),
            (&[1, -1], Some("tied")),
            (&[0], Some("tied")),
            (&[-1, 0, 0], Some("shadow_is_slightly_better")),
            (&[-2, 0], Some("shadow_is_slightly_better")),
            (&[-2, -1], Some("shadow_is_better")),
            (&[], None),
        ] {
            assert_eq!(preference(scores), want, "{scores:?}");
        }
    }

    #[test]
    fn the_position_says_whose_win_it_is() {
        assert_eq!(score(true, "1", true), 2);
        assert_eq!(score(false, "1", true), -2);
        assert_eq!(score(false, "2", false), 1);
        assert_eq!(score(true, "tie", false), 0);
    }
}
