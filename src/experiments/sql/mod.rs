//! SQL of the experiment tables, one file per noun.

mod experiments;
mod exposures;

pub use experiments::{active, end, find, hold_active, insert, list, mark_judged_since};
pub use exposures::{delete_exposures, put_exposure};
