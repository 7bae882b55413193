//! Means and sums by group, plain, of verdicts that count by the inverse of their chances.

use std::collections::BTreeMap;

use stats::grouped::GroupSums;

use super::random::{Data, Session, Verdict};

/// Judged sessions, each with its verdict.
pub type Judged<'a> = [(&'a Session, &'a Verdict)];

pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub fn rate<T>(items: &[T], is: impl Fn(&T) -> bool) -> Option<f64> {
    mean(&items.iter().map(|item| f64::from(u8::from(is(item)))).collect::<Vec<_>>())
}

/// Sessions that one with this verdict stands for.
fn weight(verdict: &Verdict) -> f64 {
    10_000.0 / verdict.chance as f64
}

/// Weighted mean of a number of each verdict; verdicts without the number are left out.
pub fn weighted(some: &Judged<'_>, of: impl Fn(&Verdict) -> Option<f64>) -> Option<f64> {
    let said: Vec<(f64, f64)> =
        some.iter().filter_map(|(_, v)| Some((weight(v), of(v)?))).collect();
    let whole: f64 = said.iter().map(|(weight, _)| weight).sum();
    let sum: f64 = said.iter().map(|(weight, value)| weight * value).sum();
    (!said.is_empty()).then_some(sum / whole)
}

pub fn success_rate(some: &Judged<'_>) -> Option<f64> {
    weighted(some, |v| Some(flag(v.success)))
}

pub fn flag(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// Sums by group over verdicts, with weights that are 1 on average. Summed before they are divided: degrees of
/// freedom are whole numbers, and a last digit could tip one over.
pub fn verdict_groups(
    data: &Data,
    some: &Judged<'_>,
    of: impl Fn(&Verdict) -> (f64, f64),
) -> GroupSums {
    let unit = |verdict: &Verdict| 10_000.0 * weight(verdict);
    let mean_weight = some.iter().map(|(_, v)| unit(v)).sum::<f64>() / (some.len().max(1) as f64);
    let mut by_group: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    for (session, verdict) in some {
        let (n, total) = of(verdict);
        let sums = by_group.entry(data.group_of(session)).or_default();
        *sums = (sums.0 + unit(verdict) * n, sums.1 + unit(verdict) * total);
    }
    let mut sums = GroupSums::default();
    for (group, (n, total)) in by_group {
        let share = |sum: f64| sum / mean_weight.max(1.0);
        sums.add(usize::try_from(group).unwrap(), share(n), share(total));
    }
    sums
}

/// Sums by group over sessions: a number of sessions and a total of each.
pub fn groups<T>(data: &Data, items: &[T], of: impl Fn(&T) -> (&Session, f64, f64)) -> GroupSums {
    let mut sums = GroupSums::default();
    for (session, n, total) in items.iter().map(of) {
        sums.add(usize::try_from(data.group_of(session)).unwrap(), n, total);
    }
    sums
}

pub fn successes(data: &Data, some: &Judged<'_>) -> GroupSums {
    verdict_groups(data, some, |v| (1.0, flag(v.success)))
}
