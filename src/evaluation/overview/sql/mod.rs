//! SQL of the overview: the rollups and how they are kept, and the sums over windows.

mod lists;
pub mod rollups;
mod sums;

pub use lists::{AfterCitation, AfterResult, at_start, citing_sessions, sessions_of_source};
pub use rollups::{DAY, GRAINS, HOUR, WEEK};
pub use sums::{
    RuleLine, ScoreLine, ShadowLine, SumLine, TrendLine, first_result_at, rule_lines, score_lines,
    shadow_lines, sum_lines, trend_lines,
};
