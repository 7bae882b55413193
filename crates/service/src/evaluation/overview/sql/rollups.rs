//! The sums behind the overview: one list that says what is counted, and the triggers that follow from it.
//!
//! For each table of [`ROLLUPS`] a trigger appends what a row counts for to a table of deltas, and what it no longer
//! counts for, in the transaction that changes the row, whatever code path that is: a regrade, a deleted session, one
//! batch of an erasure. `fold.rs` adds deltas up into lines of hours, days and weeks (rules: also four weeks). Every row
//! carries all that it is counted by, so no trigger looks at another table; the one on `sessions` carries a first request
//! that changed over to the rows. See docs/decisions/0012-rollups.md and 0026-deltas-and-groups.md.
//!
//! To change what is counted, change `metrics.rs`: triggers are made and sums computed anew when the program starts.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

use super::fold::Mark;
use super::metrics::{Column, GapLine, RULE_KEYS, RULE_SUMS, ShadowLine, TurnLine, VerdictLine};
use storage::db::{Engine, Objects, Tx, migrations};
use storage::error::Result;

/// Version of what is counted. Raise it with every change: a replica with an older one leaves what a newer one made.
const VERSION: i64 = 4;
const PART: &str = "rollups";

/// Common prefix of all rollup triggers, of any version.
const FAMILY: &str = "rollup_v";

/// Prefix of the names of the triggers, with a digest of what they count: when a definition changes, its triggers are
/// missing, are made in the place of the older ones, and all sums are computed anew.
static PREFIX: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::digest(format!("{ROLLUPS:?}"));
    format!("{FAMILY}4_{}", hex::encode(&digest[..4]))
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
pub struct Rollup {
    /// The rows that are counted; all have `org_id` and `created_at`.
    pub facts: &'static str,
    /// SQL condition of the rows that count.
    pub counted: &'static str,
    pub lines: &'static str,
    pub deltas: &'static str,
    /// Key columns besides organization, grain and start; of texts, but for those in `numbers`.
    pub keys: &'static [Column],
    /// Key columns that are numbers.
    pub numbers: &'static [&'static str],
    /// Summed columns besides `n`.
    pub sums: &'static [Column],
    /// Number of the first sums that are kept by group of users, together with `n`; 0 if groups are not kept.
    pub grouped: usize,
    /// The longest lines that are kept.
    pub coarsest: i64,
    pub once_more: OnceMore,
}

/// The lines in which a row counts a second time, so that few have to be read for the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceMore {
    Never,
    /// Lines of all sources, [`ALL_SOURCES`]; those of one are named by [`one_source`]. The first key is the source.
    InAllSources,
    /// Lines of all sources and versions, of rows that count for their session (`is_newest`). They are kept under the
    /// negated grain, where they lie side by side. The keys are those of a [`VerdictLine`].
    InTheWhole,
}

const SHADOW_KEYS: &[Column] =
    &[("judge_prompt_version", "@.judge_prompt_version"), ("source", "@.source")];

pub const ROLLUPS: [Rollup; 5] = [
    Rollup {
        facts: "evaluation_results",
        counted: "@.evaluation_name = 'agent_success'",
        lines: "evaluation_rollups",
        deltas: "evaluation_deltas",
        keys: VerdictLine::KEYS,
        numbers: &["is_newest", "chance"],
        sums: VerdictLine::SUMS,
        grouped: VerdictLine::GROUPED,
        coarsest: WEEK,
        once_more: OnceMore::InTheWhole,
    },
    Rollup {
        facts: "verdict_gaps",
        counted: "TRUE",
        lines: "gap_rollups",
        deltas: "gap_deltas",
        keys: GapLine::KEYS,
        numbers: &["is_newest", "chance"],
        sums: GapLine::SUMS,
        grouped: GapLine::GROUPED,
        coarsest: WEEK,
        once_more: OnceMore::InTheWhole,
    },
    Rollup {
        facts: "cited_rules",
        counted: "TRUE",
        lines: "rule_rollups",
        deltas: "rule_deltas",
        keys: RULE_KEYS,
        numbers: &[],
        sums: RULE_SUMS,
        grouped: 0,
        // There are as many lines as rules, and no chart of them by week.
        coarsest: FOUR_WEEKS,
        once_more: OnceMore::InAllSources,
    },
    Rollup {
        facts: "shadow_sessions",
        counted: "TRUE",
        lines: "shadow_session_rollups",
        deltas: "shadow_session_deltas",
        keys: SHADOW_KEYS,
        numbers: &[],
        sums: ShadowLine::SUMS,
        grouped: ShadowLine::GROUPED,
        coarsest: WEEK,
        once_more: OnceMore::Never,
    },
    Rollup {
        facts: "shadow_verdicts",
        counted: "TRUE",
        lines: "shadow_turn_rollups",
        deltas: "shadow_turn_deltas",
        keys: &[("judge_prompt_version", "@.judge_prompt_version")],
        numbers: &[],
        sums: TurnLine::SUMS,
        grouped: TurnLine::GROUPED,
        coarsest: WEEK,
        once_more: OnceMore::Never,
    },
];

/// The tables of deltas.
pub const DELTAS: [&str; 5] = {
    let mut tables = [""; 5];
    let mut place = 0;
    while place < tables.len() {
        tables[place] = ROLLUPS[place].deltas;
        place += 1;
    }
    tables
};

/// The tables whose rows carry the time and source of their session's first request.
const DATED: [&str; 4] = ["evaluation_results", "verdict_gaps", "cited_rules", "shadow_sessions"];

