//! Tuning: verdicts on learnings become a score, and a learning that hurts a proposal to people; so does an agent playbook
//! that a trial found to hurt.
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
mod settling;

pub use decide::{Acceptance, TrialFinding, TuningEvidence, TuningProposal, accept, decline, list};
pub use draft::TuningDraft;
pub use job::TuneLearnings;
pub use score::{Present, Score, ScorecardQuery, scorecard};
pub use settling::{SETTLE_TRIALS, SettleTrials};

base::vocabulary! {
    /// The remedy that is proposed for a learning.
    pub enum TuningAction {
        Archive = "archive",
        /// Take back the approval of an agent playbook.
        Reject = "reject",
        /// Give it another wording.
        Edit = "edit",
    }
}

base::vocabulary! {
    /// The decision about a tuning proposal.
    pub enum TuningStatus {
        Open = "open",
        Accepted = "accepted",
        Declined = "declined",
    }
}

/// Age up to which verdicts count.
const LOOKBACK_SECONDS: i64 = 90 * 86_400;
