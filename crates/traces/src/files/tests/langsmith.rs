use serde_json::json;

use super::*;
use crate::files::Wrong;

fn run(id: &str, parent: Option<&str>, kind: &str, inputs: Value, outputs: Value) -> Value {
    json!({
        "id": id, "trace_id": "root", "parent_run_id": parent, "run_type": kind, "name": "step",
        "start_time": "2024-05-29T13:46:19.963000", "end_time": "2024-05-29T13:46:21.100000",
        "inputs": inputs, "outputs": outputs, "error": null, "session_id": "the-project",
        "session_name": "default", "tags": ["seq:step:1"], "dotted_order": "x", "status": "success",
        "extra": {"metadata": {"thread_id": "s1", "user_id": "ana", "revision_id": "abc"}},
    })
}

fn lc(class: &str, kwargs: Value) -> Value {
    json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", class], "kwargs": kwargs})
}

#[test]
fn a_model_run_of_langchain() {
    let call = json!({"name": "look_up", "args": {"n": 7}, "id": "c1", "type": "tool_call"});
    let inputs = json!({"messages": [[
        lc("SystemMessage", json!({"content": "Be kind.", "type": "system"})),
        lc("HumanMessage", json!({"content": "Order 7?", "type": "human"})),
        lc("AIMessage", json!({"content": "", "tool_calls": [call], "type": "ai",
            "additional_kwargs": {"tool_calls": [{"lc": 1, "type": "not_implemented", "id": ["x"], "repr": "y"}]}})),
        lc("ToolMessage", json!({"content": "timed out", "tool_call_id": "c1", "status": "error", "type": "tool"})),
    ]]});
    let outputs = json!({"generations": [[{
        "text": "I could not find it.", "generation_info": {"finish_reason": "stop"}, "type": "ChatGeneration",
        "message": lc("AIMessageChunk", json!({"content": "I could not find it.", "type": "ai"})),
    }]], "llm_output": {"token_usage": {}}, "run": null});
    let found = items(Format::Langsmith, &[run("r1", Some("root"), "llm", inputs, outputs)]);
    assert_eq!(
        said(&found),
        turns(&[("Assistant", "<look_up error>"), ("Assistant", "I could not find it.")])
    );
    assert_eq!(owners(&found), [("ana", "s1")]);
    let publication = &found[0].publication;
    assert_eq!(publication.request_id, "langsmith-r1");
    assert_eq!(publication.agent_version.as_deref(), Some("abc"));
    assert_eq!(publication.created_at, 1716990379);
}

#[test]
fn every_serialisation_of_messages_says_the_same() {
    let data = |kind: &str, content: &str| json!({"type": kind, "data": {"content": content}});
    let lc_message = |class: &str, content: &str| lc(class, json!({"content": content}));
    let shapes = [
        (
            json!({"messages": [{"role": "user", "content": "Hello"}], "model": "gpt-4o"}),
            json!({"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}),
        ),
        (
            json!({"messages": [{"type": "human", "content": "Hello"}]}),
            json!({"messages": [{"type": "ai", "content": [{"type": "text", "text": "Hi"}]}]}),
        ),
        (json!({"messages": [["human", "Hello"]]}), json!({"role": "assistant", "content": "Hi"})),
        (json!({"messages": [data("human", "Hello")]}), json!({"output": data("ai", "Hi")})),
        (json!({"input": lc_message("HumanMessage", "Hello")}), json!({"output": "Hi"})),
        (
            json!("{\"messages\": [[{\"role\": \"user\", \"content\": \"Hello\"}]]}"),
            json!("{\"generations\": [[{\"text\": \"Hi\"}]]}"),
        ),
        (
            json!({"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}),
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}),
        ),
        (
            json!({"prompts": ["Hello"]}),
            json!({"generations": [[{"text": "Hi", "type": "Generation"}]]}),
        ),
    ];
    for (inputs, outputs) in shapes {
        let found = items(Format::Langsmith, &[run("r1", None, "llm", inputs.clone(), outputs)]);
        assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi")]), "{inputs}");
    }
}

#[test]
fn a_root_counts_only_if_its_trace_has_no_model_run() {
    let root = run("root", None, "chain", json!({"question": "Hello"}), json!({"answer": "Hi"}));
    let mut call = run(
        "r1",
        Some("root"),
        "llm",
        json!({"messages": [{"role": "user", "content": "Hello"}]}),
        json!({"choices": [{"message": {"role": "assistant", "content": "Hi there"}}]}),
    );
    call["extra"] = json!({"metadata": {}});
    let tool = run("r2", Some("root"), "tool", json!({"input": "x"}), json!({"output": "y"}));
    let alone = items(Format::Langsmith, &[root.clone(), tool.clone()]);
    assert_eq!(said(&alone), turns(&[("User", "Hello"), ("Assistant", "Hi")]));
    for records in [
        vec![root.clone(), tool.clone(), call.clone()],
        vec![call.clone(), tool.clone(), root.clone()],
    ] {
        let found = items(Format::Langsmith, &records);
        assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi there")]));
        assert_eq!(owners(&found), [("ana", "s1")]);
    }
    let mut whole = root;
    whole["child_runs"] = json!([tool, call]);
    let found = items(Format::Langsmith, &[whole]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi there")]));
}

#[test]
fn the_state_of_a_graph_gives_only_its_news() {
    let inputs = json!({"messages": [{"type": "human", "content": "And order 8?"}]});
    let outputs = json!({"messages": [
        {"type": "human", "content": "Order 7?"},
        {"type": "ai", "content": "Lost."},
        {"type": "human", "content": "And order 8?"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "look_up", "args": {"n": 8}, "id": "c1"}]},
        {"type": "tool", "content": "found", "tool_call_id": "c1", "status": "success"},
        {"type": "ai", "content": "Here it is."},
    ]});
    let found = items(Format::Langsmith, &[run("root", None, "chain", inputs, outputs)]);
    assert_eq!(
        said(&found),
        turns(&[
            ("User", "And order 8?"),
            ("Assistant", "<look_up success>"),
            ("Assistant", "Here it is."),
        ])
    );
}

#[test]
fn the_project_of_a_run_is_not_its_session() {
    let mut alone = run("root", None, "chain", json!({"input": "Hello"}), json!({"output": "Hi"}));
    alone["extra"] = json!({"metadata": {"user_id": "ana"}});
    assert_eq!(owners(&items(Format::Langsmith, &[alone])), [("ana", "root")]);
}

#[test]
fn a_run_that_failed_keeps_the_words_of_its_user() {
    let mut failed = run(
        "r1",
        None,
        "llm",
        json!({"messages": [{"role": "user", "content": "Hello"}]}),
        Value::Null,
    );
    failed["error"] = json!("RateLimitError");
    assert_eq!(said(&items(Format::Langsmith, &[failed])), turns(&[("User", "Hello")]));
    let empty = run("r2", None, "llm", json!({}), Value::Null);
    let (_, problems) = read_all(Format::Langsmith, &lines(&[empty]), &options());
    assert_eq!(problems[0].wrong, Wrong::NoContent);
}
