//! LangSmith: runs, as its client and its interface write them, each alone or with its children inside.

use serde_json::Value;

use super::fields::{amount, count, name, object, text};
use super::publish::Identity;
use super::steps::{Part, Step};
use super::{Format, Sink, Wrong, times};
use crate::Usage;

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
        started: times::milliseconds(run, &["start_time"]),
        ended: times::milliseconds(run, &["end_time"]),
        usage: usage(run),
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

/// A run counts what its children took too.
fn usage(run: &Value) -> Usage {
    let (extra, outputs) = (object(run, "extra"), object(run, "outputs"));
    let asked = object(&extra, "invocation_params");
    let model = name(&object(&extra, "metadata"), &["ls_model_name"]);
    // Clients that do not sum up write what the provider or LangChain said.
    let said = [
        outputs.get("usage_metadata"),
        outputs.get("usage"),
        outputs.pointer("/llm_output/token_usage"),
    ];
    let tokens = |names: [&str; 2]| {
        let said = || said.iter().flatten().find_map(|usage| count(usage, &names));
        count(run, &names).or_else(said)
    };
    Usage {
        model: model.or_else(|| name(&asked, &["model", "model_name"])),
        input_tokens: tokens(["prompt_tokens", "input_tokens"]),
        output_tokens: tokens(["completion_tokens", "output_tokens"]),
        cost_usd: amount(run, &["total_cost"]),
        latency_ms: None,
    }
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
