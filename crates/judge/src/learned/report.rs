//! How good a model is, by its own account: everything here is from predictions of sessions whose users it was not
//! trained on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::agreement::Confusion;

use super::model::Band;
use super::shuffle::Shuffle;
use crate::words::Outcome;

/// Published with every model.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ReportCard {
    pub labels: usize,
    pub users: usize,
    /// The share of labels that are successes.
    pub success_share: f64,
    /// The chance that a success gets a higher probability than a failure.
    pub auc: f64,
    /// Cohen's κ of what it decides; nothing if that is nothing, or all of one kind.
    pub kappa: Option<f64>,
    /// 95 %, by drawing users again.
    pub kappa_interval: Option<(f64, f64)>,
    /// If it had to decide everything.
    pub kappa_without_abstaining: Option<f64>,
    /// The share of sessions it decides.
    pub coverage: f64,
    /// Of what it calls a success, the share that is.
    pub success_precision: Option<f64>,
    /// Of what it calls a failure, the share that is.
    pub failure_precision: Option<f64>,
    /// Mean squared error of the probabilities; `success_share·(1 − success_share)` says nothing.
    pub brier: f64,
    pub calibration: Vec<CalibrationBin>,
    /// κ at each coverage, surest sessions first.
    pub curve: Vec<CurvePoint>,
    /// The strength of the penalty that was chosen.
    pub penalty: f64,
    /// Features that speak most for success, with their weights.
    pub for_success: Vec<(String, f64)>,
    pub against_success: Vec<(String, f64)>,
}

/// Sessions with probabilities from `from` to the next bin's.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct CalibrationBin {
    pub from: f64,
    pub sessions: usize,
    pub mean_probability: f64,
    pub success_share: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct CurvePoint {
    pub coverage: f64,
    pub kappa: f64,
}

/// One session: its probability, the truth, and its user by number.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub probability: f64,
    pub is_success: bool,
    pub user: usize,
}

/// κ of what a band decides, and how many it decides.
pub fn agreement<'a>(
    checked: impl IntoIterator<Item = &'a Checked>,
    band: Band,
) -> (Confusion, usize) {
    let mut confusion = Confusion::default();
    let mut all = 0;
    for one in checked {
        all += 1;
        match band.outcome(one.probability) {
            Outcome::Undecided => {}
            outcome => confusion.count(outcome == Outcome::Success, one.is_success),
        }
    }
    (confusion, all)
}

pub fn kappa(confusion: &Confusion) -> Option<f64> {
    confusion.kappa().ok().map(|kappa| kappa.kappa)
}

/// By ranks; ties count half.
#[allow(clippy::cast_precision_loss)]
pub fn auc(checked: &[Checked]) -> f64 {
    let mut order: Vec<&Checked> = checked.iter().collect();
    order.sort_by(|a, b| a.probability.total_cmp(&b.probability));
    let (mut below, mut won) = (0.0, 0.0);
    let successes = checked.iter().filter(|one| one.is_success).count() as f64;
    let failures = checked.len() as f64 - successes;
    for tied in order.chunk_by(|a, b| a.probability == b.probability) {
        let lost = tied.iter().filter(|one| !one.is_success).count() as f64;
        won += (tied.len() as f64 - lost) * (below + lost / 2.0);
        below += lost;
    }
    if successes * failures == 0.0 { 0.5 } else { won / (successes * failures) }
}

/// The figures for these sessions under this band.
#[allow(clippy::cast_precision_loss)]
pub fn report(checked: &[Checked], band: Band) -> ReportCard {
    let count = checked.len().max(1) as f64;
    let share = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let (confusion, _) = agreement(checked, band);
    let (whole, _) = agreement(checked, Band { low: 0.5, high: 0.5 });
    let squared = |one: &Checked| (one.probability - f64::from(u8::from(one.is_success))).powi(2);
    let mut users: Vec<usize> = checked.iter().map(|one| one.user).collect();
    users.sort_unstable();
    users.dedup();
    ReportCard {
        labels: checked.len(),
        users: users.len(),
        success_share: checked.iter().filter(|one| one.is_success).count() as f64 / count,
        auc: auc(checked),
        kappa: kappa(&confusion),
        kappa_interval: kappa_interval(checked, band),
        kappa_without_abstaining: kappa(&whole),
        coverage: confusion.total() as f64 / count,
        success_precision: share(confusion.true_passes, confusion.judged_success()),
        failure_precision: share(
            confusion.true_failures,
            confusion.true_failures + confusion.false_failures,
        ),
        brier: checked.iter().map(squared).sum::<f64>() / count,
        calibration: calibration(checked),
        curve: curve(checked),
        ..ReportCard::default()
    }
}

