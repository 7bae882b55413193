//! Calls over everybody's learnings and turns: reading, searching, upgrading and deleting them.

use serde_json::{Value, json};
use service::credentials::Role;

use crate::learning_loop::{finished, work};
use crate::support::{NOW, Server, TestApp, apply, both_backends};

async fn add_profile(server: &Server, user: &str, content: &str, more: Value) {
    let mut profile = json!({"user_id": user, "content": content});
    profile.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.post("/api/add_user_profile", &json!({"user_profiles": [profile]})).await.ok();
}

async fn add_playbook(server: &Server, user: &str, content: &str, version: &str, status: Value) {
    let playbook =
        json!({"user_id": user, "content": content, "agent_version": version, "status": status});
    server.post("/api/add_user_playbook", &json!({"user_playbooks": [playbook]})).await.ok();
}

/// The field `name` of each item of the list `list`.
fn each(answer: &Value, list: &str, name: &str) -> Vec<String> {
    let items = answer[list].as_array().unwrap().iter();
    items.map(|item| item[name].as_str().unwrap_or("current").to_owned()).collect()
}

#[apply(both_backends)]
async fn profiles_of_everybody_are_listed_by_filter(t: TestApp) {
    let server = t.serve().await;
    let at = |seconds: i64| json!({"last_modified_timestamp": NOW - seconds});
    add_profile(&server, "ada", "likes tea", at(300)).await;
    add_profile(&server, "bob", "likes 100% cotton", at(200)).await;
    let mut third = at(100);
    third["source"] = json!("crm");
    third["status"] = json!("pending");
    third["profile_id"] = json!("p-kim");
    third["profile_time_to_live"] = json!("one_year");
    add_profile(&server, "kim", "likes coffee", third).await;
    let list = async |query: &str| {
        let found = server.get(&format!("/api/get_all_profiles?{query}")).await.ok();
        each(&found, "user_profiles", "user_id")
    };
    assert_eq!(list("").await, ["kim", "bob", "ada"]);
    assert_eq!(list("limit=1").await, ["kim"]);
    assert_eq!(list("status_filter=current").await, ["bob", "ada"]);
    assert_eq!(list("user_id=ada").await, ["ada"]);
    assert_eq!(list("profile_id=p-kim").await, ["kim"]);
    assert_eq!(list("query=LIKES%20T").await, ["ada"]);
    assert_eq!(list("query=0%25%20c").await, ["bob"], "a percent sign is no pattern");
    assert_eq!(list("source=crm").await, ["kim"]);
    assert_eq!(list("profile_time_to_live=one_year").await, ["kim"]);
    assert_eq!(list(&format!("start_time={}&end_time={}", NOW - 250, NOW - 100)).await, ["bob"]);

    let stats = server.get("/api/storage_stats?user_id=kim").await.ok();
    assert_eq!((&stats["profile_count"], &stats["playbook_count"]), (&json!(1), &json!(0)));
    assert_eq!(stats["oldest_profile_modified"], NOW - 100);
    let nobody = server.get("/api/storage_stats?user_id=nobody").await.ok();
    assert_eq!(
        (&nobody["profile_count"], &nobody["newest_profile_modified"]),
        (&json!(0), &json!(null))
    );
    t.clock().advance(366 * 86_400);
    assert_eq!(list("").await, ["bob", "ada"], "what has expired is not there");
    assert_eq!(server.get("/api/storage_stats?user_id=kim").await.ok()["profile_count"], 0);
}

#[apply(both_backends)]
async fn profiles_are_put_into_the_order_in_which_they_fit(t: TestApp) {
    let server = t.serve().await;
    for (id, content) in
        [("a", "drinks green tea in the morning"), ("b", "lives in Bern"), ("c", "tea")]
    {
        add_profile(&server, "ada", content, json!({"profile_id": id})).await;
    }
    add_profile(&server, "bob", "tea, tea and tea", json!({"profile_id": "d"})).await;
    let ask = async |ids: Value, top_k: i64| {
        let body =
            json!({"user_id": "ada", "query": "green tea", "profile_ids": ids, "top_k": top_k});
        let found = server.post("/api/rerank_user_profiles", &body).await.ok();
        each(&found, "user_profiles", "profile_id")
    };
    assert_eq!(ask(json!(["b", "c", "a", "d", "nothing"]), 10).await, ["a", "c", "b"]);
    assert_eq!(ask(json!(["b", "c"]), 1).await, ["c"]);
}

