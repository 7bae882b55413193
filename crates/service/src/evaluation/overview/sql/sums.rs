//! Sums over windows: whole weeks, days and hours from the rollups and from what is not folded into them yet, and the
//! rows at the ragged ends, by the covers of `windows::ranges`.
//!
//! Lines come as they are, range by range, as JSON in one row: SQLite would have to sort them to sum them up, and to
//! hand rows over one by one takes longer than to find them. They are added up in `numbers.rs` and `rules.rs`.
//!
//! One statement reads all of an overview that does not depend on what is found: each statement is a change of threads
//! or a round trip, which takes longer than most of them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use sqlx::types::Json;

use super::metrics::{GapLine, ShadowLine, TurnLine, VerdictLine, VersionLine};
use super::texts::{self, Tables};
use crate::evaluation::EvaluationResult;
use crate::evaluation::overview::numbers::TREND;
use crate::evaluation::overview::windows::{Ranges, Span, share};
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, listed};
use storage::error::{Error, Result};
use storage::row;

/// Lines by range: the tag of the range says what they count, see `windows::share`.
#[derive(Debug)]
pub struct Lines<L>(Vec<(i64, Vec<L>)>);

impl<L: for<'a> Deserialize<'a>> Lines<L> {
    /// Lines of rollups, those that are not folded yet, and one for each row.
    fn new([lines, deltas, rows]: [&str; 3]) -> Result<Self> {
        let mut all: Vec<(i64, Vec<L>)> = listed(lines)?;
        all.append(&mut listed(deltas)?);
        all.append(&mut listed(rows)?);
        Ok(Lines(all))
    }
}

impl<L> Lines<L> {
    /// The lines of a window, each with its sign.
    pub fn of_window(&self, window: i64) -> impl Iterator<Item = (i64, &L)> {
        let ranges = self.0.iter().map(move |(tag, lines)| (share(*tag, window), lines));
        let ranges = ranges.filter(|(share, _)| *share != 0);
        ranges.flat_map(|(share, lines)| lines.iter().map(move |line| (share, line)))
    }
}

impl Lines<VerdictLine> {
    /// Leaves one verdict of each session that was drawn: that on a version of the agent, or the verdict of the session.
    pub fn one_each(&mut self, agent_version: Option<&str>) {
        for (_, lines) in &mut self.0 {
            lines.retain(|line| match agent_version {
                _ if line.chance == 0 => false,
                Some(version) => line.agent_version == version,
                None => line.is_newest == 1,
            });
        }
    }
}

impl Lines<GapLine> {
    /// Leaves one gap of each session that was drawn: that of a version of the agent, or that of the session.
    pub fn one_each(&mut self, agent_version: Option<&str>) {
        for (_, lines) in &mut self.0 {
            lines.retain(|line| match agent_version {
                _ if line.chance == 0 => false,
                Some(version) => line.agent_version == version,
                None => line.is_newest == 1,
            });
        }
    }
}

impl Lines<VersionLine> {
    /// Versions with a verdict in a window, in order.
    fn with_verdicts(&self, window: i64) -> Vec<String> {
        let mut verdicts = BTreeMap::<&str, i64>::new();
        for (share, line) in self.of_window(window) {
            *verdicts.entry(&line.agent_version).or_default() += share * line.n;
        }
        let judged = verdicts.into_iter().filter(|(_, n)| *n > 0);
        judged.map(|(version, _)| version.to_owned()).collect()
    }
}

/// Imported scores of one scorer and source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ScoreLine {
    pub tag: i64,
    pub scorer_name: String,
    pub source: String,
    pub n: i64,
    pub total: f64,
}

/// Parameters of [`read`].
pub struct Asked<'a> {
    pub org_id: &'a OrgId,
    /// The window that agent versions, rules and the newest verdicts are of.
    pub window: Span,
    pub verdicts: Ranges,
    /// Ranges of the sessions with shadow comparisons.
    pub shadows: Ranges,
    /// Ranges of the single comparisons.
    pub turns: Ranges,
    pub judge_prompt_version: &'a str,
    pub scores: Ranges,
    /// Cover of the window by whole weeks, for the versions of the agent.
    pub versions: Ranges,
    /// Cover of the window for the rules that are cited.
    pub rules: Ranges,
    /// Sources whose rules are wanted, named as the rollups name them.
    pub rule_sources: &'a [String],
    /// Agent version of shadow comparisons, scores, rules, newest verdicts and `first_at`; all when absent. Verdicts
    /// come of all versions.
    pub agent_version: Option<&'a str>,
}

