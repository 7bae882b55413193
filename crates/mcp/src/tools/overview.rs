//! `overview`: how the agent does.

use base::clock::{Clock, rfc3339};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::session::verdict_text;
use super::{Output, body, describe, reads};
use crate::api::{Api, Client, Failure};
use crate::text::{
    compact, contains_zero, cut, interval, list, pick, scaled, scaled_interval, signed, string,
};

pub const NAME: &str = "overview";

const DAYS: i64 = 30;
const MOST_RULES: usize = 10;
const MOST_FAILURES: usize = 10;
const REASON_LENGTH: usize = 200;

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Overview",
        "How the agent does over a window: the success rate with its 95 % interval, the last seven days against the seven \
         before (success, escalations, corrections, turns), rules and playbooks that help or harm by more than chance, \
         and the newest failures. A change whose interval contains 0 may be none: do not call it one. Follow up a \
         failure with explain_verdict.",
        reads(),
    )
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The first moment of the window, as RFC 3339; 30 days ago when absent.
    #[schemars(extend("format" = "date-time"))]
    from_ts: Option<String>,
    /// The last moment of the window, as RFC 3339; now when absent.
    #[schemars(extend("format" = "date-time"))]
    to_ts: Option<String>,
    /// Only this version of the agent.
    #[schemars(length(min = 1, max = 255))]
    agent_version: Option<String>,
}

pub async fn run<A: Api>(
    client: &Client<'_, A>,
    clock: &Clock,
    mut arguments: Arguments,
) -> Result<Output, Failure> {
    let now = clock.now();
    let from = arguments.from_ts.get_or_insert_with(|| rfc3339(now - DAYS * 86_400)).clone();
    let to = arguments.to_ts.get_or_insert_with(|| rfc3339(now)).clone();
    let mut body = body(&arguments);
    body["include_session_ids"] = false.into();
    let answer = client.post("/api/get_evaluation_overview", body).await?;
    let data = compact(json!({
        "from": from,
        "to": to,
        "agent_version": arguments.agent_version,
        "success_rate": success_rate(&answer["hero"]),
        "last_7_days": last_days(&answer["context_tiles"]),
        "shadow_comparisons": shadow_comparisons(&answer["shadow_win_rate_trend"]),
        "rules": rules(&answer["rule_attribution"]),
        "newest_failures": failures(&answer["recent_results"]),
        "judges": answer["judges"],
        "agent_versions": answer["available_agent_versions"],
    }));
    Ok(Output { text: text(&data), data })
}

fn success_rate(hero: &Value) -> Value {
    let advice = pick(hero, &["only_rules", "failures_with_evidence", "advice"]);
    compact(json!({
        "percent": scaled(&hero["regular_success_rate_pp"], 1.0),
        "ci95_percent": scaled_interval(&hero["ci95_pp"], 1.0),
        "ci95_null_reason": hero["ci95_null_reason"],
        "few_users": hero["few_users"],
        "judged_sessions": hero["n"],
        "judged_share_percent": scaled(&hero["judged_share"], 100.0),
        "without_verdict": hero["without_verdict"],
        "rules_alone_judge": if hero["only_rules"] == true { advice.into() } else { Value::Null },
    }))
}

fn last_days(tiles: &Value) -> Value {
    let rate = |tile: &Value| {
        compact(json!({
            "percent": scaled(&tile["current"], 100.0),
            "ci95": scaled_interval(&tile["ci95"], 100.0),
            "change_points": scaled(&tile["delta_pp"], 1.0),
            "change_ci95": scaled_interval(&tile["delta_ci95"], 1.0),
        }))
    };
    let mean = |tile: &Value| {
        compact(json!({
            "mean": scaled(&tile["current"], 1.0),
            "ci95": scaled_interval(&tile["ci95"], 1.0),
            "change": scaled(&tile["delta"], 1.0),
            "change_ci95": scaled_interval(&tile["delta_ci95"], 1.0),
        }))
    };
    compact(json!({
        "success": rate(&tiles["success"]),
        "escalation": rate(&tiles["escalation"]),
        "corrections_per_session": mean(&tiles["corrections"]),
        "user_turns_to_success": mean(&tiles["turns"]),
    }))
}

/// The rules that stand out: by a trial that was decided, or by an association that is more than chance.
fn rules(rows: &Value) -> Value {
    let rule = |row: &Value| {
        let trial = match row["trial"]["state"].as_str() {
            Some("helps" | "hurts") => {
                pick(&row["trial"], &["state", "effect_pp", "always_valid_ci95_pp"])
            }
            _ => Map::new(),
        };
        let association = match row["association"]["is_marked"] == true {
            true => pick(&row["association"], &["difference_pp", "ci95_pp"]),
            false => Map::new(),
        };
        let stands_out = !trial.is_empty() || !association.is_empty();
        stands_out.then(|| {
            compact(json!({
                "kind": row["kind"],
                "rule_id": row["rule_id"],
                "title": row["title"],
                "successes": row["successes_with"],
                "failures": row["failures_with"],
                "trial": trial,
                "association": association,
            }))
        })
    };
    list(rows).iter().filter_map(rule).take(MOST_RULES).collect()
}

