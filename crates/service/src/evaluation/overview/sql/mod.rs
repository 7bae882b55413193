//! SQL of the overview: the rollups and how they are kept, and the sums over windows.

mod lists;
mod metrics;
pub mod rollups;
mod sums;

pub use lists::{AfterCitation, AfterResult, at_start, citing_sessions, sessions_of_source};
pub use metrics::{ShadowLine, TurnLine, VerdictLine};
pub use rollups::{ALL_SOURCES, DAY, FOUR_WEEKS, GRAINS, HOUR, one_source};
pub use sums::{
    Asked, CitedRules, Lines, ScoreLine, Sums, cited_rules, prepare, rule_titles, rules_of_version,
    sums,
};
