//! Large SQLite files: their bytes are cleaned after the answer, beside other people's writes, and after interruptions.

use serde_json::{Value, json};
use storage::faults::Fault;

use super::erase::Both;
use crate::evaluation::work;
use crate::publish::two_turns;
use crate::support::{Backend, NOW, TestApp, schedule};

const WORD: &[u8] = b"xylophone-meadow";

/// An installation whose file counts as large, whatever its size.
async fn large_file() -> TestApp {
    TestApp::with(Backend::Sqlite, |settings| {
        settings.governance.physical_seconds = 0;
        settings.governance.vacuum_up_to_mib = 0;
    })
    .await
}

/// A publish of several pages of text.
fn long_talk(user: &str, session: usize, word: &str) -> Value {
    let mut body = two_turns(user, &format!("s{session}"));
    body["interaction_data_list"] = (0..40)
        .map(|turn| json!({"role": "User", "content": format!("{turn} {}", word.repeat(120))}))
        .collect();
    body
}

/// Times that the erased person's word is in the files.
fn found(t: &TestApp) -> usize {
    let files = std::fs::read_dir(&t.settings().server.data_dir).unwrap();
    let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap_or_default());
    bytes.map(|bytes| bytes.windows(WORD.len()).filter(|part| *part == WORD).count()).sum()
}

async fn certificate(both: &Both, erased: &Value) -> Value {
    let purge = erased["purge_id"].as_str().unwrap();
    let path = format!("/api/governance/purge-operations/{purge}/certificate");
    both.governor.get(&path).await.ok()["certificate"].take()
}

async fn health(both: &Both) -> String {
    both.agent.get("/health/ready").await.ok()["checks"].to_string()
}

/// Publishes of two people, one after the other, more than one call cleans.
async fn fill(both: &Both) {
    for session in 0..70 {
        for (user, word) in [("ada", "xylophone-meadow "), ("bob", "violin-mountains ")] {
            both.agent.publish(&long_talk(user, session, word)).await.ok();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_file_is_cleaned_while_others_write() {
    let t = large_file().await;
    let both = Both::new(&t).await;
    fill(&both).await;
    let erased = both.erase("ada", "dsr").await;
    assert_eq!(erased["status"], "complete");
    assert_eq!(certificate(&both, &erased).await["level"], "logical");
    assert!(found(&t) > 0, "the control: something is left to be cleaned");
    t.clock().advance(60);
    let others = async {
        for session in 0..30 {
            both.agent.publish(&long_talk("eve", session, "trumpet-valleys ")).await.ok();
        }
    };
    tokio::join!(others, work(&t));
    let certificate = certificate(&both, &erased).await;
    assert_eq!(
        (&certificate["level"], &certificate["physical_at"]),
        (&json!("physical"), &json!(NOW + 60))
    );
    assert_eq!(found(&t), 0);
    assert_eq!(t.app.db.self_check().await.unwrap(), []);
    assert_eq!(t.mismatches().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cleaning_goes_on_where_it_was_interrupted() {
    let t = large_file().await;
    let both = Both::new(&t).await;
    fill(&both).await;
    let erased = both.erase("ada", "dsr").await;
    t.clock().advance(60);
    t.app.faults.arm("scrub.amid_pages", Fault::Error(1));
    work(&t).await;
    let next_page =
        "SELECT json_extract(payload, '$.pass.next_page') FROM jobs WHERE kind = 'scrub_files'";
    assert_eq!(t.number(next_page).await, 2_049);
    // A restart plans what is not done yet, and leaves what is under way.
    schedule(&t.app, "scrub_files").await;
    assert_eq!(t.number(next_page).await, 2_049);
    assert_eq!(certificate(&both, &erased).await["level"], "logical");
    assert!(!health(&both).await.contains("wait to be cleaned out"));
    t.clock().advance(3_600);
    assert!(health(&both).await.contains("wait to be cleaned out"));
    work(&t).await;
    assert_eq!(certificate(&both, &erased).await["physical_at"], NOW + 3_660);
    assert!(!health(&both).await.contains("wait to be cleaned out"));
    assert_eq!(found(&t), 0);
    assert_eq!(t.app.db.self_check().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_amid_cleaning_gets_a_pass_of_its_own() {
    let t = large_file().await;
    let both = Both::new(&t).await;
    fill(&both).await;
    let first = both.erase("bob", "dsr").await;
    t.clock().advance(60);
    t.app.faults.arm("scrub.amid_pages", Fault::Error(1));
    work(&t).await;
    let second = both.erase("ada", "dsr").await;
    t.clock().advance(60);
    work(&t).await;
    for erased in [first, second] {
        assert_eq!(certificate(&both, &erased).await["physical_at"], NOW + 120);
    }
    assert_eq!(found(&t), 0);
}

/// How often the write-ahead log has begun anew: bytes 12 to 15 of its header, <https://sqlite.org/fileformat2.html>.
fn log_begun(t: &TestApp) -> u32 {
    let log = std::fs::read(t.settings().server.data_dir.join("evenhand.db-wal")).unwrap();
    u32::from_be_bytes(log[12..16].try_into().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_copied_begins_anew_with_the_next_write() {
    let t = TestApp::new(Backend::Sqlite).await;
    let both = Both::new(&t).await;
    both.agent.publish(&two_turns("ada", "s1")).await.ok();
    let before = log_begun(&t);
    both.agent.publish(&two_turns("ada", "s2")).await.ok();
    assert_eq!(log_begun(&t), before, "the control: it goes on without a copy");
    t.app.db.copy_log().await.unwrap();
    both.agent.publish(&two_turns("ada", "s3")).await.ok();
    assert_eq!(log_begun(&t), before + 1);
    assert_eq!(t.app.db.self_check().await.unwrap(), []);
    assert_eq!(t.number("SELECT COUNT(*) FROM sessions").await, 3);
}
