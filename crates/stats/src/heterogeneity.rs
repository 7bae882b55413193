//! Tests of whether the lift is the same in all segments.

use super::cluster::{Arm, UserSum, Variance};
use super::comparison::Comparison;
use super::distributions::chi_square_upper_tail;
use super::linear::inverse_quadratic_form;
use super::reason::{Defined, NullReason};
use super::segments::Relabelled;
use super::summation::{Sum, sum};

/// A chi-square test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquareTest {
    /// The statistic.
    pub statistic: f64,
    /// Its degrees of freedom.
    pub df: usize,
    /// Its upper tail.
    pub p_value: f64,
}

impl ChiSquareTest {
    fn new(statistic: f64, df: usize) -> Self {
        let p_value = chi_square_upper_tail(statistic, df as f64);
        Self { statistic, df, p_value }
    }
}

/// A segment that is large enough to be tested.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestedSegment<'a> {
    /// The place of its label.
    pub label: u32,
    pub comparison: Comparison<'a>,
}

/// Wald's (1943) test that all lifts are equal, in a regression on arm × segment with CR1
/// covariance clustered by user: CR0 times `G/(G−1)·(N−1)/(N−2k)` for `k` segments.
///
/// The regression is saturated, so that its coefficients are differences of cell means, and a user's
/// influence on a cell mean is `r_g/N` of that cell. Users may appear in several segments. Null with
/// fewer than two segments, and when the covariance is singular.
pub(super) fn interaction(
    tested: &[TestedSegment<'_>],
    treatment: &[Relabelled],
    holdout: &[Relabelled],
) -> Defined<ChiSquareTest> {
    let df = degrees_of_freedom(tested)?;
    let mut contrasts = Contrasts::new(df);
    contrasts.absorb(treatment, &cells(tested, |comparison| comparison.treatment));
    contrasts.absorb(holdout, &cells(tested, |comparison| comparison.holdout));
    let lifts =
        tested.iter().map(|segment| segment.comparison.lift()).collect::<Defined<Vec<_>>>()?;
    let statistic = inverse_quadratic_form(&contrasts.covariance(), &against_first(&lifts))
        .filter(|statistic| statistic.is_finite())
        .ok_or(NullReason::ZeroVariance)?;
    Ok(ChiSquareTest::new(statistic, df))
}

type Cell<'a> = (u32, &'a Arm);

fn cells<'a>(tested: &[TestedSegment<'a>], side: fn(&Comparison<'a>) -> &'a Arm) -> Vec<Cell<'a>> {
    let cell = |segment: &TestedSegment<'a>| (segment.label, side(&segment.comparison));
    tested.iter().map(cell).collect()
}

fn sums_of(user: &Relabelled, label: u32) -> Option<&UserSum> {
    user.iter().find(|(known, _)| *known == label).map(|(_, sums)| sums)
}

/// Every value but the first, minus the first.
fn against_first(values: &[f64]) -> Vec<f64> {
    match values.split_first() {
        Some((first, others)) => others.iter().map(|value| value - first).collect(),
        None => Vec::new(),
    }
}

/// The covariance of the lifts against the first segment, as a sum over users.
struct Contrasts {
    products: Vec<Vec<Sum>>,
    users: u64,
    sessions: u64,
}

impl Contrasts {
    fn new(count: usize) -> Self {
        Self { products: vec![vec![Sum::default(); count]; count], users: 0, sessions: 0 }
    }

    /// Adds the users of one arm, given that arm of every segment.
    fn absorb(&mut self, users: &[Relabelled], cells: &[Cell<'_>]) {
        for user in users {
            let influence: Vec<_> = cells
                .iter()
                .map(|(label, arm)| {
                    sums_of(user, *label)
                        .map_or(0.0, |sums| arm.residual(sums) / arm.session_count() as f64)
                })
                .collect();
            let influence = against_first(&influence);
            for (row, one) in self.products.iter_mut().zip(&influence) {
                for (product, other) in row.iter_mut().zip(&influence) {
                    product.add(one * other);
                }
            }
            let sessions = cells
                .iter()
                .filter_map(|(label, _)| sums_of(user, *label))
                .fold(0, |sum: u64, sums| sum.saturating_add(sums.sessions));
            self.users += u64::from(sessions > 0);
            self.sessions = self.sessions.saturating_add(sessions);
        }
    }

    fn covariance(&self) -> Vec<Vec<f64>> {
        let (users, sessions) = (self.users as f64, self.sessions as f64);
        let coefficients = 2.0 * (self.products.len() + 1) as f64;
        let factor = users / (users - 1.0) * ((sessions - 1.0) / (sessions - coefficients));
        self.products
            .iter()
            .map(|row| row.iter().map(|product| factor * product.value()).collect())
            .collect()
    }
}

/// Cochran's (1954) Q on lifts and CR2 standard errors, as of independent studies.
///
/// Null with fewer than two segments, and when one of them has no variance.
pub(super) fn cochran_q(tested: &[TestedSegment<'_>]) -> Defined<ChiSquareTest> {
    let df = degrees_of_freedom(tested)?;
    let weighted = tested
        .iter()
        .map(|segment| {
            let standard_error = segment.comparison.standard_error(Variance::Cr2)?;
            if standard_error > 0.0 {
                Ok((segment.comparison.lift()?, standard_error.powi(-2)))
            } else {
                Err(NullReason::ZeroVariance)
            }
        })
        .collect::<Defined<Vec<_>>>()?;
    let weight = sum(weighted.iter().map(|(_, weight)| *weight));
    let mean = sum(weighted.iter().map(|(lift, weight)| lift * weight)) / weight;
    let statistic = sum(weighted.iter().map(|(lift, weight)| weight * (lift - mean).powi(2)));
    Ok(ChiSquareTest::new(statistic, df))
}

fn degrees_of_freedom(tested: &[TestedSegment<'_>]) -> Defined<usize> {
    match tested.len() {
        0 | 1 => Err(NullReason::FewerThanTwoSegments),
        count => Ok(count - 1),
    }
}
