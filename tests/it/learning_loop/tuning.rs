//! The whole loop, and what verdicts do to a learning: scored, proposed, decided by people.

use std::sync::Arc;

use base::owner::{OrgId, UserId};
use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};

use super::{ENOUGH, agent_playbooks, finished, says, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn scores(server: &Server) -> Vec<Value> {
    server.get("/api/learnings/scorecard").await.ok()["scores"].as_array().unwrap().clone()
}

async fn open_proposals(server: &Server) -> Vec<Value> {
    server.get("/api/learnings/tuning_proposals").await.ok()["proposals"]
        .as_array()
        .unwrap()
        .clone()
}

/// A stored verdict on an agent playbook, as a judge would have left it.
struct Verdict {
    user: String,
    interaction: i64,
    playbook: i64,
    digest: String,
    diagnosis: Value,
    complete: bool,
}

impl Verdict {
    /// Stores a negative verdict of the session `s`.
    async fn store(self, t: &TestApp) {
        t.app
            .db
            .write("test.verdict", self, |tx, v| {
                Box::pin(async move {
                    storage::run!(
                        tx,
                        "INSERT INTO learning_verdicts (org_id, subject, session_id, interaction_id, kind, learning_id,
                            epoch, agent_version, interaction_created_at, is_relevant, relevance_reason, impact,
                            impact_reason, diagnosis, evaluated_playbook_digest, diagnosis_evidence_complete, created_at,
                            judge, prompt_version, rubric_hash, input_tokens, output_tokens, latency_ms, attempts)
                         VALUES ($1, $2, 's', $3, 'agent_playbook', $4, 1, 'v1', $5, TRUE, '', 'negative', '', $6,
                            $7, $8, $5, 'm', 'v1', '', 0, 0, 0, 1)",
                        OrgId::from("default"),
                        UserId::from(v.user.as_str()),
                        v.interaction,
                        v.playbook.to_string(),
                        NOW,
                        sqlx::types::Json(&v.diagnosis),
                        &v.digest,
                        v.complete
                    )
                })
            })
            .await
            .unwrap();
    }
}

/// An approved agent playbook; gives its number.
async fn playbook(server: &Server, content: &str, trigger: &str) -> i64 {
    let body = json!({"agent_playbooks": [{"agent_version": "v1", "content": content, "trigger": trigger, "playbook_status": "approved"}]});
    server.post("/api/add_agent_playbook", &body).await.ok()["ids"][0].as_i64().unwrap()
}

/// A session in which the playbook was served, with what the user said to it.
fn served(user: &str, session: &str, playbook: i64, answer: &str, reaction: &str) -> Value {
    let mut body = says(
        user,
        session,
        &[("User", "What does the kettle cost?"), ("Assistant", answer), ("User", reaction)],
    );
    body["session_finished"] = json!(true);
    body["interaction_data_list"][1]["retrieved_learnings"] =
        json!([{"kind": "agent_playbook", "learning_id": playbook.to_string()}]);
    body
}

