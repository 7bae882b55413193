//! Files of sessions, as the benchmarks of judging and learning read them.

use std::io::Read;
use std::path::{Path, PathBuf};

use judge::{ToolCall, Turn};
use serde::Deserialize;
use serde_json::Value;

/// The form of a file, for `--help`.
pub const FORM: &str = "\
Each file is lines of JSON, plain or compressed with gzip (.ndjson, .jsonl, .gz); of a folder, all such files, each by
itself. One line is one session:

  {\"session\": \"s-1\", \"agent\": \"agent-a\", \"task\": 17, \"success\": true, \"turns\": [
     {\"role\": \"User\", \"content\": \"Where is my parcel?\"},
     {\"role\": \"Assistant\", \"content\": \"\", \"tools_used\": [
        {\"tool_name\": \"track\", \"tool_data\": {\"input\": {}, \"output\": {}}, \"status\": \"success\"}]}]}

agent: whose rates are estimated; missing, all are of one agent.
task: a number or a text. Sessions of one task are never both trained and tested on; missing, user is used, then
      session.
success: whether the session did what its user came for.
turns: as a publish takes interactions; \"user\" in any case is the user, all others are the agent.
";

/// One session of a file.
pub struct Session {
    pub name: String,
    pub agent: String,
    pub task: String,
    pub is_success: Option<bool>,
    pub turns: Vec<Turn>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    session: Value,
    #[serde(default)]
    agent: Value,
    #[serde(default)]
    task: Value,
    #[serde(default)]
    user: Value,
    #[serde(default)]
    success: Option<bool>,
    turns: Vec<LineTurn>,
}

#[derive(Deserialize)]
struct LineTurn {
    role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tools_used: Vec<LineTool>,
}

#[derive(Deserialize)]
struct LineTool {
    tool_name: String,
    #[serde(default)]
    tool_data: Value,
    #[serde(default)]
    status: String,
}

/// The file itself, or all files of a folder that hold sessions.
pub fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| {
        let name = file.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.ends_with(".ndjson") || name.ends_with(".jsonl")
    });
    files.sort();
    Ok(files)
}

pub fn load(path: &Path) -> Result<Vec<Session>, String> {
    let problem = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
    let bytes = std::fs::read(path).map_err(|e| problem(&e))?;
    let text = if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut text = String::new();
        let mut reader = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        reader.read_to_string(&mut text).map_err(|e| problem(&e))?;
        text
    } else {
        String::from_utf8(bytes).map_err(|e| problem(&e))?
    };
    let mut sessions = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let line: Line =
            serde_json::from_str(line).map_err(|e| problem(&format!("line {number}: {e}")))?;
        let named = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let own = [&line.task, &line.user, &line.session];
        let task = own.into_iter().map(named).find(|text| !text.is_empty());
        let name = Some(named(&line.session)).filter(|name| !name.is_empty());
        sessions.push(Session {
            name: name.unwrap_or_else(|| format!("line {number}")),
            agent: named(&line.agent),
            task: task.unwrap_or_else(|| number.to_string()),
            is_success: line.success,
            turns: turns(line.turns),
        });
    }
    Ok(sessions)
}

fn turns(turns: Vec<LineTurn>) -> Vec<Turn> {
    let tool = |tool: LineTool| ToolCall {
        name: tool.tool_name,
        data: tool.tool_data,
        status: tool.status,
    };
    let turn = |(id, turn): (i64, LineTurn)| Turn {
        id,
        role: turn.role,
        content: turn.content.unwrap_or_default(),
        tools: turn.tools_used.into_iter().map(tool).collect(),
        ..Turn::default()
    };
    (1..).zip(turns).map(turn).collect()
}
