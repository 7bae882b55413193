use serde_json::json;

use super::*;
use crate::files::Wrong;

#[test]
fn a_trace_with_input_and_output_gives_two_turns() {
    let trace = json!({
        "id": "t1", "timestamp": "2024-05-29T13:46:19.963Z", "name": "chat", "userId": "ana",
        "sessionId": "s1", "release": "v7", "version": "3", "tags": ["web"], "metadata": {"x": 1},
        "input": "Where is my parcel?", "output": {"answer": "On its way.", "sources": []},
        "observations": ["o1", "o2"], "scores": [], "public": false,
    });
    let found = items(Format::Langfuse, &[trace]);
    assert_eq!(
        said(&found),
        turns(&[("User", "Where is my parcel?"), ("Assistant", "On its way.")])
    );
    let publication = &found[0].publication;
    assert_eq!(publication.request_id, "langfuse-t1");
    assert_eq!(owners(&found), [("ana", "s1")]);
    assert_eq!(publication.agent_version.as_deref(), Some("v7"));
    assert_eq!((publication.source.as_str(), publication.created_at), ("langfuse", 1716990379));
    assert!(!publication.session_finished);
}

fn generation(id: &str, input: Value, output: Value) -> Value {
    json!({
        "id": id, "traceId": "t1", "type": "GENERATION", "name": "llm", "model": "gpt-4o",
        "startTime": "2024-05-29T13:46:20.000Z", "endTime": "2024-05-29T13:46:22.500Z",
        "parentObservationId": "o0", "input": input, "output": output, "usage": {"total": 9},
    })
}

fn agent_loop() -> (Value, Value) {
    let ask = json!({"role": "user", "content": [{"type": "text", "text": "Order 7?"}]});
    let calls = json!({
        "role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{\"n\":7}"}},
        ],
    });
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "no such order", "status": "error"});
    let first = generation("g1", json!({"messages": [ask]}), calls.clone());
    let answer = json!({"role": "assistant", "content": "There is none."});
    let second = generation("g2", json!([ask, calls, result]), answer);
    (first, second)
}

#[test]
fn generations_inside_a_trace_replace_its_input_and_output() {
    let (first, second) = agent_loop();
    let span = json!({"id": "o0", "traceId": "t1", "type": "SPAN", "startTime": "2024-05-29T13:46:20Z",
        "input": "Order 7?", "output": "There is none."});
    let trace = json!({
        "id": "t1", "timestamp": "2024-05-29T13:46:19Z", "userId": "ana", "sessionId": "s1",
        "input": "Order 7?", "output": "There is none.", "observations": [span, first, second],
    });
    let expected = turns(&[
        ("User", "Order 7?"),
        ("Assistant", "<look_up error>"),
        ("Assistant", "There is none."),
    ]);
    let found = items(Format::Langfuse, std::slice::from_ref(&trace));
    assert_eq!(said(&found), expected);
    assert_eq!(owners(&found), [("ana", "s1"), ("ana", "s1")]);
    let tool = &found[1].publication.interaction_data_list[0].tools_used[0];
    assert_eq!(tool.tool_data, json!({"arguments": {"n": 7}, "result": "no such order"}));
    // The two other ways in which the pages of the tool write the same.
    let observations = trace["observations"].clone();
    let page = json!({"trace": trace, "observations": observations});
    assert_eq!(said(&items(Format::Langfuse, &[page])), expected);
    let session = json!({"id": "s1", "traces": [trace]});
    assert_eq!(said(&items(Format::Langfuse, &[session])), expected);
}

