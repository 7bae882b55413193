//! Folding: deltas are added up into the lines that the overview reads.
//!
//! One process folds at a time. A line is read, added to and written back whole, in the transaction that deletes its deltas, so
//! that a reader sees every delta once: folded, or not yet. The same code makes lines anew from the rows, and compares.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use sqlx::types::Json;

use super::groups::Groups;
use super::rollups::{
    ALL_SOURCES, FOUR_WEEKS, GRAINS, HOUR, OnceMore, ROLLUPS, Rollup, one_source,
};
use base::ids::Ids;
use storage::db::{Tx, composed, listed};
use storage::error::{Error, Result};
use storage::{row, rows, run};

/// Lines are read and written in lists of this length.
const TOGETHER: usize = 2_000;

/// The key of a line, as texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    org_id: String,
    grain: i64,
    start: i64,
    rest: Vec<String>,
}

/// Sums of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sum {
    n: i64,
    sums: Vec<i64>,
    groups: Groups,
}

type Lines = BTreeMap<LineKey, Sum>;

/// The statements of one rollup.
struct Statements {
    rollup: &'static Rollup,
    /// The first `$1` deltas.
    oldest: String,
    forget: String,
    /// Deltas of an organization in a span of hours.
    unfolded: String,
    /// The same from the rows.
    from_rows: String,
    /// Lines by a list of keys.
    lines: String,
    /// Lines of an organization in a span.
    lines_in: String,
    put: String,
    delete_empty: String,
    /// Organizations and the four weeks in which they have rows, or lines.
    spans: String,
}

static STATEMENTS: LazyLock<Vec<Statements>> =
    LazyLock::new(|| ROLLUPS.iter().map(Statements::of).collect());

/// Makes the statements, so that a wrong one stops the program when it starts.
pub fn prepare() {
    LazyLock::force(&STATEMENTS);
}

