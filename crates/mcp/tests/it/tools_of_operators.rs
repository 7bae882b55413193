//! The tools that say how an agent does.

use serde_json::{Value, json};

use crate::fake::Connection;

fn get(path: &str) -> (String, String, Option<Value>) {
    ("GET".to_owned(), path.to_owned(), None)
}

#[tokio::test]
async fn the_overview_is_about_thirty_days_and_gives_intervals() {
    let c = Connection::open().await;
    c.fake.answers(
        "get_evaluation_overview",
        json!({
            "hero": {"regular_success_rate_pp": 81.234, "ci95_pp": [78.0, 84.5], "n": 420,
                "judged_share": 0.933, "without_verdict": 30},
            "context_tiles": {
                "success": {"current": 0.82, "ci95": [0.78, 0.86], "delta_pp": 1.5, "delta_ci95": [-2.0, 5.0]},
                "escalation": {"current": 0.1, "ci95": [0.05, 0.2], "delta_pp": -4.0, "delta_ci95": [-7.5, -0.5]},
                "corrections": {"current": 0.333, "delta": null},
            },
            "rule_attribution": [
                {"kind": "agent_playbook", "rule_id": "12", "title": "refunds", "successes_with": 9,
                 "trial": {"state": "helps", "effect_pp": 3.25, "always_valid_ci95_pp": [0.5, 6.0]}},
                {"kind": "profile", "rule_id": "p", "association": {"is_marked": false, "difference_pp": 1.0}},
                {"kind": "user_playbook", "rule_id": "7", "trial": {"state": "no_sign_yet"},
                 "association": {"is_marked": true, "difference_pp": -5.5, "ci95_pp": [-9.0, -2.0]}},
            ],
            "recent_results": [
                {"user_id": "ada", "session_id": "good", "is_success": true},
                {"user_id": "bob", "session_id": "bad", "is_success": false, "failure_type": "wrong_tool",
                 "evaluation_name": "agent_success", "failure_reason": "x".repeat(300), "judge": "rules"},
            ],
            "available_agent_versions": ["v1", "v2"],
            "shadow_win_rate_trend": {"window_total": {"n": 4, "wins": 3, "losses": 1, "win_rate": 0.75}},
        }),
    );
    let (text, data) = c.call("overview", json!({"agent_version": "v2"})).await;
    let body = json!({"from_ts": "2025-12-16T12:00:00Z", "to_ts": "2026-01-15T12:00:00Z",
        "agent_version": "v2", "include_session_ids": false});
    assert_eq!(
        c.fake.requests(),
        [("POST".to_owned(), "/api/get_evaluation_overview".to_owned(), Some(body))]
    );
    assert_eq!(
        data["success_rate"],
        json!({"percent": 81.23, "ci95_percent": [78.0, 84.5], "few_users": false,
            "judged_sessions": 420, "judged_share_percent": 93.3, "without_verdict": 30})
    );
    assert_eq!(
        data["last_7_days"],
        json!({
            "success": {"percent": 82.0, "ci95": [78.0, 86.0], "change_points": 1.5, "change_ci95": [-2.0, 5.0]},
            "escalation": {"percent": 10.0, "ci95": [5.0, 20.0], "change_points": -4.0, "change_ci95": [-7.5, -0.5]},
            "corrections_per_session": {"mean": 0.33},
        })
    );
    let ids: Vec<&Value> =
        data["rules"].as_array().unwrap().iter().map(|r| &r["rule_id"]).collect();
    assert_eq!(ids, ["12", "7"]);
    let failures = data["newest_failures"].as_array().unwrap();
    assert_eq!((failures.len(), &failures[0]["session_id"]), (1, &json!("bad")));
    assert!(failures[0]["failure_reason"].as_str().unwrap().ends_with("(300 characters in all)"));
    for line in [
        "Success: 81.23 % (95 %: 78.0 to 84.5) of 420 judged sessions, 2025-12-16T12:00:00Z to 2026-01-15T12:00:00Z.",
        "Of the sessions that were due, 93.3 % have a verdict.",
        "Last 7 days, success: 82 % (95 %: 78.0 to 86.0); +1.5 points (95 %: -2.0 to 5.0) against the 7 days before, \
         which may be no change.",
        "Last 7 days, escalation: 10 % (95 %: 5.0 to 20.0); -4 points (95 %: -7.5 to -0.5) against the 7 days before.",
        "Last 7 days, corrections per session: 0.33.",
        "By trial, agent_playbook 12 (refunds) helps: +3.25 points (95 %: 0.5 to 6.0).",
        "Sessions that cite user_playbook 7 differ by -5.5 points (95 %: -9.0 to -2.0); that is an association, not an \
         effect.",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
    }
}

