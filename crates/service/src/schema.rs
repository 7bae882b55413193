//! The schema: `migrations/{sqlite,postgres}/NNNN_name.sql` carry the same numbers and names on both engines.
//!
//! `expands` after a name: programs of the step given there go on with this one. Without it they do not.

use storage::db::migrations::{Migration, Migrations};

macro_rules! migrations {
    ($($version:literal $name:literal $(expands $works_from:literal)?;)*) => {
        Migrations(&[$(Migration {
            version: $version,
            name: $name,
            works_from: [$($works_from,)? $version][0],
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        },)*])
    };
}

pub const MIGRATIONS: Migrations = migrations! {
    1 "0001_foundation";
    2 "0002_learnings";
    3 "0003_evaluation";
    4 "0004_experiments";
    5 "0005_overview";
    6 "0006_governance";
    7 "0007_learning_loop";
    8 "0008_experiment_attribution";
    9 "0009_evaluation_rate_looks";
    10 "0010_deltas";
    11 "0011_sampled_out";
    12 "0012_hardening";
    13 "0013_judge";
    14 "0014_replicas" expands 13;
    15 "0015_inclusion_chances";
    16 "0016_questions" expands 15;
    17 "0017_trials" expands 16;
    18 "0018_trial_proposals" expands 17;
    19 "0019_usage" expands 18;
    20 "0020_webhooks" expands 19;
    21 "0021_people" expands 20;
    22 "0022_webhook_targets" expands 21;
23 "0023_history" expands 22;
};
