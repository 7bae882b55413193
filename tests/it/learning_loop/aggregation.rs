//! Aggregation: what several people teach is proposed for all, without anything of theirs.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{ENOUGH, agent_playbooks, finished, playbooks, teach, teach_all, work};
use crate::support::{Server, TestApp, apply, both_backends};

async fn decide(server: &Server, playbook: &Value, status: &str) {
    let body =
        json!({"agent_playbook_id": playbook["agent_playbook_id"], "playbook_status": status});
    server.put("/api/update_agent_playbook_status", &body).await.ok();
}

#[apply(both_backends)]
async fn several_people_make_one_pending_playbook_and_one_person_none(t: TestApp) {
    let server = t.serve().await;
    teach(
        &t,
        &server,
        &[
            ("ada", "Always quote prices with tax."),
            ("ada", "Please always quote the prices with tax!"),
        ],
    )
    .await;
    assert!(agent_playbooks(&server).await.is_empty(), "one person is not several");
    let quote = "Always quote prices with tax.";
    teach(
        &t,
        &server,
        &[
            ("bob", quote),
            ("eve", "Never send paper letters to me."),
            ("lea", quote),
            ("zoe", quote),
        ],
    )
    .await;
    assert!(agent_playbooks(&server).await.is_empty(), "four are not five");
    teach(&t, &server, &[("joe", quote)]).await;
    let found = agent_playbooks(&server).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["playbook_status"], &found[0]["agent_version"]),
        (&json!("pending"), &json!("v1"))
    );
    assert_eq!(
        (&found[0]["source_user_count"], &found[0]["below_min_users"]),
        (&json!(5), &json!(false))
    );
    assert_eq!(found[0]["source_windows"].as_array().unwrap().len(), 5);
    assert_eq!(found[0]["content"], "Always quote prices with tax.");
    // A sixth person is added to it; nothing is proposed twice.
    teach(&t, &server, &[("kim", "Always quote prices with the tax.")]).await;
    let found = agent_playbooks(&server).await;
    assert_eq!((found.len(), &found[0]["source_user_count"]), (1, &json!(6)));
    // Sources that go lower the count, which shows, and leave the playbook.
    for user in ["ada", "bob"] {
        server.post("/api/clear_user_data", &json!({"user_id": user})).await.ok();
    }
    let left = agent_playbooks(&server).await;
    assert_eq!(
        (left.len(), &left[0]["source_user_count"], &left[0]["below_min_users"]),
        (1, &json!(4), &json!(true))
    );
    assert_eq!(left[0]["content"], found[0]["content"]);
}

#[apply(both_backends)]
async fn the_wording_that_is_free_of_its_people_is_taken(t: TestApp) {
    let server = t.serve().await;
    let with_names = [
        (
            "ada.lovelace@example.org",
            "Always send the invoice PDF by mail to Ada at ada.lovelace@example.org.",
        ),
        ("bob-77", "Always send the invoice PDF by mail to Bob, customer 998."),
    ];
    let plain = ["u1", "u2", "u3"].map(|user| (user, "Always send the invoice PDF by mail."));
    teach(&t, &server, &plain).await;
    teach(&t, &server, &with_names).await;
    let found = agent_playbooks(&server).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (&found[0]["content"], &found[0]["source_user_count"]),
        (&json!(plain[0].1), &json!(5))
    );
}

#[apply(both_backends)]
async fn what_is_rejected_does_not_come_back_unchanged(t: TestApp) {
    let server = t.serve().await;
    teach_all(&t, &server, "Always quote prices with tax.").await;
    let rejected = agent_playbooks(&server).await[0].clone();
    decide(&server, &rejected, "rejected").await;
    teach(
        &t,
        &server,
        &[
            ("eve", "Always quote prices with tax."),
            ("joe", "Please always quote prices with tax."),
        ],
    )
    .await;
    assert_eq!(agent_playbooks(&server).await.len(), 1, "only the rejected one");
    assert!(t.number("SELECT COUNT(*) FROM rejected_ideas").await == 1);
    // Another idea is another idea.
    let other = "Always quote delivery times in working days.";
    teach_all(&t, &server, other).await;
    assert_eq!(agent_playbooks(&server).await.len(), 2);
    // A reopened playbook may gain sources again.
    decide(&server, &rejected, "pending").await;
    assert_eq!(t.number("SELECT COUNT(*) FROM rejected_ideas").await, 0);
    teach(&t, &server, &[("max", "Always quote prices with tax.")]).await;
    let found = agent_playbooks(&server).await;
    let again =
        found.iter().find(|p| p["agent_playbook_id"] == rejected["agent_playbook_id"]).unwrap();
    assert_eq!(again["source_user_count"], 8, "{found:?}");
}

