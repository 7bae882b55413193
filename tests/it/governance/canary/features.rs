//! People whose every text is a unique word, and the features that they use.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use serde_json::json;
use service::governance::canaries;

use crate::evaluation::work;
use crate::governance::erase::{Both, pair};
use crate::support::{NOW, TestApp};

/// A person and the words that stand for everything about them.
pub struct Person<'a> {
    t: &'a TestApp,
    both: &'a Both,
    pub user: String,
    /// The person in texts and session ids.
    pub called: String,
    pub words: Mutex<Vec<String>>,
}

impl<'a> Person<'a> {
    /// Somebody whose texts and session ids name them.
    pub fn new(t: &'a TestApp, both: &'a Both) -> Self {
        let user = canaries::new(&t.app.ids);
        Person { t, both, called: user.clone(), words: Mutex::new(vec![user.clone()]), user }
    }

    /// Somebody who is called something else in texts and session ids.
    pub fn under_another_name(t: &'a TestApp, both: &'a Both) -> Self {
        Person { user: canaries::new(&t.app.ids), ..Person::new(t, both) }
    }

    /// A new word.
    fn word(&self) -> String {
        let word = canaries::new(&self.t.app.ids);
        self.words.lock().unwrap().push(word.clone());
        word
    }

    pub fn session(&self, number: usize) -> String {
        format!("{}-{number}", self.called)
    }
}

/// One feature of the product as somebody uses it.
pub type Feature = for<'a> fn(&'a Person<'a>) -> BoxFuture<'a, ()>;

/// Every feature that stores something of a person: add yours.
pub const FEATURES: &[(&str, Feature)] = &[
    ("publish", |p| Box::pin(publish(p))),
    ("outcomes", |p| Box::pin(outcomes(p))),
    ("learnings", |p| Box::pin(learnings(p))),
    ("extraction", |p| Box::pin(extraction(p))),
    ("tuning", |p| Box::pin(tuning(p))),
    ("search", |p| Box::pin(search(p))),
    ("trials", |p| Box::pin(trials(p))),
    ("experiment", |p| Box::pin(experiment(p))),
    ("judge", |p| Box::pin(judge(p))),
    ("label", |p| Box::pin(label(p))),
    ("review queue", |p| Box::pin(review_queue(p))),
    ("grade", |p| Box::pin(grade(p))),
    ("regenerate", |p| Box::pin(regenerate(p))),
    ("imported scores", |p| Box::pin(imported_scores(p))),
    ("experiment results", |p| Box::pin(experiment_results(p))),
    ("questions", |p| Box::pin(questions(p))),
    ("webhooks", |p| Box::pin(webhooks(p))),
    ("export", |p| Box::pin(export(p))),
];

async fn publish(p: &Person<'_>) {
    for number in 0..8 {
        p.both.agent.publish(&json!({
            "user_id": p.user, "session_id": p.session(number), "request_id": p.word(), "source": p.word(), "agent_version": "v1",
            "interaction_data_list": [
                {"role": "User", "content": format!("Where is {}?", p.word()), "user_action": "click",
                 "user_action_description": p.word(), "interacted_image_url": format!("https://example.org/{}", p.word()),
                 "image_encoding": p.word()},
                {"role": "Assistant", "content": p.word(), "shadow_content": p.word(), "expert_content": p.word(),
                 "tools_used": [{"tool_name": p.word(), "tool_data": {"argument": p.word()}, "status": p.word()}],
                 "citations": [{"kind": "profile", "real_id": p.word(), "tag": p.word(), "title": p.word()}]},
            ]
        })).await.ok();
    }
}

async fn outcomes(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/session_outcome",
            &json!({"user_id": p.user, "session_id": p.session(0), "outcome": "success",
        "occurred_at": NOW, "label": p.word(), "metadata": {"note": p.word()}}),
        )
        .await
        .ok();
}

