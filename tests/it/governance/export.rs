//! Exports: everything, once, in a form that can be checked; and nothing while an erasure runs.

use serde_json::{Value, json};
use service::credentials::Role;
use service::governance::export::SECTIONS;
use service::user_tables::USER_TABLES;
use sha2::{Digest, Sha256};

use super::erase::{Both, pair};
use crate::evaluation::{talk, work};
use crate::support::{Backend, TestApp, apply, both_backends};

const PATH: &str = "/api/governance/export-user";

async fn plant(t: &TestApp, both: &Both, user: &str) {
    let mut body = talk(user, "s1", true);
    body["interaction_data_list"][0]["interacted_image_url"] =
        json!("data:image/png;base64,aGVsbG8=");
    body["interaction_data_list"][1]["tools_used"] =
        json!([{"tool_name": "t", "tool_data": {"a": [1, "x"]}, "status": "ok"}]);
    both.agent.publish(&body).await.ok();
    both.agent
        .post(
            "/api/add_user_profile",
            &json!({"user_profiles": [
        {"user_id": user, "content": "[1, 2] is not a list here", "tags": ["a", "b"]}]}),
        )
        .await
        .ok();
    both.agent
        .post(
            "/api/add_user_playbook",
            &json!({"user_playbooks": [{"user_id": user, "content": "be brief"}]}),
        )
        .await
        .ok();
    both.agent
        .post(
            "/api/session_outcome",
            &json!({"session_id": "s1", "user_id": user, "outcome": "success",
        "occurred_at": 5, "metadata": {"k": true}}),
        )
        .await
        .ok();
    both.agent
        .post(
            "/api/evaluations/labels",
            &json!({"labels": [{"session_id": "s1", "user_id": user, "is_success": true}]}),
        )
        .await
        .ok();
    t.clock().advance(600);
    work(t).await;
}

#[apply(both_backends)]
async fn an_export_holds_everything_that_is_stored_and_can_be_checked(t: TestApp) {
    let both = Both::new(&t).await;
    plant(&t, &both, "ada").await;
    plant(&t, &both, "bob").await;
    let export = both.governor.post(PATH, &pair("ada", "dsr")).await.ok();
    let preview =
        both.governor.post("/api/governance/preview-user", &json!({"user_id": "ada"})).await.ok();
    for table in USER_TABLES {
        let rows =
            export["bundle"][table.target].as_array().unwrap_or_else(|| panic!("{}", table.target));
        assert_eq!(json!(rows.len()), preview["counts"][table.target], "{}", table.target);
        assert_eq!(export["manifest"][table.target]["count"], json!(rows.len()));
        assert!(rows.iter().all(|row| row["user_id"] == "ada" && row.get("org_id").is_none()));
    }
    for section in SECTIONS {
        assert!(export["bundle"][section].is_array(), "{section}");
    }
    let bundle = &export["bundle"];
    assert_eq!(bundle["interactions"][1]["tools_used"][0]["tool_data"], json!({"a": [1, "x"]}));
    assert_eq!(bundle["profiles"][0]["content"], "[1, 2] is not a list here");
    assert_eq!(bundle["profiles"][0]["tags"], json!(["a", "b"]));
    assert_eq!(bundle["evaluation_results"][0]["is_success"], true);
    assert_eq!(bundle["requests"][0]["evaluation_only"], false);
    assert_eq!(bundle["outcomes"][0]["metadata"], json!({"k": true}));
    // The same pair is the same export; another is another.
    let again = both.governor.post(PATH, &pair("ada", "dsr")).await.ok();
    assert_eq!(again["export_id"], export["export_id"]);
    assert_eq!(again["manifest"], export["manifest"]);
    assert_ne!(
        both.governor.post(PATH, &pair("ada", "two")).await.ok()["export_id"],
        export["export_id"]
    );
    assert_eq!(t.number("SELECT COUNT(*) FROM audit_events WHERE operation = 'EXPORT'").await, 2);
    // Nobody else's, and nobody's after an erasure; the others' stay as they were, to the byte.
    let others = both.governor.post(PATH, &pair("bob", "dsr")).await.text;
    both.erase("ada", "gone").await;
    let after = both.governor.post(PATH, &pair("ada", "three")).await.ok();
    assert!(after["bundle"].as_object().unwrap().values().all(|rows| rows == &json!([])));
    assert_eq!(both.governor.post(PATH, &pair("bob", "dsr")).await.text, others);
    let stranger = both.governor.with_token(&t.key("else", Role::Governance).await);
    let theirs = stranger.post(PATH, &pair("bob", "dsr")).await.ok();
    assert!(theirs["bundle"].as_object().unwrap().values().all(|rows| rows == &json!([])));
    both.governor
        .call("POST", "/api/governance/export-user?format=pdf", Some(&pair("bob", "x")))
        .await
        .input_problems();
}