#[tokio::test]
async fn without_a_rate_the_overview_says_why() {
    let c = Connection::open().await;
    let rules_alone = json!({"hero": {"only_rules": true, "failures_with_evidence": 4, "n": 9,
        "advice": "Report outcomes."}});
    c.fake.answers("get_evaluation_overview", rules_alone);
    let window = json!({"from_ts": "2026-01-01T00:00:00Z", "to_ts": "2026-01-02T00:00:00Z"});
    let (text, data) = c.call("overview", window).await;
    assert_eq!(data["from"], "2026-01-01T00:00:00Z");
    assert!(
        text.starts_with(
            "Rules alone judge, so there is no success rate: 4 failures with evidence, 9 judged"
        ),
        "{text}"
    );
    assert!(text.contains("\nReport outcomes."), "{text}");
    c.fake.answers("get_evaluation_overview", json!({}));
    let (text, _) = c.call("overview", json!({})).await;
    assert!(text.starts_with("No success rate: 0 judged sessions, "), "{text}");
}

fn conversation() -> Value {
    let turn = |id: i64, role: &str, content: &str| {
        json!({"interaction_id": id, "role": role,
        "content": content, "created_at": 1_768_474_800 + id, "user_action": "none"})
    };
    let mut turns = vec![
        turn(11, "User", "Where is my parcel?"),
        turn(12, "Assistant", "Let me see."),
        turn(13, "User", "Well?"),
        turn(14, "Assistant", "It is lost."),
        turn(15, "User", "Then refund me."),
        turn(16, "Assistant", "I cannot."),
    ];
    turns[1]["tools_used"] =
        json!([{"tool_name": "look_up", "status": "error", "tool_data": {"order": 7}}]);
    turns[1]["retrieved_learnings"] = json!([{"kind": "agent_playbook", "learning_id": "12"}]);
    turns[2]["user_action"] = "click".into();
    turns[2]["user_action_description"] = "on Help".into();
    json!({
        "session": {"user_id": "ada/b", "session_id": "chat 1", "source": "web", "agent_version": "v2",
            "first_request_at": 1_768_474_800, "last_request_at": 1_768_474_900, "interaction_count": 6},
        "interactions": turns,
        "outcomes": [{"outcome": "failure", "label": "complained", "occurred_at": 1_768_475_000}],
        "evaluation_results": [
            {"evaluation_name": "polite", "is_success": true, "judge": "rule"},
            {"evaluation_name": "agent_success", "is_success": false, "failure_type": "wrong_answer",
             "failure_reason": "The refund was refused.", "judge": "openai/gpt-5-mini",
             "prompt_version": "v3.0.0", "flags": ["transcript_cut"], "evaluated_at": 1_768_476_000},
        ],
        "learning_verdicts": [
            {"kind": "agent_playbook", "learning_id": "12", "impact": "negative", "is_relevant": true,
             "impact_reason": "It sent the agent to the wrong tool.", "interaction_id": 12,
             "diagnosis": {"category": "content_defect", "reason": "It names an old tool.",
                "evidence_interaction_ids": [12]}},
        ],
    })
}

#[tokio::test]
async fn a_session_is_given_turn_by_turn() {
    let c = Connection::open().await;
    c.fake.answers("get_session", conversation()).answers("get_session", conversation());
    let ids = json!({"user_id": "ada/b", "session_id": "chat 1"});
    let (text, data) = c.call("session", ids.clone()).await;
    assert_eq!(c.fake.requests(), [get("/api/sessions/ada%2Fb/chat%201")]);
    assert_eq!((&data["turn_count"], &data["next_turn"]), (&json!(6), &Value::Null));
    assert_eq!(
        data["turns"][1],
        json!({"number": 2, "interaction_id": 12, "role": "Assistant", "text": "Let me see.",
            "at": "2026-01-15T11:00:12Z",
            "tools": [{"tool_name": "look_up", "status": "error", "data": "{\"order\":7}"}],
            "retrieved_learnings": [{"kind": "agent_playbook", "learning_id": "12", "exposure_receipt": null}]})
    );
    assert_eq!(
        data["verdict"],
        json!({"is_success": false, "failure_type": "wrong_answer", "judge": "openai/gpt-5-mini",
            "failure_reason": "The refund was refused."})
    );
    assert_eq!(
        text,
        "Session chat 1 of ada/b, 6 turns since 2026-01-15T11:00:00Z.\n\
         [1] User: Where is my parcel?\n\
         [2] Assistant: Let me see.\n    tool look_up, error: {\"order\":7}\n\
         [3] User: Well?\n    (click: on Help)\n\
         [4] Assistant: It is lost.\n\
         [5] User: Then refund me.\n\
         [6] Assistant: I cannot.\n\
         Reported outcome: failure, complained\n\
         Verdict: failure: wrong_answer: The refund was refused."
    );
    let mut page = ids;
    page["first_turn"] = 3.into();
    page["max_turns"] = 2.into();
    page["max_characters_per_turn"] = 5.into();
    let (text, data) = c.call("session", page).await;
    let shown: Vec<&Value> = data["turns"].as_array().unwrap().iter().map(|t| &t["text"]).collect();
    assert_eq!(shown, ["Well?", "It is […] (11 characters in all)"]);
    assert_eq!(data["next_turn"], 5);
    assert!(text.contains("More turns follow: ask with first_turn 5."), "{text}");
}

