//! Another governance key for subjects: everything reads as before, and whoever was erased stays out.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::ids::Ids;
use base::owner::{OrgId, UserId};
use serde_json::{Value, json};
use service::app::{App, Schema};
use service::credentials::GivenCredentials;
use service::evaluation::overview;
use service::governance::audit::agreement;
use service::governance::canaries::Scanner;
use service::governance::rekey::{self, Progress, Rekeyed};
use service::user_tables::USER_TABLES;
use storage::db::Objects;
use storage::error::{Error, Result};
use storage::subjects::{audit, barrier, wall};

use super::canary::features::{FEATURES, Person};
use super::canary::{Quoting, columns_with, tables_to_read};
use super::erase::{Both, pair, rows_of};
use super::{current_keys, reopened};
use crate::publish::two_turns;
use crate::support::{Backend, NOW, TestApp, apply, both_backends};

fn key(id: &str, byte: u8) -> String {
    format!("{id}:{}", hex::encode([byte; 32]))
}

/// Rekeys an installation that nobody has open, as the command does.
async fn rekeyed(
    t: &TestApp,
    keys: &str,
    watch: impl FnMut(Progress) -> Result<()>,
) -> Result<Rekeyed> {
    let mut settings = rekey::settings(t.settings().clone());
    settings.governance.keys = keys.to_owned();
    let (clock, given) = (t.clock().clone(), GivenCredentials::default());
    let ids = Ids::seeded(clock.clone(), 7);
    let app = App::open_with(settings, clock, ids, Schema::BetweenKeys, given).await?;
    let rekeyed = rekey::run(&app, None, watch).await;
    app.stop().await;
    rekeyed
}

/// The same installation with these keys.
async fn with_keys(t: &TestApp, keys: &str) -> TestApp {
    t.replica_with(|settings| settings.governance.keys = keys.to_owned()).await
}

/// The keys of a test's installation, and another one after them.
fn keys_and(t: &TestApp, another: &str) -> String {
    format!("{},{another}", current_keys(t).trim())
}

/// Profiles of somebody and a search, as the interface answers. A search with an experiment notes that it was made.
async fn answers(both: &Both, user: &str) -> (Value, Value) {
    let of_user = json!({"user_id": user});
    let search = json!({"user_id": user, "query": "refund likes tax", "top_k": 100});
    (
        both.agent.post("/api/get_profiles", &of_user).await.ok(),
        both.agent.post("/api/search", &search).await.ok(),
    )
}

/// All that is stored of somebody. Keys of jobs are made of the subject, and are told without it.
async fn stored(t: &TestApp, both: &Both, user: &str) -> String {
    let export =
        both.governor.post("/api/governance/export-user", &pair(user, "export")).await.ok();
    let hash = t.app.subject_keys.subject_hash();
    let subject = hash.subject(&OrgId::from("org"), &UserId::from(user)).to_string();
    export["bundle"].to_string().replace(&subject, "subject")
}

/// The subjects of users as texts have them: digits, or a UUID.
fn written(t: &TestApp, users: &[String]) -> Vec<String> {
    let hash = t.app.subject_keys.subject_hash();
    let digits =
        |user: &String| hash.subject(&OrgId::from("org"), &UserId::from(user.as_str())).to_string();
    let uuid = |digits: &str| {
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        parts.join("-")
    };
    users.iter().map(digits).flat_map(|digits| [uuid(&digits), digits]).collect()
}

/// A table that holds subjects and is not known would keep the old ones.
#[apply(both_backends)]
async fn every_table_with_subjects_is_gone_through(t: TestApp) {
    let tables = t
        .app
        .db
        .read("test.tables", (), |tx, ()| Box::pin(tx.names_of(Objects::Tables)))
        .await
        .unwrap();
    let known: Vec<&str> = USER_TABLES.iter().map(|table| table.table).collect();
    for table in tables {
        let table: &'static str = Box::leak(table.into_boxed_str());
        let columns =
            t.app.db.read("test.columns", table, |tx, name| Box::pin(tx.columns_of(name))).await;
        let has_subjects = columns.unwrap().iter().any(|(column, _)| column == "subject");
        let is_known =
            known.contains(&table) || rekey::TABLES.others.contains(&table) || table == "subjects";
        // Its subject is what a provider calls somebody who signs in.
        assert_eq!(has_subjects && table != "people", is_known, "{table}");
    }
}