#[apply(both_backends)]
async fn from_standing_orders_to_a_served_playbook_and_its_score(t: TestApp) {
    // One scripted model extracts; the sessions are judged by the rules.
    let model = Arc::new(RecordedJudge::new([]));
    let t = t.taught_by(model.clone()).await;
    let server = t.serve().await;
    server
        .post("/api/update_config", &json!({"agent_success_config": {"sampling_rate": 0}}))
        .await
        .ok();
    for user in ENOUGH {
        server
            .publish(&finished(
                user,
                "s1",
                &[
                    ("User", "What does the kettle cost?"),
                    ("Assistant", "30 euros."),
                    ("User", "From now on, quote the prices with tax included."),
                    ("Assistant", "35.70 euros with tax."),
                    ("User", "Perfect, thank you!"),
                ],
            ))
            .await
            .ok();
    }
    work(&t).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM user_playbooks").await, 5);
    t.clock().advance(30);
    work(&t).await;
    let proposed = agent_playbooks(&server).await;
    assert_eq!(
        (proposed.len(), &proposed[0]["playbook_status"]),
        (1, &json!("pending")),
        "{proposed:?}"
    );
    let id = proposed[0]["agent_playbook_id"].as_i64().unwrap();
    let body = json!({"agent_playbook_id": id, "playbook_status": "approved"});
    server.put("/api/update_agent_playbook_status", &body).await.ok();
    let search = json!({"query": "price with tax", "user_id": "new", "agent_playbook_status_filter": ["approved"]});
    let found = server.post("/api/search", &search).await.ok();
    assert_eq!(found["agent_playbooks"][0]["agent_playbook_id"], id);
    server
        .post("/api/update_config", &json!({"agent_success_config": {"sampling_rate": 1}}))
        .await
        .ok();
    for n in 0..6 {
        let body = served(
            &format!("new{n}"),
            "s",
            id,
            "The prices with tax included: 35.70 euros.",
            "Perfect, thank you!",
        );
        server.publish(&body).await.ok();
    }
    work(&t).await;
    let scores = scores(&server).await;
    assert_eq!(scores.len(), 1, "{scores:?}");
    assert_eq!(
        (&scores[0]["learning_id"], &scores[0]["standing"]),
        (&json!(id.to_string()), &json!("helps"))
    );
    assert_eq!((&scores[0]["sessions"], &scores[0]["users"]), (&json!(6), &json!(6)));
    assert_eq!(scores[0]["relevance"]["rate"], 1.0);
    assert_eq!(scores[0]["impact"]["mean"], 1.0);
    assert!(scores[0]["impact"]["ci95"][0].as_f64().unwrap() > 0.0);
    assert_eq!(scores[0]["cited_sessions"].as_array().unwrap().len(), 6);
    assert!(scores[0]["arm_lift"].is_null() && scores[0]["arm_lift_reason"].is_string());
    t.clock().advance(120);
    work(&t).await;
    assert!(open_proposals(&server).await.is_empty(), "what helps is left alone");
}

#[apply(both_backends)]
async fn an_experiment_tells_what_became_of_sessions_that_were_served_it(t: TestApp) {
    let server = t.serve().await;
    let id = playbook(&server, "Quote kettle prices with tax", "price of a kettle").await;
    let lift = async || {
        let scores = scores(&server).await;
        (scores[0]["arm_lift"].clone(), scores[0]["arm_lift_reason"].clone())
    };
    let good = "Kettle prices with tax: 35.70 euros.";
    server.publish(&served("before", "s", id, good, "Perfect, that works, thank you!")).await.ok();
    work(&t).await;
    assert_eq!(lift().await, (Value::Null, json!("no experiment ran")));
    let start = json!({"experiment_id": "exp", "holdout_percentage": 50});
    server.post("/api/retrieval_experiments", &start).await.ok();
    assert_eq!(lift().await.1, "no judged session of the newest experiment was served it");
    let (mut treated, mut held_out) = (0, 0);
    for n in 0..40 {
        let user = format!("u{n}");
        let search = json!({"query": "kettle price", "user_id": user, "session_id": "s"});
        let found = server.post("/api/search", &search).await.ok();
        let in_treatment = found["experiment"]["arm"] == "treatment";
        let mut body = match in_treatment {
            true => served(&user, "s", id, good, "Perfect, that works, thank you!"),
            false => finished(
                &user,
                "s",
                &[
                    ("User", "What does the kettle cost?"),
                    ("Assistant", "30."),
                    ("User", "That is wrong. Useless."),
                ],
            ),
        };
        // One treated user is as unhappy as the holdout.
        if in_treatment && treated == 0 {
            body["interaction_data_list"][2]["content"] = json!("That is wrong. Useless.");
        }
        *(if in_treatment { &mut treated } else { &mut held_out }) += 1;
        server.publish(&body).await.ok();
    }
    work(&t).await;
    let (told, reason) = lift().await;
    assert_eq!(reason, Value::Null, "{told}");
    assert_eq!(
        (&told["treatment_users"], &told["treatment_sessions"]),
        (&json!(treated), &json!(treated))
    );
    assert_eq!((&told["holdout_users"], &told["experiment_id"]), (&json!(held_out), &json!("exp")));
    let expected = f64::from(treated - 1) / f64::from(treated) * 100.0;
    assert!((told["percentage_points"].as_f64().unwrap() - expected).abs() < 1e-9, "{told}");
    let ends = &told["ci95_percentage_points"];
    assert!(ends[0].as_f64().unwrap() > 0.0 && ends[1].as_f64().unwrap() <= 100.0, "{told}");
}

