//! `explain_verdict`: why a session has its verdict, or has none.

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::session::{self, outcome_text, turn_text, verdict_text};
use super::{Output, describe, reads};
use crate::api::{Api, Client, Failure};
use crate::text::{compact, cut, list, moment, pick, scaled, string};

pub const NAME: &str = "explain_verdict";

const TURN_CHARACTERS: usize = 500;
const REASON_CHARACTERS: usize = 1000;
/// The end of a session counts most for its verdict.
const LAST_TURNS: usize = 4;
const MOST_LEARNINGS: usize = 20;

pub fn tool() -> Tool {
    describe::<Arguments>(
        NAME,
        "Explain a verdict",
        "Why a session was judged a success or a failure, or was not judged: the verdict with its reason, the turns that \
         it stands on, what kind of judge gave it and how that judge works, outcomes and labels of people that say \
         otherwise, and what each retrieved learning did.",
        reads(),
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The user that the session belongs to.
    #[schemars(length(min = 1, max = 255))]
    user_id: String,
    #[schemars(length(min = 1, max = 255))]
    session_id: String,
}

pub async fn run<A: Api>(
    client: &Client<'_, A>,
    Arguments { user_id, session_id }: Arguments,
) -> Result<Output, Failure> {
    let answer = session::whole(client, &user_id, &session_id).await?;
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("user_id", &user_id)
        .append_pair("session_id", &session_id)
        .finish();
    let decisions = client.get(format!("/api/evaluations/decisions?{query}")).await?;
    let labels = client.get(format!("/api/evaluations/labels?{query}")).await?;
    let verdicts: Vec<Value> = list(&answer["evaluation_results"]).iter().map(verdict).collect();
    let learnings: Vec<Value> =
        list(&answer["learning_verdicts"]).iter().take(MOST_LEARNINGS).map(learning).collect();
    let data = compact(json!({
        "user_id": user_id,
        "session_id": session_id,
        "decision": list(&decisions["decisions"]).first().map(decision),
        "verdicts": verdicts,
        "outcomes": session::outcomes(&answer),
        "labels": list(&labels["labels"]).iter().map(label).collect::<Vec<_>>(),
        "learnings": learnings,
        "turns": evidence(&answer),
    }));
    Ok(Output { text: text(&data), data })
}

fn decision(decision: &Value) -> Value {
    compact(json!({
        "decision": decision["decision"],
        "meaning": decision["decision"].as_str().map(meaning),
        "reason": decision["reason"],
        "decided_at": moment(&decision["decided_at"]),
        "due_at": moment(&decision["due_at"]),
    }))
}

/// The state of a session's evaluation, for people.
fn meaning(decision: &str) -> &'static str {
    match decision {
        "judged" => "It was judged.",
        "undecided" => {
            "The judge saw too little evidence for either verdict; it counts as neither."
        }
        "not_yet_quiet" => {
            "It is judged once no turn has come for a while, or when it is finished."
        }
        "queued" => "It waits for the judge.",
        "sampled_out" => {
            "The organization judges a sample of its sessions, and this one is not in it."
        }
        "skipped" => "It is not judged.",
        "failed" => "The judge gave no usable verdict.",
        _ => "",
    }
}

fn verdict(verdict: &Value) -> Value {
    compact(json!({
        "evaluation_name": verdict["evaluation_name"],
        "is_success": verdict["is_success"],
        "failure_type": verdict["failure_type"],
        "failure_reason": cut(string(&verdict["failure_reason"]), REASON_CHARACTERS),
        "is_escalated": verdict["is_escalated"],
        "corrections": verdict["number_of_correction_per_session"],
        "user_turns_to_resolution": verdict["user_turns_to_resolution"],
        "judge": verdict["judge"],
        "how_the_judge_works": how_it_works(string(&verdict["judge"]), string(&verdict["prompt_version"])),
        "rubric_version": verdict["prompt_version"],
        "probability_of_success": scaled(&verdict["probability"], 1.0),
        "flags": list(&verdict["flags"]).iter().map(|flag| flagged(string(flag))).collect::<Vec<_>>(),
        "agent_version": verdict["agent_version"],
        "judged_at": moment(&verdict["evaluated_at"]),
    }))
}

