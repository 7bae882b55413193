//! Sessions that were due and have no verdict: the judge abstained, or could not be used. They are counted beside every
//! rate, so that a rate over the decided sessions says how many those are.

use super::RetrievedLearningStatus;
use super::results::grading::LoadedSession;
use crate::judging::Origin;
use crate::sessions::Snapshot;
use base::vocabulary::Vocabulary;
use judge::verdicts::SessionVerdict;
use judge::{Graded, JudgeError, UndecidedReason};

base::vocabulary! {
    /// Cause of a missing verdict.
    pub enum GapCause {
        /// The judge abstained.
        Undecided = "undecided",
        /// The judge gave no usable answer.
        Failed = "failed",
    }
}

/// A session without a verdict, to be written.
#[derive(Clone, Debug)]
pub struct NewGap {
    pub agent_version: String,
    pub cause: GapCause,
    /// Code of the reason: an [`UndecidedReason`], or the code of the judge's error.
    pub reason: &'static str,
    pub probability: Option<f64>,
    /// The chance that the session had to be judged; 0 if it was not drawn.
    pub chance: i64,
    pub learning_status: RetrievedLearningStatus,
    pub snapshot: Snapshot,
    pub origin: Origin,
}

impl NewGap {
    /// The judge abstained.
    pub fn undecided(
        agent_version: &str,
        material: &LoadedSession,
        graded: Graded<SessionVerdict>,
    ) -> Self {
        let reason = graded.verdict.undecided_reason.unwrap_or(UndecidedReason::NoEvidence);
        NewGap {
            agent_version: agent_version.to_owned(),
            cause: GapCause::Undecided,
            reason: reason.as_str(),
            probability: graded.verdict.probability,
            chance: material.chance(),
            learning_status: RetrievedLearningStatus::default(),
            snapshot: material.snapshot,
            origin: graded.provenance.into(),
        }
    }

    /// The judge failed for good.
    pub fn failed(agent_version: &str, material: &LoadedSession, error: &JudgeError) -> Self {
        NewGap {
            agent_version: agent_version.to_owned(),
            cause: GapCause::Failed,
            reason: error.code(),
            probability: None,
            chance: material.chance(),
            learning_status: RetrievedLearningStatus::default(),
            snapshot: material.snapshot,
            origin: Origin::default(),
        }
    }

    /// The reason in words, for the decision on the session.
    pub fn in_words(&self) -> String {
        let judge = &self.origin.judge;
        match UndecidedReason::parse(self.reason) {
            Some(reason) => format!("{}, by {judge}", reason.in_words()),
            None => self.reason.to_owned(),
        }
    }
}

/// A stored gap.
#[derive(Clone, Debug, sqlx_macros::FromRow)]
pub struct Gap {
    pub cause: GapCause,
    pub learning_status: RetrievedLearningStatus,
    pub interaction_count: i64,
    pub last_interaction_id: i64,
}

impl Gap {
    /// The turns it is about.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            interaction_count: self.interaction_count,
            last_interaction_id: self.last_interaction_id,
        }
    }
}
