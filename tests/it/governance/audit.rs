//! Attacks on the audit chain, the ledger and the files beside the database. The attacker has everything but the key.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use base::clock::Clock;
use base::ids::Ids;
use serde_json::{Value, json};
use service::app::{App, Schema};
use service::config::Settings;
use service::credentials::{GivenCredentials, Role};
use service::governance::audit::verification::{self, AuditReport, Expected};
use sqlite::SqliteArguments;
use sqlx::Arguments as _;
use storage::subjects::SubjectKeys;
use storage::subjects::audit::{self, AuditEvent, NewEvent, Operation};

use crate::publish::two_turns;
use crate::support::{Backend, Process, TEST_KEYS, TestApp};

/// An installation with a history: keys, an export, an erasure, a deletion, and a few more events.
struct Installation {
    t: TestApp,
    _folder: tempfile::TempDir,
    certificate: Value,
}

impl Installation {
    async fn new(backend: Backend) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("erasures.ledger");
        let t = TestApp::with(backend, |s| s.governance.ledger_file = ledger).await;
        let server = t.serve().await;
        let dashboard = server.with_token(&t.key("one", Role::Dashboard).await);
        let governor = server.with_token(&t.key("one", Role::Governance).await);
        for user in ["ada", "bob", "eve"] {
            dashboard.publish(&two_turns(user, "s")).await.ok();
        }
        let person = |user: &str| json!({"user_id": user, "request_id": "dsr"});
        governor.post("/api/governance/export-user", &person("ada")).await.ok();
        let erased = governor.post("/api/governance/erase-user", &person("ada")).await.ok();
        let session = json!({"user_id": "bob", "session_id": "s"});
        dashboard.delete("/api/delete_session", &session).await.ok();
        governor.post("/api/governance/export-user", &person("eve")).await.ok();
        let path = format!(
            "/api/governance/purge-operations/{}/certificate",
            erased["purge_id"].as_str().unwrap()
        );
        let certificate = governor.get(&path).await.ok();
        Installation { t, _folder: folder, certificate }
    }

    async fn verify(&self, expected: &Expected) -> AuditReport {
        verification::verify(&self.t.app, expected).await.unwrap()
    }

    async fn events(&self) -> Vec<AuditEvent> {
        let events = Mutex::new(Vec::new());
        let keys = &self.t.app.subject_keys;
        audit::walk(&self.t.app.db, keys, |event| events.lock().unwrap().push(event.clone()))
            .await
            .unwrap();
        events.into_inner().unwrap()
    }

    /// Writes the chain anew, consistent in itself, with a key of the attacker's.
    async fn rewrite(&self, events: Vec<AuditEvent>) {
        self.t.sql("DELETE FROM audit_events").await.unwrap();
        let keys = SubjectKeys::parse(&format!("k1:{}", "ab".repeat(32))).unwrap();
        let input = (Arc::new(keys), events);
        self.t
            .app
            .db
            .write("test.rewrite", input, |tx, (keys, events)| {
                Box::pin(async move {
                    for event in events {
                        let operation = Operation::try_from(event.operation.clone()).unwrap();
                        let new = NewEvent {
                            org_id: &event.org_id,
                            operation,
                            ok: event.status == "ok",
                            actor_ref: &event.actor_ref,
                            subject_ref: event.subject_ref.as_deref(),
                            request_ref: event.request_ref.as_deref(),
                            counts: event.counts.0.clone(),
                            now: event.created_at,
                        };
                        audit::append(tx, keys, new).await?;
                    }
                    Ok(())
                })
            })
            .await
            .unwrap();
    }
}