async fn questions(p: &Person<'_>) {
    for _ in 0..2 {
        let question = json!({"user_id": p.user, "question_text": format!("Who is {}?", p.word()), "args": {"name": p.word()},
            "tags": [p.word()], "answer_format": p.word(), "dedup_key": p.word()});
        let asked = p.both.agent.post("/api/pending_tool_calls", &question).await.ok();
        let resolve = format!("/api/pending_tool_calls/{}/resolve", asked["id"].as_str().unwrap());
        p.both.agent.post(&resolve, &json!({"result": {"answer": p.word()}})).await.ok();
    }
}

/// A message about a session that its receiver never takes.
async fn webhooks(p: &Person<'_>) {
    let events = [service::webhooks::EventType::SessionFailed];
    crate::webhooks::refused_receiver(p.t, "org", &events).await;
    let mut body = crate::evaluation::talk(&p.user, &p.session(9), false);
    body["session_finished"] = json!(true);
    p.both.agent.publish(&body).await.ok();
    let outcome = json!({"user_id": p.user, "session_id": p.session(9), "outcome": "failure", "occurred_at": NOW});
    p.both.agent.post("/api/session_outcome", &outcome).await.ok();
    // The judge fails now and then, never twice in a row.
    for _ in 0..2 {
        work(p.t).await;
        p.t.clock().advance(60);
    }
    let whose = p.t.subject(&p.user);
    let theirs = format!("SELECT COUNT(*) FROM webhook_deliveries WHERE subject = {whose}");
    assert!(p.t.number(&theirs).await > 0, "deliveries wait");
}

async fn learnings(p: &Person<'_>) {
    for _ in 0..5 {
        p.both.agent.post("/api/add_user_profile", &json!({"user_profiles": [{"user_id": p.user,
            "content": format!("likes {}", p.word()), "tags": [p.word()], "custom_features": {"note": p.word()}}]})).await.ok();
        let taught = p.word();
        let added = p
            .both
            .agent
            .post(
                "/api/add_user_playbook",
                &json!({"user_playbooks": [{"user_id": p.user, "content": taught,
            "trigger": p.word(), "rationale": p.word(), "playbook_name": p.word()}]}),
            )
            .await
            .ok();
        // The organization's own playbook stays; what links it to the person goes, and what is theirs in its text.
        let text = format!("be brief about {taught}, as {} wishes", p.called);
        p.both.agent.post("/api/add_agent_playbook", &json!({"agent_playbooks": [{"content": text, "tags": [taught],
            "rationale": format!("asked in {}", p.session(3)), "source_windows": [{"user_playbook_id": added["ids"][0], "source_interaction_ids": [1]}]}]})).await.ok();
    }
    // Changed, so that the index holds older words too.
    let profiles = p.both.agent.post("/api/get_profiles", &json!({"user_id": p.user})).await.ok();
    let id = &profiles["user_profiles"][0]["profile_id"];
    p.both
        .agent
        .put(
            "/api/update_user_profile",
            &json!({"user_id": p.user, "profile_id": id, "content": p.word()}),
        )
        .await
        .ok();
}

/// Teaches what the others teach too, in words of one's own, and changes one's mind.
async fn extraction(p: &Person<'_>) {
    for number in 20..22 {
        let taught = format!(
            "We use {} for all our invoices. When I ask about {}, always quote prices with tax.",
            p.word(),
            p.word()
        );
        let turns = json!([{"role": "User", "content": taught}]);
        p.both.agent.publish(&json!({"user_id": p.user, "session_id": p.session(number), "session_finished": true,
            "agent_version": "v1", "interaction_data_list": turns})).await.ok();
        work(p.t).await;
    }
    // At last in words that can be shared.
    let turns = json!([{"role": "User", "content": "Always quote prices with tax."}]);
    p.both
        .agent
        .publish(&json!({"user_id": p.user, "session_id": p.session(22), "session_finished": true,
        "agent_version": "v1", "interaction_data_list": turns}))
        .await
        .ok();
    work(p.t).await;
    p.t.clock().advance(30);
    work(p.t).await;
}

