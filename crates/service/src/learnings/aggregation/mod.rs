//! Aggregation: what several people taught independently is proposed for all.
//!
//! - Per agent version, current user playbooks that say the same are put together. From a single person nothing is
//!   proposed, however often they say it.
//! - What is proposed is a *pending* agent playbook: people approve, edit or reject it. Its text is one of the members'
//!   own, in words that enough of them used, and carries nothing of one of them ([`personal`]); else nothing is proposed.
//! - Links to the sources, and with them the count of people, belong to those people and go with them. The playbook
//!   stays.
//! - What was rejected does not come back unchanged ([`ideas`]).
//! - All proposals of a run and the end of its job are one transaction: a crash repeats the run and duplicates nothing.

mod clusters;
mod ideas;
mod job;
mod personal;

use serde_json::json;

pub use clusters::Member;
pub use ideas::{forget_rejection, remember_rejection};
pub use job::AggregatePlaybooks;
pub use personal::{People, Person};

use crate::app::App;
use storage::db::Tx;
use storage::error::Result;
use storage::jobs::{self, NewJob, OnDuplicate};

/// Under this name a playbook's metadata keeps what was proposed: the part of its text that is nobody's alone.
pub const PROPOSED: &str = "proposed";

const AGGREGATE: &str = "aggregate_playbooks";
/// Playbooks that come within this time are looked at together.
const DELAY_SECONDS: i64 = 10;

/// Has the playbooks of an agent version looked at, as part of the transaction that changed one of them.
pub async fn enqueue(tx: &mut Tx, app: &App, org_id: &str, agent_version: &str) -> Result<()> {
    let job = NewJob {
        kind: AGGREGATE,
        org_id,
        subject: None,
        parent_id: None,
        payload: json!({"agent_version": agent_version}),
        dedupe_key: Some(agent_version.to_owned()),
        on_duplicate: OnDuplicate::Move,
        run_at: app.clock.now() + DELAY_SECONDS,
        max_attempts: 12,
    };
    jobs::enqueue(tx, app, job).await.map(drop)
}