/// The attacks on the chain, each a list of statements.
fn statements() -> Vec<(&'static str, Vec<String>)> {
    let sql = |text: &str| vec![text.to_owned()];
    let swap = [
        "UPDATE audit_events SET sequence = -2 WHERE sequence = 2",
        "UPDATE audit_events SET sequence = 2 WHERE sequence = 3",
        "UPDATE audit_events SET sequence = 3 WHERE sequence = -2",
    ];
    vec![
        (
            "another actor",
            sql("UPDATE audit_events SET actor_ref = 'actref_v1_0' WHERE sequence = 4"),
        ),
        (
            "another time",
            sql("UPDATE audit_events SET created_at = created_at + 1 WHERE sequence = 1"),
        ),
        ("the first deleted", sql("DELETE FROM audit_events WHERE sequence = 1")),
        ("one in the middle deleted", sql("DELETE FROM audit_events WHERE sequence = 3")),
        (
            "the last deleted",
            sql(
                "DELETE FROM audit_events WHERE sequence = (SELECT MAX(sequence) FROM audit_events)",
            ),
        ),
        ("truncated", sql("DELETE FROM audit_events WHERE sequence > 2")),
        ("emptied", sql("DELETE FROM audit_events")),
        ("reordered", swap.map(str::to_owned).to_vec()),
        ("an erasure without its operation", sql("DELETE FROM purge_operations")),
        ("an export without its row", sql("DELETE FROM governance_exports")),
    ]
}

