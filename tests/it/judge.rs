//! The judge layer seen from outside: the labelled set, the red team, and every way a call can go wrong.

mod agreement;
mod discipline;
mod evidence;
mod red_team;
mod wire;

use std::sync::Arc;

use base::clock::Clock;
use base::ids::Ids;
use judge::offline::OfflineJudge;
use judge::prompts::{self, Kind, Rubric};
use judge::{Grader, Judge, Limits, PriceTable, ToolCall, Turn};
use serde_json::Value;

use crate::support::NOW;

fn rubric(kind: Kind) -> &'static Rubric {
    prompts::newest(kind).unwrap()
}

fn grader(judge: Arc<dyn Judge>, limits: Limits) -> Grader {
    let clock = Clock::manual(NOW);
    let ids = Ids::seeded(clock.clone(), 1);
    Grader::new(judge, limits, PriceTable::load(None).unwrap(), 24_000, clock, ids)
}

fn offline() -> Grader {
    grader(Arc::new(OfflineJudge), Limits::default())
}

/// The interactions of a file as turns with ids 1, 2, 3, …
fn turns(interactions: &Value) -> Vec<Turn> {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let list = interactions.as_array().unwrap();
    (1..)
        .zip(list)
        .map(|(id, item)| Turn {
            id,
            role: text(&item["role"]),
            content: text(&item["content"]),
            tools: item["tools_used"].as_array().map_or(Vec::new(), |tools| {
                let tool = |t: &Value| ToolCall {
                    name: text(&t["tool_name"]),
                    data: t["tool_data"].clone(),
                    status: text(&t["status"]),
                };
                tools.iter().map(tool).collect()
            }),
        })
        .collect()
}

fn talk(lines: &[(&str, &str)]) -> Vec<Turn> {
    (1..)
        .zip(lines)
        .map(|(id, (role, content))| Turn {
            id,
            role: (*role).to_owned(),
            content: (*content).to_owned(),
            tools: Vec::new(),
        })
        .collect()
}
