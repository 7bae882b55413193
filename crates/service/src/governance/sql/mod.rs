//! The SQL of erasures, exports and the audit chain. `barrier.rs`, `wall.rs` and `user_tables.rs` hold their own.

pub mod exports;
pub mod purges;
pub mod subjects;
