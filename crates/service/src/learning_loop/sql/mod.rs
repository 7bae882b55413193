//! SQL of the learning loop's own tables, and of the learnings it compares.

pub mod aggregation;
pub mod masking;
pub mod provenance;
pub mod streams;
pub mod tuning;
