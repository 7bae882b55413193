//! Sums over windows: whole weeks, days and hours from the rollups and from what is not folded into them yet, and the
//! rows at the ragged ends, by the covers of `windows::ranges`.
//!
//! Lines come as they are, range by range, as JSON in one row: SQLite would have to sort them to sum them up, and to
//! hand rows over one by one takes longer than to find them. They are added up in `numbers.rs` and `rules.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;
use sqlx::types::Json;

use super::metrics::{GapLine, Line, RULE_SUMS, ShadowLine, TurnLine, VerdictLine};
use crate::evaluation::overview::windows::{Ranges, Span, share};
use crate::sessions::CitationKind;
use base::owner::OrgId;
use storage::db::{Tx, composed, listed};
use storage::error::{Error, Result};
use storage::{row, rows};

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

/// Imported scores of one scorer and source.
#[derive(Clone, Debug, PartialEq, sqlx_macros::FromRow)]
pub struct ScoreLine {
    pub tag: i64,
    pub scorer_name: String,
    pub source: String,
    pub n: i64,
    pub total: f64,
}

/// Parameters of [`sums`].
pub struct Asked<'a> {
    pub org_id: &'a OrgId,
    pub verdicts: Ranges,
    /// Ranges of the sessions with shadow comparisons.
    pub shadows: Ranges,
    /// Ranges of the single comparisons.
    pub turns: Ranges,
    pub judge_prompt_version: &'a str,
    pub scores: Ranges,
    /// Agent version of shadow comparisons, scores and `first_at`; all when absent. Verdicts come of all
    /// versions.
    pub agent_version: Option<&'a str>,
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

/// The lines of a rollup in ranges, by the tag of the range, and then those that are not folded yet.
fn rollup_lines<L: Line>(rollup: &str, deltas: &str, parameter: &str, condition: &str) -> String {
    let (folded, unfolded) =
        (L::of_sums("e", "e.start", "user_groups"), L::of_sums("e", "e.hour", "user_group"));
    let ranges = ranges(parameter);
    format!(
        "(SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{folded}}} FROM {rollup} e
              WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high {condition})}} AS TEXT)
          FROM {ranges} c),
         (SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{unfolded}}} FROM {deltas} e
              WHERE e.org_id = $1 AND e.hour >= c.low AND e.hour < c.high {condition})}} AS TEXT)
          FROM {ranges} c)"
    )
}

/// A line for each row in ranges, by the tag of the range.
fn row_lines<L: Line>(table: &str, parameter: &str, condition: &str) -> String {
    format!(
        "(SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{}}} FROM {table} r
              WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high {condition})}} AS TEXT)
          FROM {} c)",
        L::of_row(),
        ranges(parameter)
    )
}

/// Start of the oldest hour with a verdict of the version asked for. A subquery of its own, so that it is computed once.
const OLDEST_HOUR: &str = "(SELECT MIN(hour) FROM (
    SELECT MIN(start) AS hour FROM evaluation_rollups
    WHERE org_id = $1 AND grain = 3600 AND ($9 IS NULL OR agent_version = $9)
    UNION ALL SELECT MIN(hour) AS hour FROM evaluation_deltas
    WHERE org_id = $1 AND n > 0 AND ($9 IS NULL OR agent_version = $9)) hours)";

static SUMS: LazyLock<String> = LazyLock::new(|| {
    let parts = [
        rollup_lines::<VerdictLine>("evaluation_rollups", "evaluation_deltas", "$2", ""),
        row_lines::<VerdictLine>(
            "evaluation_results",
            "$3",
            "AND r.evaluation_name = 'agent_success'",
        ),
        rollup_lines::<GapLine>("gap_rollups", "gap_deltas", "$2", ""),
        row_lines::<GapLine>("verdict_gaps", "$3", ""),
        rollup_lines::<ShadowLine>(
            "shadow_session_rollups",
            "shadow_session_deltas",
            "$4",
            "AND e.judge_prompt_version = $8",
        ),
        row_lines::<ShadowLine>(
            "shadow_sessions",
            "$5",
            "AND r.judge_prompt_version = $8
             AND ($9 IS NULL OR EXISTS (SELECT 1 FROM sessions s
                  WHERE s.org_id = $1 AND s.user_id = r.user_id AND s.session_id = r.session_id
                    AND s.agent_version = $9))",
        ),
        rollup_lines::<TurnLine>(
            "shadow_turn_rollups",
            "shadow_turn_deltas",
            "$6",
            "AND e.judge_prompt_version = $8",
        ),
        row_lines::<TurnLine>(
            "shadow_verdicts",
            "$7",
            "AND r.judge_prompt_version = $8 AND ($9 IS NULL OR r.agent_version = $9)",
        ),
        format!(
            "(SELECT MIN(r.created_at) FROM evaluation_results r
              WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success'
                AND ($9 IS NULL OR r.agent_version = $9)
                AND r.created_at >= {OLDEST_HOUR} AND r.created_at < {OLDEST_HOUR} + 3600)"
        ),
    ];
    composed(format!("SELECT {}", parts.join(", ")))
});