impl Statements {
    fn of(rollup: &'static Rollup) -> Self {
        let Rollup { facts, lines, deltas, .. } = rollup;
        let columns: Vec<&str> = rollup.keys.iter().map(|(name, _)| *name).collect();
        let sums: Vec<&str> = rollup.sums.iter().map(|(name, _)| *name).collect();
        let grouped = rollup.grouped > 0;
        let of = |alias: &str, names: &[&str]| -> String {
            names.iter().map(|name| format!(", {alias}.{name}")).collect()
        };
        let delta = format!(
            "{{json_rows:d.delta_id, d.org_id, d.hour{}{}, d.n{}}}",
            of("d", &columns),
            if grouped { ", d.user_group" } else { "" },
            of("d", &sums)
        );
        let groups: &[&str] = if grouped { &["user_groups"] } else { &[] };
        let line = format!(
            "{{json_rows:l.org_id, l.grain, l.start{}, l.n{}{}}}",
            of("l", &columns),
            of("l", &sums),
            of("l", groups)
        );
        let key = format!("org_id, grain, start{}", of("", &columns).replace(", .", ", "));
        let texts: Vec<&str> = ["org_id"]
            .into_iter()
            .chain(columns.iter().copied().filter(|c| !rollup.numbers.contains(c)))
            .collect();
        // A list that has the columns `names`, as they are stored.
        let items = |names: &[&str]| -> String {
            let item = |(place, name): (usize, &&str)| {
                if texts.contains(name) || *name == "user_groups" {
                    format!("value ->> {place} AS {name}")
                } else {
                    format!("CAST(value ->> {place} AS BIGINT) AS {name}")
                }
            };
            let items: Vec<String> = names.iter().enumerate().map(item).collect();
            format!("SELECT {} FROM {{lists:$1}} AS list", items.join(", "))
        };
        let key_names: Vec<&str> =
            ["org_id", "grain", "start"].into_iter().chain(columns.iter().copied()).collect();
        let value_names: Vec<&str> =
            ["n"].into_iter().chain(sums.iter().copied()).chain(groups.iter().copied()).collect();
        let all_names = [key_names.as_slice(), value_names.as_slice()].concat();
        let same = |alias: &str| -> String {
            let same = key_names.iter().map(|name| format!("{alias}.{name} = k.{name}"));
            same.collect::<Vec<_>>().join(" AND ")
        };
        let updated: Vec<String> =
            value_names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let row_keys: String = rollup
            .keys
            .iter()
            .map(|(name, sql)| format!(", {} AS {name}", sql.replace('@', "t")))
            .collect();
        let row_sums: String = rollup
            .sums
            .iter()
            .map(|(name, sql)| format!(", SUM({}) AS {name}", sql.replace('@', "t")))
            .collect();
        let grouping: Vec<String> =
            (2..4 + columns.len() + usize::from(grouped)).map(|n| n.to_string()).collect();
        let (shift, counted) = (GRAINS[3].1, rollup.counted.replace('@', "t"));
        Statements {
            rollup,
            oldest: composed(format!(
                "SELECT CAST({delta} AS TEXT)
                 FROM (SELECT * FROM {deltas} ORDER BY delta_id LIMIT $1 + 0) d"
            )),
            forget: composed(format!("DELETE FROM {deltas} WHERE delta_id IN {{integers:$1}}")),
            unfolded: composed(format!(
                "SELECT CAST({delta} AS TEXT) FROM {deltas} d
                 WHERE d.org_id = $1 AND d.hour >= $2 AND d.hour < $3"
            )),
            from_rows: composed(format!(
                "SELECT CAST({delta} AS TEXT) FROM (
                     SELECT 0 AS delta_id, t.org_id, t.created_at - t.created_at % {HOUR} AS hour{row_keys}{},
                            COUNT(*) AS n{row_sums}
                     FROM {facts} t
                     WHERE t.org_id = $1 AND t.created_at >= $2 AND t.created_at < $3 AND {counted}
                     GROUP BY {}) d",
                if grouped { ", t.user_group" } else { "" },
                grouping.join(", ")
            )),
            lines: composed(format!(
                "SELECT CAST({line} AS TEXT) FROM ({}) k JOIN {lines} l ON {}",
                items(&key_names),
                same("l")
            )),
            lines_in: composed(format!(
                "SELECT CAST({line} AS TEXT) FROM {lines} l
                 WHERE l.org_id = $1 AND l.start >= $2 AND l.start < $3"
            )),
            put: composed(format!(
                "INSERT INTO {lines} ({}) SELECT * FROM ({}) given WHERE TRUE
                 ON CONFLICT ({key}) DO UPDATE SET {}",
                all_names.join(", "),
                items(&all_names),
                updated.join(", ")
            )),
            delete_empty: composed(format!(
                "DELETE FROM {lines} WHERE n = 0 AND ({key}) IN (SELECT * FROM ({}) empty)",
                items(&key_names)
            )),
            spans: composed(format!(
                "SELECT DISTINCT org_id, (created_at + {shift}) / {FOUR_WEEKS} FROM {facts}
                 UNION SELECT DISTINCT org_id, (start + {shift}) / {FOUR_WEEKS} FROM {lines}"
            )),
        }
    }

    /// Adds deltas, as JSON, to the lines they belong to; gives their ids.
    fn add(&self, text: &str, lines: &mut Lines) -> Result<Vec<i64>> {
        let deltas: Vec<Vec<Value>> = listed(text)?;
        let mut ids = Vec::with_capacity(deltas.len());
        for delta in &deltas {
            let mut fields = Fields(delta.iter());
            ids.push(fields.number()?);
            let (org_id, hour) = (fields.text()?, fields.number()?);
            let keys = self.rollup.keys.iter().map(|_| fields.text());
            let keys = keys.collect::<Result<Vec<_>>>()?;
            let group = if self.rollup.grouped > 0 { Some(fields.number()?) } else { None };
            let n = fields.number()?;
            let sums = self.rollup.sums.iter().map(|_| fields.number());
            let sums = sums.collect::<Result<Vec<_>>>()?;
            let values: Vec<i64> =
                std::iter::once(n).chain(sums.iter().copied().take(self.rollup.grouped)).collect();
            for (grain, shift) in self.rollup.grains() {
                let start = hour - (hour + shift).rem_euclid(grain);
                for (sign, rest) in self.counted_under(&keys) {
                    let key = LineKey { org_id: org_id.clone(), grain: sign * grain, start, rest };
                    let line = lines.entry(key).or_default();
                    line.n += n;
                    line.sums.resize(sums.len(), 0);
                    line.sums.iter_mut().zip(&sums).for_each(|(sum, value)| *sum += value);
                    if let Some(group) = group {
                        line.groups.add(1, &Groups::Of(group), &values);
                    }
                }
            }
        }
        Ok(ids)
    }

    /// The keys that a row with these keys counts under, each with the sign of the grain.
    fn counted_under(&self, keys: &[String]) -> Vec<(i64, Vec<String>)> {
        match (self.rollup.once_more, keys) {
            (OnceMore::InAllSources, [source, rest @ ..]) => {
                [ALL_SOURCES.to_owned(), one_source(source)]
                    .map(|source| (1, [std::slice::from_ref(&source), rest].concat()))
                    .to_vec()
            }
            (OnceMore::InTheWhole, [_, _, is_newest, chance]) if is_newest == "1" => {
                let whole = [String::new(), String::new(), is_newest.clone(), chance.clone()];
                vec![(1, keys.to_vec()), (-1, whole.to_vec())]
            }
            _ => vec![(1, keys.to_vec())],
        }
    }

    /// Reads lines from JSON and adds them to `lines`.
    fn read(&self, text: &str, lines: &mut Lines) -> Result<()> {
        let found: Vec<Vec<Value>> = listed(text)?;
        for line in &found {
            let mut fields = Fields(line.iter());
            let (org_id, grain, start) = (fields.text()?, fields.number()?, fields.number()?);
            let rest = self.rollup.keys.iter().map(|_| fields.text()).collect::<Result<_>>()?;
            let n = fields.number()?;
            let sums =
                self.rollup.sums.iter().map(|_| fields.number()).collect::<Result<Vec<_>>>()?;
            let sum = lines.entry(LineKey { org_id, grain, start, rest }).or_default();
            sum.n += n;
            sum.sums.resize(sums.len(), 0);
            sum.sums.iter_mut().zip(&sums).for_each(|(sum, value)| *sum += value);
            if self.rollup.grouped > 0 {
                let groups = Groups::parse(&fields.text()?).ok_or_else(odd)?;
                sum.groups.add(1, &groups, &[]);
            }
        }
        Ok(())
    }

    /// Adds these lines to those that are stored.
    async fn store(&'static self, tx: &mut Tx, mut lines: Lines) -> Result<()> {
        let all: Vec<LineKey> = lines.keys().cloned().collect();
        for keys in all.chunks(TOGETHER) {
            let list: Vec<Value> = keys.iter().map(LineKey::json).collect();
            let sql = self.lines.as_str();
            let found = row!(tx, (String,), sql, Json(&list))?;
            self.read(&found.unwrap_or_default().0, &mut lines)?;
            let values = keys.iter().filter_map(|key| Some(self.json(key, lines.get(key)?)));
            let sql = self.put.as_str();
            run!(tx, sql, Json(values.collect::<Vec<_>>()))?;
            let empty = keys.iter().filter(|key| lines.get(key).is_some_and(|sum| sum.n == 0));
            let empty: Vec<Value> = empty.map(LineKey::json).collect();
            if !empty.is_empty() {
                let sql = self.delete_empty.as_str();
                run!(tx, sql, Json(&empty))?;
            }
        }
        Ok(())
    }

    fn json(&self, key: &LineKey, sum: &Sum) -> Value {
        let mut line = key.values();
        line.push(json!(sum.n));
        line.extend(sum.sums.iter().map(|value| json!(value)));
        if self.rollup.grouped > 0 {
            line.push(json!(sum.groups.text(1 + self.rollup.grouped)));
        }
        Value::Array(line)
    }

    /// The lines of an organization in four weeks, from the rows.
    async fn recomputed(
        &'static self,
        tx: &mut Tx,
        org_id: &str,
        span: (i64, i64),
    ) -> Result<Lines> {
        let mut lines = Lines::new();
        let sql = self.from_rows.as_str();
        let found = row!(tx, (String,), sql, org_id, span.0, span.1)?;
        self.add(&found.unwrap_or_default().0, &mut lines)?;
        Ok(lines)
    }

    /// The same as they are stored, with what is not folded yet.
    async fn stored(&'static self, tx: &mut Tx, org_id: &str, span: (i64, i64)) -> Result<Lines> {
        let mut lines = Lines::new();
        let sql = self.lines_in.as_str();
        let found = row!(tx, (String,), sql, org_id, span.0, span.1)?;
        self.read(&found.unwrap_or_default().0, &mut lines)?;
        // A line without rows should have been deleted: it stays, and is found to be wrong.
        let empty: Vec<LineKey> =
            lines.iter().filter(|(_, sum)| sum.n <= 0).map(|(key, _)| key.clone()).collect();
        let sql = self.unfolded.as_str();
        let found = row!(tx, (String,), sql, org_id, span.0, span.1)?;
        self.add(&found.unwrap_or_default().0, &mut lines)?;
        lines.retain(|key, sum| {
            sum.n != 0 || sum.sums.iter().any(|value| *value != 0) || empty.contains(key)
        });
        Ok(lines)
    }

    async fn spans(&'static self, tx: &mut Tx) -> Result<Vec<(String, (i64, i64))>> {
        let sql = self.spans.as_str();
        let found = rows!(tx, (String, i64), sql)?;
        let start = |number: i64| number * FOUR_WEEKS - GRAINS[3].1;
        let span = |(org_id, number): (String, i64)| (org_id, (start(number), start(number + 1)));
        Ok(found.into_iter().map(span).collect())
    }
}

