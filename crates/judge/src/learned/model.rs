//! A trained model: what it knows, what it says of a session, and how it is written down.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::features::{Meaning, SIGNALS, Sketch};
use super::logistic::{Row, Weights};
use super::report::ReportCard;
use crate::words::Outcome;

/// The form of [`Model`] when written down. Another form is another number, and is not read.
pub const FORM: u32 = 1;

/// Between these probabilities a session is undecided.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Band {
    /// Failure at or below it.
    pub low: f64,
    /// Success at or above it.
    pub high: f64,
}

impl Band {
    /// Nothing is decided.
    pub const ALL: Band = Band { low: -1.0, high: 2.0 };

    pub fn outcome(self, probability: f64) -> Outcome {
        if probability >= self.high {
            Outcome::Success
        } else if probability <= self.low {
            Outcome::Failure
        } else {
            Outcome::Undecided
        }
    }
}

/// Turns sketches into rows of numbers: which words it knows, and how the counts are put on one scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// After the signals, in order.
    words: Vec<String>,
    places: HashMap<String, u32>,
    /// Mean and spread of each signal.
    scales: Vec<(f64, f64)>,
    /// The length of a session's words as one vector.
    word_length: f64,
    /// After the words, the vector of the last exchange.
    embedding: Option<Embedding>,
}

/// The vectors that a model was trained with. Those of another embedder tell it nothing.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Embedding {
    pub embedder: String,
    pub dimensions: usize,
}

impl Embedding {
    fn fits(&self, meaning: &Meaning) -> bool {
        meaning.embedder == self.embedder && meaning.vector.len() == self.dimensions
    }
}

/// The length of the vector of the last exchange in a row; a signal's is about one.
const MEANING_LENGTH: f32 = 3.0;

/// Name of all columns of the vector: none of them means something by itself.
pub const MEANING: &str = "meaning of the last exchange";

impl Columns {
    pub fn new(
        words: Vec<String>,
        scales: Vec<(f64, f64)>,
        word_length: f64,
        embedding: Option<Embedding>,
    ) -> Self {
        let first = u32::try_from(SIGNALS.len()).unwrap_or(u32::MAX);
        let places = words.iter().cloned().zip(first..).collect();
        Columns { words, places, scales, word_length, embedding }
    }

    pub fn len(&self) -> usize {
        self.words_end() + self.embedding.as_ref().map_or(0, |embedding| embedding.dimensions)
    }

    /// The first column after the words.
    fn words_end(&self) -> usize {
        SIGNALS.len() + self.words.len()
    }

    pub fn name(&self, column: usize) -> &str {
        let word = || self.words.get(column - SIGNALS.len()).map_or(MEANING, String::as_str);
        SIGNALS.get(column).copied().unwrap_or_else(word)
    }

    /// Signals beyond three spreads count as three: one odd session decides nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    pub fn row(&self, sketch: &Sketch) -> Row {
        let signals = (0u32..).zip(sketch.signals.iter().zip(&self.scales));
        let mut row: Row = signals
            .map(|(at, (value, (mean, spread)))| {
                (at, ((value - mean) / spread).clamp(-3.0, 3.0) as f32)
            })
            .filter(|(_, value)| *value != 0.0)
            .collect();
        let known: Vec<u32> =
            sketch.words.iter().filter_map(|word| self.places.get(word).copied()).collect();
        let each = (self.word_length / (known.len().max(1) as f64).sqrt()) as f32;
        row.extend(known.into_iter().map(|place| (place, each)));
        if let (Some(embedding), Some(meaning)) = (&self.embedding, &sketch.meaning)
            && embedding.fits(meaning)
        {
            let places = u32::try_from(self.words_end()).unwrap_or(u32::MAX)..;
            row.extend(places.zip(meaning.vector.iter().map(|x| x * MEANING_LENGTH)));
        }
        row
    }
}

