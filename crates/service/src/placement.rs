//! Placing the tables on Citus: what is spread over the servers, and what every server has a copy of. All else is on
//! the coordinator.

use storage::db::citus::{Placement, by_subject};

use crate::evaluation::overview::DELTAS;
use crate::user_tables::USER_TABLES;

/// Tables of the organization that people's rows are joined with, or that triggers on shards read.
const COPIED: &[&str] =
    &["agent_playbooks", "agent_playbook_vectors", "agent_playbook_decisions", "experiments"];

/// Triggers that change rows on other servers: `learning_loop::forget_drafts` and `experiments::forget_strata` do it.
const WITHOUT: &[(&str, &str)] =
    &[("forget_drafts", "tuning_evidence"), ("forget_strata", "experiment_user_sums")];

pub fn placement() -> Placement {
    let mut spread = by_subject(["subjects"]);
    spread.extend(by_subject(USER_TABLES.iter().map(|table| table.table)));
    spread.extend(DELTAS.map(|table| (table, "place")));
    Placement { spread, copied: COPIED, without: WITHOUT }
}