/// How a judge comes to its verdicts, as docs/judge.md has it.
fn how_it_works(judge: &str, prompt_version: &str) -> &'static str {
    match judge {
        _ if prompt_version == "outcome" => {
            "No judge: the outcome that was reported for the session decides."
        }
        "rules" => {
            "Rules over words and results of tools. They decide on evidence alone: the user's last words, calls of \
             tools that failed, answers called wrong and not put right. They cannot tell a right answer from a wrong one."
        }
        "rule" => "A rule that the organization configured; it checks one thing in every session.",
        _ if judge.starts_with("learned/") => {
            "A model trained on this organization's own labels and outcomes, over words, tools and the course of the \
             session. Its probability is calibrated, and it abstains when unsure."
        }
        _ => {
            "A language model that reads the transcript, fenced off as data, with a fixed rubric: the final outcome \
             counts, claims of success are no evidence. It does not know the experiment's arm or what was retrieved."
        }
    }
}

/// A remark about the transcript, for people.
fn flagged(flag: &str) -> String {
    let meaning = match flag {
        "orders_to_grader" => "the transcript holds orders to a grader",
        "fake_role_tags" => "the transcript imitates the marks of roles",
        "verdict_shaped" => "the transcript holds something shaped like a verdict",
        "hidden_characters" => "the transcript holds invisible characters",
        "transcript_cut" => "the transcript was too long and was cut",
        "usage_estimated" => "the provider did not say how many tokens it took",
        _ => return flag.to_owned(),
    };
    format!("{flag}: {meaning}")
}

fn label(label: &Value) -> Value {
    let mut shown = pick(label, &["evaluation_name", "is_success", "failure_type", "note"]);
    shown.insert("labelled_at".to_owned(), moment(&label["labelled_at"]));
    shown.into()
}

fn learning(verdict: &Value) -> Value {
    let shown = [
        "kind",
        "learning_id",
        "interaction_id",
        "is_relevant",
        "relevance_reason",
        "impact",
        "impact_reason",
        "diagnosis",
    ];
    pick(verdict, &shown).into()
}

/// The turns that verdicts on learnings cite, and the last ones.
fn evidence(answer: &Value) -> Vec<Value> {
    let interactions = list(&answer["interactions"]);
    let diagnoses = list(&answer["learning_verdicts"]).iter().take(MOST_LEARNINGS);
    let cited: Vec<&Value> = diagnoses
        .flat_map(|verdict| list(&verdict["diagnosis"]["evidence_interaction_ids"]))
        .collect();
    let is_last = |index: usize| index + LAST_TURNS >= interactions.len();
    let numbered = interactions.iter().enumerate();
    numbered
        .filter(|(index, turn)| is_last(*index) || cited.contains(&&turn["interaction_id"]))
        .map(|(index, turn)| session::turn(index + 1, turn, TURN_CHARACTERS))
        .collect()
}

fn text(data: &Value) -> String {
    let mut lines = Vec::new();
    for verdict in list(&data["verdicts"]) {
        let name = string(&verdict["evaluation_name"]);
        lines.push(format!("{name}: {}", verdict_text(verdict)));
        lines.push(format!(
            "Judge {}, {}: {}",
            string(&verdict["judge"]),
            string(&verdict["judged_at"]),
            string(&verdict["how_the_judge_works"])
        ));
        if let Some(probability) = verdict["probability_of_success"].as_f64() {
            lines.push(format!("Probability of success: {probability}"));
        }
        lines.extend(list(&verdict["flags"]).iter().map(|flag| format!("Flag {}", string(flag))));
    }
    lines.extend(decision_text(&data["decision"], lines.is_empty()));
    lines.extend(list(&data["outcomes"]).iter().map(outcome_text));
    for label in list(&data["labels"]) {
        let note = string(&label["note"]);
        lines.push(format!("A person's label: {}. {note}", verdict_text(label)));
    }
    for learning in list(&data["learnings"]) {
        let impact = learning["impact"].as_str().unwrap_or("not judged");
        lines.push(format!(
            "Learning {} {}: impact {impact}. {} {}",
            string(&learning["kind"]),
            string(&learning["learning_id"]),
            string(&learning["impact_reason"]),
            string(&learning["diagnosis"]["reason"])
        ));
    }
    if !list(&data["turns"]).is_empty() {
        lines.push("The turns that are cited, and the last ones:".to_owned());
    }
    lines.extend(list(&data["turns"]).iter().map(turn_text));
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Why there is no verdict, or that another one will follow.
fn decision_text(decision: &Value, is_without_verdict: bool) -> Option<String> {
    let why = format!("{} {}", string(&decision["meaning"]), string(&decision["reason"]));
    match (decision["decision"].as_str(), is_without_verdict) {
        (None, true) => Some("No verdict: nothing was decided about it yet.".to_owned()),
        (None | Some("judged"), _) => None,
        (Some(word), true) => Some(format!("No verdict ({word}): {why}")),
        (Some(word), false) => Some(format!("Since then ({word}): {why}")),
    }
}