async fn every_attack_shows(backend: Backend) {
    for (attack, statements) in statements() {
        let it = Installation::new(backend).await;
        let sound = it.verify(&Expected::default()).await;
        assert!(sound.problems.is_empty(), "{sound:?}");
        assert_eq!(sound.events, 6);
        for statement in statements {
            it.t.sql(&statement).await.unwrap();
        }
        let found = it.verify(&Expected::default()).await;
        assert!(!found.problems.is_empty(), "{attack}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_on_the_chain_shows_on_sqlite() {
    every_attack_shows(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_on_the_chain_shows_on_postgres() {
    every_attack_shows(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_written_anew_without_the_key_shows() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let it = Installation::new(backend).await;
        let events = it.events().await;
        let without = |operation: &str| {
            events.iter().filter(|event| event.operation != operation).cloned().collect::<Vec<_>>()
        };
        let mut other_actor = events.clone();
        other_actor.iter_mut().for_each(|event| event.actor_ref = "actref_v1_other".to_owned());
        for rewritten in [without("ERASE"), without("EXPORT"), other_actor, events.clone()] {
            it.rewrite(rewritten).await;
            let found = it.verify(&Expected::default()).await;
            assert_eq!(found.problems, ["event 1: it was changed"]);
        }
    }
}

/// Anchors and certificates kept elsewhere show what the files here would not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_elsewhere_is_compared() {
    let it = Installation::new(Backend::Sqlite).await;
    let sound = it.verify(&Expected::default()).await;
    let expected = |sequence: i64, hash: &str| Expected {
        events: vec![(sequence, hash.to_owned())],
        certificates: vec![it.certificate.clone()],
    };
    assert!(it.verify(&expected(6, &sound.head)).await.problems.is_empty());
    assert_eq!(it.verify(&expected(5, &sound.head)).await.problems.len(), 1);
    assert_eq!(it.verify(&expected(7, &sound.head)).await.problems.len(), 1);
    let mut forged = it.certificate.clone();
    forged["certificate"]["completed_at"] = json!(1);
    let forged = Expected { certificates: vec![forged], ..Expected::default() };
    assert_eq!(it.verify(&forged).await.problems.len(), 1);
    let purge = it.certificate["certificate"]["audit_sequence"].as_i64().unwrap();
    it.t.sql(&format!("DELETE FROM audit_events WHERE sequence >= {purge}")).await.unwrap();
    let found = it.verify(&expected(2, "v2_0")).await;
    assert!(found.problems.iter().any(|p| p.contains("certificate")), "{found:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletes_and_refused_calls_are_events() {
    for backend in [Backend::Sqlite, Backend::Postgres] {
        let t = TestApp::new(backend).await;
        let server = t.serve().await;
        let agent = server.with_token(&t.key("one", Role::Agent).await);
        let dashboard = server.with_token(&t.key("one", Role::Dashboard).await);
        dashboard.publish(&two_turns("ada", "s")).await.ok();
        let profile = json!({"user_profiles": [{"user_id": "ada", "content": "likes tea"}]});
        let added = dashboard.post("/api/add_user_profile", &profile).await.ok();
        let ids = json!({"profile_ids": added["ids"]});
        dashboard.delete("/api/delete_profiles_by_ids", &ids).await.ok();
        dashboard.post("/api/clear_user_data", &json!({"user_id": "ada"})).await.ok();
        let person = json!({"user_id": "ada", "request_id": "x"});
        for _ in 0..5 {
            let refused = agent.post("/api/governance/erase-user", &person).await;
            refused.problem(403, "credential_not_governance");
            server
                .post("/api/governance/erase-user", &person)
                .await
                .problem(401, "unauthenticated");
        }
        let count = async |operation: &str| {
            let query =
                format!("SELECT COUNT(*) FROM audit_events WHERE operation = '{operation}'");
            t.number(&query).await
        };
        assert_eq!(count("DELETE").await, 2);
        // One of the agent's, one of nobody's; the others of this minute are counted.
        assert_eq!(count("REFUSED").await, 2);
        t.clock().advance(61);
        agent.post("/api/governance/erase-user", &person).await;
        let counted = t
            .number("SELECT COUNT(*) FROM audit_events WHERE CAST(counts AS TEXT) LIKE '%\"calls\":5%' OR CAST(counts AS TEXT) LIKE '%\"calls\": 5%'")
            .await;
        assert_eq!(counted, 1);
        assert_eq!(audit::verify(&t.app.db, &t.app.subject_keys).await.unwrap().broken_at, None);
    }
}

// ── the files beside the database, with the real binary ─────────────────────────────────────────────

struct Folder {
    top: tempfile::TempDir,
    anchor: bool,
}

impl Folder {
    fn new(anchor: bool) -> Self {
        let folder = Folder { top: tempfile::tempdir().unwrap(), anchor };
        folder.run(&["keys", "create", "--role", "agent"]);
        folder.run(&["keys", "create", "--role", "dashboard"]);
        folder
    }

    fn data(&self) -> PathBuf {
        self.top.path().join("data")
    }

    fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = Process::command(args);
        command.args(["--data-dir", self.data().to_str().unwrap()]);
        if self.anchor {
            command.env("EVENHAND_AUDIT__ANCHOR_FILE", self.top.path().join("elsewhere"));
        }
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        output
    }

    fn erase(&self, user: &str) {
        self.run(&["governance", "erase", "--user", user, "--request", "dsr"]);
    }

    /// A server that starts, or what it says when it refuses to.
    fn start(&self) -> Result<Process, String> {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        let ended = self.top.path().join("said");
        command.stderr(std::fs::File::create(&ended).unwrap());
        let started =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Process::start(&mut command)));
        started.map_err(|_| std::fs::read_to_string(&ended).unwrap())
    }

    /// Vouches for the chain as it is.
    async fn seal(&self) {
        let mut settings = Settings::defaults().unwrap();
        settings.server.data_dir = self.data();
        settings.governance.keys = TEST_KEYS.to_owned();
        let (clock, given) = (Clock::System, GivenCredentials::default());
        let ids = Ids::system(clock.clone());
        let app = App::open_with(settings, clock, ids, Schema::MustBeCurrent, given).await.unwrap();
        app.db
            .write("test.seal", app.clone(), |tx, app| {
                Box::pin(audit::seal_plain(tx, &app.subject_keys, app.clock.now()))
            })
            .await
            .unwrap();
        app.sign_audit_head().await;
        app.stop().await;
    }

    fn copy(&self, name: &str, to: &Path) {
        std::fs::copy(self.data().join(name), to).unwrap();
    }
}

#[tokio::test]
async fn a_database_restored_alone_does_the_erasures_again() {
    let folder = Folder::new(false);
    let backup = folder.top.path().join("backup.db");
    folder.run(&["backup", backup.to_str().unwrap()]);
    folder.erase("ada");
    for file in ["evenhand.db", "evenhand.db-wal", "evenhand.db-shm"] {
        let _ = std::fs::remove_file(folder.data().join(file));
    }
    std::fs::copy(&backup, folder.data().join("evenhand.db")).unwrap();
    let mut server = folder.start().unwrap();
    server.terminate();
    let said = folder.run(&["governance", "verify-audit"]);
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("went on from an earlier state; 1 events after it are gone"), "{said}");
    assert!(said.contains("unbroken"), "{said}");
    let again = folder.run(&["governance", "erase", "--user", "ada", "--request", "dsr"]);
    assert!(String::from_utf8(again.stdout).unwrap().contains("\"complete\""));
}

