//! Compensated summation.

/// A running sum that carries its own rounding error (Neumaier, 1974).
///
/// The error of the result is of the order of one rounding, whatever the number of terms, as long
/// as the terms do not cancel almost completely. The result still depends on the order of the terms
/// in the last bit, which is why callers sum over users in canonical order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    total: f64,
    compensation: f64,
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.compensation += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    pub(super) fn value(self) -> f64 {
        self.total + self.compensation
    }
}

impl Extend<f64> for Sum {
    fn extend<T: IntoIterator<Item = f64>>(&mut self, terms: T) {
        terms.into_iter().for_each(|term| self.add(term));
    }
}

/// The compensated sum of `terms`.
pub(super) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    sum.extend(terms);
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_a_large_one() {
        let terms = [1.0, 1e100, 1.0, -1e100];
        assert_eq!(sum(terms).to_bits(), 2.0_f64.to_bits());
        assert_eq!(terms.iter().sum::<f64>().to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_million_tenths() {
        let total = sum(std::iter::repeat_n(0.1, 1_000_000));
        assert!((total - 100_000.0).abs() < 1e-10);
    }
}
