//! Extraction: from what a person's agent published to what is remembered for that person.
//!
//! - Each person has a stream: their turns in the order of arrival (interaction ids). A window of it, ten turns, is
//!   read by one job; the next window begins eight turns later. A shorter one is read when somebody asks for it, when
//!   a session is finished, or after six idle hours.
//! - One open job per person (its dedupe key is theirs), so windows of one person are read one after the other, on
//!   whichever replica, and two people never share one.
//! - What a window gave, how far the stream was read and how the job goes on are one transaction, guarded by the
//!   job's lease, the subject barrier and the cursor that was read: nothing is lost or read twice.
//! - Every proposal is kept with what became of it (`learning_proposals`): that is the lineage of a learning.

mod failure;
mod job;
mod merging;
mod saving;
mod status;
mod stream;
mod suspicion;
mod window;

pub use job::ExtractLearnings;
pub use merging::Placed;
pub use saving::{Extracted, ProposalOutcome, Saved};
pub use status::{LearningProgress, status};
pub use stream::{Feeding, LearningFlags, PublishLearningStatus, arriving, feeding, flush, is_due};
pub use window::Window;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use judge::proposals::Proposal;
use storage::error::Result;

/// Proposals of a window that would be stored without a second look.
pub fn stood_by(window: &Window, proposals: Vec<Proposal>) -> Vec<Proposal> {
    let examined = suspicion::look_at(window, proposals).into_iter();
    let kept = examined.filter(|one| one.refused.is_none() && !one.is_suspect);
    kept.map(|one| one.proposal).collect()
}

/// The kind of the job that reads a person's next window.
const EXTRACT: &str = "extract_learnings";

/// The payload of that job.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StreamJob {
    /// Everything that waits is read, even if it is no whole window.
    flush: bool,
    /// The window's own failures since it stalled last.
    failures: i64,
    /// Number of stalls.
    stalls: i64,
}

impl StreamJob {
    fn of(payload: &Value) -> Result<Self> {
        super::payload(EXTRACT, payload)
    }
}
