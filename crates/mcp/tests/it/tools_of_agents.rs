//! The tools that an agent calls while it answers a user.

use serde_json::{Value, json};

use crate::fake::Connection;

fn post(path: &str, body: Value) -> (String, String, Option<Value>) {
    ("POST".to_owned(), path.to_owned(), Some(body))
}

#[tokio::test]
async fn a_search_gives_learnings_with_what_a_publish_needs() {
    let c = Connection::open().await;
    c.fake.answers(
        "search",
        json!({
            "success": true,
            "profiles": [{"profile_id": "p-1", "content": "Lives in Oslo.", "user_id": "ada"}],
            "user_playbooks": [{"user_playbook_id": 7, "content": "Be brief.", "user_id": "ada"}],
            "agent_playbooks": [{
                "agent_playbook_id": 12, "playbook_name": "refunds", "trigger": "A refund is asked for.",
                "content": "Look up the order first.", "rationale": "Orders differ.",
                "playbook_status": "approved",
            }],
            "experiment": {"experiment_id": "e", "arm": "treatment"},
        }),
    );
    let arguments = json!({
        "query": "refund", "user_id": "ada", "session_id": "chat-1", "top_k": 3,
        "entity_types": ["profiles", "agent_playbooks"], "agent_version": null, "tags": ["shop"],
    });
    let (text, data) = c.call("search_learnings", arguments).await;
    let body = json!({
        "query": "refund", "user_id": "ada", "session_id": "chat-1", "top_k": 3,
        "entity_types": ["profiles", "agent_playbooks"], "tags": ["shop"],
    });
    assert_eq!(c.fake.requests(), [post("/api/search", body)]);
    let learnings = json!([
        {"kind": "profile", "learning_id": "p-1", "content": "Lives in Oslo."},
        {"kind": "user_playbook", "learning_id": "7", "content": "Be brief."},
        {"kind": "agent_playbook", "learning_id": "12", "playbook_name": "refunds",
         "trigger": "A refund is asked for.", "content": "Look up the order first.",
         "rationale": "Orders differ."},
    ]);
    assert_eq!(data, json!({"learnings": learnings, "degraded": false}));
    assert!(text.starts_with("3 learnings fit.\n\n[profile p-1]\nLives in Oslo."), "{text}");
    assert!(text.ends_with(
        "[agent_playbook 12]\nWhen: A refund is asked for.\nLook up the order first.\nWhy: Orders differ."
    ));
}

#[tokio::test]
async fn the_holdout_of_an_experiment_reads_like_a_search_that_finds_nothing() {
    let c = Connection::open().await;
    let withheld = json!({
        "experiment": {"experiment_id": "e", "arm": "holdout"},
        "msg": "Retrieval was withheld: this user is in the holdout of an experiment.",
    });
    c.fake.answers("search", withheld).answers("search", json!({"degraded": true}));
    let (text, data) = c.call("search_learnings", json!({"query": "x", "user_id": "ada"})).await;
    assert_eq!(text, "Nothing that was learned fits.");
    assert_eq!(data, json!({"learnings": [], "degraded": false}));
    let (text, _) = c.call("search_learnings", json!({"query": "x"})).await;
    assert!(text.ends_with("A part of the search was missing; there may be more."), "{text}");
}

fn turns() -> Value {
    json!([
        {"role": "User", "content": "Where is my parcel?"},
        {"role": "Assistant", "content": "On its way.", "created_at": "2026-01-15T11:59:00Z",
         "tools_used": [{"tool_name": "look_up", "status": "success", "tool_data": {"order": null}}],
         "retrieved_learnings": [{"kind": "agent_playbook", "learning_id": "12"}]},
    ])
}

#[tokio::test]
async fn turns_are_published_under_the_callers_name_for_them() {
    let c = Connection::open().await;
    let stored = json!({"request_id": "chat-1/1", "interaction_ids": [1, 2], "warnings": ["w"],
        "learning_status": "deferred"});
    c.fake.answers("publish_interaction", stored);
    let (text, data) = c
        .call(
            "publish_turns",
            json!({"user_id": "ada", "session_id": "chat-1", "turns": turns(), "request_id": "chat-1/1",
                "agent_version": "v2", "source": "web", "session_finished": true}),
        )
        .await;
    let body = json!({"user_id": "ada", "session_id": "chat-1", "interaction_data_list": turns(),
        "request_id": "chat-1/1", "agent_version": "v2", "source": "web", "session_finished": true});
    assert_eq!(c.fake.requests(), [post("/api/publish_interaction", body)]);
    assert_eq!(text, "Stored 2 turns as request chat-1/1.\nWarning: w");
    assert_eq!(
        data,
        json!({"request_id": "chat-1/1", "duplicate": false, "interaction_ids": [1, 2],
            "warnings": ["w"], "learning_status": "deferred"})
    );
}

