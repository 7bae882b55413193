//! Sums over windows: whole weeks, days and hours from the rollups, and the rows at the ragged ends, by the
//! covers of `windows::ranges`.
//!
//! Lines come as they are, range by range, as JSON in one row: SQLite would have to sort them to sum them up, and to
//! hand rows over one by one takes longer than to find them. They are added up in `numbers.rs` and `rules.rs`.

use base::owner::OrgId;
use std::borrow::Cow;

use serde::Deserialize;
use sqlx::types::Json;

use crate::evaluation::overview::windows::{Ranges, Span};
use crate::sessions::CitationKind;
use storage::db::{Tx, listed};
use storage::error::Result;
use storage::row;

/// Lines by range: the tag of the range says what they count, see `windows::share`.
#[derive(Debug)]
pub struct Lines<L>(Vec<(i64, Vec<L>)>);

impl<L: for<'a> Deserialize<'a>> Lines<L> {
    /// Lines of rollups, and one for each row.
    fn new(lines: &str, rows: &str) -> Result<Self> {
        let mut all: Vec<(i64, Vec<L>)> = listed(lines)?;
        all.append(&mut listed(rows)?);
        Ok(Lines(all))
    }
}

impl<L> Lines<L> {
    /// Each line with its tag.
    pub fn iter(&self) -> impl Iterator<Item = (i64, &L)> {
        self.0.iter().flat_map(|(tag, lines)| lines.iter().map(|line| (*tag, line)))
    }
}

impl Lines<VerdictLine> {
    /// Leaves the lines of one version of the agent. Each of its verdicts is the only one of a session, which may have a
    /// newer one of another version.
    pub fn keep_version(&mut self, agent_version: &str) {
        for (_, lines) in &mut self.0 {
            lines.retain(|line| line.agent_version == agent_version);
            lines.iter_mut().for_each(|line| line.sessions = line.n);
        }
    }
}

/// Verdict counts of one source and agent version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct VerdictLine {
    /// Start of the line's period.
    pub start: i64,
    pub source: String,
    pub agent_version: String,
    pub n: i64,
    pub sessions: i64,
    pub successes: i64,
    pub system_errors: i64,
    pub corrections: i64,
    pub corrected_0: i64,
    pub corrected_1: i64,
    pub corrected_2: i64,
    pub corrected_3: i64,
    pub corrected_4: i64,
    pub corrected_5: i64,
    pub turns_n: i64,
    pub turns: i64,
    pub escalations: i64,
}

/// Counts of the shadow preferences of one source's sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ShadowLine {
    pub start: i64,
    pub source: String,
    pub n: i64,
    pub regular_better: i64,
    pub shadow_better: i64,
}

/// Counts of shadow verdicts on turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TurnLine {
    pub start: i64,
    pub n: i64,
    pub wins: i64,
    pub losses: i64,
    pub both_orders: i64,
    pub flips: i64,
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
    pub shadows: Lines<ShadowLine>,
    pub turns: Lines<TurnLine>,
    pub scores: Vec<ScoreLine>,
    /// Start of the first session with a verdict.
    pub first_at: Option<i64>,
}

