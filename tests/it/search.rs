//! Search: whose learnings it returns, in which order, and what it says about itself.

use base::owner::{OrgId, UserId};
use serde_json::{Value, json};
use service::learnings;
use storage::db::Engine;
use storage::{jobs, row};

use crate::learnings::{add_agent_playbook, add_profile, add_user_playbook};
use crate::support::{Backend, NOW, Server, TestApp, apply, both_backends};

async fn contents(server: &Server, body: Value, list: &str) -> Vec<String> {
    let found = server.post("/api/search", &body).await.ok();
    let text = |row: &Value| row["content"].as_str().unwrap().to_owned();
    found[list].as_array().unwrap().iter().map(text).collect()
}

async fn profiles(server: &Server, user: &str, query: &str) -> Vec<String> {
    contents(server, json!({"user_id": user, "query": query, "top_k": 100}), "profiles").await
}

#[apply(both_backends)]
async fn the_answer_has_its_exact_shape(t: TestApp) {
    let server = t.serve().await;
    let profile =
        json!({"profile_id": "p-1", "user_id": "ada", "content": "Wants refunds to her card"});
    server.post("/api/add_user_profile", &json!({"user_profiles": [profile]})).await.ok();
    add_user_playbook(&server, "ada", "refund asked", "Refund to the card").await;
    add_agent_playbook(&server, json!({"content": "Refunds take three days"})).await;
    let found =
        server.post("/api/search", &json!({"user_id": "ada", "query": "refund?"})).await.ok();
    insta::assert_json_snapshot!("search", found);
    for (path, list) in [
        ("search_profiles", "user_profiles"),
        ("search_user_playbooks", "user_playbooks"),
        ("search_agent_playbooks", "agent_playbooks"),
    ] {
        let body = json!({"user_id": "ada", "query": "refund", "search_mode": "fts"});
        let found = server.post(&format!("/api/{path}"), &body).await.ok();
        assert_eq!(found[list].as_array().unwrap().len(), 1, "{path}");
        let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
        let mut expected =
            vec!["degraded", "experiment", "msg", "search_mode_effective", "success", list];
        expected.sort_unstable();
        assert_eq!(keys, expected);
        assert_eq!(found["experiment"], Value::Null);
    }
}

#[apply(both_backends)]
async fn a_write_is_found_at_once_on_every_replica(t: TestApp) {
    let (one, replica) = (t.serve().await, t.replica().await);
    let two = replica.serve().await;
    let id = add_profile(&one, "ada", "Allergic to peanuts").await;
    for server in [&one, &two] {
        assert_eq!(profiles(server, "ada", "peanut").await, ["Allergic to peanuts"]);
    }
    let change = json!({"user_id": "ada", "profile_id": id, "content": "Allergic to walnuts"});
    two.put("/api/update_user_profile", &change).await.ok();
    for server in [&one, &two] {
        assert!(profiles(server, "ada", "peanut").await.is_empty());
        assert_eq!(profiles(server, "ada", "walnut").await, ["Allergic to walnuts"]);
    }
    one.delete("/api/delete_profile", &json!({"user_id": "ada", "profile_id": id})).await.ok();
    for server in [&one, &two] {
        assert!(profiles(server, "ada", "walnut").await.is_empty());
    }
}

