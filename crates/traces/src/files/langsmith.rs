//! LangSmith: runs, as its client and its interface write them, each alone or with its children inside.

use serde_json::Value;

use super::fields::{object, text};
use super::publish::Identity;
use super::steps::{Part, Step};
use super::{Format, Sink, Wrong, times};

pub fn take(run: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    let id = text(run, &["id", "run_id"]);
    let trace = text(run, &["trace_id"]).or_else(|| id.clone());
    let (Some(trace), Some(kind)) = (trace, text(run, &["run_type"])) else {
        return Err(Wrong::Unknown(Format::Langsmith));
    };
    take_run(run, &trace, &kind, sink)
}

fn take_run(run: &Value, trace: &str, kind: &str, sink: &mut Sink) -> Result<(), Wrong> {
    let is_root = text(run, &["parent_run_id"]).is_none();
    let part = match kind {
        "llm" => Part::Call,
        _ if is_root => Part::Root,
        _ => Part::Other,
    };
    let step = Step {
        record: run,
        id: text(run, &["id", "run_id"]),
        trace: trace.to_owned(),
        part,
        decides: is_root,
        identity: identity(run),
        started: times::first(run, &["start_time"]),
        ended: times::first(run, &["end_time"]),
        input: run.get("inputs"),
        output: run.get("outputs"),
    };
    let given = step.give(sink);
    for child in run.get("child_runs").and_then(Value::as_array).into_iter().flatten() {
        if let Some(kind) = text(child, &["run_type"])
            && let Err(wrong) = take_run(child, trace, &kind, sink)
        {
            sink.problem(wrong);
        }
    }
    given
}

/// `session_id` and `session_name` of a run are its project; the conversation is in the metadata.
fn identity(run: &Value) -> Identity {
    let metadata = object(&object(run, "extra"), "metadata");
    let also = object(run, "metadata");
    let find = |names: &[&str]| text(&metadata, names).or_else(|| text(&also, names));
    Identity {
        user: find(&["user_id", "userId", "user", "langgraph_auth_user_id"]),
        session: find(&["session_id", "thread_id", "conversation_id"])
            .or_else(|| text(run, &["thread_id"])),
        agent_version: find(&["agent_version", "version", "revision_id"]),
    }
}
