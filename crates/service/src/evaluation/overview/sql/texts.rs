//! The statements of the overview, put together from the lists of `metrics.rs`.
//!
//! Every column is a SELECT of its own that gives one text. On one server they are columns of one SELECT. Citus plans each
//! by itself, in a WITH clause, and finds rows of ranges by joining them: it looks up no rows of other servers for each
//! range.

use super::metrics::{GapLine, Line, RULE_SUMS, ShadowLine, TurnLine, VerdictLine, VersionLine};
use super::rollups::DELTAS;
use crate::evaluation::verdict::verdict_columns;
use storage::db::composed;

/// How the tables are stored that a statement reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    OnOneServer,
    /// Rows and deltas are spread over several; lines of sums are not.
    Spread,
}

/// A column with the SELECT that gives it.
type Part = (&'static str, String);

/// All verdicts of sessions.
pub fn of_all(tables: Tables) -> String {
    put_together(tables, [parts(tables), cited_rules(tables)].concat())
}

/// The verdicts on one version of the agent.
pub fn of_version(tables: Tables) -> String {
    put_together(tables, [parts(tables), rules_of_version(tables)].concat())
}

/// The state of the tables that [`of_all`] and [`of_version`] read, and imported scores.
pub fn of_state(tables: Tables) -> String {
    let deltas =
        DELTAS.map(|deltas| format!("SELECT COUNT(*) AS n FROM {deltas}")).join(" UNION ALL ");
    let parts = vec![
        (
            "state",
            format!(
                "SELECT CAST(SUM(n) AS BIGINT) FROM (
                     {deltas} UNION ALL SELECT folded AS n FROM folded_deltas) all_deltas"
            ),
        ),
        (
            "scores",
            format!(
                "SELECT CAST({{json_rows:tag, scorer_name, source, n, total}} AS TEXT) FROM (
                      SELECT c.tag, i.scorer_name, s.source, COUNT(*) AS n, SUM(i.value) AS total
                      FROM {} c CROSS JOIN imported_scores i
                      JOIN sessions s ON s.org_id = i.org_id AND s.subject = i.subject AND s.session_id = i.session_id
                      WHERE i.org_id = $1 AND i.ts >= c.low AND i.ts < c.high AND ($3 IS NULL OR s.agent_version = $3)
                      GROUP BY 1, 2, 3) scores",
                ranges("$2")
            ),
        ),
    ];
    put_together(tables, parts)
}

/// Verdicts in ranges of whole hours.
pub fn of_hours(tables: Tables) -> String {
    let parts = vec![
        ("verdict_lines", lines::<VerdictLine>("evaluation_rollups", "$2", "")),
        ("verdict_deltas", deltas::<VerdictLine>(tables, "evaluation_deltas", "$2", "")),
    ];
    put_together(tables, parts)
}

fn put_together(tables: Tables, parts: Vec<Part>) -> String {
    let join = |each: &dyn Fn(&Part) -> String| -> String {
        parts.iter().map(each).collect::<Vec<_>>().join(", ")
    };
    composed(match tables {
        Tables::OnOneServer => {
            format!("SELECT {}", join(&|(name, select)| format!("({select}) AS {name}")))
        }
        Tables::Spread => format!(
            "WITH {} SELECT {}",
            join(&|(name, select)| format!("found_{name} AS MATERIALIZED ({select})")),
            join(&|(name, _)| format!("(SELECT * FROM found_{name}) AS {name}"))
        ),
    })
}

/// The ranges of a JSON list of `[tag, grain, low, high]`.
fn ranges(parameter: &str) -> String {
    format!(
        "(SELECT CAST(value ->> 0 AS BIGINT) AS tag, CAST(value ->> 1 AS BIGINT) AS grain,
                 CAST(value ->> 2 AS BIGINT) AS low, CAST(value ->> 3 AS BIGINT) AS high
          FROM {{lists:{parameter}}} AS list)"
    )
}

