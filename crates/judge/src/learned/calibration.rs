//! From scores to probabilities, fitted to scores of sessions that the model was not trained on.

use serde::{Deserialize, Serialize};

use super::logistic::sigmoid;

/// Below this many labels a curve of two numbers is fitted, from there on one of any rising form.
pub const ISOTONIC_FROM: usize = 500;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    /// `σ(slope·score + shift)` (Platt, 1999).
    Platt { slope: f64, shift: f64 },
    /// Rising steps, straight lines between their middles: scores, and the probability at each.
    Isotonic { scores: Vec<f64>, probabilities: Vec<f64> },
}

impl Calibration {
    pub fn fit(scores: &[f64], labels: &[bool]) -> Self {
        if scores.len() >= ISOTONIC_FROM { isotonic(scores, labels) } else { platt(scores, labels) }
    }

    pub fn probability(&self, score: f64) -> f64 {
        match self {
            Calibration::Platt { slope, shift } => sigmoid(slope * score + shift),
            Calibration::Isotonic { scores, probabilities } => {
                let above = scores.partition_point(|s| *s < score);
                match (above.checked_sub(1), above < scores.len()) {
                    (None, true) => probabilities[0],
                    (Some(below), true) => {
                        let width = (scores[above] - scores[below]).max(f64::MIN_POSITIVE);
                        let share = (score - scores[below]) / width;
                        probabilities[below] + share * (probabilities[above] - probabilities[below])
                    }
                    (Some(below), false) => probabilities[below],
                    (None, false) => 0.5,
                }
            }
        }
    }
}

/// Newton's method on two numbers. Labels are drawn in a little from 0 and 1, as Platt does, so that few labels that
/// are told apart perfectly do not make certainty. A slope below zero would turn the model round: it is none.
#[allow(clippy::cast_precision_loss)]
fn platt(scores: &[f64], labels: &[bool]) -> Calibration {
    let successes = labels.iter().filter(|label| **label).count() as f64;
    let failures = labels.len() as f64 - successes;
    let high = (successes + 1.0) / (successes + 2.0);
    let low = 1.0 / (failures + 2.0);
    let base = ((successes + 1.0) / (failures + 1.0)).ln();
    let (mut slope, mut shift) = (0.0f64, base);
    for _ in 0..50 {
        let (mut g_slope, mut g_shift) = (0.0, 0.0);
        let (mut h_ss, mut h_sb, mut h_bb) = (1e-6, 0.0, 1e-6);
        for (score, label) in scores.iter().zip(labels) {
            let p = sigmoid(slope * score + shift);
            let error = p - if *label { high } else { low };
            let weight = p * (1.0 - p);
            g_slope += error * score;
            g_shift += error;
            h_ss += weight * score * score;
            h_sb += weight * score;
            h_bb += weight;
        }
        let determinant = h_ss * h_bb - h_sb * h_sb;
        if determinant.abs() < 1e-12 {
            break;
        }
        let d_slope = (g_slope * h_bb - g_shift * h_sb) / determinant;
        let d_shift = (g_shift * h_ss - g_slope * h_sb) / determinant;
        // A Newton step too far is a sign of scores that tell the labels apart perfectly.
        slope -= d_slope.clamp(-2.0, 2.0);
        shift -= d_shift.clamp(-2.0, 2.0);
        if d_slope.abs() + d_shift.abs() < 1e-9 {
            break;
        }
    }
    if slope <= 0.0 || !slope.is_finite() || !shift.is_finite() {
        return Calibration::Platt { slope: 0.0, shift: base };
    }
    Calibration::Platt { slope, shift }
}

/// Pools neighbours that are out of order until the shares of success rise with the score. A step is drawn in from 0
/// and 1 by one session of each kind.
#[allow(clippy::cast_precision_loss)]
fn isotonic(scores: &[f64], labels: &[bool]) -> Calibration {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    // (sum of scores, successes, sessions)
    let mut steps: Vec<(f64, f64, f64)> = Vec::new();
    for at in order {
        steps.push((scores[at], f64::from(u8::from(labels[at])), 1.0));
        while let [.., before, last] = steps.as_slice()
            && before.1 / before.2 >= last.1 / last.2
        {
            let merged = (before.0 + last.0, before.1 + last.1, before.2 + last.2);
            steps.truncate(steps.len() - 2);
            steps.push(merged);
        }
    }
    let scores = steps.iter().map(|(sum, _, n)| sum / n).collect();
    let probabilities = steps.iter().map(|(_, won, n)| (won + 1.0) / (n + 2.0));
    // Drawing in may break the order of small steps by a little.
    let mut highest = 0.0f64;
    let probabilities = probabilities
        .map(|p| {
            highest = highest.max(p);
            highest
        })
        .collect();
    Calibration::Isotonic { scores, probabilities }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores on a grid with the labels of a known curve, in whole shares.
    fn sample(count: usize) -> (Vec<f64>, Vec<bool>) {
        let mut scores = Vec::new();
        let mut labels = Vec::new();
        for n in 0..count {
            let score = (n % 20) as f64 / 5.0 - 2.0;
            let share = sigmoid(2.0 * score - 0.5);
            scores.push(score);
            labels.push(((n / 20) as f64 + 0.5) / ((count / 20) as f64) < share);
        }
        (scores, labels)
    }

    #[test]
    fn both_find_the_curve_the_labels_were_drawn_from() {
        for count in [400, 2000] {
            let (scores, labels) = sample(count);
            let calibration = Calibration::fit(&scores, &labels);
            for score in [-1.5, -0.4, 0.0, 0.3, 1.2] {
                let (found, truth) = (calibration.probability(score), sigmoid(2.0 * score - 0.5));
                assert!((found - truth).abs() < 0.06, "{count} {score}: {found} {truth}");
            }
        }
    }

    #[test]
    fn scores_that_say_the_opposite_say_nothing() {
        let scores: Vec<f64> = (0..40).map(f64::from).collect();
        let labels: Vec<bool> = (0..40).map(|n| n < 20).collect();
        let calibration = Calibration::fit(&scores, &labels);
        assert!((calibration.probability(0.0) - calibration.probability(39.0)).abs() < 1e-9);
    }
}
