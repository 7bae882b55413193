//! SQL of the overview: the rollups, how they are kept and folded, and the sums over windows.

mod evidence;
mod fold;
mod groups;
mod lists;
mod metrics;
pub mod rollups;
mod sums;
mod texts;

pub use evidence::{CitingSessions, JudgedUser, by_user};
pub use fold::{Mark, fold, mismatches, rebuild};
pub use groups::group_of;
pub use lists::{AfterCitation, AfterResult, at_start, citing_sessions, sessions_of_source};
pub use metrics::{GapLine, ShadowLine, TurnLine, VerdictLine, place};
pub use rollups::{ALL_SOURCES, DAY, FOUR_WEEKS, GRAINS, HOUR, WEEK, one_source};
pub use sums::{
    Asked, CitedRules, Counted, Current, FoldedLines, Lines, ScoreLine, count, current, hours,
    newest, prepare, rule_titles,
};
