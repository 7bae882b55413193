//! Questions that agents left for people: asked once, answered, given again, gone with their person.

use serde_json::{Value, json};
use service::credentials::Role;

use crate::governance::erase::Both;
use crate::support::{Server, TestApp, apply, both_backends};

const PATH: &str = "/api/pending_tool_calls";

async fn ask(server: &Server, user: &str, text: &str, more: Value) -> Value {
    let mut body = json!({"user_id": user, "question_text": text});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post(PATH, &body).await.ok()
}

async fn listed(server: &Server, status: &str) -> Vec<Value> {
    let found = server.get(&format!("{PATH}?status={status}")).await.ok();
    found["pending_tool_calls"].as_array().unwrap().clone()
}

fn path(question: &Value, action: &str) -> String {
    format!("{PATH}/{}/{action}", question["id"].as_str().unwrap())
}

#[apply(both_backends)]
async fn an_agent_asks_once_and_finds_the_answer(t: TestApp) {
    let server = t.serve().await;
    let text = "May orders over 500 euros be refunded?";
    let asked =
        ask(&server, "ada", text, json!({"tags": ["refund"], "args": {"limit": 500}})).await;
    assert_eq!((&asked["status"], &asked["tool_name"]), (&json!("pending"), &json!("ask_human")));
    assert_eq!(asked["scope"], json!({"user_id": "ada"}));
    let again = ask(&server, "ada", text, json!({})).await;
    assert_eq!(again["id"], asked["id"], "the same question is one");
    let of_bob = ask(&server, "bob", text, json!({})).await;
    assert_ne!(of_bob["id"], asked["id"], "of another user it is another");
    assert_eq!(listed(&server, "pending").await.len(), 2);

    let resolve = json!({"result": {"answer": "Up to 800."}, "valid_for_seconds": 3600});
    let resolved = server.post(&path(&asked, "resolve"), &resolve).await.ok();
    assert_eq!(resolved["valid_until"], t.clock().now() + 3600);
    server.post(&path(&asked, "resolve"), &resolve).await.problem(409, "question_not_open");
    let found = server.get(&format!("{PATH}/{}", asked["id"].as_str().unwrap())).await.ok();
    assert_eq!(found["result"], json!({"answer": "Up to 800."}));
    let reused = ask(&server, "ada", text, json!({})).await;
    assert_eq!((&reused["id"], &reused["result"]), (&asked["id"], &resolved["result"]));

    let change = json!({"answer": "Up to 900."});
    let edit = path(&asked, "answer");
    let changed = server.call("PATCH", &edit, Some(&change)).await.ok();
    assert_eq!(changed["result"]["answer"], "Up to 900.");
    let not_yet = path(&of_bob, "answer");
    server.call("PATCH", &not_yet, Some(&change)).await.problem(409, "question_not_open");
    t.clock().advance(31 * 86_400);
    let anew = ask(&server, "ada", text, json!({})).await;
    assert_ne!(anew["id"], asked["id"], "an answer does not hold for ever");

    let unknown = server.post(&path(&of_bob, "not_applicable"), &json!({})).await;
    unknown.problem(409, "question_not_open");
    assert_eq!(listed(&server, "expired").await[0]["id"], of_bob["id"]);
    let unknown = server.post(&path(&anew, "not_applicable"), &json!({})).await.ok();
    assert_eq!(
        (&unknown["status"], &unknown["result"]["not_applicable"]),
        (&json!("resolved"), &json!(true))
    );
    server.get(&format!("{PATH}/nothing")).await.problem(404, "not_found");
    let empty = json!({"user_id": "ada", "question_text": " "});
    assert_eq!(
        server.post(PATH, &empty).await.input_problems(),
        [("/question_text".into(), "empty".into())]
    );
}

#[apply(both_backends)]
async fn another_question_with_the_same_key_takes_its_place(t: TestApp) {
    let server = t.serve().await;
    let key = json!({"dedup_key": "refund-limit"});
    let first = ask(&server, "ada", "What is the limit?", key.clone()).await;
    let second = ask(&server, "ada", "What is the limit for refunds?", key).await;
    let older = &listed(&server, "superseded").await[0];
    assert_eq!((&older["id"], &older["superseded_by"]), (&first["id"], &second["id"]));
    let cancelled = server.call("POST", &path(&second, "cancel"), None).await.ok();
    assert_eq!(cancelled["status"], "cancelled");
    server.call("POST", &path(&second, "cancel"), None).await.problem(409, "question_not_open");
    for number in 0..100 {
        ask(&server, "ada", &format!("Number {number}?"), json!({})).await;
    }
    let more = json!({"user_id": "ada", "question_text": "One more?"});
    server.post(PATH, &more).await.problem(409, "too_many_questions");
    ask(&server, "bob", "Another user's?", json!({})).await;
    // Questions that ended long ago are deleted when the agent asks again.
    t.clock().advance(92 * 86_400);
    ask(&server, "ada", "Much later?", json!({})).await;
    let ada = t.subject_in("default", "ada");
    let hers = format!("SELECT COUNT(*) FROM questions WHERE subject = {ada}");
    assert_eq!(t.number(&hers).await, 1);
}

#[apply(both_backends)]
async fn an_agent_asks_and_people_answer(t: TestApp) {
    let server = t.serve().await;
    let agent = server.with_token(&t.key("default", Role::Agent).await);
    let asked = ask(&agent, "ada", "Who decides?", json!({})).await;
    let answer = json!({"result": {"answer": "The duty manager."}});
    agent.post(&path(&asked, "resolve"), &answer).await.problem(403, "forbidden");
    agent.get(PATH).await.problem(403, "forbidden");
    let person = server.with_token(&t.key("default", Role::Dashboard).await);
    person.post(&path(&asked, "resolve"), &answer).await.ok();
    let found = agent.get(&format!("{PATH}/{}", asked["id"].as_str().unwrap())).await.ok();
    assert_eq!(found["result"], answer["result"]);
    let stranger = server.with_token(&t.key("other", Role::Dashboard).await);
    let of_others = format!("{PATH}/{}", asked["id"].as_str().unwrap());
    stranger.get(&of_others).await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn questions_go_with_their_person(t: TestApp) {
    let both = Both::new(&t).await;
    let asked = ask(&both.agent, "ada", "Is Ada's address right?", json!({})).await;
    ask(&both.agent, "bob", "And Bob's?", json!({})).await;
    both.erase("ada", "e1").await;
    super::learning_loop::work(&t).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM questions").await, 1);
    let body = json!({"result": {"answer": "Yes."}});
    both.agent.post(&path(&asked, "resolve"), &body).await.problem(404, "not_found");
    let again = json!({"user_id": "ada", "question_text": "And now?"});
    both.agent.post(PATH, &again).await.problem(409, "subject_erased");
}
