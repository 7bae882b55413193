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

use super::metrics::{GapLine, Line, RULE_SUMS, ShadowLine, TurnLine, VerdictLine, VersionLine};
use crate::evaluation::EvaluationResult;
use crate::evaluation::overview::numbers::TREND;
use crate::evaluation::overview::windows::{Ranges, Span, share};
use crate::evaluation::verdict::verdict_columns;
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, composed, listed};
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
    /// Changes with every verdict that is counted: the newest delta, or the last that was folded.
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

/// The ranges of a JSON list of `[tag, grain, low, high]`.
fn ranges(parameter: &str) -> String {
    format!(
        "(SELECT CAST(value ->> 0 AS BIGINT) AS tag, CAST(value ->> 1 AS BIGINT) AS grain,
                 CAST(value ->> 2 AS BIGINT) AS low, CAST(value ->> 3 AS BIGINT) AS high
          FROM {{lists:{parameter}}} AS list)"
    )
}

/// The lines of a rollup in ranges, by the tag of the range, and then those that are not folded yet, as the columns
/// `…_lines` and `…_deltas`.
fn rollup_lines<L: Line>(
    name: &str,
    [rollup, deltas]: [&str; 2],
    parameter: &str,
    condition: &str,
) -> String {
    let (folded, unfolded) =
        (L::of_sums("e", "e.start", "user_groups"), L::of_sums("e", "e.hour", "user_group"));
    let ranges = ranges(parameter);
    format!(
        "(SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{folded}}} FROM {rollup} e
              WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high {condition})}} AS TEXT)
          FROM {ranges} c) AS {name}_lines,
         (SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{unfolded}}} FROM {deltas} e
              WHERE e.org_id = $1 AND e.hour >= c.low AND e.hour < c.high {condition})}} AS TEXT)
          FROM {ranges} c) AS {name}_deltas"
    )
}

/// A line for each row in ranges, by the tag of the range, as the column `…_rows`.
fn row_lines<L: Line>(name: &str, table: &str, parameter: &str, condition: &str) -> String {
    format!(
        "(SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{}}} FROM {table} r
              WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high {condition})}} AS TEXT)
          FROM {} c) AS {name}_rows",
        L::of_row(),
        ranges(parameter)
    )
}

/// Start of the first session with a verdict on the version asked for: the first of the oldest hour that has one.
const FIRST_AT: &str = "(SELECT MIN(r.created_at)
    FROM (SELECT MIN(hour) AS hour FROM (
              SELECT hour FROM (
                  SELECT start AS hour FROM evaluation_rollups
                  WHERE org_id = $1 AND grain = 3600 AND ($9 IS NULL OR agent_version = $9)
                  ORDER BY start LIMIT 1) folded
              UNION ALL SELECT MIN(hour) AS hour FROM evaluation_deltas
              WHERE org_id = $1 AND n > 0 AND ($9 IS NULL OR agent_version = $9)) hours) oldest
    CROSS JOIN evaluation_results r
    WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success' AND ($9 IS NULL OR r.agent_version = $9)
      AND r.created_at >= oldest.hour AND r.created_at < oldest.hour + 3600) AS first_at";

/// The newest verdicts on sessions, one of each. As JSON, because handing over rows of so many columns takes longer than
/// all else in an overview. Fractions have 15 digits.
const NEWEST_VERDICTS: &str = concat!(
    "(SELECT CAST({json_rows:p.regular_vs_shadow, ",
    verdict_columns!(),
    "} AS TEXT)
      FROM (SELECT * FROM evaluation_results
            WHERE org_id = $1 AND evaluation_name = 'agent_success'
              AND ((is_newest AND $9 IS NULL) OR agent_version = $9) AND created_at >= $13 AND created_at < $14
            ORDER BY created_at DESC, result_id DESC LIMIT 100) r
      LEFT JOIN shadow_sessions p
        ON p.org_id = r.org_id AND p.subject = r.subject AND p.session_id = r.session_id
       AND p.judge_prompt_version = $8) AS recent_results"
);

/// Sums, scores, versions and newest verdicts: the columns of every overview.
fn columns() -> Vec<String> {
    vec![
        rollup_lines::<VerdictLine>("verdict", ["evaluation_rollups", "evaluation_deltas"], "$2", ""),
        row_lines::<VerdictLine>(
            "verdict",
            "evaluation_results",
            "$3",
            "AND r.evaluation_name = 'agent_success'",
        ),
        rollup_lines::<GapLine>("gap", ["gap_rollups", "gap_deltas"], "$2", ""),
        row_lines::<GapLine>("gap", "verdict_gaps", "$3", ""),
        rollup_lines::<ShadowLine>(
            "shadow",
            ["shadow_session_rollups", "shadow_session_deltas"],
            "$4",
            "AND e.judge_prompt_version = $8",
        ),
        row_lines::<ShadowLine>(
            "shadow",
            "shadow_sessions",
            "$5",
            "AND r.judge_prompt_version = $8
             AND ($9 IS NULL OR EXISTS (SELECT 1 FROM sessions s
                  WHERE s.org_id = $1 AND s.subject = r.subject AND s.session_id = r.session_id
                    AND s.agent_version = $9))",
        ),
        rollup_lines::<TurnLine>(
            "turn",
            ["shadow_turn_rollups", "shadow_turn_deltas"],
            "$6",
            "AND e.judge_prompt_version = $8",
        ),
        row_lines::<TurnLine>(
            "turn",
            "shadow_verdicts",
            "$7",
            "AND r.judge_prompt_version = $8 AND ($9 IS NULL OR r.agent_version = $9)",
        ),
        FIRST_AT.to_owned(),
        format!(
            "(SELECT CAST({{json_rows:tag, scorer_name, source, n, total}} AS TEXT) FROM (
                  SELECT c.tag, i.scorer_name, s.source, COUNT(*) AS n, SUM(i.value) AS total
                  FROM {} c CROSS JOIN imported_scores i
                  JOIN sessions s ON s.org_id = i.org_id AND s.subject = i.subject AND s.session_id = i.session_id
                  WHERE i.org_id = $1 AND i.ts >= c.low AND i.ts < c.high AND ($9 IS NULL OR s.agent_version = $9)
                  GROUP BY 1, 2, 3) scores) AS scores",
            ranges("$10")
        ),
        rollup_lines::<VersionLine>(
            "version",
            ["evaluation_rollups", "evaluation_deltas"],
            "$11",
            "",
        ),
        row_lines::<VersionLine>(
            "version",
            "evaluation_results",
            "$12",
            "AND r.evaluation_name = 'agent_success'",
        ),
        "(SELECT MAX(id) FROM (
              SELECT MAX(delta_id) AS id FROM evaluation_deltas
              UNION ALL SELECT last_id AS id FROM folded_deltas WHERE deltas = 'evaluation_deltas') ids) AS stamp"
            .to_owned(),
        NEWEST_VERDICTS.to_owned(),
    ]
}