#[tokio::test]
async fn a_verdict_is_explained_with_its_judge_and_evidence() {
    let c = Connection::open().await;
    let judged =
        json!({"decisions": [{"decision": "judged", "user_id": "ada/b", "session_id": "chat 1"}]});
    let labels = json!({"labels": [{"is_success": true, "note": "The rules say no refunds.",
        "labelled_at": 1_768_477_000}]});
    c.fake.answers("get_session", conversation());
    c.fake.answers("get_decisions", judged).answers("get_labels", labels);
    let (text, data) =
        c.call("explain_verdict", json!({"user_id": "ada/b", "session_id": "chat 1"})).await;
    assert_eq!(
        c.fake.requests(),
        [
            get("/api/sessions/ada%2Fb/chat%201"),
            get("/api/evaluations/decisions?user_id=ada%2Fb&session_id=chat+1"),
            get("/api/evaluations/labels?user_id=ada%2Fb&session_id=chat+1"),
        ]
    );
    let verdict = &data["verdicts"][1];
    assert_eq!(verdict["failure_reason"], "The refund was refused.");
    assert_eq!(
        verdict["flags"],
        json!(["transcript_cut: the transcript was too long and was cut"])
    );
    assert!(verdict["how_the_judge_works"].as_str().unwrap().starts_with("A language model"));
    let numbers: Vec<&Value> =
        data["turns"].as_array().unwrap().iter().map(|turn| &turn["number"]).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6], "the cited turn and the last four");
    assert_eq!(data["labels"][0]["is_success"], true);
    for line in [
        "polite: success",
        "agent_success: failure: wrong_answer: The refund was refused.",
        "Flag transcript_cut: the transcript was too long and was cut",
        "Reported outcome: failure, complained",
        "A person's label: success. The rules say no refunds.",
        "Learning agent_playbook 12: impact negative. It sent the agent to the wrong tool. It names an old tool.",
        "[6] Assistant: I cannot.",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\nis not in\n{text}");
    }
}

#[tokio::test]
async fn every_kind_of_judge_is_explained() {
    let c = Connection::open().await;
    for (judge, prompt_version, begins) in [
        ("rules", "v2", "Rules over words"),
        ("rules", "outcome", "No judge: the outcome"),
        ("rule", "", "A rule that the organization"),
        ("learned/4", "", "A model trained on this organization's"),
        ("anthropic/claude", "v3", "A language model"),
    ] {
        let session =
            json!({"evaluation_results": [{"judge": judge, "prompt_version": prompt_version}]});
        c.fake.answers("get_session", session);
        c.fake.answers("get_decisions", json!({})).answers("get_labels", json!({}));
        let (_, data) = c.call("explain_verdict", json!({"user_id": "u", "session_id": "s"})).await;
        let how = data["verdicts"][0]["how_the_judge_works"].as_str().unwrap();
        assert!(how.starts_with(begins), "{judge} {prompt_version}: {how}");
    }
}

#[tokio::test]
async fn a_session_that_is_judged_again_says_so_after_its_verdict() {
    let c = Connection::open().await;
    let verdict = json!({"evaluation_name": "agent_success", "is_success": true, "judge": "rules"});
    c.fake.answers("get_session", json!({"evaluation_results": [verdict]}));
    let queued = json!({"decisions": [{"decision": "queued", "reason": "waiting for a worker"}]});
    c.fake.answers("get_decisions", queued).answers("get_labels", json!({}));
    let (text, _) = c.call("explain_verdict", json!({"user_id": "u", "session_id": "s"})).await;
    assert!(text.starts_with("agent_success: success\nJudge rules"), "{text}");
    assert!(
        text.ends_with("Since then (queued): It waits for the judge. waiting for a worker"),
        "{text}"
    );
}