#[apply(both_backends)]
async fn a_learning_that_hurts_is_proposed_and_changed_by_people_only(t: TestApp) {
    let server = t.serve().await;
    let id = playbook(&server, "Quote kettle prices without tax", "price of a kettle").await;
    let before = agent_playbooks(&server).await;
    for n in 0..4 {
        let body = served(
            &format!("u{n}"),
            "s",
            id,
            "Kettle prices without tax: 30 euros.",
            "That is wrong. Useless.",
        );
        server.publish(&body).await.ok();
    }
    work(&t).await;
    t.clock().advance(120);
    work(&t).await;
    assert!(open_proposals(&server).await.is_empty(), "four sessions are too few");
    for n in 4..8 {
        let body = served(
            &format!("u{n}"),
            "s",
            id,
            "Kettle prices without tax: 30 euros.",
            "That is wrong. Useless.",
        );
        server.publish(&body).await.ok();
    }
    work(&t).await;
    t.clock().advance(120);
    work(&t).await;
    let open = open_proposals(&server).await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(
        (&open[0]["action"], &open[0]["drafted_by"], &open[0]["judged"]),
        (&json!("archive"), &json!("rules"), &json!(8))
    );
    assert_eq!(open[0]["evidence"].as_array().unwrap().len(), 8);
    assert_eq!(agent_playbooks(&server).await, before, "nothing is changed silently");
    let scored = scores(&server).await;
    assert_eq!(
        (&scored[0]["standing"], &scored[0]["proposal_id"]),
        (&json!("hurts"), &open[0]["proposal_id"])
    );
    // Evidence is its user's.
    server.post("/api/clear_user_data", &json!({"user_id": "u0"})).await.ok();
    server.delete("/api/delete_session", &json!({"user_id": "u1", "session_id": "s"})).await.ok();
    assert_eq!(open_proposals(&server).await[0]["evidence"].as_array().unwrap().len(), 6);
    let proposal = json!({"proposal_id": open[0]["proposal_id"]});
    server.post("/api/learnings/tuning_proposals/decline", &proposal).await.ok();
    server
        .post("/api/learnings/tuning_proposals/accept", &proposal)
        .await
        .problem(409, "proposal_decided");
    server
        .publish(&served(
            "u9",
            "s",
            id,
            "Kettle prices without tax: 30 euros.",
            "That is wrong. Useless.",
        ))
        .await
        .ok();
    work(&t).await;
    t.clock().advance(120);
    work(&t).await;
    assert!(open_proposals(&server).await.is_empty(), "the same text is not proposed twice");
    server
        .post("/api/learnings/tuning_proposals/accept", &json!({"proposal_id": "none"}))
        .await
        .problem(404, "not_found");
}