/// Meets a playbook that hurts: everybody's, and one's own.
async fn tuning(p: &Person<'_>) {
    let ask = json!({"user_id": p.user});
    let own = p.both.agent.post("/api/get_user_playbooks", &ask).await.ok();
    let everybodys = p.both.agent.post("/api/get_agent_playbooks", &json!({})).await.ok();
    let served = json!([
        {"kind": "user_playbook", "learning_id": own["user_playbooks"][0]["user_playbook_id"].to_string()},
        {"kind": "agent_playbook", "learning_id": everybodys["agent_playbooks"][0]["agent_playbook_id"].to_string()}]);
    for number in 30..37 {
        let asked = format!("Where is {}?", p.word());
        p.both.agent.publish(&json!({"user_id": p.user, "session_id": p.session(number), "session_finished": true,
            "agent_version": "v1", "interaction_data_list": [{"role": "User", "content": asked},
                {"role": "Assistant", "content": "In Spain.", "retrieved_learnings": served}]})).await.ok();
    }
    for _ in 0..3 {
        work(p.t).await;
        p.t.clock().advance(120);
    }
}

async fn search(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/search",
            &json!({"user_id": p.user, "session_id": p.session(0), "query": p.word()}),
        )
        .await
        .ok();
    p.words.lock().unwrap().pop();
}

/// The record of what was found names the session.
async fn trials(p: &Person<'_>) {
    let playbook = json!({"content": "Check before a refund.", "agent_version": "v1", "playbook_status": "approved"});
    let added = json!({"agent_playbooks": [playbook]});
    p.both.agent.post("/api/add_agent_playbook", &added).await.ok();
    let config = json!({"learning_trials": {"enabled": true}});
    p.both.agent.post("/api/update_config", &config).await.ok();
    let query = json!({"user_id": p.user, "session_id": p.word(), "query": "check refund"});
    p.both.program.post("/api/search", &query).await.ok();
}

async fn experiment(p: &Person<'_>) {
    let start = json!({"experiment_id": "exp", "holdout_percentage": 50});
    let started = p.both.agent.post("/api/retrieval_experiments", &start).await;
    assert!(matches!(started.status, 200 | 409), "{}", started.text);
    let query = json!({"user_id": p.user, "session_id": p.session(9), "query": "refund"});
    p.both.agent.post("/api/search", &query).await.ok();
}

/// The sums behind the results name sources and agent versions.
async fn experiment_results(p: &Person<'_>) {
    p.both.agent.get("/api/retrieval_experiments/exp/results").await.ok();
}

async fn imported_scores(p: &Person<'_>) {
    let score = json!({"scorer_name": p.word(), "user_id": p.user, "session_id": p.session(1), "value": 4, "ts": NOW,
        "source_run_id": p.word()});
    p.both.agent.post("/api/imported_scores", &score).await.ok();
}

async fn judge(p: &Person<'_>) {
    p.t.clock().advance(601);
    work(p.t).await;
}

async fn label(p: &Person<'_>) {
    p.both
        .agent
        .post(
            "/api/evaluations/labels",
            &json!({"labels": [{"user_id": p.user, "session_id": p.session(1), "is_success": true,
        "note": p.word()}]}),
        )
        .await
        .ok();
}

async fn review_queue(p: &Person<'_>) {
    let queue = json!({"limit": 200});
    p.both.agent.post("/api/evaluations/review_queue", &queue).await.ok();
}

async fn grade(p: &Person<'_>) {
    let grade = json!({"user_id": p.user, "session_id": p.session(2), "agent_version": "v1", "refresh": true});
    // The judge fails now and then, never twice in a row.
    let mut answer = p.both.agent.post("/api/evaluations/grade_on_demand", &grade).await;
    if answer.status == 502 {
        answer = p.both.agent.post("/api/evaluations/grade_on_demand", &grade).await;
    }
    answer.ok();
}

async fn regenerate(p: &Person<'_>) {
    p.both
        .agent
        .post("/api/evaluations/regenerate", &json!({"from_ts": NOW - 10, "to_ts": NOW + 100_000}))
        .await
        .ok();
    work(p.t).await;
}

async fn export(p: &Person<'_>) {
    p.both.governor.post("/api/governance/export-user", &pair(&p.user, "export")).await.ok();
}
