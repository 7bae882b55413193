//! Adjusting p-values for the number of questions asked.
//!
//! Both functions answer in the order of their input, never below the raw p-value, never above 1,
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
