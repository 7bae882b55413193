//! Proof: certificates, the ledger after a restore, retention by age, the commands and the drill.

use base::owner::{OrgId, UserId};
use serde_json::{Value, json};
use service::credentials::Role;
use service::governance::{certificate, ledger};
use storage::subjects::KeyPurpose;

use super::erase::{Both, erase_events, pair, rows_of};
use crate::evaluation::work;
use crate::publish::two_turns;
use crate::support::{Backend, NOW, Process, TestApp, apply, both_backends, schedule};

#[apply(both_backends)]
async fn a_complete_erasure_has_a_certificate_that_cannot_be_changed(t: TestApp) {
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    t.app.faults.arm("erase.before_final", storage::faults::Fault::Error(1));
    let first = both.governor.post("/api/governance/erase-user", &pair("ada", "dsr")).await.json();
    let path = format!(
        "/api/governance/purge-operations/{}/certificate",
        first["purge_id"].as_str().unwrap()
    );
    both.governor.get(&path).await.problem(409, "purge_not_complete");
    let done = both.erase("ada", "dsr").await;
    let signed = both.governor.get(&path).await.ok();
    let certificate = &signed["certificate"];
    assert_eq!(certificate["erased"], done["deleted_counts"]);
    assert_eq!(
        (&certificate["purge_id"], &certificate["subject_ref"]),
        (&done["purge_id"], &done["subject_ref"])
    );
    let level = if t.backend == Backend::Sqlite { "physical" } else { "logical" };
    assert_eq!(certificate["level"], level);
    assert_eq!(certificate["physical_after"].is_null(), t.backend == Backend::Sqlite);
    assert_eq!(certificate["audit_hash"].as_str().unwrap().len(), "v2_".len() + 64);
    assert_eq!(
        certificate::check(&signed),
        Ok(t.app.subject_keys.public_keys(KeyPurpose::Signing).pop().unwrap().1)
    );
    for (name, value) in certificate.as_object().unwrap() {
        let mut changed = signed.clone();
        changed["certificate"][name] = if value == &json!(1) { json!(2) } else { json!(1) };
        assert!(certificate::check(&changed).is_err(), "{name}");
    }
    assert!(!signed.to_string().contains("\"ada\""));
    both.governor
        .get("/api/governance/purge-operations/none/certificate")
        .await
        .problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_person_does_not_come_back_with_a_restored_backup() {
    let t = TestApp::new(Backend::Sqlite).await;
    let both = Both::new(&t).await;
    for user in ["ada", "bob"] {
        both.agent.publish(&two_turns(user, "s1")).await.ok();
    }
    let data = t.settings().server.data_dir.clone();
    let copy = data.parent().unwrap().join("backup.db");
    t.app.db.backup(&copy).await.unwrap();
    let done = both.erase("ada", "dsr").await;
    both.erase("late", "dsr").await;
    assert_eq!(ledger::entries(&t.app).unwrap().len(), 2);
    t.app.stop().await;
    for ending in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(data.join(format!("evenhand.db{ending}")));
    }
    std::fs::copy(&copy, data.join("evenhand.db")).unwrap();
    let t = t.replica().await;
    assert!(rows_of(&t, "ada").await > 0, "the backup brought her back");
    assert_eq!(ledger::replay(&t.app).await.unwrap(), 2);
    assert_eq!(rows_of(&t, "ada").await, 0);
    assert!(rows_of(&t, "bob").await > 0);
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s2")).await.problem(409, "subject_erased");
    both.agent.publish(&two_turns("late", "s2")).await.problem(409, "subject_erased");
    let again = both.erase("ada", "dsr").await;
    assert_eq!(again["purge_id"], done["purge_id"]);
    assert_eq!((erase_events(&t).await, ledger::replay(&t.app).await.unwrap()), (2, 0));
    // A ledger that was changed is not believed.
    let file = data.join("erasures.ledger");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("\"ada\""));
    std::fs::write(&file, format!("{text}half a li")).unwrap();
    assert_eq!(ledger::entries(&t.app).unwrap().len(), 2, "a line that was cut off never counted");
    std::fs::write(&file, text.replace("\"sequence\":2", "\"sequence\":3")).unwrap();
    assert!(ledger::replay(&t.app).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_sessions_go_when_retention_is_set() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        for (days, left) in [(0, 2), (30, 1)] {
            let t = TestApp::with(backend, |s| s.governance.retention_days = days).await;
            let server = t.serve().await;
            let mut old = two_turns("ada", "old");
            old["created_at"] = json!(NOW - 31 * 86_400);
            server.publish(&old).await.ok();
            server.publish(&two_turns("ada", "new")).await.ok();
            schedule(&t.app, "delete_old_sessions").await;
            work(&t).await;
            assert_eq!(t.number("SELECT COUNT(*) FROM sessions").await, left);
            assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 2 * left);
            assert_eq!(t.mismatches().await, 0);
        }
    }
}