pub async fn sums(tx: &mut Tx, asked: &Asked<'_>) -> Result<Sums> {
    let found = row!(
        tx,
        (String, String, String, String, String, String, String, Option<i64>),
        "SELECT (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}e.start, e.source, e.agent_version, e.n, e.sessions, e.successes, e.system_errors,
                        e.corrections, e.corrected_0, e.corrected_1, e.corrected_2, e.corrected_3, e.corrected_4, e.corrected_5,
                        e.turns_n, e.turns, e.escalations{end_nested}
                 FROM evaluation_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high){end_listed}
             FROM {ranges:$2} c
         ), (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}r.created_at, r.source, r.agent_version, 1, CASE WHEN r.is_newest THEN 1 ELSE 0 END,
                        CASE WHEN r.is_success THEN 1 ELSE 0 END,
                        CASE WHEN r.failure_type = 'system_error' THEN 1 ELSE 0 END, r.number_of_corrections,
                        CASE WHEN r.number_of_corrections <= 0 THEN 1 ELSE 0 END,
                        CASE WHEN r.number_of_corrections = 1 THEN 1 ELSE 0 END,
                        CASE WHEN r.number_of_corrections = 2 THEN 1 ELSE 0 END,
                        CASE WHEN r.number_of_corrections = 3 THEN 1 ELSE 0 END,
                        CASE WHEN r.number_of_corrections = 4 THEN 1 ELSE 0 END,
                        CASE WHEN r.number_of_corrections >= 5 THEN 1 ELSE 0 END,
                        CASE WHEN r.user_turns_to_resolution IS NULL THEN 0 ELSE 1 END,
                        COALESCE(r.user_turns_to_resolution, 0),
                        CASE WHEN r.is_escalated THEN 1 ELSE 0 END{end_nested}
                 FROM evaluation_results r
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND r.evaluation_name = 'agent_success'){end_listed}
             FROM {ranges:$3} c
         ), (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}e.start, e.source, e.n, e.regular_better, e.shadow_better{end_nested}
                 FROM shadow_session_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.judge_prompt_version = $8
                   AND e.start >= c.low AND e.start < c.high){end_listed}
             FROM {ranges:$4} c
         ), (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}p.created_at, p.source, 1,
                        CASE WHEN p.regular_vs_shadow LIKE 'regular%' THEN 1 ELSE 0 END,
                        CASE WHEN p.regular_vs_shadow LIKE 'shadow%' THEN 1 ELSE 0 END{end_nested}
                 FROM shadow_sessions p
                 WHERE p.org_id = $1 AND p.judge_prompt_version = $8
                   AND p.created_at >= c.low AND p.created_at < c.high
                   AND ($10 IS NULL OR EXISTS (SELECT 1 FROM sessions s
                        WHERE s.org_id = $1 AND s.user_id = p.user_id AND s.session_id = p.session_id
                          AND s.agent_version = $10))){end_listed}
             FROM {ranges:$5} c
         ), (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}e.start, e.n, e.wins, e.losses, e.both_orders, e.flips{end_nested}
                 FROM shadow_turn_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.judge_prompt_version = $8
                   AND e.start >= c.low AND e.start < c.high){end_listed}
             FROM {ranges:$6} c
         ), (
             SELECT {rows_listed}c.tag, (
                 SELECT {rows_listed}v.created_at, 1,
                        CASE WHEN v.better_request <> 'tie'
                            AND (v.better_request = '1') = v.service_is_request_1 THEN 1 ELSE 0 END,
                        CASE WHEN v.better_request <> 'tie'
                            AND (v.better_request = '1') <> v.service_is_request_1 THEN 1 ELSE 0 END,
                        CASE WHEN v.order_consistent IS NULL THEN 0 ELSE 1 END,
                        CASE WHEN v.order_consistent IS NULL OR v.order_consistent THEN 0 ELSE 1 END{end_nested}
                 FROM shadow_verdicts v
                 WHERE v.org_id = $1 AND v.judge_prompt_version = $8
                   AND v.created_at >= c.low AND v.created_at < c.high
                   AND ($10 IS NULL OR v.agent_version = $10)){end_listed}
             FROM {ranges:$7} c
         ), (
             SELECT {rows_listed}tag, scorer_name, source, n, {fraction:total}{end_listed}
             FROM (
                 SELECT c.tag, i.scorer_name, s.source, COUNT(*) AS n, SUM(i.value) AS total
                 FROM {ranges:$9} c CROSS JOIN imported_scores i
                 JOIN sessions s ON s.org_id = i.org_id AND s.user_id = i.user_id AND s.session_id = i.session_id
                 WHERE i.org_id = $1 AND i.ts >= c.low AND i.ts < c.high
                   AND ($10 IS NULL OR s.agent_version = $10)
                 GROUP BY 1, 2, 3
             ) scores
         ), (
             SELECT MIN(r.created_at) FROM evaluation_results r
             JOIN (SELECT MIN(start) AS hour FROM evaluation_rollups
                   WHERE org_id = $1 AND grain = 3600 AND ($10 IS NULL OR agent_version = $10)) oldest
               ON r.created_at >= oldest.hour AND r.created_at < oldest.hour + 3600
             WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success'
               AND ($10 IS NULL OR r.agent_version = $10)
         )",
        asked.org_id,
        &asked.verdicts.lines,
        &asked.verdicts.rows,
        &asked.shadows.lines,
        &asked.shadows.rows,
        &asked.turns.lines,
        &asked.turns.rows,
        asked.judge_prompt_version,
        &asked.scores.rows,
        asked.agent_version
    )?;
    let found = found.unwrap_or_default();
    Ok(Sums {
        verdicts: Lines::new(&found.0, &found.1)?,
        shadows: Lines::new(&found.2, &found.3)?,
        turns: Lines::new(&found.4, &found.5)?,
        scores: listed(&found.6)?,
        first_at: found.7,
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

/// JSON lists of [`CitedRules`], from sums and from rows, of these sources, named as the rollups name them.
pub async fn cited_rules(
    tx: &mut Tx,
    org_id: &OrgId,
    ranges: &Ranges,
    sources: &[String],
) -> Result<Vec<String>> {
    let found = row!(
        tx,
        (String, String),
        "SELECT (
             SELECT {rows_listed}c.tag, s.value, (
                 SELECT {rows_listed}e.kind, e.rule_id, e.n, e.successes{end_nested}
                 FROM rule_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.source = s.value
                   AND e.start >= c.low AND e.start < c.high){end_listed}
             FROM {ranges:$2} c CROSS JOIN {each:$4} s
         ), (
             SELECT {rows_listed}c.tag, s.value, (
                 SELECT {rows_listed}r.kind, r.rule_id, 1, CASE WHEN r.is_success THEN 1 ELSE 0 END{end_nested}
                 FROM cited_rules r
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND (s.value = '*' OR s.value = '=' || r.source)){end_listed}
             FROM {ranges:$3} c CROSS JOIN {each:$4} s
         )",
        org_id,
        &ranges.lines,
        &ranges.rows,
        Json(sources)
    )?;
    let (lines, rows) = found.unwrap_or_default();
    Ok(vec![lines, rows])
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
    let found = row!(
        tx,
        (String,),
        "SELECT {rows_listed}c.tag, s.value, (
             SELECT {rows_listed}kind, rule_id, n, successes{end_nested}
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
             ) rules){end_listed}
         FROM {ranges:$3} c CROSS JOIN {each:$4} s",
        org_id,
        agent_version,
        &ranges.rows,
        Json(sources)
    )?;
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
        "SELECT {rows_listed}kind, rule_id, title{end_listed}
         FROM (
             SELECT k.a AS kind, k.b AS rule_id, (
                 SELECT t.title FROM cited_rules t
                 WHERE t.org_id = $1 AND t.kind = k.a AND t.rule_id = k.b
                   AND t.created_at >= $3 AND t.created_at < $4
                   AND ($5 IS NULL OR EXISTS (SELECT 1 FROM evaluation_results v
                        WHERE v.org_id = $1 AND v.user_id = t.user_id AND v.session_id = t.session_id
                          AND v.evaluation_name = 'agent_success' AND v.agent_version = $5))
                 ORDER BY t.created_at DESC, t.user_id DESC, t.session_id DESC LIMIT 1) AS title
             FROM {pairs:$2} k
         ) titles WHERE title IS NOT NULL",
        org_id,
        Json(rules),
        window.low,
        window.high,
        agent_version
    )?;
    listed(&found.unwrap_or_default().0)
}