#[tokio::test]
async fn an_emptied_ledger_is_refused_until_an_operator_accepts_it() {
    let folder = Folder::new(false);
    folder.erase("ada");
    folder.erase("bob");
    std::fs::write(folder.data().join("erasures.ledger"), "").unwrap();
    let broken = folder.command(&["governance", "verify-audit"]).output().unwrap();
    assert_eq!(broken.status.code(), Some(1));
    let refused = folder.start().err().expect("refused");
    assert!(refused.contains("ledger") && refused.contains("accept-restored"), "{refused}");
    folder.run(&["governance", "accept-restored"]);
    let mut server = folder.start().unwrap();
    server.terminate();
    let ledger = std::fs::read_to_string(folder.data().join("erasures.ledger")).unwrap();
    assert_eq!(ledger.lines().count(), 2);
    folder.run(&["governance", "verify-audit"]);
}

#[tokio::test]
async fn a_missing_or_foreign_head_is_refused() {
    let folder = Folder::new(false);
    let other = Folder::new(false);
    folder.erase("ada");
    let head = folder.data().join("audit.head");
    let own = std::fs::read_to_string(&head).unwrap();
    std::fs::remove_file(&head).unwrap();
    assert!(folder.start().err().unwrap().contains("accept-restored"));
    std::fs::write(&head, own.replace("\"sequence\":3", "\"sequence\":2")).unwrap();
    assert!(folder.start().err().unwrap().contains("signature"));
    std::fs::write(&head, &own).unwrap();
    folder.start().unwrap().terminate();
    // Signed with the same key, about another chain.
    other.copy("audit.head", &head);
    let refused = folder.start().err().unwrap();
    assert!(refused.contains("another event"), "{refused}");
}

#[tokio::test]
async fn a_whole_older_folder_is_refused_where_an_anchor_is_kept_elsewhere() {
    for anchor in [true, false] {
        let folder = Folder::new(anchor);
        let older = folder.top.path().join("older");
        assert!(
            std::process::Command::new("cp")
                .args(["-a", folder.data().to_str().unwrap(), older.to_str().unwrap()])
                .status()
                .unwrap()
                .success()
        );
        folder.erase("ada");
        std::fs::remove_dir_all(folder.data()).unwrap();
        std::fs::rename(&older, folder.data()).unwrap();
        match (anchor, folder.start()) {
            (true, Err(refused)) => {
                assert!(refused.contains("audit.anchor_file"), "{refused}");
                assert!(refused.contains("it is older"), "{refused}");
                let broken = folder.command(&["governance", "verify-audit"]).output().unwrap();
                assert_eq!(broken.status.code(), Some(1), "{broken:?}");
            }
            // Nothing here knows better: docs/security.md says so.
            (false, Ok(mut server)) => drop(server.terminate()),
            (_, started) => panic!("{anchor}: {:?}", started.err()),
        }
    }
}

