//! The judge that an organization's own labels and outcomes train: a logistic regression in this process. It says how
//! sure it is and abstains when it is not; what it is worth stands in its report card.
//!
//! A model holds words that at least three people used, and numbers. Who was in the training set is for the caller to
//! know: when one of them is forgotten, the model is trained again without them and the old one is deleted.

mod calibration;
mod features;
mod judge;
mod logistic;
mod model;
mod report;
mod shuffle;
mod training;

pub use features::{Meaning, Sketch, last_exchange, sketch};
pub use judge::LearnedJudge;
pub use model::{Band, Model, Prediction};
pub use report::{CalibrationBin, CurvePoint, ReportCard};
pub use training::{FEWEST_LABELS, FEWEST_OF_A_KIND, Labelled, TooFewLabels, Trained, train};
