//! Whatever is sent: the reader of requests, the builder of full-text queries and what stands behind them answer, and
//! answer as openapi.json says (`support/contract.rs` looks at every one).

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::conformance::may_call_all;
use crate::support::{TestApp, apply, both_backends};

/// Texts that have broken parsers before: quotes, operators of full-text queries, brackets, controls, emoji.
fn texts() -> impl Strategy<Value = String> {
    let nasty = proptest::sample::select(vec![
        "\"", "'", "*", "^", ":", "(", ")", "{", "}", "AND", "OR", "NOT", "NEAR(", "&", "|", "!",
        "<->", "\\", "%", "_", "\u{0}", "\u{202e}", "🙂", "\u{301}", "-", "+", "\n", "col:", "--",
        ";", "/*", "$1", "?1",
    ])
    .prop_map(str::to_owned);
    proptest::collection::vec(prop_oneof![nasty, "\\PC{0,12}", "[a-z]{1,8}"], 0..12)
        .prop_map(|parts| parts.join(" "))
}

/// Any JSON, with names that requests have among its own.
fn json_values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|n| json!(n)),
        texts().prop_map(Value::from),
    ];
    let names = prop_oneof![
        proptest::sample::select(vec![
            "user_id",
            "session_id",
            "request_id",
            "interaction_data_list",
            "role",
            "content",
            "tools_used",
            "citations",
            "retrieved_learnings",
            "created_at",
            "query",
            "top_k",
            "tags",
            "user_profiles",
            "user_playbooks",
            "source",
        ])
        .prop_map(str::to_owned),
        texts(),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let object = proptest::collection::vec((names.clone(), inner.clone()), 0..6)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()));
        prop_oneof![proptest::collection::vec(inner, 0..5).prop_map(Value::Array), object]
    })
}

fn samples<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, count: usize) -> Vec<T> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[apply(both_backends)]
async fn any_json_gets_an_answer_that_is_described(t: TestApp) {
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let paths = [
        "/api/publish_interaction",
        "/api/search",
        "/api/add_user_profile",
        "/api/add_user_playbook",
        "/api/session_outcome",
        "/api/get_evaluation_overview",
        "/api/update_config",
    ];
    for (n, body) in samples(json_values(), 400).into_iter().enumerate() {
        let answer = server.post(paths[n % paths.len()], &body).await;
        assert!(answer.status < 500, "{body}: {}", answer.text);
    }
}

#[apply(both_backends)]
async fn any_text_can_be_searched_for(t: TestApp) {
    let open = t.serve().await;
    let server = may_call_all(&t, &open).await;
    let profile = json!({"user_profiles": [{"user_id": "ada", "content": "likes strong tea"}]});
    server.post("/api/add_user_profile", &profile).await.ok();
    for query in samples(texts(), 300) {
        let body = json!({"query": query, "user_id": "ada"});
        let answer = server.post("/api/search", &body).await;
        let refused = query.trim().is_empty() || query.contains('\0');
        assert!(
            matches!((answer.status, refused), (200, _) | (422, true)),
            "{query:?}: {}",
            answer.text
        );
    }
    let found = server.post("/api/search", &json!({"query": "tea", "user_id": "ada"})).await.ok();
    assert_eq!(found["profiles"].as_array().unwrap().len(), 1);
}