/// A model's prediction for one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The calibrated probability of success.
    pub probability: f64,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) columns: Columns,
    pub(super) weights: Weights,
    pub(super) calibration: Calibration,
    pub(super) band: Band,
    pub report: ReportCard,
}

impl Model {
    pub fn predict(&self, sketch: &Sketch) -> Prediction {
        let score = self.weights.score(&self.columns.row(sketch));
        let probability = self.calibration.probability(score);
        Prediction { probability, outcome: self.band.outcome(probability) }
    }

    pub fn band(&self) -> Band {
        self.band
    }

    /// Features that speak most against success in a session, or most for it: names and weights, strongest first.
    pub fn reasons(&self, sketch: &Sketch, for_success: bool, most: usize) -> Vec<(&str, f64)> {
        let row = self.columns.row(sketch);
        let sign = if for_success { 1.0 } else { -1.0 };
        let mut parts: BTreeMap<usize, f64> = BTreeMap::new();
        for (at, value) in row {
            // The columns of the vector are one reason.
            let at = at as usize;
            let part = self.weights.columns[at] * f64::from(value);
            *parts.entry(at.min(self.columns.words_end())).or_default() += part;
        }
        let mut parts: Vec<(usize, f64)> =
            parts.into_iter().filter(|(_, part)| sign * part > 0.0).collect();
        parts.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        parts.truncate(most);
        parts.into_iter().map(|(at, part)| (self.columns.name(at), part)).collect()
    }

    /// The embedder whose vectors it was trained with.
    pub fn embedder(&self) -> Option<&str> {
        self.columns.embedding.as_ref().map(|embedding| embedding.embedder.as_str())
    }

    /// Every word in it, to be looked through for what it must not hold.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.columns.words.iter().map(String::as_str)
    }

    /// The model as text, the same for the same model.
    pub fn encode(&self) -> String {
        let words = self.columns.words.iter().cloned();
        let written = Written {
            form: FORM,
            signals: SIGNALS.iter().map(|name| (*name).to_owned()).collect(),
            scales: self.columns.scales.clone(),
            word_length: self.columns.word_length,
            intercept: self.weights.intercept,
            signal_weights: self.weights.columns[..SIGNALS.len()].to_vec(),
            words: words.zip(self.weights.columns[SIGNALS.len()..].iter().copied()).collect(),
            embedding: self.columns.embedding.clone(),
            meaning_weights: self.weights.columns[self.columns.words_end()..].to_vec(),
            calibration: self.calibration.clone(),
            band: self.band,
            report: self.report.clone(),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Reads what [`Model::encode`] wrote; nothing if it is of another form, or not whole.
    pub fn decode(text: &str) -> Option<Self> {
        let written: Written = serde_json::from_str(text).ok()?;
        let whole = written.form == FORM
            && written.signals == SIGNALS
            && written.scales.len() == SIGNALS.len()
            && written.signal_weights.len() == SIGNALS.len()
            && written.meaning_weights.len()
                == written.embedding.as_ref().map_or(0, |embedding| embedding.dimensions);
        if !whole {
            return None;
        }
        let (words, word_weights): (Vec<String>, Vec<f64>) = written.words.into_iter().unzip();
        let mut columns = written.signal_weights;
        columns.extend(word_weights);
        columns.extend(written.meaning_weights);
        Some(Model {
            columns: Columns::new(words, written.scales, written.word_length, written.embedding),
            weights: Weights { columns, intercept: written.intercept },
            calibration: written.calibration,
            band: written.band,
            report: written.report,
        })
    }
}

#[derive(Deserialize, Serialize)]
struct Written {
    form: u32,
    signals: Vec<String>,
    scales: Vec<(f64, f64)>,
    word_length: f64,
    intercept: f64,
    signal_weights: Vec<f64>,
    words: Vec<(String, f64)>,
    #[serde(default)]
    embedding: Option<Embedding>,
    #[serde(default)]
    meaning_weights: Vec<f64>,
    calibration: Calibration,
    band: Band,
    report: ReportCard,
}
