//! The audit chain against everything that should agree with it: at a start, and whenever somebody asks.

pub mod agreement;
pub mod verification;
