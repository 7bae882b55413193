//! Forgetting a person, and proving it.
//!
//! What holds from the first row on: every user-owned table is in [`user_tables`], every insert or update of
//! such a row needs a [`SubjectWrite`] that only [`barrier::open`] makes, and the triggers of [`wall`] refuse
//! whatever came another way. [`references`] turns people into references that cannot be turned back.
//!
//! On top of that stand the operations: [`export`], [`purge`] (erase) with its [`certificate`] and [`ledger`], [`people`]
//! (preview, readmit), retention by age, and the chain of [`audit`] events. The areas use what stands below; the operations use the queue and the areas' rules.

pub mod audit;
pub mod barrier;
pub mod canaries;
pub mod certificate;
pub mod drill;
pub mod export;
pub mod export_format;
pub mod http;
pub mod in_flight;
pub mod ledger;
pub mod people;
mod physical;
pub mod purge;
mod purge_job;
pub mod references;
mod retention;
pub mod sealing;
mod sql;
pub mod user_tables;
pub mod wall;
mod zip;

use std::sync::Arc;

pub use barrier::SubjectWrite;
pub use in_flight::InFlight;
pub use purge::record_gauges;
pub use references::{COMMAND_LINE, SubjectKeys};

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn crate::jobs::Handler>> {
    vec![
        Arc::new(purge_job::EraseUser),
        Arc::new(physical::ScrubFiles),
        Arc::new(retention::DeleteOldSessions),
    ]
}
