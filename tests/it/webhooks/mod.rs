//! Webhooks: events reach their receivers once, signed, and nothing of a person stays behind.

mod events;
mod receivers;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use judge::recorded::{RecordedJudge, Scripted};
use serde_json::{Value, json};
use service::config::smtp::Encryption;
use service::credentials::Role;
use service::webhooks::{EventType, NewWebhook, WebhookFormat};
use storage::jobs;

use crate::evaluation::{talk, work};
use crate::governance::erase::Both;
use crate::support::{Process, Server, TestApp, apply, both_backends, new_schema, until, within};
use receivers::{Arrived, Receiver, smtp_server};

const PATH: &str = "/api/webhooks";

/// The same installation, where receivers on this machine are allowed.
async fn allowing(t: &TestApp) -> TestApp {
    t.replica_with(|settings| settings.webhooks.allow_private_addresses = true).await
}

/// A webhook whose receiver is refused when something is sent, because it is on this machine.
pub async fn refused_receiver(t: &TestApp, org: &str, events: &[EventType]) {
    let new = NewWebhook {
        url: "http://127.0.0.1:9/".to_owned(),
        format: WebhookFormat::Standard,
        description: String::new(),
        events: events.to_vec(),
    };
    let allowing = allowing(t).await;
    service::webhooks::create(&allowing.app, &org.into(), new).await.unwrap();
    allowing.app.stop().await;
}

async fn create(server: &Server, url: &str, events: &[&str]) -> Value {
    server.post(PATH, &json!({"url": url, "events": events})).await.ok()
}

fn id(created: &Value) -> &str {
    created["webhook"]["webhook_id"].as_str().unwrap()
}

async fn log(server: &Server, created: &Value) -> Vec<Value> {
    let answer = server.get(&format!("{PATH}/{}/deliveries", id(created))).await.ok();
    answer["deliveries"].as_array().unwrap().clone()
}

/// Publishes a session that fails, and has it judged.
async fn fail(t: &TestApp, server: &Server, user: &str, session: &str) {
    server.publish(&talk(user, session, false)).await.ok();
    t.clock().advance(600);
    work(t).await;
}

