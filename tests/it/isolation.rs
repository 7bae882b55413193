//! Tenant isolation: whatever another organization asks for, it finds nothing and changes nothing.

use serde_json::{Value, json};
use service::credentials::{self, Role};

use crate::conformance::{body_schema, operations, specification};
use crate::support::{NOW, Server, TestApp, apply, both_backends, until};

/// Stands in everything that the first organization stores and the second does not know.
const CANARY: &str = "canary7f3a";

/// The first organization's name.
const TENANT: &str = "tenant-9q4z";

/// Ids of the first organization that the other one might guess or have overheard.
struct GuessableIds {
    interaction_id: i64,
    job_id: String,
    credential_id: String,
    question_id: String,
    webhook_id: String,
    rule_id: String,
}

async fn fill(server: &Server) -> GuessableIds {
    let mut interaction_id = 0;
    for (user, session, request) in [("ada", "s1", "r1"), ("ada", "s2", "r2"), ("bob", "s1", "r3")]
    {
        let body = json!({
            "user_id": user, "session_id": session, "request_id": request, "source": CANARY, "agent_version": CANARY,
            "created_at": NOW - 50,
            "interaction_data_list": [
                {"role": CANARY, "content": format!("{CANARY} content")},
                {"role": "Assistant", "content": CANARY, "shadow_content": CANARY, "expert_content": CANARY,
                 "tools_used": [{"tool_name": CANARY, "tool_data": {CANARY: CANARY}}],
                 "citations": [{"kind": "profile", "real_id": CANARY}]},
            ]
        });
        interaction_id = server.publish(&body).await.ok()["interaction_ids"][0].as_i64().unwrap();
        let outcome = json!({"user_id": user, "session_id": session, "outcome": "failure", "occurred_at": NOW,
            "label": CANARY, "metadata": {"note": CANARY}});
        server.post("/api/session_outcome", &outcome).await.ok();
    }
    for (user, session) in [("ada", "s1"), ("bob", "s1")] {
        let grade = json!({"user_id": user, "session_id": session, "agent_version": CANARY});
        server.post("/api/evaluations/grade_on_demand", &grade).await.ok();
        let label =
            json!({"user_id": user, "session_id": session, "is_success": true, "note": CANARY});
        server.post("/api/evaluations/labels", &json!({"labels": [label]})).await.ok();
    }
    server.post("/api/update_config", &json!({"agent_context_prompt": CANARY})).await.ok();
    let experiment = json!({"experiment_id": "exp-1", "holdout_percentage": 50});
    server.post("/api/retrieval_experiments", &experiment).await.ok();
    let window = json!({"from_ts": NOW - 100, "to_ts": NOW});
    let begun = server.post("/api/evaluations/regenerate", &window).await.ok();
    assert_eq!(begun["total"], 3);
    // The cost is estimated after the answer; from then on nothing moves by itself.
    until("estimated", async || {
        let all = server.get("/api/evaluations/regenerate").await.ok();
        all["regenerations"][0]["estimated_cost_usd"].is_number()
    })
    .await;
    let keys = server.get("/api/keys").await.ok();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let credential_id = text(&keys["keys"][0]["credential_id"]);
    let question = json!({"user_id": "bob", "question_text": format!("Who is {CANARY}?")});
    let question = server.post("/api/pending_tool_calls", &question).await.ok();
    let (job_id, question_id) = (text(&begun["job_id"]), text(&question["id"]));
    let events = json!({"url": "https://hooks.example.org/", "description": CANARY,
        "events": ["session.failed"]});
    let webhook = server.post("/api/webhooks", &events).await.ok();
    let rule = json!({"name": CANARY, "metric": "success_rate"});
    let rule = server.post("/api/alerts", &rule).await.ok();
    let (webhook_id, rule_id) = (text(&webhook["webhook"]["webhook_id"]), text(&rule["rule_id"]));
    GuessableIds { interaction_id, job_id, credential_id, question_id, webhook_id, rule_id }
}

/// Everything the first organization can read of itself.
async fn everything(server: &Server) -> Value {
    let mut all = vec![
        server.get("/api/sessions?limit=200").await.ok(),
        server.post("/api/get_requests", &json!({"top_k": 1000})).await.ok(),
        server.post("/api/get_session_outcomes", &json!({"session_ids": ["s1", "s2"]})).await.ok(),
        server.get("/api/jobs").await.ok(),
        server.get("/api/keys").await.ok(),
        server.get("/api/evaluations/labels?user_id=bob&session_id=s1").await.ok(),
        server.get("/api/evaluations/regenerate").await.ok(),
        server.get("/api/get_config").await.ok(),
        server.post("/api/get_agent_success_evaluation_results", &json!({})).await.ok(),
        server.get("/api/evaluations/decisions?session_id=s1").await.ok(),
        server.get("/api/evaluations/agreement").await.ok(),
        server.get("/api/retrieval_experiments").await.ok(),
        server.get("/api/retrieval_experiments/exp-1/results").await.ok(),
        server.get("/api/webhooks").await.ok(),
        server.get("/api/alerts").await.ok(),
    ];
    for path in ["ada/s1", "ada/s2", "bob/s1"] {
        all.push(server.get(&format!("/api/sessions/{path}")).await.ok());
    }
    for id in ["r1", "r2", "r3"] {
        all.push(server.get(&format!("/api/learning_status?request_id={id}")).await.ok());
    }
    json!(all)
}