#[apply(both_backends)]
async fn every_change_of_an_agent_playbook_is_seen_at_once_on_every_replica(t: TestApp) {
    let (one, replica) = (t.serve().await, t.replica().await);
    let two = replica.serve().await;
    let both = async |query: &str, expected: &[&str], after: &str| {
        for server in [&one, &two] {
            let found = contents(server, json!({"query": query}), "agent_playbooks").await;
            assert_eq!(found, expected, "{query} after {after}");
        }
    };
    both("kettle", &[], "nothing").await;
    let id = add_agent_playbook(&one, json!({"content": "Descale the kettle"})).await;
    both("kettle", &["Descale the kettle"], "adding").await;
    let change = json!({"agent_playbook_id": id, "content": "Descale the boiler"});
    two.put("/api/update_agent_playbook", &change).await.ok();
    both("kettle", &[], "changing").await;
    both("boiler", &["Descale the boiler"], "changing").await;
    for (status, expected) in [("rejected", vec![]), ("approved", vec!["Descale the boiler"])] {
        let change = json!({"agent_playbook_id": id, "playbook_status": status});
        one.put("/api/update_agent_playbook_status", &change).await.ok();
        both("boiler", &expected, status).await;
    }
    for tags in [json!(["limescale"]), json!([])] {
        two.put("/api/update_agent_playbook", &json!({"agent_playbook_id": id, "tags": tags}))
            .await
            .ok();
        let tagged = json!({"query": "boiler", "tags": ["limescale"]});
        let expected = tags.as_array().unwrap().len();
        for server in [&one, &two] {
            assert_eq!(
                contents(server, tagged.clone(), "agent_playbooks").await.len(),
                expected,
                "{tags}"
            );
        }
    }
    two.delete("/api/delete_agent_playbook", &json!({"agent_playbook_id": id})).await.ok();
    both("boiler", &[], "deleting").await;
}

#[apply(both_backends)]
async fn bad_input_is_told_and_never_breaks(t: TestApp) {
    let server = t.serve().await;
    add_profile(&server, "ada", "Likes \"quoted\" tea AND biscuits").await;
    add_agent_playbook(&server, json!({"content": "NEAR the end OR not"})).await;
    let long = "tea ".repeat(262_144);
    for (body, pointer, code) in [
        (json!({}), "/query", "required"),
        (json!({"query": ""}), "/query", "empty"),
        (json!({"query": " \t\n"}), "/query", "empty"),
        (json!({"query": 7}), "/query", "wrong_type"),
        (json!({"query": long}), "/query", "too_long"),
        (json!({"query": "a\u{0}b"}), "/query", "nul_character"),
        (json!({"query": "x", "top_k": 0}), "/top_k", "out_of_range"),
        (json!({"query": "x", "top_k": 101}), "/top_k", "out_of_range"),
        (json!({"query": "x", "threshold": 1.5}), "/threshold", "out_of_range"),
        (
            json!({"query": "x", "entity_types": ["profiles", "users"]}),
            "/entity_types/1",
            "not_allowed",
        ),
        (json!({"query": "x", "search_mode": "magic"}), "/search_mode", "not_allowed"),
        (json!({"query": "x", "user_id": " "}), "/user_id", "empty"),
        (json!({"query": "x", "start_time": 20, "end_time": 10}), "/end_time", "not_after_start"),
    ] {
        let problems = server.post("/api/search", &body).await.input_problems();
        assert!(problems.contains(&(pointer.to_owned(), code.to_owned())), "{problems:?}");
    }
    for query in [
        "\"",
        "'",
        "*",
        "tea*",
        "\"tea",
        "tea AND",
        "NOT tea",
        "NEAR(tea biscuits, 2)",
        "content:tea",
        "{terms}: tea",
        "^tea",
        "tea -biscuits",
        "a:*",
        "!tea & |",
        "tea <-> biscuits",
        ":*",
        "()",
        "\\",
        "%_",
        "'; DROP TABLE profiles; --",
        "tea\\",
        "?!…",
        "\u{202e}\u{200b}",
        "🫖",
        "٪",
        "p1xtea",
        "x",
        "\u{fffd}",
    ] {
        for mode in ["hybrid", "fts", "vector"] {
            let body = json!({"user_id": "ada", "query": query, "search_mode": mode});
            let answer = server.post("/api/search", &body).await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.text);
            let found = answer.json()["profiles"].as_array().unwrap().len();
            assert_eq!(found > 0, query.contains("tea") && query != "p1xtea", "{query}");
        }
    }
    let said = server.post("/api/search", &json!({"query": "?!"})).await.ok();
    assert!(said["msg"].as_str().unwrap().contains("no words"));
}

