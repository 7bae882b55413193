//! The sums of the overview, each defined once: by its name, and by the number that a row adds to it.
//!
//! The rollups add these numbers up by trigger (`rollups.rs`); at the ragged ends of a window they are computed from the
//! rows (`sums.rs`). `@` stands for the row.

use serde::Deserialize;

/// The name of a column, and the number that a row adds to it.
pub type Sum = (&'static str, &'static str);

/// Declares a line of sums: how it is read, and the definitions of its sums. `n` counts the rows.
macro_rules! line {
    (
        $(#[$meta:meta])*
        $line:ident { $($key:ident),* }
        $($name:ident = $sql:literal),+ $(,)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        pub struct $line {
            /// Start of the hour, day or week; of a single row, its time.
            pub start: i64,
            $(pub $key: String,)*
            pub n: i64,
            $(pub $name: i64),+
        }

        impl $line {
            pub const SUMS: &'static [Sum] = &[$((stringify!($name), $sql)),+];
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];
        }

        impl Line for $line {
            /// Columns of a rollup `e`, in the order of the fields.
            fn of_rollup() -> String {
                let names = Self::KEYS.iter().chain(["n"].iter()).copied();
                let names = names.chain(Self::SUMS.iter().map(|(name, _)| *name));
                names.fold("e.start".to_owned(), |all, name| format!("{all}, e.{name}"))
            }

            /// The same of a row `r` alone.
            fn of_row() -> String {
                let keys = Self::KEYS.iter();
                let keys = keys.fold("r.created_at".to_owned(), |all, key| format!("{all}, r.{key}"));
                let sums = Self::SUMS.iter().map(|(_, sql)| sql.replace('@', "r"));
                sums.fold(format!("{keys}, 1"), |all, sql| format!("{all}, {sql}"))
            }
        }
    };
}

/// A line as it is selected.
pub trait Line {
    fn of_rollup() -> String;
    fn of_row() -> String;
}

line! {
    /// Verdicts of one source and version of the agent.
    VerdictLine { source, agent_version }
    sessions = "CASE WHEN @.is_newest THEN 1 ELSE 0 END",
    successes = "CASE WHEN @.is_success THEN 1 ELSE 0 END",
    system_errors = "CASE WHEN @.failure_type = 'system_error' THEN 1 ELSE 0 END",
    corrections = "@.number_of_corrections",
    corrected_0 = "CASE WHEN @.number_of_corrections <= 0 THEN 1 ELSE 0 END",
    corrected_1 = "CASE WHEN @.number_of_corrections = 1 THEN 1 ELSE 0 END",
    corrected_2 = "CASE WHEN @.number_of_corrections = 2 THEN 1 ELSE 0 END",
    corrected_3 = "CASE WHEN @.number_of_corrections = 3 THEN 1 ELSE 0 END",
    corrected_4 = "CASE WHEN @.number_of_corrections = 4 THEN 1 ELSE 0 END",
    corrected_5 = "CASE WHEN @.number_of_corrections >= 5 THEN 1 ELSE 0 END",
    turns_n = "CASE WHEN @.user_turns_to_resolution IS NULL THEN 0 ELSE 1 END",
    turns = "COALESCE(@.user_turns_to_resolution, 0)",
    escalations = "CASE WHEN @.is_escalated THEN 1 ELSE 0 END",
}

line! {
    /// Shadow preferences of sessions of one source.
    ShadowLine { source }
    regular_better = "CASE WHEN @.regular_vs_shadow LIKE 'regular%' THEN 1 ELSE 0 END",
    shadow_better = "CASE WHEN @.regular_vs_shadow LIKE 'shadow%' THEN 1 ELSE 0 END",
}

line! {
    /// Shadow verdicts on turns.
    TurnLine {}
    wins = "CASE WHEN @.better_request <> 'tie'
              AND (@.better_request = '1') = @.service_is_request_1 THEN 1 ELSE 0 END",
    losses = "CASE WHEN @.better_request <> 'tie'
                AND (@.better_request = '1') <> @.service_is_request_1 THEN 1 ELSE 0 END",
    both_orders = "CASE WHEN @.order_consistent IS NULL THEN 0 ELSE 1 END",
    flips = "CASE WHEN @.order_consistent IS NULL OR @.order_consistent THEN 0 ELSE 1 END",
}

/// Sessions that cite a rule. Lines of rules have no time of their own.
pub const RULE_SUMS: &[Sum] = &[("successes", "CASE WHEN @.is_success THEN 1 ELSE 0 END")];
