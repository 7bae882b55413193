//! Forgetting a person, and proving it.
//!
//! What holds from the first row on: every user-owned table is in [`user_tables`], every insert or update of
//! such a row needs a [`SubjectWrite`] that only [`barrier::open`] makes, and the triggers of [`wall`] refuse
//! whatever came another way. [`references`] turns people into references that cannot be turned back.

pub mod barrier;
pub mod references;
pub mod user_tables;
pub mod wall;

pub use barrier::SubjectWrite;
pub use references::SubjectKeys;