#[tokio::test]
async fn an_anchor_command_is_given_every_head() {
    let folder = Folder::new(false);
    let kept = folder.top.path().join("kept");
    let script = format!(
        "if [ $EVENHAND_ANCHOR = put ]; then cat >> {0}; else tail -n 1 {0}; fi",
        kept.display()
    );
    for _ in 0..3 {
        let made = folder
            .command(&["keys", "create", "--role", "agent"])
            .env("EVENHAND_AUDIT__ANCHOR_COMMAND", &script)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    let heads: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<i64> = heads.iter().map(|head| head["sequence"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [3, 4, 5]);
}

#[tokio::test]
async fn a_certificate_says_whose_it_is_or_that_nobody_knows() {
    let folder = Folder::new(false);
    folder.erase("ada");
    let t = folder.run(&["governance", "public-key"]);
    let public_key = String::from_utf8(t.stdout).unwrap().trim().to_owned();
    let erased = folder.run(&["governance", "erase", "--user", "ada", "--request", "dsr"]);
    let erased: Value = serde_json::from_slice(&erased.stdout).unwrap();
    let id = erased["purge_id"].as_str().unwrap();
    let certificate = folder.run(&["governance", "status", id, "--certificate"]).stdout;
    let file = folder.top.path().join("certificate.json");
    std::fs::write(&file, &certificate).unwrap();
    let file = file.to_str().unwrap();
    let check = |args: &[&str]| {
        let args = [&["governance", "verify-certificate", file], args].concat();
        let output = Process::run(&args);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = check(&[]);
    assert_eq!(code, Some(2));
    assert!(said.contains("signature consistent, signer unknown"), "{said}");
    assert_eq!(check(&["--public-key", &public_key]).0, Some(0));
    assert_eq!(check(&["--public-key", &"0".repeat(64)]).0, Some(1));
    folder.run(&["governance", "verify-audit", "--certificate", file]);
    let server = folder.start().unwrap();
    let keys: Value =
        reqwest::get(server.url("/api/governance/public-key")).await.unwrap().json().await.unwrap();
    assert_eq!(keys["certificates"]["public_key"], public_key.as_str());
}

/// An installation from before events had keys: hashes that anybody can make, and no head.
#[tokio::test]
async fn a_chain_from_before_keys_is_vouched_for_once() {
    let folder = Folder::new(false);
    folder.erase("ada");
    let file = folder.data().join("evenhand.db");
    let mut database = sqlite::SqliteOptions::new(file).open().unwrap();
    let events: Vec<AuditEvent> =
        database.fetch("SELECT * FROM audit_events ORDER BY sequence").unwrap();
    assert_eq!(events.len(), 3);
    let mut previous = events[0].previous_hash.clone();
    let change = "UPDATE audit_events SET previous_hash = $2, hash = $3 WHERE sequence = $1";
    for mut event in events {
        event.previous_hash = previous;
        previous = event.plain_digest();
        let mut values = SqliteArguments::default();
        values.add(event.sequence).unwrap();
        values.add(&event.previous_hash).unwrap();
        values.add(&previous).unwrap();
        database.execute(change, values).unwrap();
    }
    let before = "UPDATE purge_operations SET audit_hash = (
        SELECT hash FROM audit_events WHERE sequence = audit_sequence)";
    database.run(before).unwrap();
    drop(database);
    std::fs::remove_file(folder.data().join("audit.head")).unwrap();

    let refused = folder.command(&["governance", "verify-audit"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "nothing vouches for it yet");
    for _ in 0..2 {
        folder.seal().await;
        let verified =
            String::from_utf8(folder.run(&["governance", "verify-audit"]).stdout).unwrap();
        assert!(verified.contains("4 events, unbroken"), "{verified}: it is sealed once");
        folder.start().unwrap().terminate();
    }
    // From now on a missing head shows.
    std::fs::remove_file(folder.data().join("audit.head")).unwrap();
    assert!(folder.start().is_err());
}