impl Rollup {
    pub fn grains(&self) -> impl Iterator<Item = (i64, i64)> {
        GRAINS.into_iter().filter(|(seconds, _)| *seconds <= self.coarsest)
    }

    /// Columns of a delta besides its id.
    pub fn delta_columns(&self) -> String {
        let group: &[Column] = if self.grouped > 0 { &[("user_group", "")] } else { &[] };
        let names = self.keys.iter().chain(group).chain([("n", "")].iter()).chain(self.sums);
        names.fold("org_id, hour".to_owned(), |all, (name, _)| format!("{all}, {name}"))
    }

    /// Appends what a row counts for, or what it no longer counts for.
    fn append(&self, row: &str, sign: i64) -> String {
        let (columns, (values, counted)) = (self.delta_columns(), self.counted_as(row, sign));
        format!("INSERT INTO {} ({columns}) SELECT {values} WHERE {counted};\n", self.deltas)
    }

    /// The same on a shard: into the deltas beside it, whose numbers are not made by themselves there.
    fn append_beside(&self, row: &str, sign: i64) -> String {
        let (columns, (values, counted)) = (self.delta_columns(), self.counted_as("($1)", sign));
        let deltas = self.deltas;
        format!(
            "EXECUTE replace($q$INSERT INTO # (delta_id, place, {columns})
                 SELECT nextval('@.{deltas}_delta_id_seq'), $2, {values} WHERE {counted}$q$,
                 '#', @.beside(TG_TABLE_NAME, '{deltas}')) USING {row}, @.place_beside(TG_TABLE_NAME);\n"
        )
    }

    /// Values of the columns of a delta, and whether the row counts.
    fn counted_as(&self, row: &str, sign: i64) -> (String, String) {
        let mut values = format!("{row}.org_id, {row}.created_at - {row}.created_at % {HOUR}");
        let mut push = |value: String| {
            values.push_str(", ");
            values.push_str(&value);
        };
        self.keys.iter().for_each(|(_, key)| push(key.replace('@', row)));
        if self.grouped > 0 {
            push(format!("{row}.user_group"));
        }
        push(sign.to_string());
        self.sums.iter().for_each(|(_, sum)| push(format!("{sign} * {}", sum.replace('@', row))));
        (values, self.counted.replace('@', row))
    }

    fn triggers(&self, engine: Engine, is_spread: bool) -> String {
        let (prefix, facts) = (PREFIX.as_str(), self.facts);
        let [add, remove] = [("NEW", 1), ("OLD", -1)].map(|(row, sign)| match is_spread {
            true => self.append_beside(row, sign),
            false => self.append(row, sign),
        });
        match engine {
            Engine::Sqlite => {
                let update = format!("{remove}{add}");
                let events = [("insert", &add), ("update", &update), ("delete", &remove)];
                events
                    .map(|(event, body)| {
                        format!(
                            "CREATE TRIGGER {prefix}_{facts}_{event} AFTER {event} ON {facts} BEGIN {body} END;\n"
                        )
                    })
                    .concat()
            }
            Engine::Postgres => format!(
                "CREATE OR REPLACE FUNCTION {prefix}_{facts}() RETURNS trigger LANGUAGE plpgsql AS $$
                 BEGIN
                     IF TG_OP <> 'INSERT' THEN {remove} END IF;
                     IF TG_OP <> 'DELETE' THEN {add} END IF;
                     RETURN NULL;
                 END $$;
                 CREATE TRIGGER {prefix}_{facts} AFTER INSERT OR UPDATE OR DELETE ON {facts}
                 FOR EACH ROW EXECUTE FUNCTION {prefix}_{facts}();\n"
            ),
        }
    }
}

/// Carries a first request that changed over to what is counted by it.
fn session_trigger(engine: Engine, is_spread: bool) -> String {
    let prefix = PREFIX.as_str();
    let update = |table: &str, row: &str| {
        format!(
            "UPDATE {table} SET created_at = {row}.first_request_at, source = {row}.source
             WHERE org_id = {row}.org_id AND subject = {row}.subject AND session_id = {row}.session_id"
        )
    };
    let body: String = DATED
        .map(|table| match is_spread {
            true => format!(
                "EXECUTE replace($q${}$q$, '#', @.beside(TG_TABLE_NAME, '{table}')) USING NEW;\n",
                update("#", "($1)")
            ),
            false => format!("{};\n", update(table, "NEW")),
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
/// Those of a newer program stay.
pub async fn install(tx: &mut Tx, mark: Mark) -> Result<()> {
    if !migrations::may_install(tx, PART, VERSION).await? || gaps(tx).await?.is_empty() {
        return Ok(());
    }
    migrations::installed(tx, PART, VERSION).await?;
    let engine = tx.engine();
    for old in tx.names_of(Objects::Triggers).await?.iter().filter(|name| name.starts_with(FAMILY))
    {
        tx.run_script(match engine {
            Engine::Sqlite => format!("DROP TRIGGER {old}"),
            Engine::Postgres => format!("DROP FUNCTION {old}() CASCADE"),
        })
        .await?;
    }
    super::groups::assign(tx).await?;
    let is_spread = tx.is_spread();
    let triggers: String =
        ROLLUPS.iter().map(|rollup| rollup.triggers(engine, is_spread)).collect();
    let triggers = triggers + &session_trigger(engine, is_spread);
    match is_spread {
        true => tx.run_on_shards(triggers).await?,
        false => tx.run_script(triggers).await?,
    }
    super::fold::rebuild(tx, mark).await
}
