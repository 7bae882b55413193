//! The learning loop: what a person's agent published becomes learnings (extraction), what several people taught becomes
//! proposals for all (aggregation), and verdicts on learnings become proposals to change them (tuning).
//!
//! Learnings themselves are stored and searched by [`crate::learnings`]. At an erasure, `masking` takes a person's own
//! words out of shared texts.

mod aggregation;
mod change_log;
pub mod extraction;
pub mod http;
mod masking;
mod own_words;
mod provenance;
mod rerun;
mod review;
mod sql;
mod tuning;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::learnings::trials;
use base::owner::{OrgId, UserId};
use storage::db::Tx;
use storage::error::{Error, Result};
use storage::jobs::Handler;

pub use masking::{Masked, SharedComparison, compare as compare_shared, mask as mask_shared};
pub use sql::streams::{spent_by_day, spent_since};
pub use sql::tuning::forget_drafts;
pub use tuning::SETTLE_TRIALS;

/// Deletes what was found and proposed in a session, in the transaction that deletes the session.
pub async fn forget_session(
    tx: &mut Tx,
    org_id: &OrgId,
    user_id: &UserId,
    session_id: &str,
) -> Result<()> {
    sql::tuning::forget_session(tx, org_id, user_id, session_id).await?;
    trials::forget_session(tx, org_id, user_id, session_id).await
}

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    let mut handlers: Vec<Arc<dyn Handler<App>>> = vec![
        Arc::new(extraction::ExtractLearnings),
        Arc::new(aggregation::AggregatePlaybooks),
        Arc::new(tuning::TuneLearnings),
        Arc::new(tuning::SettleTrials),
    ];
    for generation in [rerun::Generation::Profiles, rerun::Generation::Playbooks] {
        for again in [true, false] {
            handlers.push(Arc::new(rerun::RerunGeneration { generation, again }));
        }
    }
    handlers
}

/// The payload of a job of this kind.
fn payload<T: DeserializeOwned>(kind: &str, stored: &Value) -> Result<T> {
    T::deserialize(stored)
        .map_err(|error| Error::Internal(format!("the payload of a job {kind} is odd: {error}")))
}
