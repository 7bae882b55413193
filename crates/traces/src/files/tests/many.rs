//! Ten thousand records of each format.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

const SESSIONS: usize = 5_000;
const CALLS: usize = 2;

/// The call number `call` of a session, with all that was said before.
fn history(session: usize, call: usize) -> (Vec<Value>, Value) {
    let mut messages = vec![json!({"role": "system", "content": "Be kind."})];
    for n in 0..=call {
        messages.push(json!({"role": "user", "content": format!("question {n} of {session}")}));
        messages.push(json!({"role": "assistant", "content": format!("answer {n} of {session}")}));
    }
    let answer = messages.pop().unwrap_or_default();
    (messages, answer)
}

fn record(format: Format, session: usize, call: usize) -> Value {
    let (messages, answer) = history(session, call);
    let (user, name) = (format!("user-{}", session % 100), format!("session-{session}"));
    let id = format!("{session}-{call}");
    let time = 1_716_990_000 + session * 100 + call * 10;
    match format {
        Format::Langfuse => json!({
            "id": id, "traceId": format!("trace-{id}"), "type": "GENERATION", "userId": user,
            "sessionId": name, "startTime": time, "endTime": time + 2, "input": messages, "output": answer,
        }),
        Format::Langsmith => json!({
            "id": id, "trace_id": format!("trace-{session}"), "parent_run_id": "p", "run_type": "llm",
            "start_time": time, "end_time": time + 2, "inputs": {"messages": messages},
            "outputs": {"choices": [{"message": answer}]},
            "extra": {"metadata": {"user_id": user, "session_id": name}},
        }),
        Format::Phoenix => {
            let messages: Vec<Value> =
                messages.into_iter().map(|message| json!({"message": message})).collect();
            json!({
                "context": {"trace_id": format!("trace-{id}"), "span_id": id}, "span_kind": "LLM",
                "parent_id": null, "start_time": time, "end_time": time + 2, "attributes": {
                    "llm.input_messages": messages, "llm.output_messages": [{"message": answer}],
                    "session.id": name, "user.id": user,
                },
            })
        }
        Format::Openai => json!({
            "id": id, "created": time, "metadata": {"user_id": user, "session_id": name},
            "messages": messages, "choices": [{"message": answer}],
        }),
        Format::Jsonl => json!({
            "user_id": user, "session_id": name, "created_at": time, "interaction_data_list": [
                messages[messages.len() - 1], answer,
            ],
        }),
    }
}

fn check(format: Format) {
    // Interleaved: one call of every session, then the next one.
    let records = (0..CALLS).flat_map(|call| (0..SESSIONS).map(move |session| (session, call)));
    let file: String =
        records.map(|(session, call)| lines(&[record(format, session, call)])).collect();
    let (found, problems) = read_all(format, &file, &options());
    assert_eq!((found.len(), problems.len()), (SESSIONS * CALLS, 0));
    let of = |get: fn(&Item) -> &str| found.iter().map(get).collect::<BTreeSet<&str>>().len();
    assert_eq!(of(|item| &item.publication.session_id), SESSIONS);
    assert_eq!(of(|item| &item.publication.user_id), 100);
    assert_eq!(of(|item| &item.publication.request_id), SESSIONS * CALLS);
    let said = said(&found);
    assert_eq!(said.len(), 2 * SESSIONS * CALLS);
    assert_eq!(said.into_iter().collect::<BTreeSet<_>>().len(), 2 * SESSIONS * CALLS);
}

#[test]
fn ten_thousand_records_of_langfuse() {
    check(Format::Langfuse);
}

#[test]
fn ten_thousand_records_of_langsmith() {
    check(Format::Langsmith);
}

#[test]
fn ten_thousand_records_of_phoenix() {
    check(Format::Phoenix);
}

#[test]
fn ten_thousand_records_of_openai() {
    check(Format::Openai);
}

#[test]
fn ten_thousand_records_of_jsonl() {
    check(Format::Jsonl);
}

#[test]
fn ten_thousand_traces_with_roots_and_calls_say_everything_once() {
    let mut file = String::new();
    for session in 0..SESSIONS {
        for call in 0..CALLS {
            let (messages, answer) = history(session, call);
            let id = format!("{session}-{call}");
            let question = &messages[messages.len() - 1]["content"];
            let metadata =
                json!({"metadata": {"user_id": "ana", "thread_id": session.to_string()}});
            // Only the root knows the thread, and it comes last, as in files that begin with the newest.
            file += &lines(&[
                json!({"id": format!("call-{id}"), "trace_id": id, "parent_run_id": id, "run_type": "llm",
                    "start_time": 5, "inputs": {"messages": messages}, "outputs": answer}),
                json!({"id": id, "trace_id": id, "run_type": "chain", "start_time": 5, "extra": metadata,
                    "inputs": {"question": question}, "outputs": {"answer": answer["content"]}}),
            ]);
        }
    }
    let (found, problems) = read_all(Format::Langsmith, &file, &options());
    assert_eq!((found.len(), problems.len()), (SESSIONS * CALLS, 0));
    assert_eq!(said(&found).len(), 2 * SESSIONS * CALLS);
    let sessions: BTreeSet<(&str, &str)> = owners(&found).into_iter().collect();
    assert_eq!(sessions.len(), SESSIONS);
}