#[apply(both_backends)]
async fn everything_reads_as_before_and_the_erased_stay_out(t: TestApp) {
    let first = t;
    let t = first.taught_by(Arc::new(Quoting::default())).await;
    let both = Both::new(&t).await;
    both.agent.post("/api/update_config", &json!({"learning": {"min_users": 4}})).await.ok();
    let people: Vec<Person> = (0..4).map(|_| Person::new(&t, &both)).collect();
    for (_, feature) in FEATURES {
        for person in &people {
            feature(person).await;
        }
    }
    let users: Vec<String> = people.iter().map(|person| person.user.clone()).collect();
    let erased = &users[0];
    both.erase(erased, "dsr").await;
    let mut answered = Vec::new();
    for user in &users[1..] {
        answered.push(answers(&both, user).await);
    }
    t.app.stop().await;
    first.app.stop().await;
    let t = with_keys(&first, &current_keys(&first)).await;
    let both = Both::new(&t).await;
    let mut before = Vec::new();
    for user in &users[1..] {
        before.push(stored(&t, &both, user).await);
    }
    let named = t.number("SELECT COUNT(*) FROM subjects WHERE user_id IS NOT NULL").await;
    let known = t.number("SELECT COUNT(*) FROM subjects").await;
    t.app.stop().await;

    let keys = keys_and(&first, &key("k2", 2));
    let done = rekeyed(&first, &keys, |_| Ok(())).await.unwrap();
    assert_eq!((done.key_id.as_str(), done.went_on), ("k2", false));
    assert_eq!((done.people as i64, done.moved as i64), (named, named));
    assert_eq!(done.behind, BTreeMap::from([("k1".to_owned(), 1)]));

    let t = with_keys(&first, &keys).await;
    let tables = tables_to_read(&t).await;
    let old = Scanner::new(&written(&first, &users[1..])).unwrap();
    let left = columns_with(&t, &tables, &old).await;
    assert!(left.is_empty(), "old subjects: {left:?}");
    let new = Scanner::new(&written(&t, &users[1..])).unwrap();
    assert!(!columns_with(&t, &tables, &new).await.is_empty(), "the control");
    let both = Both::new(&t).await;
    for (user, before) in users[1..].iter().zip(&before) {
        assert_eq!(&stored(&t, &both, user).await, before);
    }
    for (user, answered) in users[1..].iter().zip(&answered) {
        assert_eq!(&answers(&both, user).await, answered);
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, known);
    assert_eq!(t.mismatches().await, 0);
    let sums = t.app.db.read("test.sums", (), |tx, ()| Box::pin(overview::mismatches(tx))).await;
    assert_eq!(format!("{:?}", sums.unwrap()), "[]", "no trigger counted anything");
    let strays = t
        .app
        .db
        .read("test.strays", (), |tx, ()| Box::pin(wall::strays(tx, USER_TABLES)))
        .await
        .unwrap();
    assert!(strays.is_empty(), "{strays:?}");
    t.sql("UPDATE sessions SET epoch = epoch + 1").await.expect_err("the wall stands again");
    assert_eq!(audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at, None);

    // The erased person is refused, and after being readmitted is the same person.
    both.agent.publish(&two_turns(erased, "new")).await.problem(409, "subject_erased");
    both.governor.post("/api/governance/readmit-user", &pair(erased, "again")).await.ok();
    both.agent.publish(&two_turns(erased, "new")).await.ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, known, "no second one");
    t.app.stop().await;
    let t = with_keys(&first, &keys).await;
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns(erased, "newer")).await.ok();
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, known, "nor after a restart");

    // An erasure finds everything under the new subject, as it was asked for before the rekey or is now.
    both.erase(&users[1], "dsr").await;
    assert_eq!(rows_of(&t, &users[1]).await, 0);
    let rows_of_nobody = "SELECT COUNT(*) FROM sessions s WHERE NOT EXISTS (
        SELECT 1 FROM subjects p WHERE p.org_id = s.org_id AND p.subject = s.subject)";
    assert_eq!(t.number(rows_of_nobody).await, 0);
    both.agent.publish(&two_turns(&users[1], "new")).await.problem(409, "subject_erased");
    assert!(rows_of(&t, &users[2]).await > 0);
    t.app.stop().await;
}

#[apply(both_backends)]
async fn an_earlier_key_is_needed_as_long_as_somebody_stands_under_it(t: TestApp) {
    let (k2, k3) = (key("k2", 2), key("k3", 3));
    let both = Both::new(&t).await;
    for user in ["ada", "bob"] {
        both.agent.publish(&two_turns(user, "s1")).await.ok();
    }
    t.app.stop().await;
    let done = rekeyed(&t, &keys_and(&t, &k2), |_| Ok(())).await.unwrap();
    assert!(done.behind.is_empty());

    // Nobody stands under the first key: it may go.
    let second = with_keys(&t, &k2).await;
    let both = Both::new(&second).await;
    both.erase("ada", "dsr").await;
    second.app.stop().await;
    let both_keys = format!("{k2},{k3}");
    let done = rekeyed(&t, &both_keys, |_| Ok(())).await.unwrap();
    assert_eq!((done.key_id.as_str(), done.moved), ("k3", 1));
    assert_eq!(done.behind, BTreeMap::from([("k2".to_owned(), 1)]));

    // Ada stands under the second: it may not.
    let refused = reopened(&t, &k3).await.err().expect("a key is missing").to_string();
    assert!(refused.contains("governance key k2"), "{refused}");
    let third = with_keys(&t, &both_keys).await;
    let both = Both::new(&third).await;
    both.agent.publish(&two_turns("ada", "s2")).await.problem(409, "subject_erased");
    both.agent.publish(&two_turns("bob", "s2")).await.ok();
    // The same request is the same erasure, under whatever keys.
    let repeated = both.erase("ada", "dsr").await;
    assert_eq!(repeated["status"], "complete");
    let erasures = third.number("SELECT COUNT(*) FROM purge_operations").await;
    assert_eq!(erasures, 1, "{repeated}");
    // The next rekey moves a person who came back.
    both.governor.post("/api/governance/readmit-user", &pair("ada", "again")).await.ok();
    both.agent.publish(&two_turns("ada", "s3")).await.ok();
    third.app.stop().await;
    let done = rekeyed(&t, &both_keys, |_| Ok(())).await.unwrap();
    assert_eq!((done.people, done.moved), (2, 1));
    assert!(done.behind.is_empty());
    let last = with_keys(&t, &k3).await;
    assert!(rows_of(&last, "ada").await > 0);
    assert_eq!(last.number("SELECT COUNT(*) FROM subjects").await, 2);
    last.app.stop().await;
}

