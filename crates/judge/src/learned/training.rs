//! From labelled sessions to a model: which words it may know, how strong the penalty is, and when it abstains.
//!
//! Everything that is chosen is chosen by predictions out of fold: users are dealt into folds, and a session is
//! predicted by a model of the other folds. The same labels give the same model, in whatever order they come.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::calibration::Calibration;
use super::features::{SIGNALS, Sketch};
use super::logistic::{Row, Weights, fit, sigmoid};
use super::model::{Band, Columns, Embedding, MEANING, Model};
use super::report::{Checked, agreement, kappa, report};
use super::shuffle::Shuffle;

/// A session with its truth.
#[derive(Clone, Debug)]
pub struct Labelled {
    pub sketch: Sketch,
    /// User of the session. Nothing of it is in the model.
    pub user: String,
    pub is_success: bool,
}

/// Fewer labels than this train nothing.
pub const FEWEST_LABELS: usize = 50;
/// Of each kind.
pub const FEWEST_OF_A_KIND: usize = 10;
/// A word that fewer users said is nobody's business.
pub const FEWEST_USERS_OF_A_WORD: usize = 3;
/// The κ that the decided part has to reach out of fold.
pub const WANTED_KAPPA: f64 = 0.4;
/// The κ that its surer half has to reach for a model that nowhere reaches the wanted one.
const BETTER_THAN_CHANCE: f64 = 0.2;
const MOST_WORDS: usize = 6000;
const FOLDS: usize = 5;
/// Strengths of the penalty that are tried, strongest first.
const PENALTIES: [f64; 6] = [512.0, 256.0, 128.0, 64.0, 32.0, 16.0];
/// The length of a session's words as one vector; a signal's is about one.
const WORD_LENGTH: f64 = 10.0;

/// Why there is no model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{labels} labels with {successes} successes train no model; it takes {FEWEST_LABELS}, {FEWEST_OF_A_KIND} of each kind"
)]
pub struct TooFewLabels {
    pub labels: usize,
    pub successes: usize,
}

/// A model, and what it says of the sessions it was trained on without having seen their users.
#[derive(Clone, Debug)]
pub struct Trained {
    pub model: Model,
    /// Calibrated probabilities, in the order of the labels given: for estimates that use the same labels.
    pub out_of_fold: Vec<f64>,
}

pub fn train(labelled: &[Labelled]) -> Result<Trained, TooFewLabels> {
    let successes = labelled.iter().filter(|one| one.is_success).count();
    let rarer = successes.min(labelled.len() - successes);
    if labelled.len() < FEWEST_LABELS || rarer < FEWEST_OF_A_KIND {
        return Err(TooFewLabels { labels: labelled.len(), successes });
    }
    // A canonical order, so that sums round alike.
    let mut order: Vec<usize> = (0..labelled.len()).collect();
    let key = |at: &usize| {
        let one = &labelled[*at];
        (&one.user, one.is_success, &one.sketch.words)
    };
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let sorted: Vec<&Labelled> = order.iter().map(|at| &labelled[*at]).collect();

    let columns = columns(&sorted);
    let rows: Vec<Row> = sorted.iter().map(|one| columns.row(&one.sketch)).collect();
    let labels: Vec<bool> = sorted.iter().map(|one| one.is_success).collect();
    let users = numbered_users(&sorted);
    let data = Data { rows, labels, users, columns: columns.len() };

    let (penalty, scores) = data.choose_penalty();
    let calibration = Calibration::fit(&scores, &data.labels);
    let probabilities = data.cross_calibrated(&scores);
    let checked = data.checked(&probabilities);
    let band = choose_band(&checked);
    let everything: Vec<usize> = (0..data.rows.len()).collect();
    let weights = data.fit(&everything, penalty, data.zero());
    let mut report = report(&checked, band);
    report.penalty = penalty;
    (report.for_success, report.against_success) = strongest(&columns, &weights, &data.rows);
    let mut out_of_fold = vec![0.0; labelled.len()];
    for (place, probability) in order.iter().zip(&probabilities) {
        out_of_fold[*place] = *probability;
    }
    let model = Model { columns, weights, calibration, band, report };
    Ok(Trained { model, out_of_fold })
}

