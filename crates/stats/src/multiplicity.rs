//! Accounting for the number of questions asked.
//!
//! Adjusted p-values come in the order of their input, never below the raw p-value, never above 1,
//! and in the same order of size.

/// Holm's (1979) step-down adjustment: controls the chance of any false alarm.
///
/// `max over j ≤ i of (m − j + 1)·p_(j)`, p-values in ascending order.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut largest = 0.0_f64;
    adjusted(p_values, ascending(p_values), |position, p| {
        largest = largest.max((count - position) as f64 * p);
        largest
    })
}

/// The step-up adjustment of Benjamini and Hochberg (1995): controls the share of false alarms
/// among all alarms.
///
/// `min over j ≥ i of m/j·p_(j)`, p-values in ascending order.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let count = p_values.len();
    let mut smallest = f64::INFINITY;
    let descending = ascending(p_values).into_iter().rev().collect();
    adjusted(p_values, descending, |position, p| {
        let rank = (count - position) as f64;
        // Never below p itself, which the rounding of m/m·p could bring about.
        smallest = smallest.min((p * count as f64 / rank).max(p));
        smallest
    })
}

/// The e-BH procedure of Wang and Ramdas (2022): true for each of the `k̂` largest e-values, in the order of the
/// input.
///
/// `k̂ = max { k : k·e_(k)/K ≥ 1/q }`, e-values in descending order, and none if no `k` is so. The share of
/// false rejections among all is at most `q` on average, whatever the dependence between the e-values; with
/// e-values that hold at every look, also at a moment chosen by what they say. Equal e-values are rejected
/// together or not at all. What is not a number counts as 0; a level that is not positive rejects nothing.
#[must_use]
pub fn e_benjamini_hochberg(e_values: &[f64], level: f64) -> Vec<bool> {
    let mut descending: Vec<f64> = e_values.iter().copied().filter(|e| *e > 0.0).collect();
    descending.sort_by(|one, other| other.total_cmp(one));
    let needed = e_values.len() as f64 / level;
    let threshold = descending
        .into_iter()
        .enumerate()
        .filter(|(place, e)| level > 0.0 && (place + 1) as f64 * e >= needed)
        .map(|(_, e)| e)
        .next_back();
    e_values.iter().map(|e| threshold.is_some_and(|threshold| *e >= threshold)).collect()
}

fn ascending(p_values: &[f64]) -> Vec<(usize, f64)> {
    let mut order: Vec<_> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    order
}

/// Steps through `order` and puts each adjusted value back where its p-value came from.
fn adjusted(
    p_values: &[f64],
    order: Vec<(usize, f64)>,
    mut step: impl FnMut(usize, f64) -> f64,
) -> Vec<f64> {
    let mut result = p_values.to_vec();
    for (position, (index, p)) in order.into_iter().enumerate() {
        let value = step(position, p).min(1.0);
        if let Some(slot) = result.get_mut(index) {
            *slot = value;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn one_large_e_value_is_not_enough_for_two() {
        let rejected = |e_values: &[f64]| e_benjamini_hochberg(e_values, 0.1);
        assert!(rejected(&[]).is_empty());
        assert_eq!(rejected(&[10.0]), [true]);
        assert_eq!(rejected(&[9.9]), [false]);
        // K/q = 40: one alone needs 40, the second of two 20.
        assert_eq!(rejected(&[40.0, 19.0, 1.0, 0.0]), [true, false, false, false]);
        assert_eq!(rejected(&[21.0, 1.0, 20.0, 0.0]), [true, false, true, false]);
        assert_eq!(rejected(&[39.0, 19.0, 1.0, 0.0]), [false; 4]);
        assert_eq!(rejected(&[f64::MAX, f64::NAN]), [true, false]);
        assert_eq!(e_benjamini_hochberg(&[100.0], 0.0), [false]);
    }

    proptest! {
        /// The largest set of `k` that all have at least `K/(q·k)`.
        #[test]
        fn rejects_as_the_definition_says(
            e_values in vec((0_u8..6, 0.0..40.0_f64), 0..12), level in 0.02..0.9_f64,
        ) {
            let e_values: Vec<f64> = e_values
                .into_iter()
                .map(|(kind, e)| match kind { 0 => 0.0, 1 => 10.0, 2 => 20.0, _ => e })
                .collect();
            let rejected = e_benjamini_hochberg(&e_values, level);
            let count = e_values.len();
            let above = |k: usize| {
                e_values.iter().filter(|e| **e * k as f64 >= count as f64 / level).count()
            };
            let largest = (1..=count).filter(|k| above(*k) >= *k).max();
            for (e, is_rejected) in e_values.iter().zip(&rejected) {
                let expected = largest.is_some_and(|k| *e * k as f64 >= count as f64 / level);
                prop_assert_eq!(*is_rejected, expected, "{} of {:?}", e, e_values);
            }
        }
    }

    #[test]
    fn nothing_asked_nothing_adjusted() {
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
        assert_eq!(holm(&[0.3]), [0.3]);
        assert_eq!(benjamini_hochberg(&[0.3]), [0.3]);
    }

    #[test]
    fn answers_keep_the_order_of_the_questions() {
        let close = |actual: Vec<f64>, expected: [f64; 3]| {
            assert!(actual.iter().zip(expected).all(|(a, e)| (a - e).abs() < 1e-15));
        };
        close(holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
        close(benjamini_hochberg(&[0.04, 0.01, 0.03]), [0.04, 0.03, 0.04]);
    }
}
