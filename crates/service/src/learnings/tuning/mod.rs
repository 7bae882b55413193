//! Tuning: verdicts on learnings become a score, and a learning that hurts a proposal to people.
//!
//! - Only verdicts about a learning's present text count. A negative one whose diagnosis is verified and lays the
//!   problem elsewhere (the agent's use of it, a tool, nothing at all) is not held against the learning.
//! - A diagnosis is verified and supported when the judge saw the whole session, cites turns of it, and names a cause.
//! - Nothing is changed silently: a learning is archived or reworded when a person accepts the proposal, and the same
//!   text is never proposed twice.

mod decide;
mod draft;
pub mod http;
mod job;
mod score;

use serde_json::json;

pub use decide::{Acceptance, TuningEvidence, TuningProposal, accept, decline, list};
pub use draft::Draft;
pub use job::TuneLearnings;
pub use score::{Present, Score, ScorecardQuery, scorecard};

use crate::app::App;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate};

const TUNE: &str = "tune_learnings";
/// Verdicts that come within this time are looked at together.
const DELAY_SECONDS: i64 = 60;
/// How far back verdicts count.
const LOOKBACK_SECONDS: i64 = 90 * 86_400;

/// Has an organization's learnings looked at, as part of the transaction that wrote verdicts on them.
pub async fn verdicts_changed(tx: &mut Tx, app: &App, org_id: &str) -> Result<()> {
    let job = NewJob {
        kind: TUNE,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!({}),
        dedupe_key: Some("organization".to_owned()),
        on_duplicate: OnDuplicate::Keep,
        run_at: app.clock.now() + DELAY_SECONDS,
        max_attempts: 12,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}
