//! Learnings: added, changed, read back, deleted, expired; and where agent playbooks come from.

use serde_json::{Value, json};
use service::credentials::Role;
use storage::{jobs, row};

use crate::support::{NOW, Server, TestApp, apply, both_backends};

pub async fn add_profile(server: &Server, user: &str, content: &str) -> String {
    let body = json!({"user_profiles": [{"user_id": user, "content": content}]});
    let answer = server.post("/api/add_user_profile", &body).await.ok();
    answer["ids"][0].as_str().unwrap().to_owned()
}

pub async fn add_user_playbook(server: &Server, user: &str, trigger: &str, content: &str) -> i64 {
    let body =
        json!({"user_playbooks": [{"user_id": user, "trigger": trigger, "content": content}]});
    let answer = server.post("/api/add_user_playbook", &body).await.ok();
    answer["ids"][0].as_i64().unwrap()
}

/// Adds an agent playbook, approved unless it says otherwise.
pub async fn add_agent_playbook(server: &Server, mut body: Value) -> i64 {
    let fields = body.as_object_mut().unwrap();
    fields.entry("playbook_status").or_insert_with(|| json!("approved"));
    let answer = server.post("/api/add_agent_playbook", &json!({"agent_playbooks": [body]})).await;
    answer.ok()["ids"][0].as_i64().unwrap()
}

#[apply(both_backends)]
async fn what_is_added_is_read_back(t: TestApp) {
    let server = t.serve().await;
    let added = server.post("/api/add_user_profile", &json!({"user_profiles": [
        {"profile_id": " p-1 ", "user_id": " ada ", "content": "Prefers e-mail", "profile_time_to_live": "one_week",
         "custom_features": {"channel": "e-mail"}, "source": "web", "tags": ["contact", "a", "contact"],
         "source_interaction_ids": [3, 4], "generated_from_request_id": "r1"},
        {"profile_id": "p-2", "user_id": "ada", "content": "Vegan", "status": "pending"},
    ]})).await.ok();
    insta::assert_json_snapshot!("added_profiles", added);
    let profiles = server
        .post(
            "/api/get_profiles",
            &json!({"user_id": "ada",
        "status_filter": [null, "pending"]}),
        )
        .await
        .ok();
    insta::assert_json_snapshot!("profiles", profiles);
    let current = server.post("/api/get_profiles", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(current["user_profiles"].as_array().unwrap().len(), 1);

    let playbook = server
        .post(
            "/api/add_user_playbook",
            &json!({"user_playbooks": [
        {"user_id": "ada", "agent_version": "v1", "request_id": "r1", "playbook_name": "returns",
         "content": "Offer a label", "trigger": "asks to return", "rationale": "it is quicker",
         "source": "web", "source_interaction_ids": [5], "tags": ["t"], "user_playbook_id": 99}]}),
        )
        .await
        .ok();
    assert_eq!(playbook["added_count"], 1);
    let agent = add_agent_playbook(&server, json!({"playbook_name": "returns", "agent_version": "v1",
        "content": "Offer a return label first", "trigger": "return", "playbook_metadata": "n=2", "playbook_status": "pending",
        "source_windows": [{"user_playbook_id": playbook["ids"][0], "source_interaction_ids": [5, 6]}]})).await;
    assert!(agent > 0);
    insta::assert_json_snapshot!(
        "user_playbooks",
        server.post("/api/get_user_playbooks", &json!({"user_id": "ada"})).await.ok()
    );
    insta::assert_json_snapshot!(
        "agent_playbooks",
        server.inspecting().post("/api/get_agent_playbooks", &json!({})).await.ok()
    );
}

#[apply(both_backends)]
async fn all_problems_of_a_batch_are_named(t: TestApp) {
    let server = t.serve().await;
    let body = json!({"user_profiles": [
        {"user_id": "", "content": " "},
        {"user_id": "ada", "content": "x", "profile_time_to_live": "forever", "status": "gone",
         "tags": ["ok", 3], "source_interaction_ids": [0]},
    ]});
    let problems = server.post("/api/add_user_profile", &body).await.input_problems();
    let pointers: Vec<&str> = problems.iter().map(|(p, _)| p.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/user_profiles/0/user_id",
            "/user_profiles/0/content",
            "/user_profiles/1/profile_time_to_live",
            "/user_profiles/1/status",
            "/user_profiles/1/tags/1",
            "/user_profiles/1/source_interaction_ids/0"
        ]
    );
    let body = json!({"user_playbooks": [{"user_id": "ada"}]});
    server.post("/api/add_user_playbook", &body).await.problem(422, "invalid_input");
    let body = json!({"agent_playbooks": [
        {"content": "x", "source_windows": [{"user_playbook_id": 77}]}]});
    let problems = server.post("/api/add_agent_playbook", &body).await.input_problems();
    assert_eq!(problems[0].0, "/agent_playbooks/0/source_windows/0/user_playbook_id");
    let none = server.post("/api/get_agent_playbooks", &json!({})).await.ok();
    assert_eq!(none["agent_playbooks"], json!([]), "a refused batch leaves nothing");
    for empty in [json!({"user_profiles": []}), json!({})] {
        server.post("/api/add_user_profile", &empty).await.problem(422, "invalid_input");
    }
}

