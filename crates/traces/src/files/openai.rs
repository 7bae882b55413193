//! OpenAI: conversations as in files for fine-tuning, and requests with their responses as in batches and logs.

use serde_json::{Value, json};

use super::fields::{count, is_set, name, object, text};
use super::messages::{answers, conversation, messages};
use super::publish::{Draft, Identity};
use super::{Format, Sink, Wrong, times};
use crate::Usage;
use crate::turns::{Message, Role, add_usage, new_turns};

/// Fields with the time of a record, the likeliest first.
const TIMES: [&str; 5] = ["created", "created_at", "timestamp", "start_time", "time"];

pub fn take(record: &Value, sink: &mut Sink) -> Result<(), Wrong> {
    let request = body(record, "request")
        .or_else(|| record.get("body"))
        .or_else(|| record.get("input").filter(|input| input.get("messages").is_some()))
        .unwrap_or(record);
    let response = body(record, "response").unwrap_or(record);
    let places = [record, request, response];
    let output = match response.get("choices") {
        Some(choices) => Some(answers(&json!({"choices": choices}))),
        None => response
            .get("output")
            .or_else(|| record.get("preferred_output"))
            .filter(|output| is_set(Some(output)))
            .map(answers),
    };
    let input = asked(request);
    let (input, output) = match (input, output) {
        (Some(input), output) => (input, output),
        (None, Some(_)) => return Err(Wrong::NoRequest),
        (None, None) => return Err(Wrong::Unknown(Format::Openai)),
    };
    // Not `custom_id`: every batch may count from one again.
    let id = text(record, &["id"]).or_else(|| text(response, &["id"]));
    let mut draft = sink.draft(record, id.as_deref());
    draft.identity = identity(&places);
    // A session may have several such records, each with all that was said before.
    let goes_on = output.is_some() && draft.identity.session.is_some();
    draft.lone_session = Some(id.unwrap_or_else(|| draft.request_id.clone()));
    draft.finished = !goes_on;
    draft.turns = match output {
        Some(output) if goes_on => new_turns(&input, &output, 0, 0),
        output => {
            let mut all = input;
            all.extend(output.into_iter().flatten());
            conversation(&all, 0)
        }
    };
    if draft.turns.is_empty() {
        // A call of a tool has nothing new to tell until its result is known.
        return if goes_on { Ok(()) } else { Err(Wrong::NoContent) };
    }
    let mut created = None;
    for place in places {
        created = match created {
            None => times::seconds(place, &TIMES)?,
            known => known,
        };
    }
    date(&mut draft, created, sink.options.now);
    add_usage(&mut draft.turns, usage(request, response));
    sink.publish(draft);
    Ok(())
}

/// A second between turns; the first one at the time of the record, or the last one now.
fn date(draft: &mut Draft, created: Option<i64>, now: i64) {
    let steps = draft.turns.len().saturating_sub(1) as i64;
    let first = created.unwrap_or_else(|| now.saturating_sub(steps).max(0));
    draft.created_at = first;
    for (turn, at) in draft.turns.iter_mut().zip(first..) {
        turn.created_at = at;
    }
}

fn body<'a>(record: &'a Value, name: &str) -> Option<&'a Value> {
    let outside = record.get(name).filter(|found| found.is_object())?;
    Some(outside.get("body").filter(|body| body.is_object()).unwrap_or(outside))
}

fn asked(request: &Value) -> Option<Vec<Message>> {
    if let Some(found) = request.get("messages") {
        return messages(found);
    }
    match request.get("input") {
        Some(Value::String(words)) => Some(vec![Message::new(Role::User, words.as_str())]),
        Some(input) => messages(input),
        // Pairs of the oldest files for fine-tuning.
        None => {
            let mut pair = vec![Message::new(Role::User, text(request, &["prompt"])?)];
            let completion = text(request, &["completion"]);
            pair.extend(completion.map(|words| Message::new(Role::Assistant, words)));
            Some(pair)
        }
    }
}

fn usage(request: &Value, response: &Value) -> Usage {
    let tokens = object(response, "usage");
    Usage {
        model: name(response, &["model"]).or_else(|| name(request, &["model"])),
        input_tokens: count(&tokens, &["prompt_tokens", "input_tokens"]),
        output_tokens: count(&tokens, &["completion_tokens", "output_tokens"]),
        cost_usd: None,
        latency_ms: None,
    }
}

fn identity(places: &[&Value]) -> Identity {
    let find = |names: &[&str]| {
        let metadata = places.iter().find_map(|place| text(&object(place, "metadata"), names));
        metadata.or_else(|| places.iter().find_map(|place| text(place, names)))
    };
    Identity {
        user: find(&["user_id", "user", "safety_identifier"]),
        session: find(&["session_id", "conversation_id", "thread_id"]),
        agent_version: find(&["agent_version"]),
    }
}