/// Everything that is read for an overview in one go.
pub struct Found {
    pub sums: Sums,
    /// Versions of the agent with a verdict in the window, in order.
    pub agent_versions: Vec<String>,
    /// JSON lists of [`CitedRules`], from sums and from rows.
    pub cited_rules: [String; 3],
    /// The newest verdicts, newest first.
    pub recent_results: Vec<EvaluationResult>,
    /// Changes with every verdict that is counted: the number of deltas that there are and were.
    pub stamp: Option<i64>,
}

pub struct Sums {
    pub verdicts: Lines<VerdictLine>,
    pub gaps: Lines<GapLine>,
    pub shadows: Lines<ShadowLine>,
    pub turns: Lines<TurnLine>,
    pub scores: Vec<ScoreLine>,
    /// Start of the first session with a verdict.
    pub first_at: Option<i64>,
}

/// A statement in its two forms: for tables on one server, and for those that are spread.
struct Statement {
    on_one: LazyLock<String>,
    spread: LazyLock<String>,
}

macro_rules! statement {
    ($text:expr) => {
        Statement {
            on_one: LazyLock::new(|| $text(Tables::OnOneServer)),
            spread: LazyLock::new(|| $text(Tables::Spread)),
        }
    };
}

impl Statement {
    fn text(&'static self, tx: &Tx) -> &'static str {
        if tx.is_spread() { self.spread.as_str() } else { self.on_one.as_str() }
    }
}

/// All verdicts of sessions, or those on one version of the agent.
static OF_ALL: Statement = statement!(texts::of_all);
static OF_VERSION: Statement = statement!(texts::of_version);
static HOURS: Statement = statement!(texts::of_hours);

/// Verdicts in ranges of whole hours.
pub async fn hours(tx: &mut Tx, org_id: &OrgId, ranges: &Ranges) -> Result<Lines<VerdictLine>> {
    let sql = HOURS.text(tx);
    let found = row!(tx, (String, String), sql, org_id, &ranges.lines)?;
    let (lines, deltas) = found.ok_or_else(|| Error::Internal("sums have a row".to_owned()))?;
    Lines::new([&lines, &deltas, "[]"])
}

/// Makes the statements of this file, so that a wrong one stops the program when it starts.
pub fn prepare() {
    for statement in [&OF_ALL, &OF_VERSION, &HOURS] {
        LazyLock::force(&statement.on_one);
        LazyLock::force(&statement.spread);
    }
    super::fold::prepare();
}

#[derive(sqlx_macros::FromRow)]
struct FoundTexts {
    verdict_lines: String,
    verdict_deltas: String,
    verdict_rows: String,
    gap_lines: String,
    gap_deltas: String,
    gap_rows: String,
    shadow_lines: String,
    shadow_deltas: String,
    shadow_rows: String,
    turn_lines: String,
    turn_deltas: String,
    turn_rows: String,
    first_at: Option<i64>,
    scores: String,
    version_lines: String,
    version_deltas: String,
    version_rows: String,
    stamp: Option<i64>,
    recent_results: String,
    rule_lines: String,
    rule_deltas: String,
    rule_rows: String,
}

pub async fn read(tx: &mut Tx, asked: &Asked<'_>) -> Result<Found> {
    let sql = match asked.agent_version {
        None => OF_ALL.text(tx),
        Some(_) => OF_VERSION.text(tx),
    };
    let found = row!(
        tx,
        FoundTexts,
        sql,
        asked.org_id,
        &asked.verdicts.lines,
        &asked.verdicts.rows,
        &asked.shadows.lines,
        &asked.shadows.rows,
        &asked.turns.lines,
        &asked.turns.rows,
        asked.judge_prompt_version,
        asked.agent_version,
        &asked.scores.rows,
        &asked.versions.lines,
        &asked.versions.rows,
        asked.window.low,
        asked.window.high,
        Json(asked.rule_sources),
        &asked.rules.rows,
        &asked.rules.lines
    )?;
    let found = found.ok_or_else(|| Error::Internal("an overview has a row".to_owned()))?;
    let versions: Lines<VersionLine> =
        Lines::new([&found.version_lines, &found.version_deltas, &found.version_rows])?;
    let mut recent_results: Vec<EvaluationResult> = listed(&found.recent_results)?;
    // An aggregate need not keep the order of its rows.
    recent_results.sort_unstable_by_key(|result| Reverse((result.created_at, result.result_id)));
    Ok(Found {
        sums: Sums {
            verdicts: Lines::new([
                &found.verdict_lines,
                &found.verdict_deltas,
                &found.verdict_rows,
            ])?,
            gaps: Lines::new([&found.gap_lines, &found.gap_deltas, &found.gap_rows])?,
            shadows: Lines::new([&found.shadow_lines, &found.shadow_deltas, &found.shadow_rows])?,
            turns: Lines::new([&found.turn_lines, &found.turn_deltas, &found.turn_rows])?,
            scores: listed(&found.scores)?,
            first_at: found.first_at,
        },
        agent_versions: versions.with_verdicts(TREND),
        cited_rules: [found.rule_lines, found.rule_deltas, found.rule_rows],
        recent_results,
        stamp: found.stamp,
    })
}

/// The rules that sessions of one source cite in one range.
#[derive(Debug, Deserialize)]
pub struct CitedRules<'a> {
    pub tag: i64,
    /// Source key of the rollups: `ALL_SOURCES` or that of `one_source`.
    #[serde(borrow)]
    pub source: Cow<'a, str>,
    #[serde(borrow)]
    pub lines: Vec<RuleLine<'a>>,
}

