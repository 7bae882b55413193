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
    1 "0001_schema";
    2 "0002_autovacuum" expands 1;
    3 "0003_rekey" expands 1;
    // A program of step 3 would change lines of sums and not their hashes.
    4 "0004_parts";
};
