//! The sums of the overview, each defined once: by its name, and by the number that a row adds to it.
//!
//! Triggers append these numbers to the deltas that the rollups are folded from (`rollups.rs`); at the ragged ends of a
//! window they are computed from the rows (`sums.rs`). `@` stands for the row.

use serde::Deserialize;

use super::groups::Groups;

/// The name of a column, and the SQL of the value that a row has in it.
pub type Column = (&'static str, &'static str);

/// Declares a line of sums: how it is read, and the definitions of its keys and sums. `n` counts the rows. Sums behind
/// `by group` are kept by group of users too, together with `n`.
macro_rules! line {
    (
        $(#[$meta:meta])*
        $line:ident
        keys { $($key:ident: $type:ty = $key_sql:literal),* $(,)? }
        sums by group { $($grouped:ident = $grouped_sql:literal),* $(,)? }
        sums { $($name:ident = $sql:literal),* $(,)? }
        $(counts $counts:expr)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        pub struct $line {
            /// Start of the hour, day or week; of a single row, its time.
            pub start: i64,
            $(pub $key: $type,)*
            pub n: i64,
            $(pub $grouped: i64,)*
            $(pub $name: i64,)*
            /// `n` and the sums by group.
            #[serde(default)]
            pub groups: Groups,
        }

        impl $line {
            pub const KEYS: &'static [Column] = &[$((stringify!($key), $key_sql)),*];
            pub const SUMS: &'static [Column] =
                &[$((stringify!($grouped), $grouped_sql),)* $((stringify!($name), $sql)),*];
            /// Number of the first of [`Self::SUMS`] that are kept by group; 0 if groups are not kept.
            pub const GROUPED: usize = { let names: &[&str] = &[$($grouped_sql),*]; names.len() };

            /// Adds the sums of a line as often as it counts, without those by group.
            pub fn add_sums(&mut self, share: i64, line: &$line) {
                self.n += share * line.n;
                $(self.$grouped += share * line.$grouped;)*
                $(self.$name += share * line.$name;)*
            }

            /// Adds the sums of a line as often as it counts.
            pub fn add(&mut self, share: i64, line: &$line) {
                self.add_sums(share, line);
                self.groups.add(share, &line.groups, &[line.n, $(line.$grouped),*]);
            }
        }

        impl Line for $line {
            fn of_sums(alias: &str, start: &str, groups: &str) -> String {
                let names = Self::KEYS.iter().chain([("n", "")].iter()).chain(Self::SUMS);
                let names = names.fold(start.to_owned(), |all, (name, _)| format!("{all}, {alias}.{name}"));
                if Self::GROUPED == 0 { names } else { format!("{names}, {alias}.{groups}") }
            }

            fn of_row() -> String {
                let values = Self::KEYS.iter().chain([("n", "1")].iter()).chain(Self::SUMS);
                let values = values.map(|(_, sql)| sql.replace('@', "r"));
                let values = values.fold("r.created_at".to_owned(), |all, sql| format!("{all}, {sql}"));
                if Self::GROUPED == 0 { values } else { format!("{values}, r.user_group") }
            }

            $(fn counts(&self, agent_version: Option<&str>) -> bool {
                let counts: fn(&Self, Option<&str>) -> bool = $counts;
                counts(self, agent_version)
            })?
        }
    };
}

/// A line as it is selected, in the order of its fields.
pub trait Line {
    /// Columns of a line that is kept: of a rollup or of a delta, named `alias`.
    fn of_sums(alias: &str, start: &str, groups: &str) -> String;
    /// The same of a row `r` alone.
    fn of_row() -> String;

    /// True if the line counts for a version of the agent, or for all.
    fn counts(&self, _agent_version: Option<&str>) -> bool {
        true
    }
}

/// Leaves one verdict or gap of each session that was drawn: that on the version asked for, or that of the session.
fn is_one_of_each(chance: i64, is_newest: i64, agent_version: &str, asked: Option<&str>) -> bool {
    chance != 0 && asked.map_or(is_newest == 1, |asked| agent_version == asked)
}

line! {
    /// Verdicts of one source and version of the agent. Of a session that was judged for two versions, one is the
    /// verdict of the session (`is_newest`).
    VerdictLine
    keys {
        source: String = "@.source",
        agent_version: String = "@.agent_version",
        is_newest: i64 = "CASE WHEN @.is_newest THEN 1 ELSE 0 END",
        chance: i64 = "@.chance",
    }
    sums by group {
        successes = "CASE WHEN @.is_success THEN 1 ELSE 0 END",
        system_errors = "CASE WHEN @.failure_type = 'system_error' THEN 1 ELSE 0 END",
        corrections = "@.number_of_corrections",
        turns_n = "CASE WHEN @.user_turns_to_resolution IS NULL THEN 0 ELSE 1 END",
        turns = "COALESCE(@.user_turns_to_resolution, 0)",
        escalations = "CASE WHEN @.is_escalated THEN 1 ELSE 0 END",
    }
    sums {
        corrected_0 = "CASE WHEN @.number_of_corrections <= 0 THEN 1 ELSE 0 END",
        corrected_1 = "CASE WHEN @.number_of_corrections = 1 THEN 1 ELSE 0 END",
        corrected_2 = "CASE WHEN @.number_of_corrections = 2 THEN 1 ELSE 0 END",
        corrected_3 = "CASE WHEN @.number_of_corrections = 3 THEN 1 ELSE 0 END",
        corrected_4 = "CASE WHEN @.number_of_corrections = 4 THEN 1 ELSE 0 END",
        corrected_5 = "CASE WHEN @.number_of_corrections >= 5 THEN 1 ELSE 0 END",
        by_rules = "CASE WHEN @.judge IN ('rules', 'offline') AND @.prompt_version <> 'outcome' THEN 1 ELSE 0 END",
    }
    counts |line, asked| is_one_of_each(line.chance, line.is_newest, &line.agent_version, asked)
}

line! {
    /// Sessions of one source and version of the agent that were due and have no verdict on it. One gap of a session that
    /// has no verdict at all is that of the session (`is_newest`).
    GapLine
    keys {
        source: String = "@.source",
        agent_version: String = "@.agent_version",
        is_newest: i64 = "CASE WHEN @.is_newest THEN 1 ELSE 0 END",
        chance: i64 = "@.chance",
    }
    sums by group {}
    sums {}
    counts |line, asked| is_one_of_each(line.chance, line.is_newest, &line.agent_version, asked)
}

/// Places of the sums of a [`VerdictLine`] in its groups.
pub mod place {
    pub const N: usize = 0;
    pub const SUCCESSES: usize = 1;
    pub const SYSTEM_ERRORS: usize = 2;
    pub const CORRECTIONS: usize = 3;
    pub const TURNS_N: usize = 4;
    pub const TURNS: usize = 5;
    pub const ESCALATIONS: usize = 6;
}

line! {
    /// Shadow preferences of sessions of one source.
    ShadowLine
    keys { source: String = "@.source" }
    sums by group {
        regular_better = "CASE WHEN @.regular_vs_shadow LIKE 'regular%' THEN 1 ELSE 0 END",
        shadow_better = "CASE WHEN @.regular_vs_shadow LIKE 'shadow%' THEN 1 ELSE 0 END",
    }
    sums {}
}

line! {
    /// Shadow verdicts on turns.
    TurnLine
    keys {}
    sums by group {}
    sums {
        wins = "CASE WHEN @.better_request <> 'tie'
                  AND (@.better_request = '1') = @.service_is_request_1 THEN 1 ELSE 0 END",
        losses = "CASE WHEN @.better_request <> 'tie'
                    AND (@.better_request = '1') <> @.service_is_request_1 THEN 1 ELSE 0 END",
        both_orders = "CASE WHEN @.order_consistent IS NULL THEN 0 ELSE 1 END",
        flips = "CASE WHEN @.order_consistent IS NULL OR @.order_consistent THEN 0 ELSE 1 END",
    }
}

/// Verdicts on one version of the agent, for the list of versions.
#[derive(Debug, Deserialize)]
pub struct VersionLine {
    pub agent_version: String,
    pub n: i64,
}

impl Line for VersionLine {
    fn of_sums(alias: &str, _start: &str, _groups: &str) -> String {
        format!("{alias}.agent_version, {alias}.n")
    }

    fn of_row() -> String {
        "r.agent_version, 1".to_owned()
    }
}

/// Sessions that cite a rule. Lines of rules have no time of their own.
pub const RULE_KEYS: &[Column] =
    &[("source", "@.source"), ("kind", "@.kind"), ("rule_id", "@.rule_id")];
pub const RULE_SUMS: &[Column] = &[("successes", "CASE WHEN @.is_success THEN 1 ELSE 0 END")];