/// The lines of a rollup in ranges, by the tag of the range.
fn lines<L: Line>(rollup: &str, parameter: &str, condition: &str) -> String {
    let (line, ranges) = (L::of_sums("e", "e.start", "user_groups"), ranges(parameter));
    format!(
        "SELECT CAST({{json_rows:c.tag, (
              SELECT {{json_rows:{line}}} FROM {rollup} e
              WHERE e.org_id = $1 AND e.grain = c.grain AND e.start >= c.low AND e.start < c.high {condition})}} AS TEXT)
         FROM {ranges} c"
    )
}

/// The lines of a rollup, unless the caller knows them by the mark `$15`.
fn unless_known(lines: String) -> String {
    format!("SELECT CASE WHEN ({MARK}) = $15 THEN NULL ELSE ({lines}) END")
}

/// Changes with every fold, see `fold::Mark`.
const MARK: &str = "SELECT CAST(SUM(folded) AS BIGINT) FROM folded_deltas";

/// What is not folded into lines yet.
fn deltas<L: Line>(tables: Tables, deltas: &str, parameter: &str, condition: &str) -> String {
    let line = L::of_sums("e", "e.hour", "user_group");
    in_ranges(tables, &line, &format!("{deltas} e"), "e.hour", parameter, condition)
}

/// A line for each row in ranges.
fn rows<L: Line>(tables: Tables, table: &str, parameter: &str, condition: &str) -> String {
    in_ranges(tables, &L::of_row(), &format!("{table} r"), "r.created_at", parameter, condition)
}

/// What a table, `name alias`, holds in ranges, by the tag of the range.
fn in_ranges(
    tables: Tables,
    line: &str,
    table: &str,
    time: &str,
    parameter: &str,
    condition: &str,
) -> String {
    let (ranges, org_id) = (ranges(parameter), time.split('.').next().unwrap_or_default());
    let condition =
        format!("{org_id}.org_id = $1 AND {time} >= c.low AND {time} < c.high {condition}");
    match tables {
        Tables::OnOneServer => format!(
            "SELECT CAST({{json_rows:c.tag, (
                  SELECT {{json_rows:{line}}} FROM {table} WHERE {condition})}} AS TEXT)
             FROM {ranges} c"
        ),
        Tables::Spread => format!(
            "SELECT CAST({{json_rows:found.tag, found.lines}} AS TEXT) FROM (
                 SELECT c.tag, {{json_rows:{line}}} AS lines FROM {ranges} c JOIN {table} ON {condition}
                 GROUP BY c.tag) found"
        ),
    }
}

/// Start of the first session with a verdict on the version asked for. On one server it is looked for in the oldest hour
/// that has one.
fn first_at(tables: Tables) -> &'static str {
    match tables {
        Tables::OnOneServer => {
            "SELECT MIN(r.created_at)
             FROM (SELECT MIN(hour) AS hour FROM (
                       SELECT hour FROM (
                           SELECT start AS hour FROM evaluation_rollups
                           WHERE org_id = $1 AND grain = 3600 AND ($9 IS NULL OR agent_version = $9)
                           ORDER BY start LIMIT 1) folded
                       UNION ALL SELECT MIN(hour) AS hour FROM evaluation_deltas
                       WHERE org_id = $1 AND n > 0 AND ($9 IS NULL OR agent_version = $9)) hours) oldest
             CROSS JOIN evaluation_results r
             WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success' AND ($9 IS NULL OR r.agent_version = $9)
               AND r.created_at >= oldest.hour AND r.created_at < oldest.hour + 3600"
        }
        Tables::Spread => {
            "SELECT MIN(r.created_at) FROM evaluation_results r
             WHERE r.org_id = $1 AND r.evaluation_name = 'agent_success' AND ($9 IS NULL OR r.agent_version = $9)"
        }
    }
}

/// SQL of the newest verdicts: condition and order.
macro_rules! newest {
    ($row:literal) => {
        concat!(
            "WHERE ",
            $row,
            "org_id = $1 AND evaluation_name = 'agent_success'
               AND ((is_newest AND $2 IS NULL) OR agent_version = $2)
               AND ",
            $row,
            "created_at >= $3 AND ",
            $row,
            "created_at < $4
             ORDER BY ",
            $row,
            "created_at DESC, result_id DESC LIMIT 100"
        )
    };
}