impl LineKey {
    fn values(&self) -> Vec<Value> {
        let mut values = vec![json!(self.org_id), json!(self.grain), json!(self.start)];
        values.extend(self.rest.iter().map(|key| json!(key)));
        values
    }

    fn json(&self) -> Value {
        Value::Array(self.values())
    }
}

/// The fields of a row, in their order.
struct Fields<'a>(std::slice::Iter<'a, Value>);

impl Fields<'_> {
    fn number(&mut self) -> Result<i64> {
        self.0.next().and_then(Value::as_i64).ok_or_else(odd)
    }

    /// A text, or a number as one.
    fn text(&mut self) -> Result<String> {
        match self.0.next() {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            _ => Err(odd()),
        }
    }
}

fn odd() -> Error {
    Error::Internal("a line of sums is not as it is written".to_owned())
}

/// The name of the mark among the numbers of folded deltas.
const MARK: &str = "mark";

/// A random number that a fold leaves behind. The sum of it and of the numbers of folded deltas is the mark of the lines:
/// it is another one whenever a line is. The numbers alone would come back after a failover that lost a fold; a
/// program from before marks changes the numbers.
#[derive(Clone, Copy)]
pub struct Mark(i64);

impl Mark {
    pub fn new(ids: &Ids) -> Self {
        let mut bytes = [0; 8];
        ids.fill(&mut bytes[2..]);
        Mark(i64::from_be_bytes(bytes))
    }