/// The request id that a publish without one is sent with.
async fn derived(c: &Connection, arguments: Value) -> String {
    c.fake.answers("publish_interaction", json!({"interaction_ids": [1]}));
    c.call("publish_turns", arguments).await;
    let (_, _, body) = c.fake.requests().remove(0);
    body.unwrap()["request_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_equal_publish_has_an_equal_name_and_any_other_has_another() {
    let c = Connection::open().await;
    let one =
        json!({"user_id": "ada", "session_id": "s", "turns": [{"role": "User", "content": "yes"}]});
    let id = derived(&c, one.clone()).await;
    assert_eq!((&id[..4], id.len()), ("mcp-", 68));
    assert_eq!(derived(&c, one.clone()).await, id);
    let mut others = vec![one.clone(), one.clone(), one.clone(), one.clone()];
    others[0]["user_id"] = "bob".into();
    others[1]["session_id"] = "t".into();
    others[2]["turns"][0]["created_at"] = "2026-01-15T11:00:00Z".into();
    others[3]["session_finished"] = true.into();
    let mut ids = vec![id];
    for other in others {
        ids.push(derived(&c, other).await);
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "{ids:?}");
}

#[tokio::test]
async fn a_publish_that_was_stored_before_says_so_and_what_to_do() {
    let c = Connection::open().await;
    let again = json!({"request_id": "r", "duplicate": true, "interaction_ids": [1]});
    let mut publish =
        json!({"user_id": "ada", "session_id": "s", "turns": [{"role": "User", "content": "yes"}]});
    c.fake.answers("publish_interaction", again.clone());
    let (text, data) = c.call("publish_turns", publish.clone()).await;
    assert!(text.ends_with("call again with a request_id of your own."), "{text}");
    assert_eq!(data["duplicate"], true);
    publish["request_id"] = "r".into();
    c.fake.answers("publish_interaction", again);
    let (text, _) = c.call("publish_turns", publish).await;
    assert_eq!(text, "Request r was stored before with the same content; nothing is stored twice.");
}

#[tokio::test]
async fn problems_of_a_publish_name_turns_as_the_caller_does() {
    let c = Connection::open().await;
    let errors = json!([
        {"pointer": "/interaction_data_list/0/created_at", "code": "in_the_future", "detail": "must not be"},
        {"pointer": "/source", "code": "pattern", "detail": "has other characters"},
    ]);
    c.fake.refuses(422, "invalid_input", "2 problems; see errors.", errors);
    let (text, data) = c
        .fail(
            "publish_turns",
            json!({"user_id": "ada", "session_id": "s", "turns": [{"role": "User", "content": "x"}]}),
        )
        .await;
    assert_eq!(
        text,
        "422 invalid_input: 2 problems; see errors.\n- /turns/0/created_at: must not be (in_the_future)\n\
         - /source: has other characters (pattern)"
    );
    assert_eq!(data["errors"][0]["pointer"], "/turns/0/created_at");
}

#[tokio::test]
async fn an_outcome_happened_now_unless_it_says_when() {
    let c = Connection::open().await;
    c.fake.answers("session_outcome", json!({"recorded": true, "user_id": "ada", "source": "web"}));
    let (text, data) =
        c.call("report_outcome", json!({"session_id": "s", "outcome": "success"})).await;
    assert_eq!(text, "Recorded for session s of ada.");
    assert_eq!(data, json!({"recorded": true, "user_id": "ada", "source": "web"}));
    c.fake.answers("session_outcome", json!({"recorded": false, "user_id": "ada"}));
    let whole = json!({"session_id": "s", "outcome": "failure", "user_id": "ada", "label": "refunded",
        "value": 19.5, "metadata": {"order": 7}, "occurred_at": "2026-01-14T08:00:00Z"});
    let (text, _) = c.call("report_outcome", whole.clone()).await;
    assert_eq!(text, "Session s of ada has this very outcome already.");
    let now =
        json!({"session_id": "s", "outcome": "success", "occurred_at": "2026-01-15T12:00:00Z"});
    assert_eq!(
        c.fake.requests(),
        [post("/api/session_outcome", now), post("/api/session_outcome", whole)]
    );
}
