//! The database, the people in it, and the queue of work. Knows no area: what is stored is decided above.
//!
//! | module | owns |
//! |---|---|
//! | [`db`] | transactions, the two engines, dialect fragments, migrations |
//! | [`subjects`] | the barrier around a person's rows, the list of user-owned tables, references, the audit chain |
//! | [`jobs`] | the lease queue and its runner |
//! | [`runtime`] | the storage with clock, ids and tasks: what the rest is passed |
//! | [`error`] | problems in the words a caller acts on |
//! | [`faults`] | places where tests make the program fail |

pub mod db;
pub mod error;
pub mod faults;
pub mod jobs;
pub mod runtime;
pub mod subjects;

/// For the macros `row!`, `rows!` and `run!`.
#[doc(hidden)]
pub use sqlx;
