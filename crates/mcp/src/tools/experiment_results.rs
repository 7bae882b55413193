//! `experiment_results`: does what was learned help?

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Output, describe, reads};
use crate::api::{Api, Client, Failure, segment};
use crate::text::{compact, interval, list, moment, pick, scaled, scaled_interval, signed, string};

pub const NAME: &str = "experiment_results";

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Experiment results",
        "Results of a holdout experiment: users who are served what was learned (treatment) against users who are not \
         (holdout). Gives the decision, the lift in success with its intervals, guardrails, and whether the experiment \
         is healthy. Trust the decision: the always-valid interval may be read every day, the usual one only at the end, \
         and an unhealthy experiment decides nothing.",
        reads(),
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The experiment; the active one when absent, or else the one that started last.
    #[schemars(length(min = 1, max = 128))]
    experiment_id: Option<String>,
}

pub async fn run<A: Api>(client: &Client<'_, A>, arguments: Arguments) -> Result<Output, Failure> {
    let experiment_id = match arguments.experiment_id {
        Some(id) => id,
        None => {
            let all = client.get("/api/retrieval_experiments".to_owned()).await?;
            let newest = list(&all["experiments"]).first();
            match all["active_experiment"]["experiment_id"]
                .as_str()
                .or_else(|| newest?["experiment_id"].as_str())
            {
                Some(id) => id.to_owned(),
                None => {
                    let text = "There is no experiment yet. A person starts one in the dashboard.";
                    return Ok(Output { text: text.to_owned(), data: json!({"experiment": null}) });
                }
            }
        }
    };
    let path = format!("/api/retrieval_experiments/{}/results", segment(&experiment_id));
    let answer = client.get(path).await?;
    let health = &answer["health"];
    let experiment = &answer["experiment"];
    let data = compact(json!({
        "experiment": compact(json!({
            "experiment_id": experiment["experiment_id"],
            "holdout_percentage": experiment["holdout_percentage"],
            "started_at": moment(&experiment["started_at"]),
            "ended_at": moment(&experiment["ended_at"]),
        })),
        "decision": pick(
            &answer["decision"],
            &["decision", "decision_null_reason", "sentence", "margin_percentage_points", "failed_guardrail"],
        ),
        "lift_points": scaled(&answer["success_rate_lift_percentage_points"], 1.0),
        "lift_null_reason": answer["inference"]["lift_null_reason"],
        "always_valid_ci95_points": scaled_interval(&answer["always_valid"]["interval_pp"], 1.0),
        "single_look_ci95_points":
            scaled_interval(&answer["confidence_interval_95_percentage_points"], 1.0),
        "treatment": arm(&answer["treatment"]),
        "holdout": arm(&answer["holdout"]),
        "guardrails": guardrails(&answer["guardrails"]),
        "health": {"healthy": health["healthy"], "problems": health["problems"]},
        "judges_mixed": answer["judge"]["mixed"],
        "as_of": moment(&answer["analysis"]["as_of"]),
    }));
    Ok(Output { text: text(&data), data })
}

fn arm(metrics: &Value) -> Value {
    compact(json!({
        "users": metrics["assigned_user_count"],
        "judged_users": metrics["evaluated_user_count"],
        "sessions": metrics["published_session_count"],
        "judged_sessions": metrics["evaluated_session_count"],
        "success_percent": scaled(&metrics["success_rate"], 100.0),
    }))
}

fn guardrails(rows: &Value) -> Value {
    let row =
        |row: &Value| pick(row, &["name", "verdict", "harm", "difference_interval_95", "margin"]);
    list(rows).iter().map(row).collect()
}

fn text(data: &Value) -> String {
    let experiment = &data["experiment"];
    let state = match experiment["ended_at"].as_str() {
        Some(end) => format!("ended {end}"),
        None => "still runs".to_owned(),
    };
    let mut lines = vec![
        format!(
            "Experiment {}, started {}, {state}; {} % of users are held out.",
            string(&experiment["experiment_id"]),
            string(&experiment["started_at"]),
            experiment["holdout_percentage"]
        ),
        format!("Decision: {}", string(&data["decision"]["sentence"])),
    ];
    if data["lift_points"].is_number() {
        lines.push(format!("Lift in success: {} points.", signed(&data["lift_points"])));
    }
    for (name, meaning) in [
        ("always_valid_ci95_points", "Always valid, may be read every day"),
        ("single_look_ci95_points", "For one look at the end"),
    ] {
        if let [low, high] = list(&data[name]) {
            lines.push(format!("{meaning}: 95 %, {low} to {high} points."));
        }
    }
    for name in ["treatment", "holdout"] {
        let arm = &data[name];
        let rate = match &arm["success_percent"] {
            Value::Null => "no rate yet".to_owned(),
            rate => format!("{rate} % success"),
        };
        lines.push(format!(
            "{name}: {rate}, {} judged sessions of {} users.",
            arm["judged_sessions"], arm["judged_users"]
        ));
    }
    for guardrail in list(&data["guardrails"]) {
        lines.push(format!(
            "Guardrail {}: {}{}.",
            string(&guardrail["name"]),
            string(&guardrail["verdict"]),
            interval(&scaled_interval(&guardrail["difference_interval_95"], 1.0))
        ));
    }
    let health = &data["health"];
    if health["healthy"] == true {
        lines.push("The experiment is healthy.".to_owned());
    } else {
        lines.push("The experiment is unhealthy; its numbers decide nothing:".to_owned());
    }
    lines.extend(list(&health["problems"]).iter().map(|problem| format!("- {}", string(problem))));
    if data["judges_mixed"] == true {
        lines.push("Several judges or rubrics gave the verdicts: compare with care.".to_owned());
    }
    lines.join("\n")
}
