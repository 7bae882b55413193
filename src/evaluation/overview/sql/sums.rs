//! Sums over windows: whole weeks, days and hours from the rollups, the ragged ends from the rows. `lines` and `rows`
//! are the two halves of a cover, as `windows::ranges` makes them; each sum comes under the tag of its window.

use crate::db::Tx;
use crate::error::Result;
use crate::evaluation::overview::windows::{Bucket, Span};
use crate::{row, rows};

/// What the verdicts of one window, bucket and source come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct SumLine {
    pub tag: i64,
    /// The start of the bucket.
    pub ts: i64,
    pub source: String,
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

pub async fn sum_lines(
    tx: &mut Tx,
    org_id: &str,
    (lines, rows): &(String, String),
    bucket: Bucket,
) -> Result<Vec<SumLine>> {
    rows!(
        tx,
        SumLine,
        "SELECT tag, at - (at + $5) % $4 AS ts, source,
                CAST(SUM(n) AS BIGINT) AS n, CAST(SUM(sessions) AS BIGINT) AS sessions,
                CAST(SUM(successes) AS BIGINT) AS successes,
                CAST(SUM(system_errors) AS BIGINT) AS system_errors,
                CAST(SUM(corrections) AS BIGINT) AS corrections,
                CAST(SUM(corrected_0) AS BIGINT) AS corrected_0,
                CAST(SUM(corrected_1) AS BIGINT) AS corrected_1,
                CAST(SUM(corrected_2) AS BIGINT) AS corrected_2,
                CAST(SUM(corrected_3) AS BIGINT) AS corrected_3,
                CAST(SUM(corrected_4) AS BIGINT) AS corrected_4,
                CAST(SUM(corrected_5) AS BIGINT) AS corrected_5,
                CAST(SUM(turns_n) AS BIGINT) AS turns_n, CAST(SUM(turns) AS BIGINT) AS turns,
                CAST(SUM(escalations) AS BIGINT) AS escalations
         FROM (
             SELECT c.tag, e.start AS at, e.source, e.n, e.sessions, e.successes, e.system_errors,
                    e.corrections, e.corrected_0, e.corrected_1, e.corrected_2, e.corrected_3,
                    e.corrected_4, e.corrected_5, e.turns_n, e.turns, e.escalations
             FROM {ranges:$2} c CROSS JOIN evaluation_rollups e
             WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high
             UNION ALL
             SELECT c.tag, r.created_at, r.source, 1,
                    CASE WHEN r.is_newest THEN 1 ELSE 0 END, CASE WHEN r.is_success THEN 1 ELSE 0 END,
                    CASE WHEN r.failure_type = 'system_error' THEN 1 ELSE 0 END,
                    r.number_of_corrections,
                    CASE WHEN r.number_of_corrections <= 0 THEN 1 ELSE 0 END,
                    CASE WHEN r.number_of_corrections = 1 THEN 1 ELSE 0 END,
                    CASE WHEN r.number_of_corrections = 2 THEN 1 ELSE 0 END,
                    CASE WHEN r.number_of_corrections = 3 THEN 1 ELSE 0 END,
                    CASE WHEN r.number_of_corrections = 4 THEN 1 ELSE 0 END,
                    CASE WHEN r.number_of_corrections >= 5 THEN 1 ELSE 0 END,
                    CASE WHEN r.user_turns_to_resolution IS NULL THEN 0 ELSE 1 END,
                    COALESCE(r.user_turns_to_resolution, 0), CASE WHEN r.is_escalated THEN 1 ELSE 0 END
             FROM {ranges:$3} c CROSS JOIN evaluation_results r
             WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
               AND r.evaluation_name = 'agent_success'
         ) parts
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        org_id,
        lines,
        rows,
        bucket.seconds(),
        bucket.shift()
    )
}

/// What the shadow preferences of the sessions of one bucket and source come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct ShadowLine {
    pub ts: i64,
    pub source: String,
    pub n: i64,
    pub regular_better: i64,
    pub shadow_better: i64,
}

