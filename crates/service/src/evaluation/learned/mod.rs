//! The learned judge: trained in this process on what people and customers say of the organization's own sessions.
//!
//! - `truth` is what it learns from, `training` the job that trains, compares and stores, [`Models`] what judging
//!   holds in memory, `card` what is published about the model in use.
//! - A model holds words that at least three people used, and numbers. Who was in its training set is in
//!   `model_training`, a table of the people's own; forgetting one of them deletes the model and trains another.

mod card;
pub mod http;
mod models;
pub mod sql;
pub mod training;
mod truth;

use base::owner::OrgId;
use storage::db::Tx;
use storage::error::Result;

pub use card::{LearnedJudge, card};
pub use models::Models;
pub use training::{TrainJudge, forget, ground_truth_grew, replace, retrain};

/// Number of sessions with ground truth, as far as training counts them.
pub async fn known_sessions(tx: &mut Tx, org_id: &OrgId) -> Result<usize> {
    Ok(truth::known(tx, org_id).await?.len())
}

/// The name of verdicts by the model of this number.
pub fn version(number: i64) -> String {
    format!("learned/{number}")
}

/// The number of the model that a version names.
pub fn number_of(version: &str) -> Option<i64> {
    version.strip_prefix("learned/")?.parse().ok()
}