#[apply(both_backends)]
async fn a_model_drafts_an_edit_from_verified_diagnoses(t: TestApp) {
    let model = Arc::new(RecordedJudge::new([]));
    let t = t.taught_by(model.clone()).await;
    let server = t.serve().await;
    server
        .post(
            "/api/update_config",
            &json!({"agent_success_config": {"sampling_rate": 0}, "learning": {"enabled": false}}),
        )
        .await
        .ok();
    let id = playbook(&server, "Quote kettle prices without tax", "price of a kettle").await;
    let digest = service::evaluation::learning_digest(
        "Quote kettle prices without tax",
        "price of a kettle",
    );
    for n in 0..6 {
        let user = format!("user-{n}");
        let answer = server
            .publish(&served(&user, "s", id, "30 euros.", "With tax please, I am Bertram."))
            .await
            .ok();
        let diagnosis = json!({"category": "content_defect", "reason": "Prices must carry tax.",
            "evidence_interaction_ids": [answer["interaction_ids"][2]]});
        let interaction = answer["interaction_ids"][1].as_i64().unwrap();
        Verdict {
            user,
            interaction,
            playbook: id,
            digest: digest.clone(),
            diagnosis,
            complete: true,
        }
        .store(&t)
        .await;
    }
    t.app
        .db
        .write("test.tune", t.app.clone(), |tx, app| {
            Box::pin(async move {
                service::evaluation::results::grading::announce_learning_verdicts(
                    tx,
                    app,
                    &"default".into(),
                )
                .await
            })
        })
        .await
        .unwrap();
    model.push(Scripted::Ok(
        json!({"rationale": "Bertram and others wanted tax.", "trigger": "price of a kettle",
        "content": "Quote kettle prices with tax"}),
    ));
    t.clock().advance(120);
    work(&t).await;
    let open = open_proposals(&server).await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(
        (&open[0]["action"], &open[0]["content"]),
        (&json!("edit"), &json!("Quote kettle prices with tax"))
    );
    assert!(!open[0]["rationale"].as_str().unwrap().contains("Bertram"), "{}", open[0]);
    assert_eq!(scores(&server).await[0]["diagnoses"], json!({"content_defect": 6}));
    let call = model.calls().last().unwrap().clone();
    assert!(call.user.contains("Prices must carry tax.") && call.user.contains("With tax please"));
    // An older text cannot be accepted against a newer one.
    let accept =
        json!({"proposal_id": open[0]["proposal_id"], "content": "Quote prices with tax, always"});
    server
        .put("/api/update_agent_playbook", &json!({"agent_playbook_id": id, "content": "changed"}))
        .await
        .ok();
    server
        .post("/api/learnings/tuning_proposals/accept", &accept)
        .await
        .problem(409, "proposal_stale");
    let body = json!({"agent_playbook_id": id, "content": "Quote kettle prices without tax"});
    server.put("/api/update_agent_playbook", &body).await.ok();
    server.post("/api/learnings/tuning_proposals/accept", &accept).await.ok();
    let now = agent_playbooks(&server).await;
    assert_eq!(
        (&now[0]["content"], &now[0]["trigger"]),
        (&json!("Quote prices with tax, always"), &json!("price of a kettle"))
    );
    assert_eq!(
        scores(&server).await[0]["outdated_verdicts"],
        6,
        "verdicts on the old text no longer count"
    );
}

#[apply(both_backends)]
async fn diagnoses_count_only_when_verified_and_supported(t: TestApp) {
    let server = t.serve().await;
    let id = playbook(&server, "Quote without tax", "price").await;
    let digest = service::evaluation::learning_digest("Quote without tax", "price");
    // Elsewhere and verified; elsewhere but not complete; elsewhere but without citations; unknown.
    let told = [
        ("external_failure", json!([5]), true),
        ("external_failure", json!([5]), false),
        ("application_failure", json!([]), true),
        ("unknown", json!([5]), true),
    ];
    for (n, (category, cited, complete)) in told.into_iter().enumerate() {
        let user = format!("u{n}");
        server.publish(&says(&user, "s", &[("User", "hi")])).await.ok();
        let diagnosis =
            json!({"category": category, "reason": "r", "evidence_interaction_ids": cited});
        Verdict { user, interaction: 5, playbook: id, digest: digest.clone(), diagnosis, complete }
            .store(&t)
            .await;
    }
    let found = scores(&server).await;
    assert_eq!(found[0]["diagnoses"], json!({"external_failure": 1}));
    assert_eq!(
        (&found[0]["impact"]["judged"], &found[0]["attributable_impact"]["judged"]),
        (&json!(4), &json!(3))
    );
    for (query, count) in [
        ("kind=profile", 0),
        ("agent_version=v1", 1),
        ("agent_version=v2", 0),
        ("learning_id=77", 0),
        (&*format!("start_time={}", NOW + 1), 0),
        (&*format!("end_time={NOW}"), 0),
    ] {
        let found = server.get(&format!("/api/learnings/scorecard?{query}")).await.ok();
        assert_eq!(found["scores"].as_array().unwrap().len(), count, "{query}");
    }
}
