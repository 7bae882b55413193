//! The formulas of `src/stats`: against reference cases, at their edges, and as properties.

mod conclusions;
mod golden;
mod nulls;
mod properties;