#[apply(both_backends)]
async fn what_was_interrupted_keeps_the_database_closed_and_goes_on(t: TestApp) {
    let both = Both::new(&t).await;
    t.app
        .db
        .write("test.people", (), |tx, ()| {
            Box::pin(async move {
                for number in 0..450 {
                    let user = UserId::from(format!("u{number}"));
                    barrier::open(tx, &OrgId::from("org"), &user, NOW).await?;
                }
                Ok(())
            })
        })
        .await
        .unwrap();
    for number in (0..450).step_by(30) {
        both.agent.publish(&two_turns(&format!("u{number}"), "s1")).await.ok();
    }
    let turns = t.number("SELECT COUNT(*) FROM interactions").await;
    t.app.stop().await;

    let keys = keys_and(&t, &key("k2", 2));
    let stop_at = |people: u64| {
        move |at: Progress| match at.people < people {
            true => Ok(()),
            false => Err(Error::unavailable("Interrupted.", 1)),
        }
    };
    for people in [0, 200, 400] {
        rekeyed(&t, &keys, stop_at(people)).await.expect_err("interrupted");
        let closed = reopened(&t, &keys).await.err().expect("nobody opens it").to_string();
        assert!(closed.contains("`evenhand governance rekey` again"), "{closed}");
    }
    let done = rekeyed(&t, &keys, |_| Ok(())).await.unwrap();
    assert!(done.went_on);
    assert_eq!(done.people, 450);
    assert!(done.moved < 250, "{done:?}: most were done before");

    let t = with_keys(&t, &keys).await;
    let both = Both::new(&t).await;
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, turns);
    for number in (0..450).step_by(30) {
        both.agent.publish(&two_turns(&format!("u{number}"), "s1")).await.ok();
    }
    assert_eq!(t.number("SELECT COUNT(*) FROM subjects").await, 450);
    assert_eq!(t.number("SELECT COUNT(*) FROM sessions").await, 15);
    assert_eq!(t.mismatches().await, 0);
    t.app.stop().await;
}

#[apply(both_backends)]
async fn nobody_else_may_have_the_database_open(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let keys = keys_and(&t, &key("k2", 2));
    let refused = rekeyed(&t, &keys, |_| Ok(())).await.expect_err("a server runs").to_string();
    assert!(refused.contains("stop every `evenhand serve`"), "{refused}");
    both.agent.publish(&two_turns("ada", "s2")).await.ok();
    t.app.stop().await;
    assert_eq!(rekeyed(&t, &keys, |_| Ok(())).await.unwrap().moved, 1);
}

/// The ledger knows people by the subjects that they had when they were erased.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_of_before_a_rekey_forgets_those_who_were_erased_since() {
    let t = TestApp::new(Backend::Sqlite).await;
    let both = Both::new(&t).await;
    for user in ["ada", "bob"] {
        both.agent.publish(&two_turns(user, "s1")).await.ok();
    }
    let folder = t.settings().server.data_dir.clone();
    let copy = folder.join("copy.db");
    t.app.db.backup(&copy).await.unwrap();
    t.app.stop().await;
    let keys = keys_and(&t, &key("k2", 2));
    rekeyed(&t, &keys, |_| Ok(())).await.unwrap();
    let second = with_keys(&t, &keys).await;
    Both::new(&second).await.erase("ada", "dsr").await;
    second.app.stop().await;

    for ending in ["db-wal", "db-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("evenhand.{ending}")));
    }
    std::fs::rename(&copy, folder.join("evenhand.db")).unwrap();
    let restored = with_keys(&t, &keys).await;
    assert_eq!(restored.app.subject_keys.subject_key_id(), "k1");
    assert!(rows_of(&restored, "ada").await > 0);
    assert_eq!(agreement::agree(&restored.app).await.unwrap(), 1);
    assert_eq!(rows_of(&restored, "ada").await, 0);
    assert!(rows_of(&restored, "bob").await > 0);
    restored.app.stop().await;
}
