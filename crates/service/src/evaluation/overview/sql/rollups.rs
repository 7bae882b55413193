//! The sums behind the overview: one list that says what is counted, and everything that follows from it.
//!
//! For each table of `ROLLUPS` a trigger adds what a row counts for to the lines of its hour, day, week (rules: also four
//! weeks), and takes it away again, in the transaction that changes the row, whatever code path that is: a regrade, a deleted session,
//! one batch of an erasure. Every row carries all that it is counted by, so no trigger looks at another table; the one
//! on `sessions` carries a first request that changed over to the rows. See docs/decisions/0012-rollups.md.
//!
//! To change what is counted, change `metrics.rs`: triggers are made and sums computed anew when the program starts.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::metrics::{RULE_SUMS, ShadowLine, Sum, TurnLine, VerdictLine};
use storage::db::{Engine, Objects, Tx};
use storage::error::Result;

/// Common prefix of all rollup triggers, of any version.
const FAMILY: &str = "rollup_v";

/// Prefix of the names of the triggers, with a digest of what they count: when a definition changes, its triggers are
/// missing, are made in the place of the older ones, and all sums are computed anew.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(format!("{ROLLUPS:?}"));
    format!("{FAMILY}3_{}", hex::encode(&digest[..4]))
});

/// The source under which the rules of all sources are counted together.
pub const ALL_SOURCES: &str = "*";

/// The source under which the rules of one source are counted: never that of all, whatever a source is called.
pub fn one_source(source: &str) -> String {
    format!("={source}")
}

/// `(seconds, shift)`: a line begins where `(time + shift)` is a multiple of the seconds. Day 0 was a Thursday.
pub const GRAINS: [(i64, i64); 4] = [(HOUR, 0), (DAY, 0), (WEEK, 3 * DAY), (FOUR_WEEKS, 3 * DAY)];
pub const HOUR: i64 = 3600;
pub const DAY: i64 = 86_400;
pub const WEEK: i64 = 7 * DAY;
pub const FOUR_WEEKS: i64 = 4 * WEEK;

/// In the expressions `@` stands for the row.
#[derive(Debug)]
struct Rollup {
    /// The rows that are counted; all have `org_id` and `created_at`.
    facts: &'static str,
    /// SQL condition of the rows that count.
    counted: &'static str,
    lines: &'static str,
    /// Key columns besides organization, grain and start: `(column, expression)`.
    keys: &'static [(&'static str, &'static str)],
    /// Summed columns besides `n`: `(column, expression)`.
    sums: &'static [Sum],
    /// The longest lines that are kept.
    coarsest: i64,
    /// True if every row counts once more, for all sources together.
    all_sources: bool,
}

const ROLLUPS: [Rollup; 4] = [
    Rollup {
        facts: "evaluation_results",
        counted: "@.evaluation_name = 'agent_success'",
        lines: "evaluation_rollups",
        keys: &[("source", "@.source"), ("agent_version", "@.agent_version")],
        sums: VerdictLine::SUMS,
        coarsest: WEEK,
        all_sources: false,
    },
    Rollup {
        facts: "cited_rules",
        counted: "TRUE",
        lines: "rule_rollups",
        keys: &[
            ("source", "CASE WHEN scope.whole = 1 THEN '*' ELSE '=' || @.source END"),
            ("kind", "@.kind"),
            ("rule_id", "@.rule_id"),
        ],
        sums: RULE_SUMS,
        // There are as many lines as rules, and no chart of them by week.
        coarsest: FOUR_WEEKS,
        all_sources: true,
    },
    Rollup {
        facts: "shadow_sessions",
        counted: "TRUE",
        lines: "shadow_session_rollups",
        keys: &[("judge_prompt_version", "@.judge_prompt_version"), ("source", "@.source")],
        sums: ShadowLine::SUMS,
        coarsest: WEEK,
        all_sources: false,
    },
    Rollup {
        facts: "shadow_verdicts",
        counted: "TRUE",
        lines: "shadow_turn_rollups",
        keys: &[("judge_prompt_version", "@.judge_prompt_version")],
        sums: TurnLine::SUMS,
        coarsest: WEEK,
        all_sources: false,
    },
];

/// The tables whose rows carry the time and source of their session's first request.
const DATED: [&str; 3] = ["evaluation_results", "cited_rules", "shadow_sessions"];

impl Rollup {
    fn grains(&self) -> impl Iterator<Item = (i64, i64)> {
        GRAINS.into_iter().filter(|(seconds, _)| *seconds <= self.coarsest)
    }