/// The newest verdicts on sessions, one of each.
pub fn of_newest(tables: Tables) -> String {
    const ITS_SHADOW: &str =
        "p.org_id = r.org_id AND p.subject = r.subject AND p.session_id = r.session_id
           AND p.judge_prompt_version = $5";
    composed(match tables {
        Tables::OnOneServer => format!(
            concat!(
                // Not a join: PostgreSQL reads the comparisons of all sessions for one.
                "SELECT (SELECT p.regular_vs_shadow FROM shadow_sessions p WHERE {}) AS regular_vs_shadow, {}
                 FROM (SELECT * FROM evaluation_results ", newest!(""), ") r
                 ORDER BY r.created_at DESC, r.result_id DESC"
            ),
            ITS_SHADOW,
            verdict_columns!("{user_of:r} AS user_id")
        ),
        Tables::Spread => format!(
            concat!(
                "SELECT p.regular_vs_shadow, {}
                   FROM evaluation_results r JOIN subjects u ON u.org_id = r.org_id AND u.subject = r.subject
                   LEFT JOIN shadow_sessions p ON {} ", newest!("r.")
            ),
            verdict_columns!("u.user_id"),
            ITS_SHADOW
        ),
    })
}

/// Sums and versions: the columns of every overview.
fn parts(tables: Tables) -> Vec<Part> {
    let judged = "AND r.evaluation_name = 'agent_success'";
    let by_rubric = "AND e.judge_prompt_version = $8";
    vec![
        ("mark", MARK.to_owned()),
        ("verdict_lines", unless_known(lines::<VerdictLine>("evaluation_rollups", "$2", ""))),
        ("verdict_deltas", deltas::<VerdictLine>(tables, "evaluation_deltas", "$2", "")),
        ("verdict_rows", rows::<VerdictLine>(tables, "evaluation_results", "$3", judged)),
        ("gap_lines", unless_known(lines::<GapLine>("gap_rollups", "$2", ""))),
        ("gap_deltas", deltas::<GapLine>(tables, "gap_deltas", "$2", "")),
        ("gap_rows", rows::<GapLine>(tables, "verdict_gaps", "$3", "")),
        ("shadow_lines", unless_known(lines::<ShadowLine>("shadow_session_rollups", "$4", by_rubric))),
        ("shadow_deltas", deltas::<ShadowLine>(tables, "shadow_session_deltas", "$4", by_rubric)),
        (
            "shadow_rows",
            rows::<ShadowLine>(
                tables,
                "shadow_sessions",
                "$5",
                "AND r.judge_prompt_version = $8
                 AND ($9 IS NULL OR EXISTS (SELECT 1 FROM sessions s
                      WHERE s.org_id = $1 AND s.subject = r.subject AND s.session_id = r.session_id
                        AND s.agent_version = $9))",
            ),
        ),
        ("turn_lines", unless_known(lines::<TurnLine>("shadow_turn_rollups", "$6", by_rubric))),
        ("turn_deltas", deltas::<TurnLine>(tables, "shadow_turn_deltas", "$6", by_rubric)),
        (
            "turn_rows",
            rows::<TurnLine>(
                tables,
                "shadow_verdicts",
                "$7",
                "AND r.judge_prompt_version = $8 AND ($9 IS NULL OR r.agent_version = $9)",
            ),
        ),
        ("first_at", first_at(tables).to_owned()),
        ("version_lines", unless_known(lines::<VersionLine>("evaluation_rollups", "$10", ""))),
        ("version_deltas", deltas::<VersionLine>(tables, "evaluation_deltas", "$10", "")),
        ("version_rows", rows::<VersionLine>(tables, "evaluation_results", "$11", judged)),
        (
            "stamp",
            "SELECT CAST(SUM(n) AS BIGINT) FROM (
                 SELECT COUNT(*) AS n FROM evaluation_deltas
                 UNION ALL SELECT folded AS n FROM folded_deltas WHERE deltas = 'evaluation_deltas') all_deltas"
                .to_owned(),
        ),
    ]
}