#[apply(both_backends)]
async fn filters_narrow(t: TestApp) {
    let server = t.serve().await;
    let rows = json!({"user_profiles": [
        {"user_id": "ada", "content": "tea one", "source": "web", "tags": ["hot"], "last_modified_timestamp": NOW - 100},
        {"user_id": "ada", "content": "tea two", "source": "app", "tags": ["cold", "new"]},
        {"user_id": "ada", "content": "tea three", "status": "archived"}]});
    server.post("/api/add_user_profile", &rows).await.ok();
    let rows = json!({"user_playbooks": [
        {"user_id": "ada", "content": "tea book", "agent_version": "v1", "playbook_name": "drinks"},
        {"user_id": "ada", "content": "tea note", "agent_version": "v2", "playbook_name": "food"}]});
    server.post("/api/add_user_playbook", &rows).await.ok();
    for (filter, list, expected) in [
        // Tags are words too: the row with fewer is the closer match.
        (json!({}), "profiles", vec!["tea one", "tea two"]),
        (json!({"source": "web"}), "profiles", vec!["tea one"]),
        (json!({"tags": ["new", "none"]}), "profiles", vec!["tea two"]),
        (json!({"tags": []}), "profiles", vec!["tea one", "tea two"]),
        (json!({"status_filter": ["archived"]}), "profiles", vec!["tea three"]),
        (json!({"start_time": NOW - 10}), "profiles", vec!["tea two"]),
        (json!({"end_time": NOW - 10}), "profiles", vec!["tea one"]),
        (json!({"top_k": 1}), "profiles", vec!["tea one"]),
        (json!({"entity_types": ["user_playbooks"]}), "profiles", vec![]),
        (json!({"agent_version": "v1"}), "user_playbooks", vec!["tea book"]),
        (json!({"playbook_name": "food"}), "user_playbooks", vec!["tea note"]),
    ] {
        let mut body = json!({"user_id": "ada", "query": "tea"});
        body.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        assert_eq!(contents(&server, body, list).await, expected, "{filter}");
    }
    let listed =
        server.post("/api/search_profiles", &json!({"user_id": "ada", "tags": ["hot"]})).await.ok();
    assert_eq!(
        listed["user_profiles"][0]["content"], "tea one",
        "without a query, what passes the filters"
    );
}

#[apply(both_backends)]
async fn slips_beginnings_and_other_scripts_are_found(t: TestApp) {
    let server = t.serve().await;
    for content in [
        "Cancelled her subscription twice",
        "Rückerstattungen nur auf die Karte",
        "東京都に住んでいます",
        "他喜欢喝乌龙茶",
        "Préfère les réunions l'après-midi",
        "김치를 좋아해요",
        "Живёт в Санкт-Петербурге",
    ] {
        add_profile(&server, "ada", content).await;
    }
    for (query, expected) in [
        ("subscripton cancel", "Cancelled her subscription twice"),
        ("subscriptoin", "Cancelled her subscription twice"),
        ("subscr", "Cancelled her subscription twice"),
        ("Ruckerstattung", "Rückerstattungen nur auf die Karte"),
        ("京都", "東京都に住んでいます"),
        ("茶", "他喜欢喝乌龙茶"),
        ("乌龙茶", "他喜欢喝乌龙茶"),
        ("REUNION", "Préfère les réunions l'après-midi"),
        ("김치", "김치를 좋아해요"),
        ("петербург", "Живёт в Санкт-Петербурге"),
    ] {
        assert_eq!(
            profiles(&server, "ada", query).await.first().map(String::as_str),
            Some(expected),
            "{query}"
        );
    }
    assert!(profiles(&server, "ada", "大阪").await.is_empty());
}

#[apply(both_backends)]
async fn without_an_embedder_it_is_full_text_and_says_so(t: TestApp) {
    let server = t.serve().await;
    add_profile(&server, "ada", "Likes tea").await;
    for (mode, degraded) in [("hybrid", false), ("fts", false), ("vector", true)] {
        let body = json!({"user_id": "ada", "query": "tea", "search_mode": mode});
        let found = server.post("/api/search", &body).await.ok();
        assert_eq!(found["search_mode_effective"], "fts");
        assert_eq!(found["degraded"], degraded, "{mode}");
        assert_eq!(found["profiles"].as_array().unwrap().len(), 1);
    }
}