#[tokio::test]
async fn a_session_without_a_verdict_says_why() {
    let c = Connection::open().await;
    for (decision, text) in [
        (
            json!([{"decision": "undecided", "reason": "no_evidence"}]),
            "No verdict (undecided): The judge saw too little evidence for either verdict; it counts as neither. \
             no_evidence",
        ),
        (
            json!([{"decision": "sampled_out"}]),
            "No verdict (sampled_out): The organization judges a sample of its sessions, and this one is not in it.",
        ),
        (json!([]), "No verdict: nothing was decided about it yet."),
    ] {
        c.fake.answers("get_session", json!({}));
        c.fake.answers("get_decisions", json!({"decisions": decision}));
        c.fake.answers("get_labels", json!({}));
        let (said, _) = c.call("explain_verdict", json!({"user_id": "u", "session_id": "s"})).await;
        assert_eq!(said, text);
    }
}

fn results() -> Value {
    json!({
        "experiment": {"experiment_id": "may be/1", "holdout_percentage": 20.0, "started_at": 1_768_400_000},
        "decision": {"decision": "positive", "sentence": "Learnings help.", "margin_percentage_points": 1.0},
        "success_rate_lift_percentage_points": 4.567,
        "always_valid": {"interval_pp": [0.5, 8.0]},
        "confidence_interval_95_percentage_points": [2.0, 7.0],
        "treatment": {"arm": "treatment", "assigned_user_count": 80, "evaluated_user_count": 70,
            "evaluated_session_count": 300, "success_rate": 0.85},
        "holdout": {"arm": "holdout", "assigned_user_count": 20},
        "guardrails": [{"name": "escalation_rate", "verdict": "failed", "difference_interval_95": [0.01, 0.05]}],
        "health": {"healthy": false, "problems": ["Holdout sessions carried learnings."]},
        "judge": {"mixed": true},
    })
}

#[tokio::test]
async fn results_of_an_experiment_lead_with_the_decision() {
    let c = Connection::open().await;
    c.fake.answers("get_results", results());
    let (text, data) = c.call("experiment_results", json!({"experiment_id": "may be/1"})).await;
    assert_eq!(c.fake.requests(), [get("/api/retrieval_experiments/may%20be%2F1/results")]);
    assert_eq!(data["decision"]["decision"], "positive");
    assert_eq!(data["always_valid_ci95_points"], json!([0.5, 8.0]));
    assert_eq!(data["health"]["healthy"], false);
    assert_eq!(
        text,
        "Experiment may be/1, started 2026-01-14T14:13:20Z, still runs; 20.0 % of users are held out.\n\
         Decision: Learnings help.\n\
         Lift in success: +4.57 points.\n\
         Always valid, may be read every day: 95 %, 0.5 to 8.0 points.\n\
         For one look at the end: 95 %, 2.0 to 7.0 points.\n\
         treatment: 85.0 % success, 300 judged sessions of 70 users.\n\
         holdout: no rate yet, 0 judged sessions of 0 users.\n\
         Guardrail escalation_rate: failed (95 %: 0.01 to 0.05).\n\
         The experiment is unhealthy; its numbers decide nothing:\n\
         - Holdout sessions carried learnings.\n\
         Several judges or rubrics gave the verdicts: compare with care."
    );
}

#[tokio::test]
async fn without_a_name_the_active_experiment_is_meant_or_the_newest() {
    let c = Connection::open().await;
    let of = |id: &str| json!({"experiment_id": id});
    let all =
        json!({"active_experiment": of("active"), "experiments": [of("newest"), of("active")]});
    for (list, id) in
        [(all, "active"), (json!({"experiments": [of("newest"), of("old")]}), "newest")]
    {
        c.fake.answers("list_experiments", list).answers("get_results", results());
        c.call("experiment_results", json!({})).await;
        let results = format!("/api/retrieval_experiments/{id}/results");
        assert_eq!(c.fake.requests(), [get("/api/retrieval_experiments"), get(&results)]);
    }
    c.fake.answers("list_experiments", json!({}));
    let (text, data) = c.call("experiment_results", json!({})).await;
    assert!(text.starts_with("There is no experiment yet."), "{text}");
    assert_eq!(data, json!({"experiment": null}));
}