    /// `org_id, grain, start, …, n, …`: the columns of a line.
    fn columns(&self) -> String {
        let rest = self.keys.iter().chain([("n", "1")].iter()).chain(self.sums);
        rest.fold("org_id, grain, start".to_owned(), |all, (name, _)| format!("{all}, {name}"))
    }

    fn key_columns(&self) -> String {
        let keys = self.keys.iter();
        keys.fold("org_id, grain, start".to_owned(), |all, (name, _)| format!("{all}, {name}"))
    }

    /// SELECT of the lines that rows count for. `row` is the name of a row; `from` an optional join that
    /// supplies rows.
    fn counts(&self, row: &str, from: &str, sign: i64, summed: bool) -> String {
        let mut columns = format!(
            "{row}.org_id, g.grain, {row}.created_at - ({row}.created_at + g.shift) % g.grain"
        );
        for (_, key) in self.keys {
            columns.push_str(", ");
            columns.push_str(&key.replace('@', row));
        }
        let sums = [("n", "1")].iter().chain(self.sums);
        for (name, sum) in sums {
            let value = sum.replace('@', row);
            let value = if summed { format!("SUM({value})") } else { value };
            columns.push_str(&format!(", {sign} * {value} AS {name}"));
        }
        let scope = if self.all_sources {
            " CROSS JOIN (SELECT 0 AS whole UNION ALL SELECT 1) scope"
        } else {
            ""
        };
        let grains: Vec<String> = self
            .grains()
            .map(|(seconds, shift)| format!("SELECT {seconds} AS grain, {shift} AS shift"))
            .collect();
        let grains = grains.join(" UNION ALL ");
        let counted = self.counted.replace('@', row);
        format!("SELECT {columns} FROM ({grains}) g{scope}{from} WHERE {counted}")
    }

    /// Adds a row to its lines, or takes it away.
    fn add(&self, row: &str, sign: i64) -> String {
        let (lines, columns, keys) = (self.lines, self.columns(), self.key_columns());
        let sums = self.sums.iter().map(|(name, _)| *name);
        let sums: Vec<String> = std::iter::once("n")
            .chain(sums)
            .map(|name| format!("{name} = {lines}.{name} + excluded.{name}"))
            .collect();
        format!(
            "INSERT INTO {lines} ({columns}) {}
             ON CONFLICT ({keys}) DO UPDATE SET {};\n",
            self.counts(row, "", sign, false),
            sums.join(", ")
        )
    }

    /// Deletes the lines of a row that have no rows left.
    fn sweep(&self, row: &str) -> String {
        let scopes: &[&str] = if self.all_sources { &["0", "1"] } else { &["0"] };
        let mut script = String::new();
        for (seconds, shift) in self.grains() {
            for scope in scopes {
                let keys = self.keys.iter().fold(String::new(), |all, (name, key)| {
                    let key = key.replace('@', row).replace("scope.whole", scope);
                    format!("{all} AND {name} = {key}")
                });
                script.push_str(&format!(
                    "DELETE FROM {} WHERE org_id = {row}.org_id AND grain = {seconds}
                       AND start = {row}.created_at - ({row}.created_at + {shift}) % {seconds}{keys} AND n = 0;\n",
                    self.lines
                ));
            }
        }
        script
    }

    fn triggers(&self, engine: Engine) -> String {
        let prefix = PREFIX.as_str();
        let (facts, add, remove) = (self.facts, self.add("NEW", 1), self.add("OLD", -1));
        let sweep = self.sweep("OLD");
        match engine {
            Engine::Sqlite => [("insert", add.clone()), ("update", format!("{remove}{add}{sweep}")), ("delete", format!("{remove}{sweep}"))]
                .map(|(event, body)| {
                    format!(
                        "CREATE TRIGGER {prefix}_{facts}_{event} AFTER {event} ON {facts} BEGIN {body} END;\n"
                    )
                })
                .concat(),
            Engine::Postgres => format!(
                "CREATE OR REPLACE FUNCTION {prefix}_{facts}() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN
                     IF TG_OP <> 'INSERT' THEN {remove} END IF;
                     IF TG_OP <> 'DELETE' THEN {add} END IF;
                     IF TG_OP <> 'INSERT' THEN {sweep} END IF;
                     RETURN NULL;
                 END $$;
                 CREATE TRIGGER {prefix}_{facts} AFTER INSERT OR UPDATE OR DELETE ON {facts}
                 FOR EACH ROW EXECUTE FUNCTION {prefix}_{facts}();\n"
            ),
        }
    }