/// Draws users with replacement, 400 times, always the same way.
fn kappa_interval(checked: &[Checked], band: Band) -> Option<(f64, f64)> {
    let mut by_user: BTreeMap<usize, Vec<Checked>> = BTreeMap::new();
    for one in checked {
        by_user.entry(one.user).or_default().push(*one);
    }
    let users: Vec<Vec<Checked>> = by_user.into_values().collect();
    let mut shuffle = Shuffle::new(0xC0FFEE);
    let mut kappas: Vec<f64> = (0..400)
        .filter_map(|_| {
            let drawn = (0..users.len()).flat_map(|_| &users[shuffle.below(users.len())]);
            kappa(&agreement(drawn, band).0)
        })
        .collect();
    if kappas.len() < 200 {
        return None;
    }
    kappas.sort_by(f64::total_cmp);
    let at = |share: usize| kappas[(kappas.len() - 1) * share / 1000];
    Some((at(25), at(975)))
}

#[allow(clippy::cast_precision_loss)]
fn calibration(checked: &[Checked]) -> Vec<CalibrationBin> {
    let bins = (0..10u32).map(|bin| {
        let (from, to) = (f64::from(bin) / 10.0, f64::from(bin + 1) / 10.0);
        let inside: Vec<&Checked> = checked
            .iter()
            .filter(|one| one.probability >= from && (one.probability < to || bin == 9))
            .collect();
        let count = inside.len().max(1) as f64;
        CalibrationBin {
            from,
            sessions: inside.len(),
            mean_probability: inside.iter().map(|one| one.probability).sum::<f64>() / count,
            success_share: inside.iter().filter(|one| one.is_success).count() as f64 / count,
        }
    });
    bins.filter(|bin| bin.sessions > 0).collect()
}

/// κ of the surest tenth, two tenths, …, all, decided at even odds.
#[allow(clippy::cast_precision_loss)]
fn curve(checked: &[Checked]) -> Vec<CurvePoint> {
    let mut surest = checked.to_vec();
    surest.sort_by(|a, b| (b.probability - 0.5).abs().total_cmp(&(a.probability - 0.5).abs()));
    let points = (1..=10).filter_map(|tenth| {
        let part = &surest[..checked.len() * tenth / 10];
        let (confusion, _) = agreement(part, Band { low: 0.5, high: 0.5 });
        Some(CurvePoint { coverage: tenth as f64 / 10.0, kappa: kappa(&confusion)? })
    });
    points.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(list: &[(f64, bool)]) -> Vec<Checked> {
        let one = |(user, (probability, is_success)): (usize, &(f64, bool))| Checked {
            probability: *probability,
            is_success: *is_success,
            user,
        };
        list.iter().enumerate().map(one).collect()
    }

    #[test]
    fn the_area_counts_pairs_and_ties_half() {
        let perfect = checked(&[(0.1, false), (0.2, false), (0.8, true)]);
        assert!((auc(&perfect) - 1.0).abs() < 1e-12);
        let mixed = checked(&[(0.1, true), (0.2, false), (0.2, true), (0.9, true)]);
        // Of three pairs one is lost, one is a tie, one is won.
        assert!((auc(&mixed) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_card_counts_only_what_the_band_decides() {
        let list = checked(&[(0.9, true), (0.5, false), (0.1, false), (0.85, false)]);
        let card = report(&list, Band { low: 0.2, high: 0.8 });
        assert!((card.coverage - 0.75).abs() < 1e-12);
        assert_eq!((card.success_precision, card.failure_precision), (Some(0.5), Some(1.0)));
        assert!((card.kappa.unwrap() - 0.4).abs() < 1e-9);
    }
}