#[apply(both_backends)]
async fn nobody_finds_what_is_not_theirs(t: TestApp) {
    let server = t.serve().await;
    // Ids that look alike: prefixes of each other, other cases and scripts, and what the index itself uses.
    let mut users: Vec<String> = [
        "ada",
        "Ada",
        "ada1",
        "1",
        "11",
        "111",
        "p1x",
        "1x",
        "x1",
        "аda",
        "ada\u{301}",
        "%",
        "_",
        "a_a",
        "org",
        "ada*",
        "\"ada\"",
    ]
    .map(str::to_owned)
    .to_vec();
    users.extend((0..2000).map(|n| format!("user-{}", n * 7919 % 100_003)));
    for batch in users.chunks(500) {
        let profile = |user: &String| {
            json!({"user_id": user, "content": format!("secret tea of <{user}>"),
            "profile_id": format!("of {user}")})
        };
        let playbook = |user: &String| json!({"user_id": user, "trigger": "tea", "content": format!("for <{user}>")});
        let body = json!({"user_profiles": batch.iter().map(profile).collect::<Vec<_>>()});
        server.post("/api/add_user_profile", &body).await.ok();
        let body = json!({"user_playbooks": batch.iter().map(playbook).collect::<Vec<_>>()});
        server.post("/api/add_user_playbook", &body).await.ok();
    }
    for (place, user) in
        users.iter().enumerate().filter(|(place, _)| *place < 60 || place % 40 == 0)
    {
        let other = &users[(place + 1) % users.len()];
        let query = format!("tea secret of {other} {user} x1 p1xtea");
        let body = json!({"user_id": user, "query": query, "top_k": 100});
        let found = server.post("/api/search", &body).await.ok();
        let owners = |list: &str| -> Vec<String> {
            let rows = found[list].as_array().unwrap().iter();
            rows.map(|row| row["user_id"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(owners("profiles"), [user.as_str()], "{user}");
        assert_eq!(owners("user_playbooks"), [user.as_str()], "{user}");
    }
    let nobody =
        server.post("/api/search", &json!({"user_id": "user", "query": "tea secret"})).await.ok();
    assert_eq!(nobody["profiles"], json!([]));
    let unnamed = server.post("/api/search", &json!({"query": "tea secret"})).await.ok();
    assert_eq!((&unnamed["profiles"], &unnamed["user_playbooks"]), (&json!([]), &json!([])));
    assert!(unnamed["msg"].as_str().unwrap().contains("user_id"));
}

#[apply(both_backends)]
async fn index_and_rows_stay_together(t: TestApp) {
    let server = t.serve().await;
    let long = "long document about many things ".repeat(400);
    let row = |n: usize| {
        json!({"profile_id": format!("p{n}"), "user_id": format!("u{}", n % 4),
        "content": format!("first{n} shared {}", if n.is_multiple_of(5) { long.as_str() } else { "short" })})
    };
    for start in [0, 500, 1000] {
        let rows: Vec<Value> = (start..(start + 500).min(1400)).map(row).collect();
        server.post("/api/add_user_profile", &json!({"user_profiles": rows})).await.ok();
    }
    for n in (0..1400).filter(|n| n % 3 == 0) {
        let body = json!({"user_id": format!("u{}", n % 4), "profile_id": format!("p{n}"),
            "content": format!("second{n} shared {}", if n % 2 == 0 { long.as_str() } else { "brief" })});
        server.put("/api/update_user_profile", &body).await.ok();
    }
    let gone: Vec<String> = (0..1400).filter(|n| n % 4 == 1).map(|n| format!("p{n}")).collect();
    let deleted =
        server.delete("/api/delete_profiles_by_ids", &json!({"profile_ids": gone})).await.ok();
    assert_eq!(deleted["deleted_count"], 350);
    for compacted in [false, true] {
        if compacted {
            t.app
                .db
                .write("test.compact", (), |tx, ()| {
                    Box::pin(async move {
                        let mut first = true;
                        while learnings::compact_index(tx, first).await? {
                            first = false;
                        }
                        Ok(())
                    })
                })
                .await
                .unwrap();
        }
        check_index(&t).await;
        for user in 0..4 {
            let expected = if user == 1 { 0 } else { 350 };
            assert_eq!(matches(&t, user, "share").await, expected, "u{user}");
        }
        for n in (0..1400).filter(|n| n % 13 == 0) {
            let there = n % 4 != 1;
            let (first, second) = (i64::from(there && n % 3 != 0), i64::from(there && n % 3 == 0));
            assert_eq!(matches(&t, n % 4, &format!("first{n}")).await, first, "{n}");
            assert_eq!(matches(&t, n % 4, &format!("second{n}")).await, second, "{n}");
            assert_eq!(matches(&t, (n + 1) % 4, &format!("first{n}")).await, 0, "{n}");
        }
    }
    for user in ["u0", "u2", "u3"] {
        server.post("/api/clear_user_data", &json!({"user_id": user})).await.ok();
    }
    check_index(&t).await;
    assert_eq!(index_entries(&t).await, 0);
}

#[apply(both_backends)]
async fn someone_with_many_learnings_is_served_from_the_index(t: TestApp) {
    let server = t.serve().await;
    for user in ["ada", "bob"] {
        let filler = |n: i32| json!({"user_id": user, "content": format!("note {n} about gardens of {user}")});
        let mut rows: Vec<Value> = (0..400).map(filler).collect();
        rows[3] = json!({"user_id": user, "content": format!("subscription cancelled by {user}"), "tags": ["t"]});
        rows[5] =
            json!({"user_id": user, "content": format!("東京都に住む {user}"), "source": "web"});
        server.post("/api/add_user_profile", &json!({"user_profiles": rows})).await.ok();
    }
    for (query, expected) in [
        ("cancelled subscriptions", "subscription cancelled by ada"),
        ("subscripton", "subscription cancelled by ada"),
        ("京都", "東京都に住む ada"),
        ("note 17", "note 17 about gardens of ada"),
    ] {
        let found = profiles(&server, "ada", query).await;
        assert_eq!(found.first().map(String::as_str), Some(expected), "{query}");
        assert!(found.iter().all(|content| content.ends_with("ada")), "{query}");
    }
    let body = json!({"user_id": "ada", "query": "subscription gardens", "tags": ["t"]});
    assert_eq!(contents(&server, body, "profiles").await, ["subscription cancelled by ada"]);
    assert_eq!(profiles(&server, "ada", "gardens").await.len(), 100, "as many as were asked for");
}

#[apply(both_backends)]
async fn an_organization_with_many_playbooks_finds_the_rare_word(t: TestApp) {
    let server = t.serve().await;
    for start in [0, 500] {
        let rows: Vec<Value> = (start..start + 500).map(|n| json!({"trigger": "customer asks about order",
            "content": format!("answer {n} politely"), "playbook_status": if n % 2 == 0 { "approved" } else { "rejected" },
            "agent_version": if n == 40 { "v2" } else { "v1" }})).collect();
        server.post("/api/add_agent_playbook", &json!({"agent_playbooks": rows})).await.ok();
    }
    let find = async |body: Value| contents(&server, body, "agent_playbooks").await;
    let found = find(json!({"query": "customer order answer 6"})).await;
    assert_eq!(
        (found.len(), found[0].as_str()),
        (5, "answer 6 politely"),
        "though the other words are everywhere"
    );
    assert_eq!(
        find(json!({"query": "asks for answer 7"})).await.len(),
        5,
        "rejected ones are passed over"
    );
    assert_eq!(
        find(json!({"query": "polite", "agent_version": "v2"})).await,
        ["answer 40 politely"],
        "a narrow filter is found behind a word that is everywhere"
    );
    assert_eq!(
        find(json!({"query": "polite 40", "agent_version": "v2"})).await,
        ["answer 40 politely"]
    );
}

async fn check_index(t: &TestApp) {
    let check =
        t.app.db.write("test.check_index", (), |tx, ()| Box::pin(learnings::check_index(tx)));
    check.await.unwrap();
}

/// Number of a user's rows that the index finds by a term.
async fn matches(t: &TestApp, user: usize, term: &str) -> i64 {
    let input = (OrgId::from("default"), UserId::from(format!("u{user}")), term.to_owned());
    let read = t.app.db.read("test.matches", input, |tx, (org, user, term)| {
        Box::pin(async move {
            let sql = "SELECT scope FROM learning_scopes WHERE org_id = $1 AND subject = $2";
            let Some((scope,)) = row!(tx, (i64,), sql, org, user)? else {
                return Ok(None);
            };
            let term = storage::db::TextTerm { text: format!("p{scope}x{term}"), prefix: false };
            let query = tx.any_of(std::iter::once(&term));
            let sql = match tx.engine() {
                Engine::Sqlite => {
                    storage::statement!("SELECT COUNT(*) FROM profiles_index i WHERE {matches:$1}")
                }
                Engine::Postgres => {
                    storage::statement!("SELECT COUNT(*) FROM profiles b WHERE {matches:$1}")
                }
            };
            row!(tx, (i64,), sql, query)
        })
    });
    read.await.unwrap().map_or(0, |(count,)| count)
}

/// Documents in the full-text index of profiles.
async fn index_entries(t: &TestApp) -> i64 {
    let sql = match t.backend {
        Backend::Sqlite => "SELECT COUNT(*) FROM profiles_index_docsize",
        Backend::Postgres => "SELECT COUNT(*) FROM profiles",
    };
    let read = t.app.db.read("test.count", sql, |tx, sql: &&'static str| {
        let sql = *sql;
        Box::pin(async move { row!(tx, (i64,), sql) })
    });
    read.await.unwrap().map_or(0, |(count,)| count)
}

mod vectors {
    use super::*;

    async fn with_hash(backend: Backend) -> TestApp {
        TestApp::with(backend, |s| s.embedder.kind = "hash".to_owned()).await
    }

    async fn embed(t: &TestApp) {
        jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    }

    async fn check(backend: Backend) {
        let t = with_hash(backend).await;
        let server = t.serve().await;
        let id = add_profile(&server, "ada", "Enjoys photography").await;
        let playbook =
            add_agent_playbook(&server, json!({"content": "Offer photography courses"})).await;
        let by = |mode: &str| json!({"user_id": "ada", "query": "photographic", "search_mode": mode, "threshold": 0.2});
        let before = server.post("/api/search", &by("vector")).await.ok();
        assert_eq!(
            (&before["profiles"], &before["degraded"]),
            (&json!([]), &json!(true)),
            "not embedded yet"
        );
        let before = server.post("/api/search", &by("hybrid")).await.ok();
        assert_eq!(before["profiles"].as_array().unwrap().len(), 1, "full text finds it meanwhile");
        embed(&t).await;
        let after = server.post("/api/search", &by("vector")).await.ok();
        assert_eq!(
            (&after["degraded"], &after["search_mode_effective"]),
            (&json!(false), &json!("vector"))
        );
        assert_eq!(after["profiles"].as_array().unwrap().len(), 1);
        assert_eq!(after["agent_playbooks"].as_array().unwrap().len(), 1);
        let strict = json!({"user_id": "ada", "query": "photographic", "search_mode": "vector", "threshold": 0.99});
        assert_eq!(server.post("/api/search", &strict).await.ok()["profiles"], json!([]));
        assert_eq!(
            server.post("/api/search", &by("hybrid")).await.ok()["search_mode_effective"],
            "hybrid"
        );
        let stranger = json!({"user_id": "bob", "query": "photography", "search_mode": "vector"});
        assert_eq!(server.post("/api/search", &stranger).await.ok()["profiles"], json!([]));

        // A second replica has the organization's vectors in memory when they go from the database.
        let replica = t.replica().await;
        let other = replica.serve().await;
        assert_eq!(
            other.post("/api/search", &by("vector")).await.ok()["agent_playbooks"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        server
            .delete("/api/delete_agent_playbook", &json!({"agent_playbook_id": playbook}))
            .await
            .ok();
        server
            .delete("/api/delete_profile", &json!({"user_id": "ada", "profile_id": id}))
            .await
            .ok();
        for replica in [&server, &other] {
            let found = replica.post("/api/search", &by("vector")).await.ok();
            assert_eq!((&found["agent_playbooks"], &found["profiles"]), (&json!([]), &json!([])));
        }
        // And sees a new one as soon as it has a vector.
        add_agent_playbook(&server, json!({"content": "Photography is a paid course"})).await;
        embed(&t).await;
        assert_eq!(
            other.post("/api/search", &by("vector")).await.ok()["agent_playbooks"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        check(Backend::Sqlite).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn postgres() {
        check(Backend::Postgres).await;
    }
}
