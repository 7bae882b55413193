//! Talking to a judge, for every area that does: consent, the context it is shown, the origin of its answers, and what
//! happens when it cannot be asked.

mod consent;
mod context;
mod failure;
mod origin;

pub use consent::{EveryonesConsent, SubjectConsent};
pub use context::{as_turn, context, rubric};
pub use failure::{judge_error, pause};
pub use origin::Origin;