#[apply(both_backends)]
async fn an_approved_playbook_serves_people_who_taught_nothing(t: TestApp) {
    let server = t.serve().await;
    teach_all(&t, &server, "Always quote prices with tax.").await;
    let playbook = agent_playbooks(&server).await[0].clone();
    let search = json!({"query": "prices tax", "user_id": "new"});
    assert_eq!(server.post("/api/search", &search).await.ok()["agent_playbooks"], json!([]));
    decide(&server, &playbook, "approved").await;
    let served = server.post("/api/search", &search).await.ok();
    assert_eq!(served["agent_playbooks"][0]["agent_playbook_id"], playbook["agent_playbook_id"]);
    assert_eq!(served["user_playbooks"], json!([]), "what others said stays theirs");
    // From the turns through the approval: where it came from.
    let ask =
        json!({"kind": "agent_playbook", "learning_id": playbook["agent_playbook_id"].to_string()});
    let way = server.post("/api/get_learning_provenance", &ask).await.ok();
    let decisions: Vec<_> = way["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| (&d["decision"], &d["actor"]))
        .collect();
    assert_eq!(json!(decisions), json!([["proposed", "aggregation"], ["approved", "dashboard"]]));
    assert_eq!(
        (&way["source_user_count"], way["sources"].as_array().unwrap().len()),
        (&json!(5), 5)
    );
    assert_eq!(way["sources"][0]["proposals"][0]["extractor"], "rules");
    assert_eq!(way["interactions"].as_array().unwrap().len(), 5);
}

#[apply(both_backends)]
async fn decisions_of_people_are_audited(t: TestApp) {
    let server = t.serve().await;
    teach_all(&t, &server, "Always quote prices with tax.").await;
    let playbook = agent_playbooks(&server).await[0].clone();
    let events = "SELECT COUNT(*) FROM audit_events WHERE operation = 'PLAYBOOK'";
    assert_eq!(t.number(events).await, 0, "a proposal is nobody's decision");
    decide(&server, &playbook, "approved").await;
    decide(&server, &playbook, "approved").await;
    assert_eq!(t.number(events).await, 1, "nothing was decided the second time");
    let id = &playbook["agent_playbook_id"];
    server.put("/api/update_agent_playbook", &json!({"agent_playbook_id": id, "content": "Quote prices with tax", "status": "archived"})).await.ok();
    decide(&server, &playbook, "rejected").await;
    let told: Vec<(String, String)> = t
        .app
        .db
        .read("test.events", (), |tx, ()| {
            Box::pin(async move {
                storage::rows!(
                    tx,
                    (String, String),
                    "SELECT actor_ref, CAST(counts AS TEXT) FROM audit_events
                WHERE operation = 'PLAYBOOK' ORDER BY sequence"
                )
            })
        })
        .await
        .unwrap();
    for ((actor, counts), decision) in
        told.iter().zip(["approved", "edited", "archived", "rejected"])
    {
        assert!(actor.starts_with("actref_v1_"), "{actor}");
        let counts: Value = serde_json::from_str(counts).unwrap();
        assert_eq!(counts, json!({"agent_playbook_id": id, decision: 1}));
    }
    assert_eq!(told.len(), 4);
    let chain = storage::subjects::audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap();
    assert_eq!(chain.broken_at, None);
}

#[apply(both_backends)]
async fn the_way_of_a_learning_goes_through_merges_and_replacements(t: TestApp) {
    let server = t.serve().await;
    let say = async |text: &str| {
        let answer = server.publish(&finished("ada", text, &[("User", text)])).await.ok();
        work(&t).await;
        answer["interaction_ids"][0].clone()
    };
    let first = say("Always answer in metric units.").await;
    say("Please always answer in metric units!").await;
    let third = say("Never answer in metric units.").await;
    let known = playbooks(&server, "ada").await;
    let way = async |id: &Value| {
        let ask = json!({"kind": "user_playbook", "learning_id": id.to_string()});
        server.post("/api/get_learning_provenance", &ask).await.ok()
    };
    let newest = way(&known[0]["user_playbook_id"]).await;
    let outcomes: Vec<_> =
        newest["proposals"].as_array().unwrap().iter().map(|p| p["outcome"].clone()).collect();
    assert_eq!(json!(outcomes), json!(["added", "merged", "superseded"]));
    let turns: Vec<_> = newest["interactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["interaction_id"].clone())
        .collect();
    assert_eq!((&turns[0], turns.last().unwrap()), (&first, &third));
    let older = way(&known[1]["user_playbook_id"]).await;
    assert_eq!(older["superseded_by"], known[0]["user_playbook_id"].to_string());
    assert_eq!(older["status"], "superseded");
    // Deleted turns are said to be deleted.
    server
        .delete("/api/delete_interaction", &json!({"user_id": "ada", "interaction_id": first}))
        .await
        .ok();
    assert_eq!(way(&known[1]["user_playbook_id"]).await["deleted_interaction_ids"], json!([first]));
    let ask = json!({"kind": "profile", "learning_id": "none"});
    server.post("/api/get_learning_provenance", &ask).await.problem(404, "not_found");
}

#[apply(both_backends)]
async fn skip_aggregation_and_the_configuration_are_kept(t: TestApp) {
    let server = t.serve().await;
    for user in ENOUGH {
        let mut body = finished(user, "s1", &[("User", "Always quote prices with tax.")]);
        body["skip_aggregation"] = json!(true);
        server.publish(&body).await.ok();
    }
    work(&t).await;
    t.clock().advance(60);
    work(&t).await;
    assert!(agent_playbooks(&server).await.is_empty());
    server.post("/api/update_config", &json!({"learning": {"min_users": 6}})).await.ok();
    teach(&t, &server, &[("bob", "Always quote prices with tax, please.")]).await;
    assert!(agent_playbooks(&server).await.is_empty(), "five are not six");
    teach(&t, &server, &[("max", "Always quote prices with tax.")]).await;
    assert_eq!(agent_playbooks(&server).await[0]["source_user_count"], 6);
    for (given, ok) in [(1, false), (2, true), (100, true), (101, false)] {
        let answer =
            server.post("/api/update_config", &json!({"learning": {"min_users": given}})).await;
        assert_eq!(answer.status == 200, ok, "{given}");
    }
}

#[apply(both_backends)]
async fn replicas_that_aggregate_at_once_propose_once(t: TestApp) {
    let other = t.replica().await;
    let server = t.serve().await;
    join_all((0..12).map(|n| {
        let server = &server;
        async move {
            server
                .publish(&finished(
                    &format!("u{n}"),
                    "s",
                    &[("User", "Always quote prices with tax.")],
                ))
                .await
                .ok();
        }
    }))
    .await;
    tokio::join!(work(&t), work(&other));
    t.clock().advance(30);
    tokio::join!(work(&t), work(&other));
    work(&t).await;
    let found = agent_playbooks(&server).await;
    assert_eq!((found.len(), &found[0]["source_user_count"]), (1, &json!(12)), "{found:?}");
}

/// A hundred wordings each of twenty rules, added by programs, are twenty proposals.
#[apply(both_backends)]
async fn near_duplicates_are_one_proposal(t: TestApp) {
    let server = t.serve().await;
    let subjects = [
        "prices",
        "refunds",
        "deliveries",
        "invoices",
        "returns",
        "vouchers",
        "sizes",
        "colours",
        "warranties",
        "addresses",
        "discounts",
        "parcels",
        "bookings",
        "repairs",
        "gifts",
        "taxes",
        "samples",
        "catalogues",
        "receipts",
        "subscriptions",
    ];
    let wordings =
        ["Always mention {} in the first line", "Please always mention the {} in the first line!"];
    let proposals: Vec<Value> = (0..2000)
        .map(|n| {
            let wording = wordings[n / 20 % wordings.len()].replace("{}", subjects[n % 20]);
            json!({"content": wording, "agent_version": "v1"})
        })
        .collect();
    for batch in proposals.chunks(500) {
        let body = json!({"agent_playbooks": batch});
        server.post("/api/add_agent_playbook", &body).await.ok();
    }
    t.clock().advance(30);
    let begun = std::time::Instant::now();
    work(&t).await;
    println!("merged in {:?}", begun.elapsed());
    let left = t.number("SELECT COUNT(*) FROM agent_playbooks WHERE status = 'current'").await;
    assert_eq!(left, 20);
    let archived = "SELECT COUNT(*) FROM agent_playbook_decisions WHERE decision = 'archived'";
    assert_eq!(t.number(archived).await, 1980);
}

/// However many playbooks a version has, all of them are compared.
#[apply(both_backends)]
async fn the_oldest_playbooks_are_compared_too(t: TestApp) {
    let server = t.serve().await;
    let rule = "Always quote prices with tax.";
    let add = |user: String, content: String| json!({"user_id": user, "agent_version": "v1", "content": content});
    let mut all = Vec::new();
    for user in &ENOUGH[..3] {
        all.push(add((*user).to_owned(), rule.to_owned()));
    }
    for n in 0..2100 {
        let word: String = format!("{n:04}").bytes().map(|b| char::from(b + 49)).collect();
        all.push(add(format!("other-{n}"), format!("Always mention {word}{word} and {word}")));
    }
    for user in &ENOUGH[3..] {
        all.push(add((*user).to_owned(), rule.to_owned()));
    }
    for batch in all.chunks(300) {
        server.post("/api/add_user_playbook", &json!({"user_playbooks": batch})).await.ok();
    }
    t.clock().advance(30);
    work(&t).await;
    let made = agent_playbooks(&server).await;
    assert_eq!(made.len(), 1, "{made:?}");
    assert_eq!((&made[0]["content"], &made[0]["source_user_count"]), (&json!(rule), &json!(5)));
}