/// All verdicts of sessions, or those on one version of the agent.
static OF_ALL: LazyLock<String> =
    LazyLock::new(|| composed(format!("SELECT {}, {}", columns().join(", "), cited_rules())));
static OF_VERSION: LazyLock<String> =
    LazyLock::new(|| composed(format!("SELECT {}, {}", columns().join(", "), rules_of_version())));

static HOURS: LazyLock<String> = LazyLock::new(|| {
    let tables = ["evaluation_rollups", "evaluation_deltas"];
    composed(format!("SELECT {}", rollup_lines::<VerdictLine>("verdict", tables, "$2", "")))
});

/// Verdicts in ranges of whole hours.
pub async fn hours(tx: &mut Tx, org_id: &OrgId, ranges: &Ranges) -> Result<Lines<VerdictLine>> {
    let sql = HOURS.as_str();
    let found = row!(tx, (String, String), sql, org_id, &ranges.lines)?;
    let (lines, deltas) = found.ok_or_else(|| Error::Internal("sums have a row".to_owned()))?;
    Lines::new([&lines, &deltas, "[]"])
}

/// Makes the statements of this file, so that a wrong one stops the program when it starts.
pub fn prepare() {
    for statement in [&OF_ALL, &OF_VERSION, &HOURS] {
        LazyLock::force(statement);
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
        None => OF_ALL.as_str(),
        Some(_) => OF_VERSION.as_str(),
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

/// The rules that sessions cite, from the sums, from what is not folded yet, and from rows.
fn cited_rules() -> String {
    let is_success = RULE_SUMS[0].1.replace('@', "r");
    let (lines, rows) = (ranges("$17"), ranges("$16"));
    format!(
        "(
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:e.kind, e.rule_id, e.n, e.successes}}
                 FROM rule_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.source = s.value
                   AND e.start >= c.low AND e.start < c.high)}} AS TEXT)
             FROM {lines} c CROSS JOIN {{texts:$15}} s
         ) AS rule_lines, (
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:d.kind, d.rule_id, d.n, d.successes}}
                 FROM rule_deltas d
                 WHERE d.org_id = $1 AND d.hour >= c.low AND d.hour < c.high
                   AND (s.value = '*' OR s.value = '=' || d.source))}} AS TEXT)
             FROM {lines} c CROSS JOIN {{texts:$15}} s
         ) AS rule_deltas, (
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:r.kind, r.rule_id, 1, {is_success}}}
                 FROM cited_rules r
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND (s.value = '*' OR s.value = '=' || r.source))}} AS TEXT)
             FROM {rows} c CROSS JOIN {{texts:$15}} s
         ) AS rule_rows"
    )
}

/// The same of the sessions judged for a version of the agent, which went as its verdicts say. It is from rows alone,
/// because the sums do not tell versions apart, and summed here, because there may be many. Texts are appended to for
/// SQLite's sake: to group by the columns it would walk the index of rules, which has all times in it. A cover by rows
/// has no ranges of lines, `[]`, which is just what is found there.
fn rules_of_version() -> String {
    format!(
        "CAST($17 AS TEXT) AS rule_lines, CAST($17 AS TEXT) AS rule_deltas, (
             SELECT CAST({{json_rows:c.tag, s.value, (
             SELECT {{json_rows:kind, rule_id, n, successes}}
             FROM (
                 SELECT r.kind || '' AS kind, r.rule_id || '' AS rule_id, COUNT(*) AS n,
                        COUNT(CASE WHEN v.is_success THEN 1 END) AS successes
                 FROM cited_rules r
                 JOIN evaluation_results v
                   ON v.org_id = r.org_id AND v.subject = r.subject AND v.session_id = r.session_id
                  AND v.evaluation_name = 'agent_success' AND v.agent_version = $9
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND (s.value = '*' OR s.value = '=' || r.source)
                 GROUP BY 1, 2
             ) rules)}} AS TEXT)
             FROM {} c CROSS JOIN {{texts:$15}} s) AS rule_rows",
        ranges("$16")
    )
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
    let found = row!(
        tx,
        (String,),
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
         ) titles WHERE title IS NOT NULL",
        org_id,
        Json(rules),
        window.low,
        window.high,
        agent_version
    )?;
    listed(&found.unwrap_or_default().0)
}
