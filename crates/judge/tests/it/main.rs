//! The judges seen from outside: what is evidence, what is none, and who tries to talk them round.
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot go on has failed

mod agreement;
mod attempts;
mod evidence;
mod quirks;
mod red_team;
mod small_talk;
mod stub;

use std::sync::Arc;

use base::clock::Clock;
use base::ids::Ids;
use judge::offline::OfflineJudge;
use judge::prompts::{self, Kind};
use judge::verdicts::SessionVerdict;
use judge::{Context, Grader, Judge, Limits, PriceTable, ToolCall, Turn};
use serde_json::Value;

fn grader(judge: Arc<dyn Judge>) -> Grader {
    let clock = Clock::manual(1_700_000_000);
    let ids = Ids::seeded(clock.clone(), 1);
    Grader::new(judge, Limits::default(), PriceTable::load(None).unwrap(), 24_000, clock, ids)
}

fn rules() -> Grader {
    grader(Arc::new(OfflineJudge))
}

async fn verdict(grader: &Grader, turns: &[Turn]) -> SessionVerdict {
    let rubric = prompts::newest(Kind::SessionSuccess).unwrap();
    grader.session(rubric, &Context::default(), turns).await.unwrap().verdict
}

/// The user speaks first, then they take turns.
fn session(said: &[&str]) -> Vec<Turn> {
    let turn = |(id, text): (i64, &&str)| Turn {
        id,
        role: if id % 2 == 1 { "User" } else { "Assistant" }.to_owned(),
        content: (*text).to_owned(),
        ..Turn::default()
    };
    (1..).zip(said).map(turn).collect()
}

/// The interactions of a file as turns with ids 1, 2, 3, …
fn turns(interactions: &Value) -> Vec<Turn> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let tool = |tool: &Value| ToolCall {
        name: text(&tool["tool_name"]),
        data: tool["tool_data"].clone(),
        status: text(&tool["status"]),
    };
    let turn = |(id, item): (i64, &Value)| Turn {
        id,
        role: text(&item["role"]),
        content: text(&item["content"]),
        tools: item["tools_used"].as_array().map_or(Vec::new(), |t| t.iter().map(tool).collect()),
        ..Turn::default()
    };
    (1..).zip(interactions.as_array().unwrap()).map(turn).collect()
}