#[apply(both_backends)]
async fn an_archive_has_lists_pictures_and_a_readme(t: TestApp) {
    let both = Both::new(&t).await;
    plant(&t, &both, "ada").await;
    let json = both.governor.post(PATH, &pair("ada", "dsr")).await.ok();
    let request = both
        .governor
        .request("POST", "/api/governance/export-user?format=zip")
        .json(&pair("ada", "dsr"));
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/zip");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export.zip");
    std::fs::write(&file, response.bytes().await.unwrap()).unwrap();
    // Read by somebody else's program.
    let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])";
    let out = folder.path().join("out");
    let unpacked = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&file)
        .arg(&out)
        .output()
        .unwrap();
    assert!(unpacked.status.success(), "{}", String::from_utf8_lossy(&unpacked.stderr));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert!(read("README.txt").contains("everything that is stored about you"));
    let manifest: Value = serde_json::from_str(&read("manifest.json")).unwrap();
    assert_eq!(manifest["export_id"], json["export_id"]);
    for (section, expected) in json["manifest"].as_object().unwrap() {
        let text = read(&format!("{section}.ndjson"));
        assert_eq!(expected["sha256"], hex::encode(Sha256::digest(&text)), "{section}");
        assert_eq!(expected["count"], json!(text.lines().count()), "{section}");
        assert_eq!(manifest["manifest"][section], *expected);
    }
    let turn = &json["bundle"]["interactions"][0]["interaction_id"];
    assert_eq!(read(&format!("images/{turn}.png")), "hello");
}

#[apply(both_backends)]
async fn an_export_is_refused_while_the_person_is_being_erased(t: TestApp) {
    let both = Both::new(&t).await;
    plant(&t, &both, "ada").await;
    t.app.faults.arm("erase.after_deletes", storage::faults::Fault::Error(1));
    both.governor.post("/api/governance/erase-user", &pair("ada", "dsr")).await;
    both.governor.post(PATH, &pair("ada", "x")).await.problem(409, "subject_erasing");
    both.agent
        .post("/api/search", &json!({"user_id": "ada", "query": "tea"}))
        .await
        .problem(409, "subject_erasing");
    both.governor
        .post("/api/governance/readmit-user", &pair("ada", "x"))
        .await
        .problem(409, "subject_erasing");
    both.erase("ada", "dsr").await;
    both.governor.post(PATH, &pair("ada", "x")).await.ok();
    both.agent.post("/api/search", &json!({"user_id": "ada", "query": "tea"})).await.ok();
}

/// The columns listed for each table are compared with the schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_list_of_tables_knows_their_columns() {
    let t = TestApp::new(Backend::Postgres).await;
    for table in USER_TABLES {
        let name = table.table;
        let columns = t
            .app
            .db
            .read("test.columns", name, |tx, name| Box::pin(tx.columns_of(name)))
            .await
            .unwrap();
        let of = |kind: &str| {
            let mut names: Vec<_> =
                columns.iter().filter(|c| c.1 == kind).map(|c| c.0.as_str()).collect();
            names.sort_unstable();
            names
        };
        let sorted = |list: &[&'static str]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!(of("jsonb"), sorted(table.json), "{name}: say .json(&[…]) in user_tables.rs");
        assert_eq!(
            of("boolean"),
            sorted(table.flags),
            "{name}: say .flags(&[…]) in user_tables.rs"
        );
        assert!(!table.key.is_empty(), "{name}: say .by(\"…\") in user_tables.rs");
        let keyed = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {name} GROUP BY org_id, subject, {} HAVING COUNT(*) > 1) AS twice",
            table.key
        );
        assert_eq!(t.number(&keyed).await, 0);
    }
}
