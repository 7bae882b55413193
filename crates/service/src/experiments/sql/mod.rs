//! SQL of the experiment tables, one file per noun.

mod experiments;
mod exposures;
mod looks;
mod marks;
mod sums;

pub(crate) use experiments::one_runs;
pub use experiments::{
    change_about, end, find, hold_active, insert, is_active, list, mark_judged_since, not_looked_at,
};
pub use exposures::{delete_exposures, put_exposure};
pub use looks::{daily_looks, find_looks, put_daily_look, put_looks};
pub use marks::{forget_strata, install_on_shards};
pub use sums::{
    PartState, contaminated_sessions, hold_marks, insert_stratum, lines, mark_summed, part_states,
    past_sums, past_users, replace_sums, served_sums, stale_experiments, stale_users, stored,
    strata, summed_users,
};
