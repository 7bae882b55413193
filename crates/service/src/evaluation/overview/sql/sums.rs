//! Sums over windows: whole weeks, days and hours from the rollups and from what is not folded into them yet, and the
//! rows at the ragged ends, by the covers of `windows::ranges`.
//!
//! Lines come as they are, range by range, as JSON in one row: SQLite would have to sort them to sum them up. They are
//! added up in `numbers.rs` and `rules.rs`.
//!
//! One statement counts all of an overview: each statement is a round trip to PostgreSQL, which takes longer than most of
//! them. Another one tells before whether anything changed since the same was counted (`known_sums.rs`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use sqlx::types::Json;

use super::metrics::{GapLine, Line, ShadowLine, TurnLine, VerdictLine, VersionLine};
use super::texts::{self, Tables};
use crate::evaluation::EvaluationResult;
use crate::evaluation::overview::numbers::TREND;
use crate::evaluation::overview::windows::{Ranges, Span, share};
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, listed};
use storage::error::{Error, Result};
use storage::{row, rows};

/// Lines by range: the tag of the range says what they count, see `windows::share`.
type ByRange<L> = Vec<(i64, Vec<L>)>;

/// All lines that a window may need.
#[derive(Debug)]
pub struct Lines<L> {
    /// Lines of rollups, which may be the same for several overviews.
    folded: Arc<ByRange<L>>,
    /// Those that are not folded yet, and one for each row.
    newer: ByRange<L>,
}

impl<L: Line + for<'a> Deserialize<'a>> Lines<L> {
    fn new(folded: Arc<ByRange<L>>, newer: [&str; 2], agent_version: Option<&str>) -> Result<Self> {
        let [deltas, rows] = newer.map(|text| parsed(text, agent_version));
        let mut newer = deltas?;
        newer.append(&mut rows?);
        Ok(Lines { folded, newer })
    }
}

/// The lines that count, of a version of the agent or of all.
fn parsed<L: Line + for<'a> Deserialize<'a>>(
    text: &str,
    agent_version: Option<&str>,
) -> Result<ByRange<L>> {
    let mut lines: ByRange<L> = listed(text)?;
    for (_, lines) in &mut lines {
        lines.retain(|line| line.counts(agent_version));
    }
    Ok(lines)
}

