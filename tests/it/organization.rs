//! The organization's configuration: complete, valid, versioned.

use evenhand::credentials::Role;
use serde_json::{Value, json};

use crate::support::TestApp;

both_backends! {
    async fn defaults_are_complete_and_changes_are_versioned(t: TestApp) {
        let server = t.serve().await;
        let first = server.get("/api/get_config").await.ok();
        assert_eq!(first["version"], 0);
        assert!(first.as_object().unwrap().contains_key("storage_config") && first["storage_config"].is_null());
        assert_eq!(first["agent_success_config"]["sampling_rate"], 1.0);
        assert_eq!((&first["eval_concurrency_limit"], &first["eval_sample_n_per_stratum"]), (&json!(10), &json!(200)));
        assert_eq!(first["shadow_comparison_judge_prompt_version"], "v1");

        let change = json!({"agent_success_config": {"sampling_rate": 0.5}, "agent_context_prompt": "a shop"});
        let changed = server.post("/api/update_config", &change).await.ok();
        assert_eq!((&changed["success"], &changed["version"]), (&json!(true), &json!(1)));
        let merge = json!({"version": 1, "agent_success_config": {"success_definition_prompt": "sold"}});
        server.post("/api/update_config", &merge).await.ok();
        let merged = server.get("/api/get_config").await.ok();
        assert_eq!(merged["agent_success_config"]["sampling_rate"], 0.5);
        assert_eq!(merged["agent_success_config"]["success_definition_prompt"], "sold");
        assert_eq!(merged["agent_context_prompt"], "a shop");

        let stale = server.post("/api/update_config", &merge).await;
        stale.problem(409, "config_version_stale");
        server.post("/api/set_config", &merge).await.problem(409, "config_version_stale");
        // What was read can be sent back as it is, and a whole configuration resets the rest.
        let again = server.post("/api/set_config", &merged).await.ok();
        assert_eq!(again["config"]["agent_context_prompt"], "a shop");
        let reset = server.post("/api/set_config", &json!({"eval_concurrency_limit": 3})).await.ok();
        assert_eq!(reset["config"]["agent_context_prompt"], "");
        assert_eq!(reset["config"]["agent_success_config"]["sampling_rate"], 1.0);
        let null = json!({"eval_concurrency_limit": null});
        assert_eq!(server.post("/api/update_config", &null).await.ok()["config"]["eval_concurrency_limit"], 10);
    }

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
            assert!(problems.contains(&(pointer.to_owned(), code.to_owned())), "{pointer} {code}: {problems:?}");
        }
        assert_eq!(problems.len(), 10, "{problems:?}");
        let typo = json!({"agent_success_config": {"samplng_rate": 0.1}, "experiment": {}});
        let body = server.post("/api/update_config", &typo).await.problem(422, "invalid_input");
        let details: Vec<&str> =
            body["errors"].as_array().unwrap().iter().map(|e| e["detail"].as_str().unwrap()).collect();
        assert!(details.iter().any(|d| d.contains("/agent_success_config/sampling_rate")), "{details:?}");
        let model = json!({"judge": {"model": "openai/gpt-5"}});
        let body = server.post("/api/update_config", &model).await.problem(422, "invalid_input");
        assert_eq!(body["errors"][0]["pointer"], "/judge/model");
        server.post("/api/set_config", &json!({"storage_config": {}})).await.problem(422, "invalid_input");
        assert_eq!(server.get("/api/get_config").await.ok()["version"], 0, "nothing was stored");
    }

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
}
