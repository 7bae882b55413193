//! Replaying the judge over history: a regeneration, its cost beforehand, and the difference it would make.

use std::sync::Arc;

use crate::app::App;
use storage::jobs::Handler;

pub mod diff;
pub mod diff_http;
pub mod driver;
pub mod estimate;
pub mod http;
mod pace;
pub mod prune;
pub mod replay;

pub use pace::Pace;
pub use replay::{NewRegeneration, Progress, RegenerationStatus, cancel, progress, start};

/// Regenerations only, for a process that does nothing else.
pub fn handlers() -> Vec<Arc<dyn Handler<App>>> {
    vec![Arc::new(driver::Regenerate)]
}