impl<L> Lines<L> {
    /// The lines of a window, each with its sign.
    pub fn of_window(&self, window: i64) -> impl Iterator<Item = (i64, &L)> {
        let ranges = self.folded.iter().chain(&self.newer);
        let ranges = ranges.map(move |(tag, lines)| (share(*tag, window), lines));
        let ranges = ranges.filter(|(share, _)| *share != 0);
        ranges.flat_map(|(share, lines)| lines.iter().map(move |line| (share, line)))
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

/// A question for the sums of an overview.
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

/// The sums of verdicts, gaps, shadow comparisons and cited rules in the windows of an overview.
pub struct Counted {
    pub verdicts: Lines<VerdictLine>,
    pub gaps: Lines<GapLine>,
    pub shadows: Lines<ShadowLine>,
    pub turns: Lines<TurnLine>,
    /// Start of the first session with a verdict.
    pub first_at: Option<i64>,
    /// Versions of the agent with a verdict in the window, in order.
    pub agent_versions: Vec<String>,
    /// JSON lists of [`CitedRules`], from sums and from rows.
    pub cited_rules: [Arc<str>; 3],
    /// Changes with every verdict that is counted: the number of deltas that there are and were.
    pub stamp: Option<i64>,
    pub folded: Arc<FoldedLines>,
}

/// The state of the tables that [`Counted`] is read from, and the imported scores, which are never cached.
pub struct Current {
    /// The same as long as no row of verdicts, gaps, comparisons or citations changes, of any organization: each change
    /// appends a delta, and each fold adds a random number.
    pub state: i64,
    pub scores: Vec<ScoreLine>,
}

/// The rollup lines of one overview, which `known_sums.rs` caches.
#[derive(Default)]
pub struct FoldedLines {
    /// The mark of the lines when they were read, see `fold::Mark`; none before the first fold.
    mark: Option<i64>,
    verdicts: Arc<ByRange<VerdictLine>>,
    gaps: Arc<ByRange<GapLine>>,
    shadows: Arc<ByRange<ShadowLine>>,
    turns: Arc<ByRange<TurnLine>>,
    versions: Arc<ByRange<VersionLine>>,
    /// A JSON list of [`CitedRules`].
    pub rules: Arc<str>,
}

impl Counted {
    /// Estimated memory in bytes, without the lines of rollups.
    pub fn bytes(&self) -> usize {
        let rules: usize = self.cited_rules[1..].iter().map(|text| text.len()).sum();
        let newer = count_of(&self.verdicts.newer)
            + count_of(&self.gaps.newer)
            + count_of(&self.shadows.newer)
            + count_of(&self.turns.newer);
        newer * BYTES_OF_LINE + rules
    }
}

/// Most of a line is its sums by group.
const BYTES_OF_LINE: usize = 2_048;

fn count_of<L>(lines: &ByRange<L>) -> usize {
    lines.iter().map(|(_, lines)| lines.len()).sum()
}

impl FoldedLines {
    /// About as many bytes as the lines take in memory.
    pub fn bytes(&self) -> usize {
        let lines = count_of(&self.verdicts)
            + count_of(&self.gaps)
            + count_of(&self.shadows)
            + count_of(&self.turns)
            + count_of(&self.versions);
        lines * BYTES_OF_LINE + self.rules.len()
    }
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
static STATE: Statement = statement!(texts::of_state);
static NEWEST: Statement = statement!(texts::of_newest);
static HOURS: Statement = statement!(texts::of_hours);

/// Verdicts in ranges of whole hours, on a version of the agent or of sessions.
pub async fn hours(
    tx: &mut Tx,
    org_id: &OrgId,
    ranges: &Ranges,
    agent_version: Option<&str>,
) -> Result<Lines<VerdictLine>> {
    let sql = HOURS.text(tx);
    let found = row!(tx, (String, String), sql, org_id, &ranges.lines)?;
    let (lines, deltas) = found.ok_or_else(|| Error::Internal("sums have a row".to_owned()))?;
    Lines::new(Arc::new(parsed(&lines, agent_version)?), [&deltas, "[]"], agent_version)
}

/// Makes the statements of this file, so that a wrong one stops the program when it starts.
pub fn prepare() {
    for statement in [&OF_ALL, &OF_VERSION, &STATE, &NEWEST, &HOURS] {
        LazyLock::force(&statement.on_one);
        LazyLock::force(&statement.spread);
    }
    super::fold::prepare();
}

/// The lines of rollups are missing if they are those that the caller knows.
#[derive(sqlx_macros::FromRow)]
struct FoundTexts {
    mark: Option<i64>,
    verdict_lines: Option<String>,
    verdict_deltas: String,
    verdict_rows: String,
    gap_lines: Option<String>,
    gap_deltas: String,
    gap_rows: String,
    shadow_lines: Option<String>,
    shadow_deltas: String,
    shadow_rows: String,
    turn_lines: Option<String>,
    turn_deltas: String,
    turn_rows: String,
    first_at: Option<i64>,
    version_lines: Option<String>,
    version_deltas: String,
    version_rows: String,
    stamp: Option<i64>,
    rule_lines: Option<String>,
    rule_deltas: String,
    rule_rows: String,
}

impl FoundTexts {
    /// The lines of rollups: those that are known, if they were not sent again.
    fn folded(
        &self,
        known: Option<&Arc<FoldedLines>>,
        agent_version: Option<&str>,
    ) -> Result<Arc<FoldedLines>> {
        if let Some(known) = known.filter(|known| known.mark.is_some() && known.mark == self.mark) {
            return Ok(known.clone());
        }
        Ok(Arc::new(FoldedLines {
            mark: self.mark,
            verdicts: sent(self.verdict_lines.as_deref(), agent_version)?,
            gaps: sent(self.gap_lines.as_deref(), agent_version)?,
            shadows: sent(self.shadow_lines.as_deref(), agent_version)?,
            turns: sent(self.turn_lines.as_deref(), agent_version)?,
            versions: sent(self.version_lines.as_deref(), agent_version)?,
            rules: self.rule_lines.as_deref().ok_or_else(not_sent)?.into(),
        }))
    }
}

fn sent<L: Line + for<'a> Deserialize<'a>>(
    text: Option<&str>,
    agent_version: Option<&str>,
) -> Result<Arc<ByRange<L>>> {
    parsed(text.ok_or_else(not_sent)?, agent_version).map(Arc::new)
}

fn not_sent() -> Error {
    Error::Internal("lines of sums are missing that are not known".to_owned())
}

/// Reads the state of what is counted, and imported scores.
pub async fn current(tx: &mut Tx, asked: &Asked<'_>) -> Result<Current> {
    let sql = STATE.text(tx);
    let found =
        row!(tx, (i64, String), sql, asked.org_id, &asked.scores.rows, asked.agent_version)?;
    let (state, scores) = found.ok_or_else(|| Error::Internal("a state has a row".to_owned()))?;
    Ok(Current { state, scores: listed(&scores)? })
}

/// Reads the newest verdicts of the window, newest first.
pub async fn newest(tx: &mut Tx, asked: &Asked<'_>) -> Result<Vec<EvaluationResult>> {
    let sql = NEWEST.text(tx);
    rows!(
        tx,
        EvaluationResult,
        sql,
        asked.org_id,
        asked.agent_version,
        asked.window.low,
        asked.window.high,
        asked.judge_prompt_version
    )
}

/// Reads the sums from the database. `known` are the cached lines of rollups for the same ranges.
pub async fn count(
    tx: &mut Tx,
    asked: &Asked<'_>,
    known: Option<&Arc<FoldedLines>>,
) -> Result<Counted> {
    let agent_version = asked.agent_version;
    let sql = match agent_version {
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
        agent_version,
        &asked.versions.lines,
        &asked.versions.rows,
        Json(asked.rule_sources),
        &asked.rules.rows,
        &asked.rules.lines,
        known.and_then(|known| known.mark)
    )?;
    let found = found.ok_or_else(|| Error::Internal("an overview has a row".to_owned()))?;
    let folded = found.folded(known, agent_version)?;
    let FoundTexts { version_deltas, version_rows, .. } = &found;
    let versions =
        Lines::new(folded.versions.clone(), [version_deltas, version_rows], agent_version)?;
    Ok(Counted {
        verdicts: Lines::new(
            folded.verdicts.clone(),
            [&found.verdict_deltas, &found.verdict_rows],
            agent_version,
        )?,
        gaps: Lines::new(folded.gaps.clone(), [&found.gap_deltas, &found.gap_rows], agent_version)?,
        shadows: Lines::new(
            folded.shadows.clone(),
            [&found.shadow_deltas, &found.shadow_rows],
            agent_version,
        )?,
        turns: Lines::new(
            folded.turns.clone(),
            [&found.turn_deltas, &found.turn_rows],
            agent_version,
        )?,
        first_at: found.first_at,
        agent_versions: versions.with_verdicts(TREND),
        cited_rules: [folded.rules.clone(), found.rule_deltas.into(), found.rule_rows.into()],
        stamp: found.stamp,
        folded,
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