/// The words of enough users, but those that nearly everybody or nearly nobody says; and the scale of each signal.
#[allow(clippy::cast_precision_loss)]
fn columns(labelled: &[&Labelled]) -> Columns {
    let mut sessions: HashMap<&str, usize> = HashMap::new();
    let mut said_by: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for one in labelled {
        for word in &one.sketch.words {
            *sessions.entry(word).or_default() += 1;
            let users = said_by.entry(word).or_default();
            if users.len() < FEWEST_USERS_OF_A_WORD {
                users.insert(&one.user);
            }
        }
    }
    let most = labelled.len() * 19 / 20;
    let mut words: Vec<(&str, usize)> = said_by
        .into_iter()
        .filter(|(_, users)| users.len() >= FEWEST_USERS_OF_A_WORD)
        .map(|(word, _)| (word, sessions[word]))
        .filter(|(_, count)| *count <= most)
        .collect();
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    words.truncate(MOST_WORDS);
    let mut words: Vec<String> = words.into_iter().map(|(word, _)| word.to_owned()).collect();
    words.sort_unstable();
    let count = labelled.len() as f64;
    let scales = (0..SIGNALS.len()).map(|at| {
        let values = || labelled.iter().map(|one| one.sketch.signals[at]);
        let mean = values().sum::<f64>() / count;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt().max(1e-3))
    });
    Columns::new(words, scales.collect(), WORD_LENGTH, embedding(labelled))
}

/// The embedder of the vectors, if all that are there are of one.
fn embedding(labelled: &[&Labelled]) -> Option<Embedding> {
    let mut all = labelled.iter().filter_map(|one| one.sketch.meaning.as_ref()).map(|meaning| {
        Embedding { embedder: meaning.embedder.clone(), dimensions: meaning.vector.len() }
    });
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

fn numbered_users(labelled: &[&Labelled]) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for one in labelled {
        let next = numbers.len();
        numbers.entry(&one.user).or_insert(next);
    }
    labelled.iter().map(|one| numbers[one.user.as_str()]).collect()
}

struct Data {
    rows: Vec<Row>,
    labels: Vec<bool>,
    users: Vec<usize>,
    columns: usize,
}

impl Data {
    fn zero(&self) -> Weights {
        Weights { columns: vec![0.0; self.columns], intercept: 0.0 }
    }

    fn fit(&self, which: &[usize], penalty: f64, start: Weights) -> Weights {
        let rows: Vec<&Row> = which.iter().map(|at| &self.rows[*at]).collect();
        let labels: Vec<bool> = which.iter().map(|at| self.labels[*at]).collect();
        fit(&rows, &labels, penalty, start)
    }

    fn checked(&self, probabilities: &[f64]) -> Vec<Checked> {
        let sessions = probabilities.iter().zip(&self.labels).zip(&self.users);
        sessions
            .map(|((p, is_success), user)| Checked {
                probability: *p,
                is_success: *is_success,
                user: *user,
            })
            .collect()
    }

    /// The fold of every session: all sessions of a user are in one.
    fn folds(&self, seed: u64) -> Vec<usize> {
        let users = self.users.iter().max().map_or(0, |user| user + 1);
        let mut order: Vec<usize> = (0..users).collect();
        Shuffle::new(seed).shuffle(&mut order);
        let mut fold_of = vec![0; users];
        for (place, user) in order.into_iter().enumerate() {
            fold_of[user] = place % FOLDS;
        }
        self.users.iter().map(|user| fold_of[*user]).collect()
    }