fn shadow_comparisons(trend: &Value) -> Value {
    let total = &trend["window_total"];
    match total["n"].as_i64() {
        Some(1..) => pick(total, &["n", "wins", "losses", "ties", "win_rate", "net_win"]).into(),
        _ => Value::Null,
    }
}

fn failures(results: &Value) -> Value {
    let failed = list(results).iter().filter(|result| result["is_success"] == false);
    let shown = failed.take(MOST_FAILURES).map(|result| {
        let mut failure =
            pick(result, &["user_id", "session_id", "evaluation_name", "failure_type", "judge"]);
        let reason = cut(string(&result["failure_reason"]), REASON_LENGTH);
        failure.insert("failure_reason".to_owned(), reason.into());
        compact(failure.into())
    });
    shown.collect()
}

fn text(data: &Value) -> String {
    let rate = &data["success_rate"];
    let sessions = &rate["judged_sessions"];
    let mut lines = vec![match (&rate["percent"], &rate["rules_alone_judge"]) {
        (Value::Null, Value::Null) => format!("No success rate: {sessions} judged sessions"),
        (Value::Null, rules) => format!(
            "Rules alone judge, so there is no success rate: {} failures with evidence, {sessions} judged sessions",
            rules["failures_with_evidence"]
        ),
        (percent, _) => {
            let interval = interval(&rate["ci95_percent"]);
            format!("Success: {percent} %{interval} of {sessions} judged sessions")
        }
    }];
    lines[0] += &format!(", {} to {}.", string(&data["from"]), string(&data["to"]));
    if let Some(advice) = rate["rules_alone_judge"]["advice"].as_str() {
        lines.push(advice.to_owned());
    }
    if let Some(share) = rate["judged_share_percent"].as_f64() {
        lines.push(format!("Of the sessions that were due, {share} % have a verdict."));
    }
    if rate["few_users"] == true {
        lines.push("Few users: read the interval with care.".to_owned());
    }
    lines.extend(last_days_text(&data["last_7_days"]));
    for rule in list(&data["rules"]) {
        let mut name = format!("{} {}", string(&rule["kind"]), string(&rule["rule_id"]));
        if let Some(title) = rule["title"].as_str() {
            name += &format!(" ({title})");
        }
        lines.push(match rule["trial"]["state"].as_str() {
            Some(state) => format!(
                "By trial, {name} {state}: {} points{}.",
                signed(&scaled(&rule["trial"]["effect_pp"], 1.0)),
                interval(&scaled_interval(&rule["trial"]["always_valid_ci95_pp"], 1.0))
            ),
            None => format!(
                "Sessions that cite {name} differ by {} points{}; that is an association, not an effect.",
                signed(&scaled(&rule["association"]["difference_pp"], 1.0)),
                interval(&scaled_interval(&rule["association"]["ci95_pp"], 1.0))
            ),
        });
    }
    let failures = list(&data["newest_failures"]);
    if !failures.is_empty() {
        lines.push("Newest failures:".to_owned());
    }
    for failure in failures {
        lines.push(format!(
            "- session {} of {}: {}",
            string(&failure["session_id"]),
            string(&failure["user_id"]),
            verdict_text(failure)
        ));
    }
    lines.join("\n")
}

fn last_days_text(tiles: &Value) -> Vec<String> {
    let named = [
        ("success", "percent", " %", "change_points", " points"),
        ("escalation", "percent", " %", "change_points", " points"),
        ("corrections_per_session", "mean", "", "change", ""),
        ("user_turns_to_success", "mean", "", "change", ""),
    ];
    let line = |(name, value, unit, change, change_unit): (&str, &str, &str, &str, &str)| {
        let tile = &tiles[name];
        let current = tile[value].as_f64()?;
        let mut line = format!(
            "Last 7 days, {}: {current}{unit}{}",
            name.replace('_', " "),
            interval(&tile["ci95"])
        );
        if tile[change].is_number() {
            let ends = &tile["change_ci95"];
            let doubt = if contains_zero(ends) { ", which may be no change" } else { "" };
            line += &format!(
                "; {}{change_unit}{} against the 7 days before{doubt}",
                signed(&tile[change]),
                interval(ends)
            );
        }
        Some(line + ".")
    };
    named.into_iter().filter_map(line).collect()
}
