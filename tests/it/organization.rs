//! The organization's configuration: complete, valid, versioned.

use serde_json::{Value, json};
use service::credentials::Role;

use crate::support::{TestApp, apply, both_backends};

#[apply(both_backends)]
async fn defaults_are_complete_and_changes_are_versioned(t: TestApp) {
    let server = t.serve().await;
    let first = server.get("/api/get_config").await.ok();
    assert_eq!(first["version"], 0);
    assert!(
        first.as_object().unwrap().contains_key("storage_config")
            && first["storage_config"].is_null()
    );
    assert_eq!(first["agent_success_config"]["sampling_rate"], 1.0);
    assert_eq!(
        (&first["eval_concurrency_limit"], &first["eval_sample_n_per_stratum"]),
        (&json!(10), &json!(200))
    );
    assert_eq!(first["shadow_comparison_judge_prompt_version"], "v1");

    let change =
        json!({"agent_success_config": {"sampling_rate": 0.5}, "agent_context_prompt": "a shop"});
    let changed = server.post("/api/update_config", &change).await.ok();
    assert_eq!((&changed["success"], &changed["version"]), (&json!(true), &json!(1)));
    let merge =
        json!({"version": 1, "agent_success_config": {"success_definition_prompt": "sold"}});
    server.post("/api/update_config", &merge).await.ok();
    let merged = server.get("/api/get_config").await.ok();
    assert_eq!(merged["agent_success_config"]["sampling_rate"], 0.5);
    assert_eq!(merged["agent_success_config"]["success_definition_prompt"], "sold");
    assert_eq!(merged["agent_context_prompt"], "a shop");

    let stale = server.post("/api/update_config", &merge).await;
    stale.problem(409, "config_version_stale");
    server.post("/api/set_config", &merge).await.problem(409, "config_version_stale");
    // A configuration that was read can be sent back as it is, and a whole configuration resets the rest.
    let again = server.post("/api/set_config", &merged).await.ok();
    assert_eq!(again["config"]["agent_context_prompt"], "a shop");
    let reset = server.post("/api/set_config", &json!({"eval_concurrency_limit": 3})).await.ok();
    assert_eq!(reset["config"]["agent_context_prompt"], "");
    assert_eq!(reset["config"]["agent_success_config"]["sampling_rate"], 1.0);
    let null = json!({"eval_concurrency_limit": null});
    assert_eq!(
        server.post("/api/update_config", &null).await.ok()["config"]["eval_concurrency_limit"],
        10
    );
}

#[apply(both_backends)]
async fn the_public_clients_own_configuration_is_kept(t: TestApp) {
    let server = t.serve().await;
    let read = async || server.get("/api/get_config").await.ok();
    let fresh = read().await;
    let definition = fresh["agent_success_config"]["success_definition_prompt"].as_str().unwrap();
    assert!(
        definition.contains("final outcome"),
        "the client refuses an empty definition: {definition}"
    );
    assert_eq!((&fresh["window_size"], &fresh["shadow_mode_enabled"]), (&json!(10), &json!(false)));
    assert_eq!(server.post("/api/set_config", &fresh).await.ok()["version"], 0, "nothing changed");

    let mut client: Value =
        serde_json::from_str(include_str!("../data/client_config.json")).unwrap();
    client["storage_config"] =
        json!({"db_url": "postgres://u:hunter2@h/d", "type": "postgres", "pool_size": 10});
    client["api_key_config"] = json!({"openai": {"api_key": "hunter2"}, "anthropic": null});
    let change = json!({"learning": {"window": 20}, "shadow_both_orders": false, "agent_context_prompt": "gone"});
    server.post("/api/update_config", &change).await.ok();
    let changed = server.post("/api/set_config", &client).await.ok();
    assert_eq!((&changed["success"], &changed["version"]), (&json!(true), &json!(2)));
    let kept = read().await;
    assert!(!kept.to_string().contains("hunter2"), "{kept}");
    // A setting that was not chosen, and what only reads back as something else.
    client["agent_context_prompt"] = json!("");
    client["tool_can_use"] = json!([]);
    client["shadow_comparison_judge_prompt_version"] = json!("v1");
    client["storage_config"]["db_url"] = json!("***");
    client["api_key_config"]["openai"]["api_key"] = json!("***");
    for (name, value) in client.as_object().unwrap() {
        let experiment = name.starts_with("retrieval_experiment_");
        assert!(experiment || kept[name] == *value, "{name}: {} is not {value}", kept[name]);
    }
    assert_eq!(
        (&kept["learning"]["window"], &kept["shadow_both_orders"]),
        (&json!(20), &json!(false)),
        "the client has no field for them"
    );
    assert_eq!(kept["agent_success_config"]["evaluation_only_sampling_rate"], Value::Null);
    let again = server.post("/api/set_config", &client).await.ok();
    assert_eq!(
        (&again["version"], &again["config"]),
        (&json!(2), &kept),
        "what was read changes nothing"
    );

    let part = json!({"storage_config": {"db_path": "x"}, "window_size": 30, "tool_can_use": [{"tool_name": "find"}]});
    let merged = server.post("/api/update_config", &part).await.ok()["config"].clone();
    assert_eq!(merged["storage_config"], json!({"db_path": "x"}), "replaced, not mixed");
    assert_eq!((&merged["window_size"], &merged["stride_size"]), (&json!(30), &json!(8)));
    assert_eq!(merged["tool_can_use"], json!([{"tool_name": "find", "tool_description": "find"}]));
    assert_eq!(server.post("/api/set_config", &merged).await.ok()["version"], 3);
    let typo = server
        .post("/api/update_config", &json!({"windw_size": 3}))
        .await
        .problem(422, "invalid_input");
    assert!(typo["errors"][0]["detail"].as_str().unwrap().contains("/window_size"), "{typo}");
    let blank =
        json!({"agent_success_config": {"success_definition_prompt": "  "}, "window_size": null});
    let reset = server.post("/api/update_config", &blank).await.ok()["config"].clone();
    assert_eq!(reset["agent_success_config"]["success_definition_prompt"], definition);
    assert_eq!(reset["window_size"], 10);
}