pub async fn shadow_lines(
    tx: &mut Tx,
    org_id: &str,
    (lines, rows): &(String, String),
    bucket: Bucket,
    version: &str,
) -> Result<Vec<ShadowLine>> {
    rows!(
        tx,
        ShadowLine,
        "SELECT at - (at + $5) % $4 AS ts, source, CAST(SUM(n) AS BIGINT) AS n,
                CAST(SUM(regular_better) AS BIGINT) AS regular_better,
                CAST(SUM(shadow_better) AS BIGINT) AS shadow_better
         FROM (
             SELECT e.start AS at, e.source, e.n, e.regular_better, e.shadow_better
             FROM {ranges:$2} c CROSS JOIN shadow_session_rollups e
             WHERE e.org_id = $1 AND e.grain = c.grain AND e.judge_prompt_version = $6
               AND e.start >= c.low AND e.start < c.high
             UNION ALL
             SELECT p.created_at, p.source, 1,
                    CASE WHEN p.regular_vs_shadow LIKE 'regular%' THEN 1 ELSE 0 END,
                    CASE WHEN p.regular_vs_shadow LIKE 'shadow%' THEN 1 ELSE 0 END
             FROM {ranges:$3} c CROSS JOIN shadow_sessions p
             WHERE p.org_id = $1 AND p.judge_prompt_version = $6
               AND p.created_at >= c.low AND p.created_at < c.high
         ) parts
         GROUP BY 1, 2 ORDER BY 1, 2",
        org_id,
        lines,
        rows,
        bucket.seconds(),
        bucket.shift(),
        version
    )
}

/// The shadow verdicts on the turns of one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct TrendLine {
    pub ts: i64,
    pub n: i64,
    pub wins: i64,
    pub losses: i64,
    pub both_orders: i64,
    pub flips: i64,
}

pub async fn trend_lines(
    tx: &mut Tx,
    org_id: &str,
    (lines, rows): &(String, String),
    version: &str,
) -> Result<Vec<TrendLine>> {
    rows!(
        tx,
        TrendLine,
        "SELECT at - at % 86400 AS ts, CAST(SUM(n) AS BIGINT) AS n, CAST(SUM(wins) AS BIGINT) AS wins,
                CAST(SUM(losses) AS BIGINT) AS losses, CAST(SUM(both_orders) AS BIGINT) AS both_orders,
                CAST(SUM(flips) AS BIGINT) AS flips
         FROM (
             SELECT e.start AS at, e.n, e.wins, e.losses, e.both_orders, e.flips
             FROM {ranges:$2} c CROSS JOIN shadow_turn_rollups e
             WHERE e.org_id = $1 AND e.grain = c.grain AND e.judge_prompt_version = $4
               AND e.start >= c.low AND e.start < c.high
             UNION ALL
             SELECT v.created_at, 1,
                    CASE WHEN v.better_request <> 'tie'
                        AND (v.better_request = '1') = v.service_is_request_1 THEN 1 ELSE 0 END,
                    CASE WHEN v.better_request <> 'tie'
                        AND (v.better_request = '1') <> v.service_is_request_1 THEN 1 ELSE 0 END,
                    CASE WHEN v.order_consistent IS NULL THEN 0 ELSE 1 END,
                    CASE WHEN v.order_consistent IS NULL OR v.order_consistent THEN 0 ELSE 1 END
             FROM {ranges:$3} c CROSS JOIN shadow_verdicts v
             WHERE v.org_id = $1 AND v.judge_prompt_version = $4
               AND v.created_at >= c.low AND v.created_at < c.high
         ) parts
         GROUP BY 1 ORDER BY 1",
        org_id,
        lines,
        rows,
        version
    )
}

/// A rule and how the sessions that cite it went.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct RuleLine {
    pub kind: String,
    pub rule_id: String,
    pub title: String,
    pub successes: i64,
    pub failures: i64,
}

