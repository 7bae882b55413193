//! The fault matrix: an erasure that fails or is killed anywhere is resumed and ends complete, once, and the barrier
//! is never open in between.

use std::time::Duration;

use serde_json::{Value, json};
use storage::faults::{ERASURE, Fault};
use storage::subjects::audit;

use super::erase::{Both, erase_events, pair, rows_of};
use crate::evaluation::work;
use crate::publish::two_turns;
use crate::support::{Backend, Process, TestApp, apply, both_backends, new_schema};

async fn plant(both: &Both, user: &str) {
    for session in ["s1", "s2"] {
        both.agent.publish(&two_turns(user, session)).await.ok();
    }
    let profile = json!({"user_profiles": [{"user_id": user, "content": "likes green tea"}]});
    both.agent.post("/api/add_user_profile", &profile).await.ok();
}

#[apply(both_backends)]
async fn an_error_anywhere_leaves_the_barrier_closed_and_is_resumed(t: TestApp) {
    let both = Both::new(&t).await;
    let mut failures = 0;
    for (number, place) in ERASURE.iter().enumerate() {
        let user = format!("user{number}");
        plant(&both, &user).await;
        let begun = *place != "erase.before_begin";
        t.app.faults.arm(place, Fault::Error(if begun { 2 } else { 1 }));
        let first = both.governor.post("/api/governance/erase-user", &pair(&user, "dsr")).await;
        let reached =
            t.backend == Backend::Sqlite || !place.contains("scrub") && !place.contains("index");
        let ended = *place == "erase.after_final" || !reached;
        assert_eq!(first.status == 200, ended, "{place}: {}", first.text);
        if begun {
            let code = if ended { "subject_erased" } else { "subject_erasing" };
            both.agent.publish(&two_turns(&user, "new")).await.problem(409, code);
        }
        failures += i64::from(begun && !ended);
        if first.status == 202 {
            let failed = first.json();
            assert_eq!(failed["status"], "failed", "{place}");
            assert!(failed["error_code"].as_str().unwrap().starts_with("erase_"), "{failed}");
        }
        // The workers resume it after a pause, however often it fails; one of them the same request.
        for _ in 0..3 {
            t.clock().advance(100);
            work(&t).await;
        }
        let done = both.erase(&user, "dsr").await;
        assert_eq!(done["status"], "complete", "{place}");
        let counts = &done["deleted_counts"];
        assert_eq!(
            (&counts["interactions"], &counts["sessions"], &counts["profiles"]),
            (&json!(4), &json!(2), &json!(1)),
            "{place}"
        );
        assert_eq!(rows_of(&t, &user).await, 0, "{place}");
        assert_eq!(erase_events(&t).await, i64::try_from(number).unwrap() + 1, "{place}");
        both.agent.publish(&two_turns(&user, "new")).await.problem(409, "subject_erased");
    }
    assert_eq!(audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at, None);
    // Every attempt that failed is in the audit, and each place failed twice at most.
    let audited = t
        .number("SELECT COUNT(*) FROM audit_events WHERE operation = 'ERASE' AND status = 'error'")
        .await;
    assert!(
        failures > 0 && (failures..=failures * 2).contains(&audited),
        "{audited} of {failures}"
    );
    assert_eq!(
        t.number("SELECT COUNT(*) FROM purge_operations WHERE status <> 'complete'").await,
        0
    );
    assert_eq!(
        t.number("SELECT COUNT(*) FROM purge_operations WHERE sealed_user IS NOT NULL").await,
        0
    );
}

#[apply(both_backends)]
async fn a_worker_that_lost_its_lease_changes_nothing_more(t: TestApp) {
    let both = Both::new(&t).await;
    plant(&both, "ada").await;
    t.app.faults.arm("erase.before_final", Fault::Error(1));
    both.governor.post("/api/governance/erase-user", &pair("ada", "dsr")).await;
    t.clock().advance(3600);
    let slow = storage::jobs::claim(&t.app, &["erase_user"], 1).await.unwrap().remove(0);
    t.clock().advance(3600);
    work(&t).await;
    assert_eq!(erase_events(&t).await, 1);
    let handlers = service::wiring::job_handlers();
    let erase = handlers.into_iter().find(|h| h.kind() == "erase_user").unwrap();
    assert!(erase.run(&t.app, &slow).await.is_err());
    assert_eq!(erase_events(&t).await, 1);
    assert_eq!(both.erase("ada", "dsr").await["status"], "complete");
}

/// Kills the real program at a place, starts it again, and gives what became of the erasure.
async fn killed_at(backend: Backend, place: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let args = match backend {
        Backend::Sqlite => vec!["--data-dir".to_owned(), folder.path().display().to_string()],
        Backend::Postgres => vec!["--database-url".to_owned(), new_schema().await],
    };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let bearer = "a-governance-bearer-of-more-than-32-letters";
    let dashboard = "a-dashboard-credential-of-more-than-32-letters";
    let start = |fault: Option<String>| {
        let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(&args).env("EVENHAND_GOVERNANCE_BEARER", bearer);
        command.env("EVENHAND_DASHBOARD_KEY", dashboard).env("EVENHAND_JOBS__LEASE_SECONDS", "5");
        if let Some(fault) = fault {
            command.env("EVENHAND_FAULT", fault);
        }
        Process::start(&mut command)
    };
    let mut process = start(Some(format!("kill:{place}")));
    let client = reqwest::Client::new();
    let publish = async |process: &Process| {
        let url = process.url("/api/publish_interaction");
        client.post(url).bearer_auth(dashboard).json(&two_turns("ada", "s1")).send().await
    };
    assert_eq!(publish(&process).await.unwrap().status(), 200);
    let erase = async |process: &Process| {
        let url = process.url("/api/governance/erase-user");
        client.post(url).bearer_auth(bearer).json(&pair("ada", "dsr")).send().await
    };
    // Once the last write is there, the request may see it before the program dies.
    let first = erase(&process).await;
    let told = first.is_ok_and(|answer| answer.status() == 200);
    assert!(!told || place == "erase.after_final", "{place}: it was killed");
    process.ended().await;
    let process = start(None);
    let open = publish(&process).await.unwrap().status() == 200;
    assert_eq!(open, place == "erase.before_begin", "{place}: the barrier");
    // The lease of the dead runs out by itself.
    for _ in 0..60 {
        let answer = erase(&process).await.unwrap();
        if answer.status() == 200 {
            return answer.json().await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    panic!("{place}: the erasure does not end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_place_on_sqlite_it_ends_complete() {
    for place in ERASURE {
        let done = killed_at(Backend::Sqlite, place).await;
        // Before it began, the door was open for one more publish.
        let turns = if *place == "erase.before_begin" { 4 } else { 2 };
        let found = (&done["status"], &done["deleted_counts"]["interactions"]);
        assert_eq!(found, (&json!("complete"), &json!(turns)), "{place}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_place_on_postgres_it_ends_complete() {
    let reached = ERASURE.iter().filter(|p| !p.contains("scrub") && !p.contains("index"));
    for place in reached {
        let done = killed_at(Backend::Postgres, place).await;
        // Before it began, the door was open for one more publish.
        let turns = if *place == "erase.before_begin" { 4 } else { 2 };
        let found = (&done["status"], &done["deleted_counts"]["interactions"]);
        assert_eq!(found, (&json!("complete"), &json!(turns)), "{place}");
    }
}