    async fn set(self, tx: &mut Tx) -> Result<()> {
        run!(
            tx,
            "INSERT INTO folded_deltas (deltas, folded) VALUES ($1, $2)
             ON CONFLICT (deltas) DO UPDATE SET folded = excluded.folded",
            MARK,
            self.0
        )
        .map(drop)
    }
}

/// Folds up to `limit` deltas of each rollup; gives how many there were.
pub async fn fold(tx: &mut Tx, limit: i64, mark: Mark) -> Result<usize> {
    take_turns(tx).await?;
    let mut folded = 0;
    for statements in STATEMENTS.iter() {
        let mut lines = Lines::new();
        let sql = statements.oldest.as_str();
        let found = row!(tx, (String,), sql, limit)?;
        let ids = statements.add(&found.unwrap_or_default().0, &mut lines)?;
        if ids.is_empty() {
            continue;
        }
        statements.store(tx, lines).await?;
        let sql = statements.forget.as_str();
        run!(tx, sql, Json(&ids))?;
        folded += ids.len();
        count_folded(tx, statements.rollup.deltas, ids.len() as u64).await?;
    }
    if folded > 0 {
        mark.set(tx).await?;
    }
    Ok(folded)
}

async fn count_folded(tx: &mut Tx, deltas: &'static str, count: u64) -> Result<()> {
    run!(
        tx,
        "INSERT INTO folded_deltas (deltas, folded) VALUES ($1, $2)
         ON CONFLICT (deltas) DO UPDATE SET folded = folded_deltas.folded + excluded.folded",
        deltas,
        i64::try_from(count).unwrap_or(i64::MAX)
    )?;
    Ok(())
}

/// Replicas fold one after the other.
async fn take_turns(tx: &mut Tx) -> Result<()> {
    if tx.engine() == storage::db::Engine::Postgres {
        let _ = row!(tx, (bool,), "SELECT pg_advisory_xact_lock(7229307) IS NULL")?;
    }
    Ok(())
}

/// Throws all sums away and makes them from the rows.
pub async fn rebuild(tx: &mut Tx, mark: Mark) -> Result<()> {
    take_turns(tx).await?;
    mark.set(tx).await?;
    for statements in STATEMENTS.iter() {
        let Rollup { lines, deltas, .. } = statements.rollup;
        tx.run_script(format!("DELETE FROM {lines};")).await?;
        let dropped = tx.change(format!("DELETE FROM {deltas}"), tx.arguments()).await?;
        count_folded(tx, deltas, dropped).await?;
        for (org_id, span) in statements.spans(tx).await? {
            let lines = statements.recomputed(tx, &org_id, span).await?;
            statements.store(tx, lines).await?;
        }
    }
    Ok(())
}

/// `(table, lines)`: how many lines of each table are not what the rows say; empty when all are.
pub async fn mismatches(tx: &mut Tx) -> Result<Vec<(&'static str, u64)>> {
    let mut wrong = Vec::new();
    for statements in STATEMENTS.iter() {
        let mut count = 0;
        for (org_id, span) in statements.spans(tx).await? {
            let expected = statements.recomputed(tx, &org_id, span).await?;
            let stored = statements.stored(tx, &org_id, span).await?;
            count += expected.iter().filter(|(key, sum)| stored.get(*key) != Some(sum)).count();
            count += stored.keys().filter(|key| !expected.contains_key(*key)).count();
        }
        if count > 0 {
            wrong.push((statements.rollup.lines, count as u64));
        }
    }
    Ok(wrong)
}
