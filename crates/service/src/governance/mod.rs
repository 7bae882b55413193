//! Forgetting a person, and proving it.
//!
//! The operations: [`export`], [`purge`] (erase) with its [`certificate`] and [`ledger`], [`people`] (preview, readmit),
//! [`audit`] (does everything agree?), [`rekey`] and
//! retention by age. They stand on `storage::subjects` (barrier, wall, references, audit chain), on the queue and on
//! the areas' rules.

pub mod audit;
pub mod canaries;
pub mod certificate;
pub mod drill;
pub mod export;
pub mod export_format;
pub mod http;
pub mod ledger;
pub mod people;
mod physical;
pub mod purge;
mod purge_job;
pub mod rekey;
mod retention;
mod sql;
mod zip;

use std::sync::Arc;

pub use physical::overdue_seconds;
pub use purge::record_gauges;

/// The background work of this area.
pub fn handlers() -> Vec<Arc<dyn storage::jobs::Handler<crate::app::App>>> {
    vec![
        Arc::new(purge_job::EraseUser),
        Arc::new(physical::ScrubFiles),
        Arc::new(retention::DeleteOldSessions),
    ]
}
