//! The audit chain against everything that should agree with it, at a start and whenever somebody asks; and its events
//! for people to read.

pub mod agreement;
pub mod events;
pub mod verification;