#[apply(both_backends)]
async fn a_failed_session_is_told_once_and_logged(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    let created = create(&server, &receiver.url(), &["session.failed"]).await;
    let secret = created["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    assert_eq!(STANDARD.decode(secret).unwrap().len(), 32);
    let listed = server.get(PATH).await.ok();
    assert!(!listed.to_string().contains(secret), "the secret is shown once");
    let stored = t.number("SELECT COUNT(*) FROM webhooks WHERE url LIKE 'http%'").await;
    assert_eq!(stored, 1);

    server.publish(&talk("ada", "good", true)).await.ok();
    fail(&t, &server, "ada", "bad").await;
    let arrived = receiver.arrived();
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    let message = &arrived[0];
    assert_eq!(message.timestamp, t.clock().now().to_string());
    assert!(message.signature.starts_with("v1,"), "{message:?}");
    let body: Value = serde_json::from_str(&message.body).unwrap();
    assert_eq!(body["type"], "session.failed");
    assert_eq!(body["data"]["session_id"], "bad");
    assert_eq!(body["data"]["agent_version"], "v1");
    for word in ["ada", "parcel", "useless"] {
        assert!(!message.body.contains(word), "{word} in {}", message.body);
    }
    let logged = log(&server, &created).await;
    assert_eq!(logged.len(), 1);
    assert_eq!(logged[0]["delivery_id"], json!(message.id));
    assert_eq!(
        (&logged[0]["state"], &logged[0]["status_code"], &logged[0]["attempts"]),
        (&json!("delivered"), &json!(200), &json!(1))
    );
    // Judged again and still a failure: no news.
    fail(&t, &server, "ada", "bad").await;
    assert_eq!(receiver.arrived().len(), 1);

    // Turned off, nothing is sent; a failure in between is not told later.
    let path = format!("{PATH}/{}", id(&created));
    let off = server.call("PATCH", &path, Some(&json!({"enabled": false}))).await.ok();
    assert_eq!(off["enabled"], false);
    fail(&t, &server, "bob", "unheard").await;
    server.call("PATCH", &path, Some(&json!({"enabled": true}))).await.ok();
    fail(&t, &server, "bob", "heard").await;
    assert_eq!(receiver.arrived().len(), 2);
    server.call("DELETE", &path, None).await.ok();
    server.call("DELETE", &path, None).await.problem(404, "not_found");
    fail(&t, &server, "bob", "gone").await;
    assert_eq!(receiver.arrived().len(), 2);
    assert_eq!(t.number("SELECT COUNT(*) FROM webhook_deliveries").await, 0);
}

#[apply(both_backends)]
async fn a_receiver_that_was_down_for_an_hour_gets_it_once(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    let created = create(&server, &receiver.url(), &["session.failed"]).await;
    receiver.answers(503, "down for\nmaintenance");
    fail(&t, &server, "ada", "first").await;
    fail(&t, &server, "ada", "second").await;
    for _ in 0..60 {
        t.clock().advance(60);
        work(&t).await;
    }
    let logged = log(&server, &created).await;
    assert!(logged.iter().all(|one| one["state"] == "waiting"), "{logged:?}");
    assert!(logged.iter().any(|one| one["error"] == "down for maintenance"), "{logged:?}");
    let tried = receiver.arrived();
    assert!((5..=16).contains(&tried.len()), "left alone for a growing time: {}", tried.len());
    let shown = server.get(PATH).await.ok();
    assert!(shown["webhooks"][0]["next_attempt_at"].as_i64().unwrap() > t.clock().now());

    receiver.answers(200, "");
    for _ in 0..24 * 12 {
        t.clock().advance(300);
        work(&t).await;
    }
    let accepted = receiver.accepted();
    assert_eq!(accepted.len(), 2, "{accepted:?}");
    for message in &accepted {
        let mut alike = tried.iter().filter(|other| other.id == message.id);
        assert!(alike.all(|other| other.body == message.body), "{message:?}");
    }
    let logged = log(&server, &created).await;
    assert!(logged.iter().all(|one| one["state"] == "delivered"), "{logged:?}");
    assert_eq!(server.get(PATH).await.ok()["webhooks"][0]["failures"], 0);
}

#[apply(both_backends)]
async fn a_receiver_that_stays_down_is_given_up_after_a_day(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    let created = create(&server, &receiver.url(), &["session.failed"]).await;
    receiver.answers(500, "<html>oh no</html>");
    fail(&t, &server, "ada", "s").await;
    for hour in 1..=30 {
        t.clock().advance(3600);
        work(&t).await;
        if hour < 24 {
            assert_eq!(log(&server, &created).await[0]["state"], "waiting", "after {hour} hours");
        }
    }
    let logged = log(&server, &created).await;
    assert_eq!((&logged[0]["state"], &logged[0]["status_code"]), (&json!("failed"), &json!(500)));
    assert_eq!(logged[0]["error"], "<html>oh no</html>");
    let sent = receiver.arrived().len();
    assert!((8..=13).contains(&sent), "{sent}");
    assert_eq!(
        t.number("SELECT COUNT(*) FROM jobs WHERE kind = 'deliver_webhook' AND state = 'open'")
            .await,
        0
    );
    // The log forgets it after a month.
    crate::support::schedule(&t.app, "forget_deliveries").await;
    t.clock().advance(31 * 86_400);
    work(&t).await;
    assert_eq!(log(&server, &created).await.len(), 0);
}

#[apply(both_backends)]
async fn addresses_of_this_machine_are_refused_when_asked_and_when_sent(t: TestApp) {
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    for url in [
        receiver.url().as_str(),
        "https://127.0.0.1/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "http://hooks.example.org/",
        "nonsense",
    ] {
        let body = json!({"url": url, "events": ["session.failed"]});
        let problems = server.post(PATH, &body).await.input_problems();
        assert_eq!(problems, [("/url".to_owned(), "not_allowed".to_owned())], "{url}");
    }
    // Made while it was allowed, or by a name that means something else by now.
    let allowed = allowing(&t).await;
    let of_allowed = allowed.serve().await;
    let port = receiver.address.port();
    let by_name = format!("http://localhost:{port}/hook");
    let created = create(&of_allowed, &by_name, &["session.failed"]).await;
    fail(&t, &server, "ada", "s").await;
    let logged = log(&server, &created).await;
    let error = logged[0]["error"].as_str().unwrap();
    assert!(error.starts_with("refused: the host has no public address"), "{error}");
    assert_eq!(receiver.arrived().len(), 0);
    t.clock().advance(60);
    work(&allowed).await;
    assert_eq!(receiver.arrived().len(), 1, "allowed, it arrives");
}

#[apply(both_backends)]
async fn a_test_is_sent_once_and_redirects_are_not_followed(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    let created = create(&server, &receiver.url(), &["judge.paused"]).await;
    let test = format!("{PATH}/{}/test", id(&created));
    let waiting = server.call("POST", &test, None).await.ok();
    assert_eq!((&waiting["state"], &waiting["event"]), (&json!("waiting"), &json!("webhook.test")));
    work(&t).await;
    let body: Value = serde_json::from_str(&receiver.accepted()[0].body).unwrap();
    assert_eq!(body["data"], json!({"webhook_id": id(&created)}));

    receiver.answers(302, "moved");
    t.clock().advance(1);
    server.call("POST", &test, None).await.ok();
    work(&t).await;
    t.clock().advance(2 * 86_400);
    work(&t).await;
    assert_eq!(receiver.arrived().len(), 2, "tried once, and nowhere else");
    let logged = log(&server, &created).await;
    assert_eq!((&logged[0]["state"], &logged[0]["status_code"]), (&json!("failed"), &json!(302)));
    assert_eq!(server.get(PATH).await.ok()["webhooks"][0]["failures"], 0);
    server.call("POST", &format!("{PATH}/nothing/test"), None).await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn a_chat_gets_a_sentence_and_its_address_is_not_shown(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    let body = json!({"url": receiver.url(), "format": "slack", "events": ["session.failed"]});
    let created = server.post(PATH, &body).await.ok();
    assert_eq!(created["secret"], Value::Null);
    assert_eq!(created["webhook"]["url"], format!("http://{}/…", receiver.address));
    let readable =
        "SELECT COUNT(*) FROM webhooks WHERE url LIKE '%hook%' OR sealed_url LIKE '%hook%'";
    assert_eq!(t.number(readable).await, 0, "the address is sealed");
    fail(&t, &server, "ada", "s7").await;
    let body: Value = serde_json::from_str(&receiver.accepted()[0].body).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("Evenhand (default): Session s7 of version v1"), "{text}");
    let by_mail =
        json!({"url": "mailto:ops@example.org", "format": "email", "events": ["judge.paused"]});
    let problem = server.post(PATH, &by_mail).await.problem(422, "invalid_input");
    assert!(problem.to_string().contains("smtp.host"), "{problem}");
    for number in 1..20 {
        create(&server, &format!("{}?{number}", receiver.url()), &["judge.paused"]).await;
    }
    let more = json!({"url": receiver.url(), "events": ["judge.paused"]});
    server.post(PATH, &more).await.problem(409, "too_many_webhooks");
    let unknown = json!({"url": receiver.url(), "events": ["webhook.test"]});
    let problems = server.post(PATH, &unknown).await.input_problems();
    assert_eq!(problems, [("/events/0".to_owned(), "not_allowed".to_owned())]);
}

#[apply(both_backends)]
async fn a_person_is_told_by_e_mail(t: TestApp) {
    let (port, mails) = smtp_server().await;
    let t = t
        .replica_with(|settings| {
            settings.smtp.host = "127.0.0.1".to_owned();
            settings.smtp.port = port;
            settings.smtp.encryption = Encryption::None;
            settings.smtp.from = "Evenhand <evenhand@example.org>".to_owned();
        })
        .await;
    let server = t.serve().await;
    let events = json!(["session.failed"]);
    let wrong = json!({"url": "mailto:nobody", "format": "email", "events": events});
    let problems = server.post(PATH, &wrong).await.input_problems();
    assert_eq!(problems, [("/url".to_owned(), "not_allowed".to_owned())]);
    let body = json!({"url": "mailto:ops@example.org", "format": "email", "events": events});
    let created = server.post(PATH, &body).await.ok();
    assert_eq!(created["secret"], Value::Null);
    fail(&t, &server, "ada", "s7").await;
    let mails = mails.lock().unwrap().clone();
    assert_eq!(mails.len(), 1, "{mails:?}");
    for part in [
        "Subject: Evenhand: session.failed",
        "To: ops@example.org",
        "From: Evenhand <evenhand@example.org>",
        "Session s7 of version v1 was judged a failure",
    ] {
        assert!(mails[0].contains(part), "{part} in {}", mails[0]);
    }
    let logged = log(&server, &created).await;
    assert_eq!(
        (&logged[0]["state"], &logged[0]["status_code"]),
        (&json!("delivered"), &json!(250))
    );
}

#[apply(both_backends)]
async fn an_agent_key_makes_no_webhooks_and_an_auditor_changes_none(t: TestApp) {
    let server = t.serve().await;
    let agent = server.with_token(&t.key("default", Role::Agent).await);
    let auditor = server.with_token(&t.key("default", Role::Auditor).await);
    let body = json!({"url": "https://hooks.example.org/", "events": ["judge.paused"]});
    for stranger in [&agent, &auditor] {
        stranger.post(PATH, &body).await.problem(403, "forbidden");
    }
    agent.get(PATH).await.problem(403, "forbidden");
    let person = server.with_token(&t.key("default", Role::Dashboard).await);
    let created = person.post(PATH, &body).await.ok();
    assert_eq!(auditor.get(PATH).await.ok()["webhooks"][0], created["webhook"]);
    let other = server.with_token(&t.key("other", Role::Dashboard).await);
    let path = format!("{PATH}/{}", id(&created));
    other.call("DELETE", &path, None).await.problem(404, "not_found");
    other.get(&format!("{path}/deliveries")).await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn messages_about_somebody_who_is_erased_are_not_sent_and_go(t: TestApp) {
    let t = allowing(&t).await;
    let both = Both::new(&t).await;
    let receiver = Receiver::start().await;
    let created = create(&both.agent, &receiver.url(), &["session.failed"]).await;
    receiver.answers(503, "away");
    fail(&t, &both.agent, "ada", "of-ada").await;
    t.clock().advance(60);
    fail(&t, &both.agent, "bob", "of-bob").await;
    both.erase("ada", "e1").await;
    receiver.answers(200, "");
    t.clock().advance(7200);
    work(&t).await;
    let told: Vec<String> = receiver.accepted().into_iter().map(|message| message.body).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("of-bob"), "{told:?}");
    assert_eq!(log(&both.agent, &created).await.len(), 1);
    assert_eq!(
        t.number("SELECT COUNT(*) FROM webhook_deliveries WHERE body LIKE '%of-ada%'").await,
        0
    );
}

#[apply(both_backends)]
async fn a_paused_judge_is_told_once_a_day_by_whichever_replica_notices(t: TestApp) {
    let t = allowing(&t).await;
    let judge = Arc::new(RecordedJudge::new([]).then(Scripted::Status(401)));
    let (one, two) = (t.judged_by(judge.clone()).await, t.judged_by(judge).await);
    let (server, receiver) = (one.serve().await, Receiver::start().await);
    create(&server, &receiver.url(), &["judge.paused", "judge.budget_reached"]).await;
    for session in ["s1", "s2", "s3"] {
        server.publish(&talk("ada", session, true)).await.ok();
    }
    t.clock().advance(600);
    for _ in 0..5 {
        work(&one).await;
        t.clock().advance(61);
        work(&two).await;
        t.clock().advance(61);
    }
    let told: Vec<Value> = receiver
        .accepted()
        .iter()
        .map(|message| serde_json::from_str::<Value>(&message.body).unwrap())
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["type"], &told[0]["data"]),
        (&json!("judge.paused"), &json!({"reason": "key_refused"}))
    );
    t.clock().advance(86_400);
    work(&two).await;
    work(&two).await;
    assert_eq!(receiver.accepted().len(), 2, "and again the next day");
}

