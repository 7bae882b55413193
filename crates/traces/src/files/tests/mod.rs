//! Every format by its samples, and what holds for all of them.

mod jsonl;
mod langfuse;
mod langsmith;
mod many;
mod openai;
mod phoenix;
mod stream;
mod usage;

use serde_json::Value;

use super::{Format, Item, Options, Problem, read};

const NOW: i64 = 1_800_000_000;

fn options() -> Options {
    Options { now: NOW, ..Options::default() }
}

fn anybody() -> Options {
    Options { default_user: Some("of-{session}".to_owned()), ..options() }
}

/// Items and problems of a file.
fn read_all(format: Format, file: &str, options: &Options) -> (Vec<Item>, Vec<Problem>) {
    let mut items = Vec::new();
    let mut problems = Vec::new();
    for found in read(format, file.as_bytes(), options) {
        match found {
            Ok(item) => items.push(item),
            Err(problem) => problems.push(problem),
        }
    }
    (items, problems)
}

/// The items of records as JSON Lines, none of which has a problem.
fn items(format: Format, records: &[Value]) -> Vec<Item> {
    let (items, problems) = read_all(format, &lines(records), &options());
    assert_eq!(problems, [], "no problem is expected");
    items
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Role, words and names of tools of every turn.
fn said(items: &[Item]) -> Vec<(&'static str, String)> {
    let turns = items.iter().flat_map(|item| &item.publication.interaction_data_list);
    let said = turns.map(|turn| {
        let tools =
            turn.tools_used.iter().map(|tool| format!("<{} {}>", tool.tool_name, tool.status));
        (turn.role, tools.fold(turn.content.clone(), |all, tool| all + &tool))
    });
    said.collect()
}

fn turns(expected: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    expected.iter().map(|(role, words)| (*role, (*words).to_owned())).collect()
}

/// User and session of every item.
fn owners(items: &[Item]) -> Vec<(&str, &str)> {
    items
        .iter()
        .map(|item| (item.publication.user_id.as_str(), item.publication.session_id.as_str()))
        .collect()
}
