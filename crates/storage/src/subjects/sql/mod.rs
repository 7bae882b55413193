//! SQL of the tables of this folder.

pub mod audit;
pub mod rekey;