/// More than are looked up at a time, of several organizations; the audit says how many went.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_old_sessions_of_all_organizations_go() {
    const OLD: usize = 205;
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let t = TestApp::with(backend, |s| s.governance.retention_days = 30).await;
        let server = t.serve().await;
        for organization in ["first", "second"] {
            let server = server.with_token(&t.key(organization, Role::Dashboard).await);
            for n in 0..=OLD {
                let mut body = two_turns(&format!("u{}", n % 40), &format!("s{n}"));
                // As many as share a second as are looked up at a time, and one that is young enough.
                let age = if n == OLD { 29 } else { 40 };
                body["created_at"] = json!(NOW - age * 86_400);
                server.publish(&body).await.ok();
            }
        }
        schedule(&t.app, "delete_old_sessions").await;
        work(&t).await;
        let left = "SELECT COUNT(*) FROM sessions WHERE session_id = 's205'";
        assert_eq!(t.number(left).await, 2);
        assert_eq!(t.number("SELECT COUNT(*) FROM sessions").await, 2);
        assert_eq!(t.number("SELECT COUNT(*) FROM requests").await, 2);
        assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 4);
        assert_eq!(t.mismatches().await, 0);
        for organization in ["first", "second"] {
            let query = match backend {
                Backend::Sqlite => {
                    "SELECT SUM(counts ->> 'sessions') FROM audit_events WHERE operation = 'DELETE'"
                }
                Backend::Postgres => {
                    "SELECT SUM(CAST(counts ->> 'sessions' AS BIGINT))::bigint FROM audit_events
                     WHERE operation = 'DELETE'"
                }
            };
            let noted = t.number(&format!("{query} AND org_id = '{organization}'")).await;
            assert_eq!(noted, OLD as i64, "{organization}");
        }
    }
}

/// Somebody goes on with a session after it was looked up, and before it is deleted.
#[apply(both_backends)]
async fn a_session_that_goes_on_is_not_old(t: TestApp) {
    let server = t.serve().await;
    let mut old = two_turns("ada", "s1");
    old["created_at"] = json!(NOW - 31 * 86_400);
    server.publish(&old).await.ok();
    let org = OrgId::from("default");
    let (before, all) = (NOW - 30 * 86_400, i64::MIN);
    let found = service::sessions::idle(&t.app, &org, all, before, 10).await.unwrap();
    assert_eq!(found, [(UserId::from("ada"), "s1".to_owned(), NOW - 31 * 86_400)]);
    server.publish(&two_turns("ada", "s1")).await.ok();
    let delete = async |before| {
        let (user, session) = ("ada".into(), "s1".to_owned());
        service::intake::delete_idle_session(&t.app, &org, user, session, before).await.unwrap()
    };
    assert!(!delete(before).await);
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 4);
    assert!(service::sessions::idle(&t.app, &org, all, before, 10).await.unwrap().is_empty());
    assert!(delete(NOW + 1).await);
    assert!(!delete(NOW + 1).await, "it is gone");
    assert_eq!(t.number("SELECT COUNT(*) FROM interactions").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_do_the_same_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) =
        (folder.path().join("data"), |name: &str| folder.path().join(name).display().to_string());
    let data = data.to_str().unwrap();
    let process = Process::serve(&["--data-dir", data]);
    let url = process.url("/api/publish_interaction");
    let published =
        reqwest::Client::new().post(url).json(&two_turns("ada", "s1")).send().await.unwrap();
    assert_eq!(published.status(), 200);
    let run = |args: &[&str]| {
        let mut all = vec!["governance"];
        all.extend(args);
        let output = Process::run(&all);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), serde_json::from_str(&text).unwrap_or(Value::String(text)))
    };
    let who = ["--data-dir", data, "--user", "ada"];
    let person = [&who[..], &["--request", "dsr"]].concat();
    assert_eq!(run(&[&["preview"], &who[..]].concat()).1["counts"]["interactions"], 2);
    let exported = run(&[&["export", "--output", &file("out.json")], &person[..]].concat());
    assert!(exported.0, "{exported:?}");
    assert!(std::fs::read_to_string(file("out.json")).unwrap().contains("Where is my parcel?"));
    let (complete, erased) = run(&[&["erase"], &person[..]].concat());
    assert!(complete, "{erased}");
    assert_eq!(
        (&erased["status"], &erased["deleted_counts"]["interactions"]),
        (&json!("complete"), &json!(2))
    );
    let purge_id = erased["purge_id"].as_str().unwrap();
    assert_eq!(run(&["status", "--data-dir", data, purge_id]).1["status"], "complete");
    let (_, signed) = run(&["status", "--data-dir", data, "--certificate", purge_id]);
    std::fs::write(file("certificate.json"), signed.to_string()).unwrap();
    let own = run(&["public-key", "--data-dir", data]).1.as_str().unwrap().trim().to_owned();
    assert!(!run(&["verify-certificate", &file("certificate.json")]).0, "nobody says whose it is");
    assert!(run(&["verify-certificate", "--public-key", &own, &file("certificate.json")]).0);
    let other = "00".repeat(32);
    assert!(!run(&["verify-certificate", "--public-key", &other, &file("certificate.json")]).0);
    std::fs::write(
        file("changed.json"),
        signed.to_string().replace("\"interactions\":2", "\"interactions\":3"),
    )
    .unwrap();
    assert!(!run(&["verify-certificate", &file("changed.json")]).0);
    assert!(run(&["verify-audit", "--data-dir", data]).0);
    assert_eq!(run(&[&["readmit"], &person[..]].concat()).1, json!({"readmitted": true}));
    let (passed, drilled) = run(&["drill", "--data-dir", data]);
    assert!(passed, "{drilled:#}");
    assert_eq!(drilled["certificate"]["canaries_found_after"], 0);
    assert_eq!(drilled["certificate"]["shared_texts_masked"], true);
    assert_eq!(certificate::check(&drilled).unwrap(), signed["public_key"]);
}