static SCORES: LazyLock<String> = LazyLock::new(|| {
    composed(format!(
        "SELECT c.tag, i.scorer_name, s.source, COUNT(*) AS n, SUM(i.value) AS total
         FROM {} c CROSS JOIN imported_scores i
         JOIN sessions s ON s.org_id = i.org_id AND s.user_id = i.user_id AND s.session_id = i.session_id
         WHERE i.org_id = $1 AND i.ts >= c.low AND i.ts < c.high AND ($3 IS NULL OR s.agent_version = $3)
         GROUP BY 1, 2, 3",
        ranges("$2")
    ))
});

static AGENT_VERSIONS: LazyLock<String> = LazyLock::new(|| {
    let (lines, rows) = (ranges("$2"), ranges("$3"));
    composed(format!(
        "SELECT agent_version FROM (
             SELECT e.agent_version, SUM(c.tag * e.n) AS n FROM {lines} c CROSS JOIN evaluation_rollups e
             WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high GROUP BY 1
             UNION ALL
             SELECT d.agent_version, SUM(c.tag * d.n) AS n FROM {lines} c CROSS JOIN evaluation_deltas d
             WHERE d.org_id = $1 AND d.hour >= c.low AND d.hour < c.high GROUP BY 1
             UNION ALL
             SELECT r.agent_version, SUM(c.tag) AS n FROM {rows} c CROSS JOIN evaluation_results r
             WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success'
               AND r.created_at >= c.low AND r.created_at < c.high GROUP BY 1
         ) versions GROUP BY 1 HAVING SUM(n) > 0"
    ))
});

static HOURS: LazyLock<String> = LazyLock::new(|| {
    let lines = rollup_lines::<VerdictLine>("evaluation_rollups", "evaluation_deltas", "$2", "");
    composed(format!("SELECT {lines}"))
});

/// Verdicts in ranges of whole hours.
pub async fn hours(tx: &mut Tx, org_id: &OrgId, ranges: &Ranges) -> Result<Lines<VerdictLine>> {
    let sql = HOURS.as_str();
    let found = row!(tx, (String, String), sql, org_id, &ranges.lines)?;
    let (lines, deltas) = found.ok_or_else(|| Error::Internal("sums have a row".to_owned()))?;
    Lines::new([&lines, &deltas, "[]"])
}

/// The agent's versions with a verdict in a window that is covered with tag 1, in order.
pub async fn agent_versions(tx: &mut Tx, org_id: &OrgId, cover: &Ranges) -> Result<Vec<String>> {
    let sql = AGENT_VERSIONS.as_str();
    let found = rows!(tx, (String,), sql, org_id, &cover.lines, &cover.rows)?;
    let mut versions: Vec<String> = found.into_iter().map(|(version,)| version).collect();
    versions.sort_unstable();
    Ok(versions)
}

/// Makes the statements of this file, so that a wrong one stops the program when it starts.
pub fn prepare() {
    for statement in [&SUMS, &HOURS, &SCORES, &AGENT_VERSIONS, &CITED_RULES, &RULES_OF_VERSION] {
        LazyLock::force(statement);
    }
    super::fold::prepare();
}

/// Lines, deltas and rows of verdicts, of gaps, of sessions with shadow comparisons and of the comparisons, and `first_at`.
type SumTexts = (
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    String,
    Option<i64>,
);