/// A value for a field, from what the first organization has.
fn guess(name: &str, known: &GuessableIds) -> Value {
    match name {
        "user_id" => json!("bob"),
        "session_id" => json!("s1"),
        "request_id" => json!("r3"),
        "interaction_id" => json!(known.interaction_id),
        "session_ids" => json!(["s1", "s2"]),
        "request_ids" => json!(["r1", "r2", "r3"]),
        "outcome" => json!("success"),
        "occurred_at" => json!(NOW),
        "interaction_data_list" => json!([{"content": "from elsewhere"}]),
        "text" => json!("canary"),
        "top_k" => json!(1000),
        "limit" => json!(200),
        "agent_version" => json!("agent-v0"),
        "labels" => json!([{"user_id": "bob", "session_id": "s1", "is_success": false}]),
        "from_ts" => json!(NOW - 100),
        "to_ts" => json!(NOW),
        "candidate_version" => json!("v1"),
        "experiment_id" => json!("exp-1"),
        "holdout_percentage" => json!(50),
        _ => Value::Null,
    }
}

/// The bodies to try: nothing, only what is required, everything that can be guessed.
fn bodies(spec: &Value, operation: &Value, known: &GuessableIds) -> Vec<Option<Value>> {
    let Some(schema) = body_schema(spec, operation) else {
        return vec![None];
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let all: Value = names
        .iter()
        .map(|name| ((*name).clone(), guess(name, known)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let few: Value = names
        .iter()
        .filter(|name| required.contains(&json!(name)))
        .map(|name| ((*name).clone(), guess(name, known)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    vec![Some(json!({})), Some(few), Some(all)]
}

fn filled_path(path: &str, operation: &Value, known: &GuessableIds) -> Vec<String> {
    let path = path
        .replace("{user_id}", "bob")
        .replace("{session_id}", "s1")
        .replace("{request_id}", "r3")
        .replace("{job_id}", &known.job_id)
        .replace("{experiment_id}", "exp-1")
        .replace("{agent_playbook_id}", "1")
        .replace("{credential_id}", &known.credential_id)
        .replace("{id}", &known.question_id)
        .replace("{webhook_id}", &known.webhook_id)
        .replace("{rule_id}", &known.rule_id)
        .replace("{purge_id}", "purge-1");
    assert!(!path.contains('{'), "say what stands for the parameter of {path}");
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let query: Vec<String> = parameters
        .iter()
        .filter(|p| p["in"] == "query")
        .filter_map(|p| {
            let name = p["name"].as_str().unwrap();
            match guess(name, known) {
                Value::String(text) => Some(format!("{name}={text}")),
                Value::Number(number) => Some(format!("{name}={number}")),
                _ => None,
            }
        })
        .collect();
    if query.is_empty() { vec![path] } else { vec![format!("{path}?{}", query.join("&")), path] }
}

#[apply(both_backends)]
async fn another_organization_finds_nothing_and_changes_nothing(t: TestApp) {
    let server = t.serve().await;
    let first = server.with_token(&t.key(TENANT, Role::Dashboard).await);
    let known = fill(&first).await;
    let before = everything(&first).await;
    assert!(before.to_string().matches(CANARY).count() > 50, "the canaries are there");

    let (_, granted) = credentials::create(
        &t.app,
        &"second".into(),
        credentials::NewCredential::of(Role::Dashboard, "").with_grant(true),
    )
    .await
    .unwrap();
    let others = [
        server.with_token(&t.key("second", Role::Agent).await),
        server.with_token(&granted),
        server.with_token(&t.key("second", Role::Governance).await),
    ];
    let spec = specification();
    // First with nothing of its own: there is nothing to find. Then also publishing the same ids itself.
    for publishes in [false, true] {
        for (method, path, operation) in operations(&spec) {
            if path == "/api/publish_interaction" && !publishes {
                continue;
            }
            for body in bodies(&spec, &operation, &known) {
                for path in filled_path(&path, &operation, &known) {
                    for other in &others {
                        let answer = other.call(&method, &path, body.as_ref()).await;
                        let what =
                            format!("{method} {path} {body:?}: {} {}", answer.status, answer.text);
                        assert!(answer.status < 500, "{what}");
                        assert!(!answer.text.contains(CANARY), "{what}");
                        assert!(
                            !answer.text.contains(TENANT),
                            "the organization is not named: {what}"
                        );
                        if method == "DELETE" && !publishes {
                            let deleted_none =
                                answer.status == 200 && answer.json()["deleted_count"] == 0;
                            assert!(answer.status != 200 || deleted_none, "{what}");
                        }
                    }
                }
            }
        }
        assert_eq!(everything(&first).await, before, "publishing: {publishes}");
    }
    // Its own publish for the same user and session is its own. The request ids it has used above, for other content.
    let own = json!({"user_id": "bob", "session_id": "s1", "request_id": "another",
        "interaction_data_list": [{"content": "from elsewhere"}]});
    others[0].publish(&own).await.ok();
    let seen = others[0].get("/api/sessions/bob/s1").await.ok();
    let turns = seen["interactions"].as_array().unwrap();
    assert!(turns.iter().any(|turn| turn["content"] == "from elsewhere"), "{seen}");
    assert!(!seen.to_string().contains(CANARY), "{seen}");
    others[1].post("/api/clear_user_data", &json!({"user_id": "bob"})).await.ok();
    assert_eq!(everything(&first).await, before);
    assert_eq!(t.mismatches().await, 0);
}
