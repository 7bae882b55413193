//! Langfuse: traces as its interface and its table export them, with or without their observations, and observations,
//! with names in camel case (interface, table) or snake case (blob storage).

use serde_json::Value;

use super::fields::{amount, count, name, object, text};
use super::publish::Identity;
use super::steps::{Part, Step};
use super::{Format, Sink, Wrong, times};
use crate::Usage;

pub fn take(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    // A session, as downloaded from its page.
    if let Some(traces) = record.get("traces").and_then(Value::as_array) {
        for trace in traces {
            if let Err(wrong) = take_trace(trace, trace.get("observations"), sink) {
                sink.problem(wrong);
            }
        }
        return Ok(());
    }
    // A trace, as downloaded from its page.
    if let Some(trace) = record.get("trace").filter(|trace| trace.is_object()) {
        return take_trace(trace, record.get("observations"), sink);
    }
    if text(record, &["traceId", "trace_id"]).is_some() && record.get("type").is_some() {
        return take_observation(record, None, sink);
    }
    take_trace(record, record.get("observations"), sink)
}

fn take_trace(trace: &Value, observations: Option<&Value>, sink: &mut Sink) -> Result<(), Wrong> {
    let Some(id) = text(trace, &["id"]) else { return Err(Wrong::Unknown(Format::Langfuse)) };
    if trace.get("timestamp").is_none() && trace.get("input").is_none() {
        return Err(Wrong::Unknown(Format::Langfuse));
    }
    let step = Step {
        record: trace,
        id: Some(id.clone()),
        trace: id.clone(),
        part: Part::Root,
        decides: true,
        identity: identity(trace),
        started: times::milliseconds(trace, &["timestamp", "createdAt", "created_at"]),
        ended: Ok(None),
        usage: usage(trace),
        input: trace.get("input"),
        output: trace.get("output"),
    };
    let given = step.give(sink);
    // The interface's list names observations by their ids only.
    let full = observations.and_then(Value::as_array).into_iter().flatten();
    let mut full = full.filter(|observation| observation.is_object()).peekable();
    if full.peek().is_some() {
        for observation in full {
            if let Err(wrong) = take_observation(observation, Some(&id), sink) {
                sink.problem(wrong);
            }
        }
        sink.release(|traces, out| traces.end(&id, out));
    }
    given
}

fn take_observation(
    observation: &Value,
    trace: Option<&str>,
    sink: &mut Sink,
) -> Result<(), Wrong> {
    let trace = trace.map(str::to_owned).or_else(|| text(observation, &["traceId", "trace_id"]));
    let Some(trace) = trace else { return Err(Wrong::Unknown(Format::Langfuse)) };
    let kind = text(observation, &["type"]).unwrap_or_default();
    let parent = text(observation, &["parentObservationId", "parent_observation_id"]);
    let part = match kind.as_str() {
        "GENERATION" => Part::Call,
        "EVENT" => Part::Other,
        _ if parent.is_none() => Part::Root,
        _ => Part::Other,
    };
    let step = Step {
        record: observation,
        id: text(observation, &["id"]),
        trace,
        part,
        // Only the trace knows its user, except where every observation repeats it.
        decides: false,
        identity: identity(observation),
        started: times::milliseconds(observation, &["startTime", "start_time"]),
        ended: times::milliseconds(observation, &["endTime", "end_time"]),
        usage: usage(observation),
        input: observation.get("input"),
        output: observation.get("output"),
    };
    step.give(sink)
}

/// Of an observation; a trace has only the cost and the latency of all of them.
fn usage(record: &Value) -> Usage {
    let either = |names: [&str; 2]| names.map(|name| object(record, name));
    let details = either(["usageDetails", "usage_details"]);
    let old = Some(object(record, "usage")).filter(|usage| match text(usage, &["unit"]) {
        Some(unit) => unit == "TOKENS",
        None => true,
    });
    let tokens = |inside: &str, beside: [&str; 2]| {
        let within = details.iter().chain(&old).find_map(|usage| count(usage, &[inside]));
        within.or_else(|| count(record, &beside))
    };
    let costs = either(["costDetails", "cost_details"]);
    let cost = costs.iter().find_map(|costs| amount(costs, &["total"]));
    let seconds = amount(record, &["latency"]);
    Usage {
        model: name(record, &["model", "providedModelName", "provided_model_name"]),
        input_tokens: tokens("input", ["inputUsage", "promptTokens"]),
        output_tokens: tokens("output", ["outputUsage", "completionTokens"]),
        cost_usd: cost
            .or_else(|| amount(record, &["calculatedTotalCost", "totalCost", "total_cost"])),
        latency_ms: seconds.map(|seconds| (seconds * 1000.0) as u64),
    }
}

fn identity(record: &Value) -> Identity {
    let metadata = object(record, "metadata");
    let user = text(record, &["userId", "user_id"]);
    let session = text(record, &["sessionId", "session_id"]);
    Identity {
        user: user.or_else(|| text(&metadata, &["langfuse_user_id", "user_id", "userId"])),
        session: session
            .or_else(|| text(&metadata, &["langfuse_session_id", "session_id", "sessionId"])),
        agent_version: text(record, &["release", "version"]),
    }
}