#[apply(both_backends)]
async fn two_replicas_deliver_each_event_once(t: TestApp) {
    let t = allowing(&t).await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    create(&server, &receiver.url(), &["session.failed"]).await;
    let other = allowing(&t).await;
    for n in 0..20 {
        server.publish(&talk(&format!("u{n}"), &format!("s{n}"), false)).await.ok();
    }
    t.clock().advance(600);
    let handlers = service::wiring::job_handlers();
    let (one, two) = tokio::join!(
        jobs::run_until_idle_by(&t.app, &handlers, 4),
        jobs::run_until_idle_by(&other.app, &handlers, 4)
    );
    assert!(one.unwrap() + two.unwrap() >= 40);
    work(&t).await;
    let mut ids: Vec<String> = receiver.accepted().into_iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), 20);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

/// The real binary, twice on one database; one of them is killed while messages are under way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_replica_loses_no_event_and_adds_none() {
    let url = new_schema().await;
    let start = || {
        let args = ["serve", "--listen", "127.0.0.1:0", "--database-url", url.as_str()];
        let mut command = Process::command(&args);
        command
            .env("EVENHAND_WEBHOOKS__ALLOW_PRIVATE_ADDRESSES", "true")
            .env("EVENHAND_EVALUATION__QUIET_SECONDS", "0")
            .env("EVENHAND_JOBS__LEASE_SECONDS", "5");
        Process::start(&mut command)
    };
    let (mut killed, survivor) = (start(), start());
    let receiver = Receiver::start().await;
    receiver.takes(Duration::from_millis(200));
    let client = reqwest::Client::new();
    let send = async |path: &str, body: Value| {
        let sent = client.post(survivor.url(path)).json(&body).send().await.unwrap();
        assert_eq!(sent.status(), 200);
    };
    send(PATH, json!({"url": receiver.url(), "events": ["session.failed"]})).await;
    for n in 0..30 {
        send("/api/publish_interaction", talk(&format!("u{n}"), &format!("s{n}"), false)).await;
    }
    until("some messages have arrived", async || receiver.arrived().len() >= 3).await;
    killed.kill();
    let told = |messages: Vec<Arrived>| {
        let sessions: std::collections::BTreeSet<String> = messages
            .iter()
            .map(|message| {
                let body: Value = serde_json::from_str(&message.body).unwrap();
                body["data"]["session_id"].as_str().unwrap().to_owned()
            })
            .collect();
        sessions.len()
    };
    until("every session was told", async || told(receiver.arrived()) == 30).await;
    let mut ids: Vec<String> = receiver.arrived().into_iter().map(|one| one.id).collect();
    let sent = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 30, "one message for each event");
    assert!(sent <= 30 + 4, "at most what the killed one had under way is sent again: {sent}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_hangs_holds_up_no_other_work() {
    let t = TestApp::with(crate::support::Backend::Sqlite, |settings| {
        settings.webhooks.allow_private_addresses = true;
        settings.jobs.concurrency = 1;
        settings.evaluation.quiet_seconds = 0;
    })
    .await;
    let (server, receiver) = (t.serve().await, Receiver::start().await);
    receiver.takes(Duration::from_secs(60));
    create(&server, &receiver.url(), &["session.failed"]).await;
    service::wiring::spawn_workers(&t.app);
    server.publish(&talk("ada", "s0", false)).await.ok();
    until("the first message is under way", async || receiver.arrived().len() == 1).await;
    server.publish(&talk("ada", "s1", false)).await.ok();
    // Sooner than the attempt that hangs can end.
    within(8, "the next session is judged", async || {
        crate::evaluation::results(&server).await.len() == 2
    })
    .await;
    t.app.stopping.cancel();
}