#[apply(both_backends)]
async fn turns_are_found_by_their_words(t: TestApp) {
    let server = t.serve().await;
    for (user, session, text) in [
        ("ada", "s1", "Where is my parcel?"),
        ("ada", "s2", "The parcel arrived, thank you."),
        ("bob", "s3", "Where is my parcel?"),
    ] {
        t.clock().advance(10);
        server
            .publish(&finished(user, session, &[("User", text), ("Assistant", "Hello.")]))
            .await
            .ok();
    }
    let search = async |more: Value| {
        let mut body = json!({"user_id": "ada"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let found = server.post("/api/search_interactions", &body).await.ok();
        each(&found, "interactions", "content")
    };
    let found = search(json!({"query": "parcel thanks"})).await;
    assert_eq!(found, ["The parcel arrived, thank you.", "Where is my parcel?"]);
    assert_eq!(search(json!({"query": "zebra"})).await, Vec::<String>::new());
    assert_eq!(search(json!({"top_k": 1})).await, ["Hello."], "the newest without words");
    assert_eq!(
        search(json!({"query": "parcel", "end_time": NOW + 15})).await,
        ["Where is my parcel?"]
    );

    let newest = server.get("/api/get_all_interactions?limit=3").await.ok();
    assert_eq!(each(&newest, "interactions", "user_id"), ["ada", "bob", "bob"], "oldest first");
    let agent = server.with_token(&t.key("default", Role::Agent).await);
    agent.get("/api/get_all_interactions").await.problem(403, "forbidden");
}

#[apply(both_backends)]
async fn pending_learnings_take_the_place_of_current_ones(t: TestApp) {
    let server = t.serve().await;
    for (user, content, status) in [
        ("ada", "old", "archived"),
        ("ada", "present", "current"),
        ("ada", "new", "pending"),
        ("bob", "stays", "current"),
    ] {
        add_profile(&server, user, content, json!({"status": status})).await;
        add_playbook(&server, user, content, "v1", json!(status)).await;
    }
    add_playbook(&server, "kim", "other version", "v2", json!("pending")).await;
    let statuses = async |table: &str| {
        let of = async |user: &str, content: &str, status: &str| {
            let subject = t.subject_in("default", user);
            t.number(&format!(
                "SELECT COUNT(*) FROM {table} WHERE subject = {subject} AND content = '{content}' AND status = '{status}'"
            ))
            .await
        };
        [
            of("ada", "present", "archived").await,
            of("ada", "new", "current").await,
            of("bob", "stays", "current").await,
        ]
    };
    let done = server.post("/api/upgrade_all_profiles", &json!({})).await.ok();
    let counts = |done: &Value, of: &str| {
        ["archived", "promoted", "deleted"]
            .map(|what| done[format!("{of}_{what}")].as_i64().unwrap())
    };
    assert_eq!(counts(&done, "profiles"), [1, 1, 1]);
    assert_eq!(statuses("profiles").await, [1, 1, 1]);
    assert_eq!(t.number("SELECT COUNT(*) FROM profiles WHERE content = 'old'").await, 0);
    let done =
        server.post("/api/upgrade_all_user_playbooks", &json!({"agent_version": "v1"})).await.ok();
    assert_eq!(counts(&done, "user_playbooks"), [1, 1, 1]);
    assert_eq!(statuses("user_playbooks").await, [1, 1, 1]);
    let join = json!({"archive_current": false});
    let done = server.post("/api/upgrade_all_user_playbooks", &join).await.ok();
    assert_eq!(counts(&done, "user_playbooks"), [0, 1, 0], "kim's, and nothing else changes");
    let again = server.post("/api/upgrade_all_profiles", &json!({})).await.ok();
    assert_eq!(counts(&again, "profiles"), [0, 0, 0], "nobody has pending ones");
    let all = json!({"user_id": "bob", "only_affected_users": false});
    let done = server.post("/api/upgrade_all_profiles", &all).await.ok();
    assert_eq!(counts(&done, "profiles"), [1, 0, 0], "asked for by name");
}

#[apply(both_backends)]
async fn everything_of_a_kind_is_deleted(t: TestApp) {
    let server = t.serve().await;
    for user in ["ada", "bob"] {
        add_profile(&server, user, "likes tea", json!({})).await;
        add_playbook(&server, user, "be brief", "v1", json!(null)).await;
        for session in ["s1", "s2"] {
            let turns = [("User", "Thanks, that solved it."), ("Assistant", "You are welcome.")];
            server.publish(&finished(user, session, &turns)).await.ok();
        }
    }
    work(&t).await;
    let other = server.with_token(&t.key("other", Role::Dashboard).await);
    let server = server.with_token(&t.key("default", Role::Dashboard).await);
    add_profile(&other, "ada", "likes coffee", json!({})).await;
    let shared = json!({"agent_playbooks": [{"content": "greet", "agent_version": "v1"}]});
    server.post("/api/add_agent_playbook", &shared).await.ok();
    let delete =
        async |path: &str| server.call("DELETE", path, None).await.ok()["deleted_count"].clone();
    assert_eq!(delete("/api/delete_all_profiles").await, 2);
    assert_eq!(delete("/api/delete_all_profiles").await, 0);
    assert_eq!(t.number("SELECT COUNT(*) FROM profiles").await, 1, "another organization's");
    assert_eq!(delete("/api/delete_all_user_playbooks").await, 2);
    assert_eq!(delete("/api/delete_all_playbooks").await, 1, "the organization's own");
    server.post("/api/add_agent_playbook", &shared).await.ok();
    assert_eq!(delete("/api/delete_all_agent_playbooks").await, 1);
    let found = server.post("/api/search", &json!({"query": "greet", "user_id": "ada"})).await.ok();
    assert_eq!(found["agent_playbooks"], json!([]));
    assert_eq!(delete("/api/delete_all_interactions").await, 4);
    for table in ["sessions", "requests", "interactions", "evaluation_results"] {
        assert_eq!(t.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
    }
    assert_eq!(t.mismatches().await, 0);
    let agent = server.with_token(&t.key("default", Role::Agent).await);
    agent.call("DELETE", "/api/delete_all_interactions", None).await.problem(403, "forbidden");
}

#[apply(both_backends)]
async fn what_a_server_without_caches_and_stalls_says(t: TestApp) {
    let server = t.serve().await;
    let done = server.post("/api/admin/cache/invalidate", &json!({})).await.ok();
    assert_eq!(done, json!({"invalidated": false, "org_id": "default"}));
    let foreign = json!({"org_id": "other"});
    server.post("/api/admin/cache/invalidate", &foreign).await.problem(403, "forbidden");
    let state = server.get("/stall_state").await.ok();
    assert_eq!((&state["stalled"], &state["reason"]), (&json!(false), &json!(null)));
    let told = server.call("POST", "/stall_state/notified", None).await.ok();
    assert_eq!(told, json!({"notified_in_cc": false}));
    let config = server.get("/api/my_config").await.ok();
    assert_eq!((&config["success"], &config["storage_config"]), (&json!(true), &json!({})));
}