#[apply(both_backends)]
async fn everything_wrong_is_named_at_once(t: TestApp) {
    let server = t.serve().await;
    let bad = json!({
        "agent_success_config": {"sampling_rate": 1.5, "request_sources_enabled": [7]},
        "shadow_comparison_judge_prompt_version": "v999",
        "judge": {"session_success_prompt_version": "v0"},
        "eval_concurrency_limit": 0,
        "evaluators": [
            {"evaluation_name": "agent_success", "kind": "max_turns", "max_turns": 3},
            {"evaluation_name": "r", "kind": "regex", "pattern": "("},
            {"evaluation_name": "r", "kind": "tool_used"},
            {"evaluation_name": "x", "kind": "vibes"},
        ],
    });
    let problems = server.post("/api/update_config", &bad).await.input_problems();
    for (pointer, code) in [
        ("/agent_success_config/sampling_rate", "out_of_range"),
        ("/agent_success_config/request_sources_enabled/0", "wrong_type"),
        ("/shadow_comparison_judge_prompt_version", "unknown_prompt_version"),
        ("/judge/session_success_prompt_version", "unknown_prompt_version"),
        ("/eval_concurrency_limit", "out_of_range"),
        ("/evaluators/0/evaluation_name", "reserved"),
        ("/evaluators/1/pattern", "bad_form"),
        ("/evaluators/2/tool_name", "required"),
        ("/evaluators/2/evaluation_name", "duplicate"),
        ("/evaluators/3/kind", "not_allowed"),
    ] {
        assert!(
            problems.contains(&(pointer.to_owned(), code.to_owned())),
            "{pointer} {code}: {problems:?}"
        );
    }
    assert_eq!(problems.len(), 10, "{problems:?}");
    let typo = json!({"agent_success_config": {"samplng_rate": 0.1}, "experiment": {}});
    let body = server.post("/api/update_config", &typo).await.problem(422, "invalid_input");
    let details: Vec<&str> =
        body["errors"].as_array().unwrap().iter().map(|e| e["detail"].as_str().unwrap()).collect();
    assert!(
        details.iter().any(|d| d.contains("/agent_success_config/sampling_rate")),
        "{details:?}"
    );
    let model = json!({"judge": {"model": "openai/gpt-5"}});
    let body = server.post("/api/update_config", &model).await.problem(422, "invalid_input");
    assert_eq!(body["errors"][0]["pointer"], "/judge/model");
    let client = json!({"storage_config": 7, "window_size": 4, "stride_size": 5, "extraction_preset": "fast",
        "llm_config": {"x": "y".repeat(65_536)}, "profile_extractor_config": {"context_prompt": "x"},
        "retrieval_experiment_config": null, "retrieval_experiment_history": []});
    let problems = server.post("/api/set_config", &client).await.input_problems();
    for (pointer, code) in [
        ("/storage_config", "wrong_type"),
        ("/stride_size", "out_of_range"),
        ("/extraction_preset", "not_allowed"),
        ("/llm_config", "too_long"),
        ("/profile_extractor_config/extraction_definition_prompt", "required"),
    ] {
        assert!(
            problems.contains(&(pointer.to_owned(), code.to_owned())),
            "{pointer} {code}: {problems:?}"
        );
    }
    assert_eq!(problems.len(), 5, "{problems:?}");
    let experiment =
        json!({"retrieval_experiment_config": {"experiment_id": "e", "holdout_percentage": 10}});
    let problems = server.post("/api/update_config", &experiment).await.input_problems();
    assert_eq!(problems, [("/retrieval_experiment_config".to_owned(), "not_allowed".to_owned())]);
    assert_eq!(server.get("/api/get_config").await.ok()["version"], 0, "nothing was stored");
}

#[apply(both_backends)]
async fn concurrent_changes_of_one_version_store_one(t: TestApp) {
    let server = t.serve().await;
    let answers = futures_util::future::join_all((0..12).map(|n| {
        let change = json!({"version": 0, "agent_context_prompt": format!("p{n}")});
        let server = &server;
        async move { server.post("/api/update_config", &change).await.status }
    }))
    .await;
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|status| **status == 409).count(), 11, "{answers:?}");
}

#[apply(both_backends)]
async fn configuration_is_for_operators_and_stays_in_its_organization(t: TestApp) {
    let server = t.serve().await;
    let agent = server.with_token(&t.key("one", Role::Agent).await);
    let one = server.with_token(&t.key("one", Role::Dashboard).await);
    let two = server.with_token(&t.key("two", Role::Dashboard).await);
    agent.post("/api/update_config", &json!({})).await.problem(403, "forbidden");
    agent.get("/api/get_config").await.problem(403, "forbidden");
    one.post("/api/update_config", &json!({"agent_context_prompt": "secret"})).await.ok();
    assert_eq!(two.get("/api/get_config").await.ok()["agent_context_prompt"], Value::from(""));
}
