use serde_json::json;

use super::*;
use crate::files::Wrong;

#[test]
fn a_turn_per_line() {
    let records = [
        json!({"user_id": "ana", "session_id": "s1", "role": "user", "content": "Hello",
            "created_at": "2024-05-29T13:46:19Z", "request_id": "mine", "mood": "good"}),
        json!({"user_id": "ana", "session_id": "s1", "role": "Assistant", "content": "Hi",
        "created_at": 1716990381, "source": "shop.web", "agent_version": "v1", "tools_used": [
            {"tool_name": "look_up", "tool_data": {"input": 7}, "status": "error"},
            {"tool_name": "weather"},
        ]}),
    ];
    let found = items(Format::Jsonl, &records);
    assert_eq!(
        said(&found),
        turns(&[("User", "Hello"), ("Assistant", "Hi<look_up error><weather success>")])
    );
    assert_eq!(owners(&found), [("ana", "s1"), ("ana", "s1")]);
    let [first, second] = [&found[0].publication, &found[1].publication];
    assert_eq!((first.request_id.as_str(), first.source.as_str()), ("mine", "jsonl"));
    assert_eq!((first.created_at, second.created_at), (1716990379, 1716990381));
    assert_eq!((second.source.as_str(), second.agent_version.as_deref()), ("shop.web", Some("v1")));
    assert_eq!(second.interaction_data_list[0].tools_used[1].tool_data, json!({}));
    assert!(!first.session_finished && !second.session_finished);
}

#[test]
fn a_publish_per_line() {
    let record = json!({
        "user_id": "ana", "session_id": "s1", "created_at": 1716990379, "session_finished": true,
        "interaction_data_list": [
            {"content": "Hello"}, {"role": "Assistant", "content": "Hi", "created_at": 1716990385},
            {"role": "User", "content": "Thanks"}, {"role": "User", "content": " "},
        ],
    });
    let found = items(Format::Jsonl, &[record]);
    assert_eq!(said(&found), turns(&[("User", "Hello"), ("Assistant", "Hi"), ("User", "Thanks")]));
    let times: Vec<i64> =
        found[0].publication.interaction_data_list.iter().map(|turn| turn.created_at).collect();
    assert_eq!(times, [1716990379, 1716990385, 1716990385]);
    assert!(found[0].publication.session_finished);
}

#[test]
fn everything_that_is_wrong_is_told() {
    let good = json!({"user_id": "ana", "session_id": "s1", "role": "User", "content": "a", "created_at": 1});
    let with = |name: &str, value: Value| {
        let mut record = good.clone();
        record[name] = value;
        record
    };
    let records = [
        with("user_id", json!(null)),
        with("session_id", json!("")),
        with("created_at", json!(null)),
        with("created_at", json!("soon")),
        with("role", json!("System")),
        with("content", json!("")),
        with("user_id", json!("x".repeat(256))),
        with("source", json!("Not Allowed")),
        with("content", json!("x".repeat(1_000_001))),
        with("content", json!(7)),
        json!([1, 2]),
    ];
    let (found, problems) = read_all(Format::Jsonl, &lines(&records), &options());
    assert_eq!(found, []);
    let wrong: Vec<Wrong> = problems.iter().map(|problem| problem.wrong.clone()).collect();
    let unknown = Wrong::Unknown(Format::Jsonl);
    let expected = [
        Wrong::NoUser,
        Wrong::NoSession,
        Wrong::NoTime,
        Wrong::BadTime,
        Wrong::BadRole,
        Wrong::NoContent,
        Wrong::BadId("user_id"),
        Wrong::BadId("source"),
        Wrong::ContentTooLong,
        unknown.clone(),
        unknown,
    ];
    assert_eq!(wrong, expected);
    let numbers: Vec<u64> = problems.iter().map(|problem| problem.position.number).collect();
    assert_eq!(numbers, (1..=11).collect::<Vec<u64>>());
}

#[test]
fn a_publish_with_too_many_turns_is_divided() {
    let list: Vec<Value> = (0..2500).map(|n| json!({"content": format!("turn {n}")})).collect();
    let record = json!({"user_id": "ana", "session_id": "s1", "created_at": 5, "request_id": "r",
        "session_finished": true, "interaction_data_list": list});
    let found = items(Format::Jsonl, &[record]);
    let parts: Vec<(&str, usize, bool)> = found
        .iter()
        .map(|item| &item.publication)
        .map(|p| (p.request_id.as_str(), p.interaction_data_list.len(), p.session_finished))
        .collect();
    assert_eq!(parts, [("r", 1000, false), ("r-part-2", 1000, false), ("r-part-3", 500, true)]);
}

#[test]
fn an_exported_session_is_published_again() {
    let turn = |id: i64, request: &str, content: &str| {
        json!({"interaction_id": id, "user_id": "ana", "request_id": request, "created_at": 10 + id,
            "role": "Assistant", "content": content, "user_action": "none", "shadow_content": "",
            "citations": [], "retrieved_learnings": [], "tools_used": [], "token_count": 3})
    };
    let mut second = turn(2, "r2", "b");
    second["citations"] = json!([{"kind": "profile", "real_id": "7"}]);
    second["usage"] = json!({"input_tokens": 5});
    let request = |id: &str, at: i64| {
        json!({"request_id": id, "user_id": "ana", "session_id": "s", "created_at": at, "source": "web",
            "agent_version": "v2", "evaluation_only": false})
    };
    let record = json!({
        "session": {"user_id": "ana", "session_id": "s", "source": "web"},
        "requests": [request("r1", 11), request("r2", 12)],
        "interactions": [turn(1, "r1", "a"), second],
        "outcomes": [],
    });
    let found = items(Format::Jsonl, &[record]);
    let bodies: Vec<Value> =
        found.iter().map(|item| serde_json::to_value(&item.publication).unwrap()).collect();
    assert_eq!(
        bodies[0]["interaction_data_list"],
        json!([{"role": "Assistant", "content": "a", "created_at": 11}])
    );
    assert_eq!(
        bodies[1]["interaction_data_list"],
        json!([{"role": "Assistant", "content": "b",
        "created_at": 12, "usage": {"input_tokens": 5},
        "citations": [{"kind": "profile", "real_id": "7"}]}])
    );
    let names = |body: &Value| {
        ["request_id", "user_id", "session_id", "source", "agent_version"].map(|f| body[f].clone())
    };
    assert_eq!(names(&bodies[1]), ["r2", "ana", "s", "web", "v2"].map(|text| json!(text)));
}