    /// The penalty with the least loss out of fold, and the scores out of fold under it, averaged over several ways to
    /// deal the folds where labels are few.
    #[allow(clippy::cast_precision_loss)]
    fn choose_penalty(&self) -> (f64, Vec<f64>) {
        let count = self.rows.len();
        let repeats = match count {
            0..300 => 6,
            300..800 => 3,
            _ => 1,
        };
        let mut scores = vec![vec![0.0; count]; PENALTIES.len()];
        for repeat in 0..repeats {
            let folds = self.folds(repeat);
            for fold in 0..FOLDS {
                let inside: Vec<usize> = (0..count).filter(|at| folds[*at] != fold).collect();
                let mut weights = self.zero();
                for (penalty, scores) in PENALTIES.iter().zip(&mut scores) {
                    weights = self.fit(&inside, *penalty, weights);
                    for at in (0..count).filter(|at| folds[*at] == fold) {
                        scores[at] += weights.score(&self.rows[at]) / repeats as f64;
                    }
                }
            }
        }
        let loss = |scores: &Vec<f64>| {
            let losses = scores.iter().zip(&self.labels).map(|(score, label)| {
                let p = sigmoid(*score).clamp(1e-9, 1.0 - 1e-9);
                -(if *label { p } else { 1.0 - p }).ln()
            });
            losses.sum::<f64>()
        };
        let losses: Vec<f64> = scores.iter().map(loss).collect();
        let best =
            (0..PENALTIES.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap_or(0);
        (PENALTIES[best], scores.swap_remove(best))
    }

    /// Probabilities of the scores, each calibrated by the scores of other users.
    fn cross_calibrated(&self, scores: &[f64]) -> Vec<f64> {
        let folds = self.folds(0xCA11);
        let mut probabilities = vec![0.0; scores.len()];
        for fold in 0..FOLDS {
            let inside = || (0..scores.len()).filter(|at| folds[*at] != fold);
            let others: Vec<f64> = inside().map(|at| scores[at]).collect();
            let labels: Vec<bool> = inside().map(|at| self.labels[at]).collect();
            let calibration = Calibration::fit(&others, &labels);
            for at in (0..scores.len()).filter(|at| folds[*at] == fold) {
                probabilities[at] = calibration.probability(scores[at]);
            }
        }
        probabilities
    }
}

/// The band that decides the most sessions with the wanted κ. If none does, the surer half as long as it is clearly
/// better than chance, and else nothing is decided. Even odds are always inside: a session that is more likely a
/// failure is never called a success.
fn choose_band(checked: &[Checked]) -> Band {
    // A session at the edge is outside of the band, whichever way its probability was rounded.
    let around = |margin: f64| {
        let margin = (margin - 1e-9).max(0.0);
        Band { low: 0.5 - margin, high: 0.5 + margin }
    };
    let reaches = |band: Band, wanted: f64| {
        let (confusion, _) = agreement(checked, band);
        kappa(&confusion).is_some_and(|kappa| kappa >= wanted)
    };
    let mut margins: Vec<f64> = checked.iter().map(|one| (one.probability - 0.5).abs()).collect();
    margins.sort_by(f64::total_cmp);
    let (half, quarter) = (margins.len() / 2, margins.len() / 4);
    // Less than a quarter of the labels are too few to tell by.
    let wide = margins[..margins.len() - quarter].iter().copied();
    wide.map(around)
        .find(|band| reaches(*band, WANTED_KAPPA))
        .or_else(|| Some(around(margins[half])).filter(|band| reaches(*band, BETTER_THAN_CHANCE)))
        .unwrap_or(Band::ALL)
}

/// The columns that move scores most, up and down: weights times how much the column differs between sessions.
#[allow(clippy::cast_precision_loss)]
fn strongest(columns: &Columns, weights: &Weights, rows: &[Row]) -> (Named, Named) {
    let mut sums = vec![(0.0, 0.0); columns.len()];
    for (at, value) in rows.iter().flatten() {
        let (sum, squares) = &mut sums[*at as usize];
        *sum += f64::from(*value);
        *squares += f64::from(*value).powi(2);
    }
    let count = rows.len().max(1) as f64;
    let spreads =
        sums.iter().map(|(sum, squares)| (squares / count - (sum / count).powi(2)).max(0.0).sqrt());
    let effects: Vec<f64> = weights.columns.iter().zip(spreads).map(|(w, s)| w * s).collect();
    let mut order: Vec<usize> =
        (0..columns.len()).filter(|at| columns.name(*at) != MEANING).collect();
    order.sort_by(|a, b| effects[*b].total_cmp(&effects[*a]));
    let named = |at: &usize| (columns.name(*at).to_owned(), effects[*at]);
    let first = order.iter().take(10).map(named).collect();
    let last = order.iter().rev().take(10).map(named).collect();
    (first, last)
}

type Named = Vec<(String, f64)>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Outcome;