/// The rules that sessions cite, from the sums, from what is not folded yet, and from rows.
fn cited_rules(tables: Tables) -> Vec<Part> {
    let row = format!("r.kind, r.rule_id, 1, {}", RULE_SUMS[0].1.replace('@', "r"));
    let of_source = |alias: &str| format!("AND (s.value = '*' OR s.value = '=' || {alias}.source)");
    vec![
        (
            "rule_lines",
            unless_known(rules_in(
                Tables::OnOneServer,
                "e.kind, e.rule_id, e.n, e.successes",
                ("rule_rollups", "e"),
                "$14",
                "e.grain = c.grain AND e.source = s.value AND e.start >= c.low AND e.start < c.high",
            )),
        ),
        (
            "rule_deltas",
            rules_in(
                tables,
                "d.kind, d.rule_id, d.n, d.successes",
                ("rule_deltas", "d"),
                "$14",
                &format!("d.hour >= c.low AND d.hour < c.high {}", of_source("d")),
            ),
        ),
        (
            "rule_rows",
            rules_in(
                tables,
                &row,
                ("cited_rules", "r"),
                "$13",
                &format!("r.created_at >= c.low AND r.created_at < c.high {}", of_source("r")),
            ),
        ),
    ]
}

/// What a table holds of rules in ranges, by the tag of the range and the source.
fn rules_in(
    tables: Tables,
    line: &str,
    (table, alias): (&str, &str),
    parameter: &str,
    condition: &str,
) -> String {
    let ranges = ranges(parameter);
    match tables {
        Tables::OnOneServer => format!(
            "SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:{line}}} FROM {table} {alias}
                 WHERE {alias}.org_id = $1 AND {condition})}} AS TEXT)
             FROM {ranges} c CROSS JOIN {{texts:$12}} s"
        ),
        Tables::Spread => format!(
            "SELECT CAST({{json_rows:found.tag, found.source, found.lines}} AS TEXT) FROM (
                 SELECT c.tag, s.value AS source, {{json_rows:{line}}} AS lines
                 FROM {ranges} c CROSS JOIN {{texts:$12}} s
                 JOIN {table} {alias} ON {alias}.org_id = $1 AND {condition}
                 GROUP BY c.tag, s.value) found"
        ),
    }
}

/// The same of the sessions judged for a version of the agent, which went as its verdicts say. It is from rows alone,
/// because the sums do not tell versions apart, and summed here, because there may be many. Texts are appended to for
/// SQLite's sake: to group by the columns it would walk the index of rules, which has all times in it. A cover by rows
/// has no ranges of lines, `[]`, which is just what is found there.
fn rules_of_version(tables: Tables) -> Vec<Part> {
    const COUNTED: &str = "r.kind || '' AS kind, r.rule_id || '' AS rule_id, COUNT(*) AS n,
         COUNT(CASE WHEN v.is_success THEN 1 END) AS successes";
    const JUDGED: &str = "JOIN evaluation_results v
           ON v.org_id = r.org_id AND v.subject = r.subject AND v.session_id = r.session_id
          AND v.evaluation_name = 'agent_success' AND v.agent_version = $9
         WHERE r.org_id = $1 AND r.created_at >= c.low AND r.created_at < c.high
           AND (s.value = '*' OR s.value = '=' || r.source)";
    let (ranges, nothing) = (ranges("$13"), "SELECT CAST($14 AS TEXT)".to_owned());
    let rows = match tables {
        Tables::OnOneServer => format!(
            "SELECT CAST({{json_rows:c.tag, s.value, (
                 SELECT {{json_rows:kind, rule_id, n, successes}}
                 FROM (SELECT {COUNTED} FROM cited_rules r {JUDGED} GROUP BY 1, 2) rules)}} AS TEXT)
             FROM {ranges} c CROSS JOIN {{texts:$12}} s"
        ),
        Tables::Spread => format!(
            "SELECT CAST({{json_rows:found.tag, found.source, found.lines}} AS TEXT) FROM (
                 SELECT tag, source, {{json_rows:kind, rule_id, n, successes}} AS lines
                 FROM (SELECT {COUNTED}, c.tag, s.value AS source
                         FROM {ranges} c CROSS JOIN {{texts:$12}} s CROSS JOIN cited_rules r {JUDGED}
                        GROUP BY 1, 2, 5, 6) rules
                 GROUP BY tag, source) found"
        ),
    };
    vec![
        ("rule_lines", unless_known(nothing.clone())),
        ("rule_deltas", nothing),
        ("rule_rows", rows),
    ]
}