/// The ten rules that help most and the ten that harm most, of these sources (`["*"]`: of all).
pub async fn rule_lines(
    tx: &mut Tx,
    org_id: &str,
    (lines, rows): &(String, String),
    sources: &str,
    window: Span,
) -> Result<Vec<RuleLine>> {
    rows!(
        tx,
        RuleLine,
        "WITH totals AS MATERIALIZED (
             SELECT kind, rule_id, CAST(SUM(successes) AS BIGINT) AS successes,
                    CAST(SUM(n) - SUM(successes) AS BIGINT) AS failures
             FROM (
                 SELECT e.kind, e.rule_id, e.n, e.successes
                 FROM {ranges:$2} c CROSS JOIN {each:$4} s CROSS JOIN rule_rollups e
                 WHERE e.org_id = $1 AND e.grain = c.grain AND e.source = s.value
                   AND e.start >= c.low AND e.start < c.high
                 UNION ALL
                 SELECT r.kind, r.rule_id, 1, CASE WHEN r.is_success THEN 1 ELSE 0 END
                 FROM {ranges:$3} c CROSS JOIN cited_rules r
                 WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
                   AND ('*' IN {texts:$4} OR r.source IN {texts:$4})
             ) parts
             GROUP BY kind, rule_id
         ), shown AS (
             SELECT * FROM (SELECT * FROM totals WHERE successes >= failures
                 ORDER BY successes - failures DESC, successes + failures DESC, rule_id, kind LIMIT 10) helpful
             UNION ALL
             SELECT * FROM (SELECT * FROM totals WHERE successes < failures
                 ORDER BY failures - successes DESC, successes + failures DESC, rule_id, kind LIMIT 10) harmful
         )
         SELECT kind, rule_id, COALESCE((
                    SELECT t.title FROM cited_rules t
                    WHERE t.org_id = $1 AND t.kind = shown.kind AND t.rule_id = shown.rule_id
                      AND t.created_at >= $5 AND t.created_at < $6
                    ORDER BY t.created_at DESC, t.user_id DESC, t.session_id DESC LIMIT 1), '') AS title,
                successes, failures
         FROM shown ORDER BY ABS(successes - failures) DESC, successes + failures DESC, rule_id, kind",
        org_id,
        lines,
        rows,
        sources,
        window.low,
        window.high
    )
}

/// Imported scores of one window, scorer and source.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
pub struct ScoreLine {
    pub tag: i64,
    pub scorer_name: String,
    pub source: String,
    pub n: i64,
    pub total: f64,
}

pub async fn score_lines(tx: &mut Tx, org_id: &str, ranges: &str) -> Result<Vec<ScoreLine>> {
    rows!(
        tx,
        ScoreLine,
        "SELECT c.tag, i.scorer_name, s.source, COUNT(*) AS n, SUM(i.value) AS total
         FROM {ranges:$2} c CROSS JOIN imported_scores i
         JOIN sessions s ON s.org_id = i.org_id AND s.user_id = i.user_id AND s.session_id = i.session_id
         WHERE i.org_id = $1 AND i.ts >= c.low AND i.ts < c.high
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        org_id,
        ranges
    )
}

/// When the first session with a verdict began.
pub async fn first_result_at(tx: &mut Tx, org_id: &str) -> Result<Option<i64>> {
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(start) FROM evaluation_rollups WHERE org_id = $1 AND grain = 3600",
        org_id
    )?;
    let Some(hour) = found.and_then(|(start,)| start) else { return Ok(None) };
    let found = row!(
        tx,
        (Option<i64>,),
        "SELECT MIN(created_at) FROM evaluation_results
         WHERE org_id = $1 AND created_at >= $2 AND created_at < $2 + 3600
           AND evaluation_name = 'agent_success'",
        org_id,
        hour
    )?;
    Ok(found.and_then(|(at,)| at))
}