/// Sessions that cite a rule, and how many of them went well.
#[derive(Debug, Deserialize)]
pub struct RuleLine<'a> {
    pub kind: CitationKind,
    #[serde(borrow)]
    pub rule_id: Cow<'a, str>,
    pub n: i64,
    pub successes: i64,
}

/// Titles of rules, each given by kind and id, at their last citation in the window by a session judged for
/// an agent version, or for any: kind, id, title.
pub async fn rule_titles(
    tx: &mut Tx,
    org_id: &OrgId,
    rules: &[(CitationKind, &str)],
    window: Span,
    agent_version: Option<&str>,
) -> Result<Vec<(CitationKind, String, String)>> {
    // On Citus the titles of all are found in one walk over the servers, and the last one of each is taken there.
    let sql = match tx.is_spread() {
        false => storage::statement!(
            "SELECT CAST({json_rows:kind, rule_id, title} AS TEXT)
             FROM (
                 SELECT k.kind, k.rule_id, (
                     SELECT t.title FROM cited_rules t
                     WHERE t.org_id = $1 AND t.kind = k.kind AND t.rule_id = k.rule_id
                       AND t.created_at >= $3 AND t.created_at < $4
                       AND ($5 IS NULL OR EXISTS (SELECT 1 FROM evaluation_results v
                            WHERE v.org_id = $1 AND v.subject = t.subject AND v.session_id = t.session_id
                              AND v.evaluation_name = 'agent_success' AND v.agent_version = $5))
                     ORDER BY t.created_at DESC, t.subject DESC, t.session_id DESC LIMIT 1) AS title
                 FROM (SELECT value ->> 0 AS kind, value ->> 1 AS rule_id FROM {lists:$2} AS list) k
             ) titles"
        ),
        true => storage::statement!(
            "SELECT CAST({json_rows:kind, rule_id, title} AS TEXT)
             FROM (
                 SELECT DISTINCT ON (t.kind, t.rule_id) t.kind, t.rule_id, t.title
                 FROM (SELECT value ->> 0 AS kind, value ->> 1 AS rule_id FROM {lists:$2} AS list) k
                 JOIN cited_rules t ON t.org_id = $1 AND t.kind = k.kind AND t.rule_id = k.rule_id
                  AND t.created_at >= $3 AND t.created_at < $4
                  AND ($5 IS NULL OR EXISTS (SELECT 1 FROM evaluation_results v
                       WHERE v.org_id = $1 AND v.subject = t.subject AND v.session_id = t.session_id
                         AND v.evaluation_name = 'agent_success' AND v.agent_version = $5))
                 ORDER BY t.kind, t.rule_id, t.created_at DESC, t.subject DESC, t.session_id DESC
             ) titles"
        ),
    };
    let found =
        row!(tx, (String,), sql, org_id, Json(rules), window.low, window.high, agent_version)?;
    let found: Vec<(CitationKind, String, Option<String>)> = listed(&found.unwrap_or_default().0)?;
    // A condition on the title would find it twice.
    let titled = |(kind, rule_id, title)| Some((kind, rule_id, title?));
    Ok(found.into_iter().filter_map(titled).collect())
}