    /// Sessions whose words tell how they went, but for every tenth.
    fn sample(count: usize) -> Vec<Labelled> {
        let one = |n: usize| {
            let is_success = n.is_multiple_of(2);
            let said = if is_success != (n % 10 == 9) { "fine" } else { "awful" };
            let mut words = vec![format!("user: {said}"), format!("user: filler{}", n % 7)];
            words.sort();
            let mut signals = vec![0.0; SIGNALS.len()];
            signals[0] = (n % 3) as f64;
            Labelled {
                sketch: Sketch { words, signals, meaning: None },
                user: format!("u{}", n / 2),
                is_success,
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn it_learns_abstains_and_reports_what_it_is_worth() {
        let trained = train(&sample(120)).unwrap();
        let card = &trained.model.report;
        assert_eq!((card.labels, card.users), (120, 60));
        assert!(card.auc > 0.8 && card.kappa.unwrap() > 0.6, "{card:?}");
        assert!(card.kappa_interval.unwrap().0 < card.kappa.unwrap());
        assert_eq!(card.for_success[0].0, "user: fine");
        assert_eq!(card.against_success[0].0, "user: awful");
        let said = |n: usize| trained.model.predict(&sample(10)[n].sketch);
        assert_eq!((said(0).outcome, said(1).outcome), (Outcome::Success, Outcome::Failure));
        assert_eq!(trained.out_of_fold.len(), 120);
        let read = Model::decode(&trained.model.encode()).unwrap();
        let again = read.predict(&sample(10)[3].sketch);
        assert!((again.probability - said(3).probability).abs() < 1e-9);
        assert_eq!(again.outcome, said(3).outcome);
        assert_eq!(
            Model::decode(&trained.model.encode().replace("\"form\":1", "\"form\":0")),
            None
        );
    }

    /// Sessions that are told apart perfectly have two probabilities: both are outside of the band.
    #[test]
    fn a_model_without_an_error_decides_everything() {
        let mut labels = sample(60);
        labels.iter_mut().enumerate().for_each(|(n, one)| {
            let said = if n.is_multiple_of(2) { "fine" } else { "awful" };
            one.sketch = Sketch {
                words: vec![format!("user: {said}")],
                signals: vec![0.0; SIGNALS.len()],
                meaning: None,
            };
        });
        let card = train(&labels).unwrap().model.report;
        assert_eq!((card.coverage, card.kappa), (1.0, Some(1.0)), "{card:?}");
    }

    #[test]
    fn the_same_labels_give_the_same_model_in_any_order() {
        let labels = sample(80);
        let mut turned = labels.clone();
        turned.reverse();
        let (one, two) = (train(&labels).unwrap(), train(&turned).unwrap());
        assert_eq!(one.model.encode(), two.model.encode());
        let reversed: Vec<f64> = two.out_of_fold.into_iter().rev().collect();
        assert_eq!(one.out_of_fold, reversed);
    }

    #[test]
    fn labels_by_chance_decide_little_and_few_decide_nothing() {
        let mut labels = sample(200);
        Shuffle::new(3).shuffle(&mut labels);
        let truths: Vec<bool> = (0..200).map(|n| (n * 7919) % 13 < 6).collect();
        labels.iter_mut().zip(truths).for_each(|(one, truth)| one.is_success = truth);
        let card = train(&labels).unwrap().model.report;
        assert!(card.coverage < 0.6 && card.auc < 0.65, "{card:?}");
        assert_eq!(train(&sample(49)).unwrap_err(), TooFewLabels { labels: 49, successes: 25 });
        let mut one_kind = sample(60);
        one_kind.iter_mut().for_each(|one| one.is_success = true);
        assert!(train(&one_kind).is_err());
    }

    /// A person's word that few others said is in no model; once the person is gone, neither is one that just enough
    /// had said.
    #[test]
    fn words_of_few_people_are_in_no_model() {
        let mut labels = sample(100);
        for (user, canary) in [(3, "user: canary"), (4, "user: canary"), (5, "user: third")] {
            labels.iter_mut().filter(|one| one.user == format!("u{user}")).for_each(|one| {
                one.sketch.words.push(canary.to_owned());
            });
        }
        for user in [7, 8] {
            labels[user * 2].sketch.words.push("user: third".to_owned());
        }
        let model = train(&labels).unwrap().model;
        assert!(!model.encode().contains("canary"));
        assert!(model.words().any(|word| word == "user: third"));
        labels.retain(|one| one.user != "u5");
        let after = train(&labels).unwrap().model;
        assert!(!after.encode().contains("third"));
        assert!(!after.encode().contains("u5"), "no user id is in a model");
    }
}