    /// The lines as they should be, from the rows.
    fn recomputed(&self, sign: i64) -> String {
        let from = format!(" CROSS JOIN {} t", self.facts);
        let grouped: Vec<String> = (1..=3 + self.keys.len()).map(|n| n.to_string()).collect();
        format!("{} GROUP BY {}", self.counts("t", &from, sign, true), grouped.join(", "))
    }
}

/// Carries a first request that changed over to what is counted by it.
fn session_trigger(engine: Engine) -> String {
    let prefix = PREFIX.as_str();
    let body: String = DATED
        .map(|table| {
            format!(
                "UPDATE {table} SET created_at = NEW.first_request_at, source = NEW.source
                 WHERE org_id = NEW.org_id AND user_id = NEW.user_id AND session_id = NEW.session_id;\n"
            )
        })
        .concat();
    let event = "AFTER UPDATE OF first_request_at, source ON sessions";
    let changed = "OLD.first_request_at <> NEW.first_request_at OR OLD.source <> NEW.source";
    match engine {
        Engine::Sqlite => {
            format!("CREATE TRIGGER {prefix}_sessions {event} WHEN {changed} BEGIN {body} END;\n")
        }
        Engine::Postgres => format!(
            "CREATE OR REPLACE FUNCTION {prefix}_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN {body} RETURN NULL; END $$;
             CREATE TRIGGER {prefix}_sessions {event} FOR EACH ROW WHEN ({changed})
             EXECUTE FUNCTION {prefix}_sessions();\n"
        ),
    }
}

/// The names of all triggers.
pub fn trigger_names(engine: Engine) -> Vec<String> {
    let prefix = PREFIX.as_str();
    let mut names = vec![format!("{prefix}_sessions")];
    for rollup in &ROLLUPS {
        let facts = rollup.facts;
        match engine {
            Engine::Sqlite => names.extend(
                ["insert", "update", "delete"].map(|event| format!("{prefix}_{facts}_{event}")),
            ),
            Engine::Postgres => names.push(format!("{prefix}_{facts}")),
        }
    }
    names
}

/// The triggers that are missing.
pub async fn gaps(tx: &mut Tx) -> Result<Vec<String>> {
    let present = tx.names_of(Objects::Triggers).await?;
    let names = trigger_names(tx.engine());
    Ok(names.into_iter().filter(|name| !present.contains(name)).collect())
}

/// Makes the triggers when one of them is not there yet, in the place of older ones, and then all sums from the rows.
pub async fn install(tx: &mut Tx) -> Result<()> {
    if gaps(tx).await?.is_empty() {
        return Ok(());
    }
    let engine = tx.engine();
    for old in tx.names_of(Objects::Triggers).await?.iter().filter(|name| name.starts_with(FAMILY))
    {
        tx.run_script(match engine {
            Engine::Sqlite => format!("DROP TRIGGER {old}"),
            Engine::Postgres => format!("DROP FUNCTION {old}() CASCADE"),
        })
        .await?;
    }
    let triggers: String = ROLLUPS.iter().map(|rollup| rollup.triggers(engine)).collect();
    tx.run_script(triggers + &session_trigger(engine)).await?;
    rebuild(tx).await
}

/// Throws all sums away and makes them from the rows.
pub async fn rebuild(tx: &mut Tx) -> Result<()> {
    for rollup in &ROLLUPS {
        let (lines, columns) = (rollup.lines, rollup.columns());
        tx.run_script(format!(
            "DELETE FROM {lines};
             INSERT INTO {lines} ({columns}) {};",
            rollup.recomputed(1)
        ))
        .await?;
    }
    Ok(())
}

/// `(table, lines)`: how many lines of each table are not what the rows say; empty when all are.
pub async fn mismatches(tx: &mut Tx) -> Result<Vec<(&'static str, u64)>> {
    let mut found = Vec::new();
    for rollup in &ROLLUPS {
        let (lines, columns, keys) = (rollup.lines, rollup.columns(), rollup.key_columns());
        let wrong = rollup
            .sums
            .iter()
            .fold("SUM(n) <> 0".to_owned(), |all, (name, _)| format!("{all} OR SUM({name}) <> 0"));
        // Stored minus recomputed is nothing, line by line, and no line is empty.
        let count = tx
            .number(
                format!(
                    "SELECT (SELECT COUNT(*) FROM (
                     SELECT {keys} FROM (
                         SELECT {columns} FROM {lines} UNION ALL {}) both_sides
                     GROUP BY {keys} HAVING {wrong}) wrong_lines)
                 + (SELECT COUNT(*) FROM {lines} WHERE n <= 0)",
                    rollup.recomputed(-1)
                ),
                &[],
            )
            .await?;
        if count > 0 {
            found.push((lines, count));
        }
    }
    Ok(found)
}
