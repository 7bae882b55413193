//! People, as far as storage knows them.
//!
//! Every insert or update of a person's row needs a [`SubjectWrite`] that only [`barrier::open`] makes, and the triggers
//! of [`wall`] refuse whatever came another way. [`user_tables`] describes the tables that hold such rows,
//! [`references`] turns people into references that cannot be turned back, [`in_flight`] knows the work under way,
//! [`rekey`] gives everybody's rows subjects under another key, [`audit`] is the chain of events, and [`audit_head`] its newest one, signed and kept outside.

pub mod audit;
pub mod audit_head;
pub mod barrier;
pub mod in_flight;
pub mod references;
pub mod rekey;
pub mod sealing;
mod sql;
pub mod user_tables;
pub mod wall;

pub use crate::db::{Subject, SubjectHash};
pub use barrier::{ReturnPolicy, SubjectState, SubjectWrite};
pub use in_flight::InFlight;
pub use references::{COMMAND_LINE, KeyPurpose, SubjectKeys};
