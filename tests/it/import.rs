//! `evenhand import` against the real server: everything once, also when it is killed in the middle.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Process, within};

const SESSIONS: usize = 900;

/// A day of another tool's traces: a question and an answer each, of fifty users.
fn traces() -> String {
    let mut lines = String::new();
    for n in 0..SESSIONS {
        let at = format!("2026-01-10T{:02}:{:02}:{:02}Z", n / 60 % 24, n % 60, n % 60);
        let trace = json!({
            "id": format!("trace-{n}"), "timestamp": at, "name": "support", "userId": format!("user-{}", n % 50),
            "sessionId": format!("session-{n}"), "input": format!("Where is order {n}?"), "output": "On its way.",
        });
        writeln!(lines, "{trace}").unwrap();
    }
    lines
}

fn import(server: &Process, file: &Path, more: &[&str]) -> Vec<String> {
    import_of("langfuse", server, file, more)
}

fn import_of(format: &str, server: &Process, file: &Path, more: &[&str]) -> Vec<String> {
    let mut words = vec!["import".to_owned(), format.to_owned(), file.display().to_string()];
    words.extend(["--url".to_owned(), server.url("")]);
    words.extend(more.iter().map(|&word| word.to_owned()));
    words
}

fn run(words: &[String]) -> (Option<i32>, String, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = Process::run(&words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

async fn get(server: &Process, path: &str) -> Value {
    reqwest::get(server.url(path)).await.unwrap().json().await.unwrap()
}

/// Sessions that the server has, by pages.
async fn stored(server: &Process) -> usize {
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let page = get(server, &format!("/api/sessions?limit=200{cursor}")).await;
        count += page["sessions"].as_array().unwrap().len();
        let Some(next) = page["next_cursor"].as_str() else { return count };
        cursor = format!("&cursor={next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_imported_once_also_when_it_is_killed_in_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let server = Process::serve(&["--data-dir", &data]);
    let file = folder.path().join("traces.jsonl");
    std::fs::write(&file, traces()).unwrap();

    let (code, said, _) = run(&import(&server, &file, &["--dry-run"]));
    assert_eq!(code, Some(0));
    assert!(said.contains(&format!("{SESSIONS} publishes with {} turns", 2 * SESSIONS)), "{said}");
    assert_eq!(stored(&server).await, 0, "a dry run sends nothing");

    let words = import(&server, &file, &[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = Process::command(&words);
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let note = folder.path().join("traces.jsonl.evenhand-import");
    within(60, "some of it is stored", async || note.is_file() || stored(&server).await > 100)
        .await;
    killed.kill().unwrap();
    killed.wait().unwrap();

    let (code, said, error) = run(&import(&server, &file, &[]));
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("stored"), "{said}");
    assert_eq!(stored(&server).await, SESSIONS);
    assert!(!note.exists(), "the note goes when the file is through");
    let session = get(&server, "/api/sessions/user-7/session-7").await;
    let turns = session["interactions"].as_array().unwrap();
    let said: Vec<&str> = turns.iter().map(|turn| turn["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["Where is order 7?", "On its way."]);
    assert_eq!(session["session"]["source"], "langfuse");

    // Once more: everything was there before.
    let (code, said, _) = run(&import(&server, &file, &[]));
    assert_eq!(code, Some(0));
    assert!(said.contains(&format!("{SESSIONS} were there before")), "{said}");
    assert_eq!(stored(&server).await, SESSIONS);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_is_named_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let server = Process::serve(&["--data-dir", &data]);
    let file = folder.path().join("traces.jsonl");
    let good = traces().lines().take(3).collect::<Vec<_>>().join("\n");
    let nobody =
        json!({"id": "x", "timestamp": "2026-01-10T00:00:00Z", "input": "Hello", "output": "Hi"});
    std::fs::write(&file, format!("{good}\nno json\n{nobody}\n")).unwrap();
    let (code, said, error) = run(&import(&server, &file, &[]));
    assert_eq!(code, Some(2));
    assert!(said.contains("3 publishes") && said.contains("2 records gave nothing"), "{said}");
    assert!(error.contains("line 4") && error.contains("line 5"), "{error}");
    assert_eq!(stored(&server).await, 3);
    let (code, ..) = run(&import(&server, &file, &["--default-user", "guest-{session}"]));
    assert_eq!(code, Some(2), "one is no JSON");
    assert_eq!(stored(&server).await, 4);

    let missing = folder.path().join("nothing.jsonl");
    let (code, _, error) = run(&import(&server, &missing, &[]));
    assert!(code != Some(0) && error.contains("nothing.jsonl"), "{error}");
    let words = ["import", "nonsense", "file"].map(str::to_owned);
    assert!(run(&words).2.contains("langfuse"), "the formats are named");
}

/// Requests and turns of the sessions of an export, without the ids that the installation gave.
fn published(export: &str) -> Vec<Value> {
    let sessions = export.lines().map(|line| {
        let mut session: Value = serde_json::from_str(line).unwrap();
        for turn in session["interactions"].as_array_mut().unwrap() {
            turn["interaction_id"] = Value::Null;
        }
        json!([session["requests"], session["interactions"]])
    });
    sessions.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_sessions_can_be_imported_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let data = |name: &str| folder.path().join(name).display().to_string();
    let (here, there) = (
        Process::serve(&["--data-dir", &data("here")]),
        Process::serve(&["--data-dir", &data("there")]),
    );
    let client = reqwest::Client::new();
    for n in 0..3 {
        let body = json!({"user_id": format!("user-{}", n % 2), "session_id": "s", "source": "web",
            "agent_version": "v2", "created_at": 1_700_000_000 + n, "interaction_data_list": [
                {"content": format!("q{n}"), "user_action": "click", "user_action_description": "the order"},
                {"role": "Assistant", "content": "a", "shadow_content": "b", "created_at": 1_700_000_100 + n,
                 "tools_used": [{"tool_name": "find", "tool_data": {"order": n}, "status": "error"}],
                 "citations": [{"kind": "profile", "real_id": "7"}],
                 "usage": {"model": "m", "input_tokens": 5, "cost_usd": 0.25}}]});
        let sent =
            client.post(here.url("/api/publish_interaction")).json(&body).send().await.unwrap();
        assert_eq!(sent.status(), 200);
    }
    let export = async |server: &Process| {
        let answer = reqwest::get(server.url("/api/sessions/export")).await.unwrap();
        answer.text().await.unwrap()
    };
    let first = export(&here).await;
    let file = folder.path().join("sessions.ndjson");
    std::fs::write(&file, &first).unwrap();
    let (code, said, error) = run(&import_of("jsonl", &there, &file, &[]));
    assert_eq!(code, Some(0), "{error}");
    assert!(said.contains("3 publishes with 6 turns stored"), "{said}");
    assert_eq!(published(&export(&there).await), published(&first));
}