#[test]
fn observations_get_their_user_from_their_trace_in_any_order() {
    let (first, second) = agent_loop();
    let trace = json!({"id": "t1", "timestamp": "2024-05-29T13:46:19Z", "userId": "ana",
        "sessionId": "s1", "input": "Order 7?", "output": "There is none."});
    let records = [first, second, trace];
    for order in [[0, 1, 2], [2, 0, 1], [0, 2, 1], [2, 1, 0]] {
        let found = items(Format::Langfuse, &order.map(|index| records[index].clone()));
        let mut all = said(&found);
        all.sort();
        assert_eq!(
            all,
            turns(&[
                ("Assistant", "<look_up error>"),
                ("Assistant", "There is none."),
                ("User", "Order 7?"),
            ])
        );
        assert!(owners(&found).iter().all(|owner| *owner == ("ana", "s1")));
    }
}

#[test]
fn enriched_observations_of_blob_storage_stand_alone() {
    let row = json!({
        "id": "g1", "trace_id": "t1", "project_id": "p", "type": "GENERATION",
        "parent_observation_id": "", "start_time": "2024-05-29 13:46:19.963000",
        "end_time": "2024-05-29 13:46:21.000000", "user_id": "ana", "session_id": "s1",
        "trace_name": "chat", "release": "", "version": "v8", "provided_model_name": "m",
        "input": "[{\"role\":\"user\",\"content\":\"Hello\"}]", "output": "Hi, how can I help?",
        "metadata": "{}",
    });
    let found = items(Format::Langfuse, &[row]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi, how can I help?")]));
    assert_eq!(owners(&found), [("ana", "s1")]);
    assert_eq!(found[0].publication.agent_version.as_deref(), Some("v8"));
    let turns = &found[0].publication.interaction_data_list;
    assert_eq!((turns[0].created_at, turns[1].created_at), (1716990379, 1716990381));
}

#[test]
fn generations_with_texts_serve_if_there_is_nothing_better() {
    let text = json!({"id": "g1", "traceId": "t1", "type": "GENERATION", "userId": "ana",
        "startTime": 1716990379963_u64, "input": "Say hello", "output": "Hello"});
    let found = items(Format::Langfuse, std::slice::from_ref(&text));
    assert_eq!(said(&found), turns(&[("User", "Say hello"), ("Assistant", "Hello")]));
    assert_eq!(owners(&found), [("ana", "t1")]);
    let root = json!({"id": "o0", "traceId": "t1", "type": "AGENT", "startTime": 1716990379,
        "input": "Hey", "output": "Hello"});
    let found = items(Format::Langfuse, &[text, root]);
    assert_eq!(said(&found), turns(&[("User", "Hey"), ("Assistant", "Hello")]));
}

#[test]
fn a_trace_needs_a_user_and_a_time() {
    let nobody =
        json!({"id": "t1", "timestamp": "2024-05-29T13:46:19Z", "input": "a", "output": "b"});
    let timeless = json!({"id": "t2", "userId": "ana", "input": "a", "output": "b"});
    let other = json!({"hello": "world"});
    let file = lines(&[nobody.clone(), timeless, other]);
    let (found, problems) = read_all(Format::Langfuse, &file, &options());
    assert_eq!(found, []);
    let wrong: Vec<(u64, &Wrong)> =
        problems.iter().map(|p| (p.position.number, &p.wrong)).collect();
    let unknown = Wrong::Unknown(Format::Langfuse);
    assert_eq!(wrong, [(2, &Wrong::NoTime), (3, &unknown), (1, &Wrong::NoUser)]);
    let (found, problems) = read_all(Format::Langfuse, &lines(&[nobody]), &anybody());
    assert_eq!((owners(&found).as_slice(), problems.len()), ([("of-t1", "t1")].as_slice(), 0));
}

#[test]
fn a_call_that_was_tried_again_or_recorded_twice_counts_once() {
    let ask =
        json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]);
    let mut failed = generation("g1", ask.clone(), Value::Null);
    failed["level"] = json!("ERROR");
    let answered = generation("g2", ask.clone(), json!({"role": "assistant", "content": "Hi"}));
    let again = generation(
        "g3",
        ask,
        json!({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}),
    );
    let trace = json!({"id": "t1", "timestamp": 1716990379, "userId": "ana",
        "observations": [failed, answered, again]});
    let found = items(Format::Langfuse, &[trace]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
}