#[apply(both_backends)]
async fn a_profile_id_is_used_once(t: TestApp) {
    let server = t.serve().await;
    let profile = |user: &str| json!({"profile_id": "p", "user_id": user, "content": "x"});
    server.post("/api/add_user_profile", &json!({"user_profiles": [profile("ada")]})).await.ok();
    let batch = json!({"user_profiles": [{"user_id": "bob", "content": "other"}, profile("ada")]});
    server.post("/api/add_user_profile", &batch).await.problem(409, "learning_exists");
    let bob = server.post("/api/get_profiles", &json!({"user_id": "bob"})).await.ok();
    assert_eq!(bob["user_profiles"], json!([]), "all or none");
    // Ids are each person's own.
    server.post("/api/add_user_profile", &json!({"user_profiles": [profile("bob")]})).await.ok();
    server.delete("/api/delete_profile", &json!({"user_id": "bob", "profile_id": "p"})).await.ok();
    let ada = server.post("/api/get_profiles", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(ada["user_profiles"][0]["profile_id"], "p");
}

#[apply(both_backends)]
async fn a_change_keeps_what_it_does_not_name(t: TestApp) {
    let server = t.serve().await;
    let id = add_profile(&server, "ada", "Likes tea").await;
    t.clock().advance(60);
    let change = json!({"user_id": "ada", "profile_id": id, "content": "Likes coffee",
        "profile_time_to_live": "one_day"});
    server.put("/api/update_user_profile", &change).await.ok();
    let read = server.post("/api/get_profiles", &json!({"user_id": "ada"})).await.ok();
    let profile = &read["user_profiles"][0];
    assert_eq!(profile["content"], "Likes coffee");
    assert_eq!(profile["last_modified_timestamp"], NOW + 60);
    assert_eq!(profile["expiration_timestamp"], NOW + 60 + 86_400);
    let other = json!({"user_id": "bob", "profile_id": id, "content": "stolen"});
    server.put("/api/update_user_profile", &other).await.problem(404, "not_found");

    let id = add_user_playbook(&server, "ada", "when", "then").await;
    let change = json!({"user_playbook_id": id, "content": "do this", "status": "archived"});
    server.put("/api/update_user_playbook", &change).await.ok();
    let read =
        server.post("/api/get_user_playbooks", &json!({"status_filter": ["archived"]})).await.ok();
    assert_eq!(read["user_playbooks"][0]["content"], "do this");
    assert_eq!(read["user_playbooks"][0]["trigger"], "when");
    let nothing = json!({"user_playbook_id": id, "content": "", "trigger": ""});
    server.put("/api/update_user_playbook", &nothing).await.problem(422, "invalid_input");
    let unknown = json!({"user_playbook_id": 999_999, "content": "x"});
    server.put("/api/update_user_playbook", &unknown).await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn agent_playbooks_are_approved_and_rejected(t: TestApp) {
    let server = t.serve().await;
    let person = server.inspecting();
    let new =
        json!({"content": "Greet first", "trigger": "greeting", "playbook_status": "pending"});
    let id = add_agent_playbook(&server, new).await;
    let statuses = async |filter: Value| {
        let read = person.post("/api/get_agent_playbooks", &filter).await.ok();
        read["agent_playbooks"].as_array().unwrap().len()
    };
    assert_eq!(statuses(json!({"playbook_status_filter": "pending"})).await, 1);
    let approve = json!({"agent_playbook_id": id, "playbook_status": "approved"});
    server.put("/api/update_agent_playbook_status", &approve).await.ok();
    assert_eq!(statuses(json!({"playbook_status_filter": ["approved"]})).await, 1);
    assert_eq!(statuses(json!({"playbook_status_filter": "pending"})).await, 0);
    let bad = json!({"agent_playbook_id": id, "playbook_status": "maybe"});
    server.put("/api/update_agent_playbook_status", &bad).await.problem(422, "invalid_input");
    let found = server.post("/api/search", &json!({"query": "greet"})).await.ok();
    assert_eq!(found["agent_playbooks"].as_array().unwrap().len(), 1);
    let reject =
        json!({"agent_playbook_id": id, "playbook_status": "rejected", "rationale": "too slow"});
    server.put("/api/update_agent_playbook", &reject).await.ok();
    let found = server.post("/api/search", &json!({"query": "greet"})).await.ok();
    assert_eq!(found["agent_playbooks"], json!([]), "rejected ones are not handed out unasked");
    let asked = json!({"query": "greet", "agent_playbook_status_filter": ["rejected"]});
    assert_eq!(
        server.post("/api/search", &asked).await.ok()["agent_playbooks"],
        json!([]),
        "nor to an agent that asks"
    );
    let found = person.post("/api/search", &asked).await.ok();
    assert_eq!(found["agent_playbooks"][0]["rationale"], "too slow");
}

#[apply(both_backends)]
async fn deleting_a_user_playbook_takes_its_links_and_leaves_the_agent_playbook(t: TestApp) {
    let server = t.serve().await;
    let one = add_user_playbook(&server, "ada", "when one", "").await;
    let two = add_user_playbook(&server, "bob", "when two", "").await;
    add_agent_playbook(
        &server,
        json!({"content": "both", "source_windows": [
        {"user_playbook_id": one, "source_interaction_ids": [1]}, {"user_playbook_id": two}]}),
    )
    .await;
    server.delete("/api/delete_user_playbook", &json!({"user_playbook_id": one})).await.ok();
    let read = server.post("/api/get_agent_playbooks", &json!({})).await.ok();
    assert_eq!(
        read["agent_playbooks"][0]["source_windows"],
        json!([{"user_playbook_id": two, "source_interaction_ids": []}])
    );
    server.post("/api/clear_user_data", &json!({"user_id": "bob"})).await.ok();
    let read = server.post("/api/get_agent_playbooks", &json!({})).await.ok();
    assert_eq!(read["agent_playbooks"][0]["source_windows"], json!([]));
    assert_eq!(read["agent_playbooks"][0]["content"], "both");
}

#[apply(both_backends)]
async fn deleting_what_is_not_there_is_not_found(t: TestApp) {
    let server = t.serve().await;
    let profile = add_profile(&server, "ada", "x").await;
    let playbook = add_user_playbook(&server, "ada", "x", "").await;
    let agent = add_agent_playbook(&server, json!({"content": "x"})).await;
    server
        .delete("/api/delete_profile", &json!({"user_id": "bob", "profile_id": profile}))
        .await
        .problem(404, "not_found");
    for (path, body) in [
        ("/api/delete_profile", json!({"user_id": "ada", "profile_id": profile})),
        ("/api/delete_user_playbook", json!({"user_playbook_id": playbook})),
        ("/api/delete_agent_playbook", json!({"agent_playbook_id": agent})),
    ] {
        let answer = server.delete(path, &body).await.ok();
        assert_eq!(answer["success"], true);
        server.delete(path, &body).await.problem(404, "not_found");
    }
    let ids = [
        add_profile(&server, "ada", "x").await,
        add_profile(&server, "bob", "y").await,
        "none".to_owned(),
    ];
    let answer =
        server.delete("/api/delete_profiles_by_ids", &json!({"profile_ids": ids})).await.ok();
    assert_eq!(answer["deleted_count"], 2);
    let ids = [add_user_playbook(&server, "ada", "x", "").await, 999_999];
    let body = json!({"user_playbook_ids": ids});
    assert_eq!(
        server.delete("/api/delete_user_playbooks_by_ids", &body).await.ok()["deleted_count"],
        1
    );
    let ids = [add_agent_playbook(&server, json!({"content": "x"})).await];
    let body = json!({"agent_playbook_ids": ids});
    assert_eq!(
        server.delete("/api/delete_agent_playbooks_by_ids", &body).await.ok()["deleted_count"],
        1
    );
    server.delete("/api/delete_agent_playbooks_by_ids", &body).await.problem(404, "not_found");
    server
        .delete("/api/delete_agent_playbooks_by_ids", &json!({"agent_playbook_ids": []}))
        .await
        .problem(422, "invalid_input");
}

#[apply(both_backends)]
async fn what_has_expired_is_gone_at_once_and_swept_later(t: TestApp) {
    let server = t.serve().await;
    let body = json!({"user_profiles": [
        {"profile_id": "short", "user_id": "ada", "content": "Travelling today", "profile_time_to_live": "one_day"},
        {"profile_id": "long", "user_id": "ada", "content": "Travelling often"}]});
    server.post("/api/add_user_profile", &body).await.ok();
    crate::support::schedule(&t.app, "sweep_profiles").await;
    t.clock().advance(86_400);
    let read = server.post("/api/get_profiles", &json!({"user_id": "ada"})).await.ok();
    assert_eq!(read["user_profiles"].as_array().unwrap().len(), 1);
    let found =
        server.post("/api/search", &json!({"user_id": "ada", "query": "travelling"})).await.ok();
    assert_eq!(found["profiles"].as_array().unwrap().len(), 1);
    let change = json!({"user_id": "ada", "profile_id": "short", "content": "x"});
    server.put("/api/update_user_profile", &change).await.problem(404, "not_found");
    assert_eq!(stored_profiles(&t).await, 2);
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    assert_eq!(stored_profiles(&t).await, 1);
    t.clock().advance(901);
    assert_eq!(
        jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap(),
        1,
        "it comes again"
    );
}

#[apply(both_backends)]
async fn agents_add_and_read_and_only_operators_change(t: TestApp) {
    let agent = t.key("one", Role::Agent).await;
    let operator = t.key("one", Role::Dashboard).await;
    let other = t.key("two", Role::Dashboard).await;
    let server = t.serve().await;
    let (agent, operator, other) =
        (server.with_token(&agent), server.with_token(&operator), server.with_token(&other));
    let profile = add_profile(&agent, "ada", "Likes tea").await;
    let playbook = add_user_playbook(&agent, "ada", "tea", "").await;
    let agent_playbook =
        add_agent_playbook(&agent, json!({"content": "offer tea", "playbook_status": "pending"}))
            .await;
    let deletes = [
        ("/api/delete_profile", json!({"user_id": "ada", "profile_id": profile})),
        ("/api/delete_user_playbook", json!({"user_playbook_id": playbook})),
        ("/api/delete_agent_playbook", json!({"agent_playbook_id": agent_playbook})),
    ];
    for (path, body) in &deletes {
        agent.delete(path, body).await.problem(403, "forbidden");
        other.delete(path, body).await.problem(404, "not_found");
    }
    let change = json!({"agent_playbook_id": agent_playbook, "playbook_status": "approved"});
    agent.put("/api/update_agent_playbook_status", &change).await.problem(403, "forbidden");
    other.put("/api/update_agent_playbook_status", &change).await.problem(404, "not_found");
    let found = other.post("/api/search", &json!({"user_id": "ada", "query": "tea"})).await.ok();
    assert_eq!((&found["profiles"], &found["agent_playbooks"]), (&json!([]), &json!([])));
    assert_eq!(
        agent.post("/api/get_profiles", &json!({"user_id": "ada"})).await.ok()["user_profiles"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    for (path, body) in &deletes {
        operator.delete(path, body).await.ok();
    }
    server.post("/api/search", &json!({"query": "tea"})).await.problem(401, "unauthenticated");
}

async fn stored_profiles(t: &TestApp) -> i64 {
    t.app
        .db
        .read("test.count", (), |tx, ()| {
            Box::pin(async move { row!(tx, (i64,), "SELECT COUNT(*) FROM profiles") })
        })
        .await
        .unwrap()
        .map_or(0, |(count,)| count)
}

#[apply(both_backends)]
async fn every_table_of_learnings_is_listed_as_a_persons_or_not(t: TestApp) {
    use service::user_tables::{NOT_USER_DATA, USER_TABLES};
    let tables = t
        .app
        .db
        .read("test.tables", (), |tx, ()| Box::pin(tx.names_of(storage::db::Objects::Tables)))
        .await
        .unwrap();
    for table in tables {
        let owned = USER_TABLES.iter().any(|t| t.table == table);
        let other = NOT_USER_DATA.iter().any(|(name, _)| *name == table);
        assert!(owned != other, "{table} must be in exactly one list");
    }
}

#[apply(both_backends)]
async fn a_person_who_is_being_erased_gets_no_learnings(t: TestApp) {
    let server = t.serve().await;
    let id = add_profile(&server, "ada", "Likes tea").await;
    let playbook = add_user_playbook(&server, "ada", "tea", "").await;
    t.app
        .db
        .write("test.erase", (), |tx, ()| {
            Box::pin(async move {
                storage::run!(tx, "UPDATE subjects SET state = 'erasing', epoch = epoch + 1")
            })
        })
        .await
        .unwrap();
    let profile = json!({"user_profiles": [{"user_id": "ada", "content": "x"}]});
    server.post("/api/add_user_profile", &profile).await.problem(409, "subject_erasing");
    let change = json!({"user_id": "ada", "profile_id": id, "content": "x"});
    server.put("/api/update_user_profile", &change).await.problem(409, "subject_erasing");
    let change = json!({"user_playbook_id": playbook, "content": "x"});
    server.put("/api/update_user_playbook", &change).await.problem(409, "subject_erasing");
    let link = json!({"agent_playbooks": [{"content": "x", "source_windows": [{"user_playbook_id": playbook}]}]});
    server.post("/api/add_agent_playbook", &link).await.problem(409, "subject_erasing");
}