pub async fn sums(tx: &mut Tx, asked: &Asked<'_>) -> Result<Sums> {
    let sql = SUMS.as_str();
    let found = row!(
        tx,
        SumTexts,
        sql,
        asked.org_id,
        &asked.verdicts.lines,
        &asked.verdicts.rows,
        &asked.shadows.lines,
        &asked.shadows.rows,
        &asked.turns.lines,
        &asked.turns.rows,
        asked.judge_prompt_version,
        asked.agent_version
    )?;
    let (
        verdicts,
        verdict_deltas,
        verdict_rows,
        gaps,
        gap_deltas,
        gap_rows,
        shadows,
        shadow_deltas,
        shadow_rows,
        turns,
        turn_deltas,
        turn_rows,
        first_at,
    ) = found.ok_or_else(|| Error::Internal("sums have a row".to_owned()))?;
    let sql = SCORES.as_str();
    Ok(Sums {
        verdicts: Lines::new([&verdicts, &verdict_deltas, &verdict_rows])?,
        gaps: Lines::new([&gaps, &gap_deltas, &gap_rows])?,
        shadows: Lines::new([&shadows, &shadow_deltas, &shadow_rows])?,
        turns: Lines::new([&turns, &turn_deltas, &turn_rows])?,
        scores: rows!(tx, ScoreLine, sql, asked.org_id, &asked.scores.rows, asked.agent_version)?,
        first_at,
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

static CITED_RULES: LazyLock<String> = LazyLock::new(|| {
    let is_success = RULE_SUMS[0].1.replace('@', "r");
    let (lines, rows) = (ranges("$2"), ranges("$3"));
    composed(format!(
        "SELECT (
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:e.kind, e.rule_id, e.n, e.successes}}
                 FROM rule_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.source = s.value
                   AND e.start >= c.low AND e.start < c.high)}} AS TEXT)
             FROM {lines} c CROSS JOIN {{texts:$4}} s
         ), (
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:d.kind, d.rule_id, d.n, d.successes}}
                 FROM rule_deltas d
                 WHERE d.org_id = $1 AND d.hour >= c.low AND d.hour < c.high
                   AND (s.value = '*' OR s.value = '=' || d.source))}} AS TEXT)
             FROM {lines} c CROSS JOIN {{texts:$4}} s
         ), (
             SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:r.kind, r.rule_id, 1, {is_success}}}
                 FROM cited_rules r
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND (s.value = '*' OR s.value = '=' || r.source))}} AS TEXT)
             FROM {rows} c CROSS JOIN {{texts:$4}} s
         )"
    ))
});

static RULES_OF_VERSION: LazyLock<String> = LazyLock::new(|| {
    composed(format!(
        "SELECT CAST({{json_rows:c.tag, s.value, (
             SELECT {{json_rows:kind, rule_id, n, successes}}
             FROM (
                 SELECT r.kind || '' AS kind, r.rule_id || '' AS rule_id, COUNT(*) AS n,
                        COUNT(CASE WHEN v.is_success THEN 1 END) AS successes
                 FROM cited_rules r
                 JOIN evaluation_results v
                   ON v.org_id = r.org_id AND v.user_id = r.user_id AND v.session_id = r.session_id
                  AND v.evaluation_name = 'agent_success' AND v.agent_version = $2
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND (s.value = '*' OR s.value = '=' || r.source)
                 GROUP BY 1, 2
             ) rules)}} AS TEXT)
         FROM {} c CROSS JOIN {{texts:$4}} s",
        ranges("$3")
    ))
});

/// JSON lists of [`CitedRules`], from sums and from rows, of these sources, named as the rollups name them.
pub async fn cited_rules(
    tx: &mut Tx,
    org_id: &OrgId,
    ranges: &Ranges,
    sources: &[String],
) -> Result<Vec<String>> {
    let sql = CITED_RULES.as_str();
    let found = row!(
        tx,
        (String, String, String),
        sql,
        org_id,
        &ranges.lines,
        &ranges.rows,
        Json(sources)
    )?;
    let (lines, deltas, rows) = found.unwrap_or_default();
    Ok(vec![lines, deltas, rows])
}

/// The same of the sessions judged for a version of the agent, which went as its verdicts say. It is from rows alone,
/// because the sums do not tell versions apart, and summed here, because there may be many. Texts are appended to for
/// SQLite's sake: to group by the columns it would walk the index of rules, which has all times in it.
pub async fn rules_of_version(
    tx: &mut Tx,
    org_id: &OrgId,
    agent_version: &str,
    ranges: &Ranges,
    sources: &[String],
) -> Result<Vec<String>> {
    let sql = RULES_OF_VERSION.as_str();
    let found = row!(tx, (String,), sql, org_id, agent_version, &ranges.rows, Json(sources))?;
    Ok(found.into_iter().map(|(rows,)| rows).collect())
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
                        WHERE v.org_id = $1 AND v.user_id = t.user_id AND v.session_id = t.session_id
                          AND v.evaluation_name = 'agent_success' AND v.agent_version = $5))
                 ORDER BY t.created_at DESC, t.user_id DESC, t.session_id DESC LIMIT 1) AS title
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
