//! The statistics of a holdout experiment: pure functions of per-user sums.
//!
//! Nothing here reads a clock, a store or a configuration. The unit of randomisation is the user,
//! so everything starts from one small record per user ([`UserSum`]) and costs O(users).
//! Users are put into a canonical order and sums are compensated, so that the same users in any
//! order give bit-identical results.
//!
//! Rates, lifts and intervals are fractions; [`Interval::percentage_points`] converts. A number
//! that cannot be given is an `Err` with a machine-readable [`NullReason`], never a NaN.

pub mod agreement;
pub mod alerts;
pub mod always_valid;
pub mod association;
pub mod binomial;
pub mod cluster;
pub mod comparison;
pub mod complier;
pub mod cuped;
pub mod decision;
pub mod distributions;
pub mod events;
pub mod fieller;
pub mod grouped;
pub mod guardrails;
pub mod heterogeneity;
pub mod interval;
pub mod judge_correction;
pub mod learning_trials;
mod linear;
pub mod missing;
pub mod multiplicity;
pub mod newcombe;
pub mod planning;
pub mod pooled;
pub mod power;
pub mod prediction_powered;
pub mod randomisation;
pub mod reason;
pub mod reassignments;
pub mod robustness;
pub mod sample_ratio;
pub mod segments;
pub mod shrinkage;
pub mod special;
mod summation;
#[cfg(test)]
mod testing;
pub mod trend;
pub mod user_equal;
pub mod wilson;

pub use cluster::{Alike, Arm, UserSum, Variance};
pub use comparison::{CiMethod, Comparison};
pub use interval::Interval;
pub use reason::{Defined, NullReason};

/// The two-sided error level of every fixed interval: 95 % confidence.
pub const ALPHA: f64 = 0.05;
