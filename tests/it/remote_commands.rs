//! Commands that ask a running server: what each role may read, exit codes, and files.

use std::process::Output;

use base::clock::Clock;
use serde_json::{Value, json};
use service::credentials::Role;

use crate::publish::two_turns;
use crate::support::{Process, Server, TestApp, apply, both_backends};

/// A person at a terminal: a server and a key.
struct Terminal {
    url: String,
    token: String,
}

impl Terminal {
    async fn of(t: &TestApp, server: &Server, role: Role) -> Self {
        Terminal { url: format!("http://{}", server.address), token: t.key("default", role).await }
    }

    /// Runs a command without standing in the way of the server, which is a part of this process.
    async fn run(&self, words: &[&str]) -> Output {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let (url, token) = (self.url.clone(), self.token.clone());
        let run = move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut command = Process::command(&words);
            command.env("EVENHAND_URL", url).env("EVENHAND_TOKEN", token).output().unwrap()
        };
        tokio::task::spawn_blocking(run).await.unwrap()
    }

    /// The text of a command that succeeds.
    async fn text(&self, words: &[&str]) -> String {
        let output = self.run(words).await;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    async fn json(&self, words: &[&str]) -> Value {
        let text = self.text(&[words, &["--json"]].concat()).await;
        serde_json::from_str(&text).unwrap()
    }

    async fn code(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = self.run(words).await;
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }
}

const READS: [&[&str]; 9] = [
    &["sessions", "list"],
    &["sessions", "show", "a/da", "s 1"],
    &["evaluate", "overview"],
    &["evaluate", "results"],
    &["experiments", "list"],
    &["experiments", "results", "exp"],
    &["learnings", "list"],
    &["learnings", "effects"],
    &["learnings", "scorecard"],
];

#[apply(both_backends)]
async fn every_command_that_reads_works_with_a_key_of_the_dashboard(t: TestApp) {
    let server = t.serve().await;
    let viewer = Terminal::of(&t, &server, Role::Dashboard).await;
    let operator = server.with_token(&viewer.token);
    for session in ["s 1", "s 2"] {
        operator.publish(&two_turns("a/da", session)).await.ok();
    }
    let start = json!({"experiment_id": "exp", "holdout_percentage": 10});
    operator.post("/api/retrieval_experiments", &start).await.ok();
    for words in READS {
        assert!(viewer.json(words).await.is_object(), "{words:?}");
        viewer.text(words).await;
    }
    assert!(viewer.json(&["learnings", "proposals"]).await.is_object());

    let found = viewer.json(&["sessions", "list", "--user", "a/da", "--limit", "1"]).await;
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    assert!(found["next_cursor"].is_string(), "there is more");
    let all = viewer.json(&["sessions", "list"]).await;
    assert_eq!(all["sessions"].as_array().unwrap().len(), 2);
    let shown = viewer.text(&["sessions", "list"]).await;
    assert!(shown.starts_with("last activity") && shown.lines().count() == 3, "{shown}");
    let session = viewer.text(&["sessions", "show", "a/da", "s 1"]).await;
    assert!(session.contains("User: Where is my parcel?"), "{session}");
    let results = viewer.text(&["experiments", "results", "exp"]).await;
    assert!(results.contains("any day    none: "), "{results}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.jsonl").display().to_string();
    viewer.text(&["sessions", "export", "--output", &file]).await;
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 2);
    let (code, said) = viewer.code(&["sessions", "export", "--output", &file]).await;
    assert_eq!(code, Some(1), "a file that is there is left alone: {said}");
}

#[apply(both_backends)]
async fn refusals_say_what_to_do(t: TestApp) {
    let server = t.serve().await;
    let agent = Terminal::of(&t, &server, Role::Publish).await;
    for words in READS {
        let (code, said) = agent.code(words).await;
        assert_eq!(code, Some(1), "{words:?}: {said}");
        assert!(said.contains("403") && said.contains("--token"), "{said}");
    }
    let nobody = Terminal { url: "http://127.0.0.1:1".to_owned(), token: String::new() };
    let (code, said) = nobody.code(&["sessions", "list"]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("does not answer") && said.contains("EVENHAND_URL"), "{said}");
    let both =
        ["evaluate", "check", "--min-success", "0.5", "--url", "http://other", "--data-dir", "x"];
    let (code, said) = nobody.code(&both).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("either --url"), "{said}");
}

/// Verdicts of a model, an hour ago.
async fn judged(t: &TestApp, successes: usize, failures: usize) {
    let at = Clock::System.now() - 3600;
    for n in 0..successes + failures {
        let subject = t.subject_in("default", &format!("user-{n}"));
        t.sql(&format!(
            "INSERT INTO subjects (org_id, subject, user_id, state, epoch, created_at)
             VALUES ('default', {subject}, 'user-{n}', 'active', 1, 1)"
        ))
        .await
        .unwrap();
        let success = if n < successes { "TRUE" } else { "FALSE" };
        t.sql(&format!(
            "INSERT INTO evaluation_results (org_id, subject, session_id, evaluation_name, agent_version, epoch, is_success,
                failure_type, failure_reason, number_of_corrections, is_escalated, learning_status, created_at, evaluated_at,
                interaction_count, last_interaction_id, judge, prompt_version, rubric_hash, input_tokens, output_tokens,
                latency_ms, attempts, flags, source, is_newest, user_group)
             VALUES ('default', {subject}, 's', 'agent_success', 'v1', 1, {success}, '', '', 0, FALSE, 'complete', {at}, {at},
                1, 1, 'openai/model', 'v1', '', 0, 0, 0, 1, '[]', '', TRUE, {})",
            n % 32
        ))
        .await
        .unwrap();
    }
}

#[apply(both_backends)]
async fn a_pipeline_is_told_reached_not_reached_or_nobody_can_tell(t: TestApp) {
    let server = t.serve().await;
    let viewer = Terminal::of(&t, &server, Role::Auditor).await;
    let check = async |more: &[&str]| {
        viewer.code(&[&["evaluate", "check", "--min-success", "0.8"], more].concat()).await
    };
    let (code, said) = check(&[]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.starts_with("cannot tell: 0 verdicts"), "{said}");
    judged(&t, 85, 15).await;
    let (code, said) = check(&[]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("reached: success 85.0 % of 100 sessions (95 % interval"), "{said}");
    assert_eq!(check(&["--sure"]).await.0, Some(2), "the minimum is inside the interval");
    assert_eq!(check(&["--min-sessions", "101"]).await.0, Some(2));
    assert_eq!(check(&["--agent-version", "v9"]).await.0, Some(2));
    assert_eq!(check(&["--window", "soon"]).await.0, Some(2));
    let lower = ["evaluate", "check", "--min-success", "0.5", "--sure"];
    assert_eq!(viewer.code(&lower).await.0, Some(0));
    let higher = ["evaluate", "check", "--min-success", "0.9", "--json"];
    let (code, said) = viewer.code(&higher).await;
    assert_eq!(code, Some(1), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["outcome"], &said["n"]), (&json!("not_reached"), &json!(100)));
    let stranger = Terminal { url: viewer.url.clone(), token: "wrong".to_owned() };
    assert_eq!(stranger.code(&higher).await.0, Some(2), "an error tells nothing of the rate");
}

#[apply(both_backends)]
async fn a_person_is_exported_and_erased_from_afar(t: TestApp) {
    let server = t.serve().await;
    let officer = Terminal::of(&t, &server, Role::Governance).await;
    let viewer = Terminal::of(&t, &server, Role::Dashboard).await;
    server.with_token(&viewer.token).publish(&two_turns("ada", "s")).await.ok();
    let person = |command| ["governance", command, "--user", "ada", "--request", "r-1"];
    let (code, said) = viewer.code(&person("erase")).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("403"), "{said}");

    let runner = storage::jobs::Runner::new(t.app.clone(), service::wiring::job_handlers());
    t.app.spawn(runner.run());
    let preview = officer.text(&["governance", "preview", "--user", "ada"]).await;
    let preview: Value = serde_json::from_str(&preview).unwrap();
    assert!(preview["total"].as_i64().unwrap() > 0);
    for command in [&["preview"][..], &["erase", "--request", "r-0"]] {
        let words = [&["governance"], command, &["--user", "adda"]].concat();
        let (code, said) = officer.code(&words).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("the id was never seen here"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ada.json").display().to_string();
    officer.text(&[&person("export")[..], &["--output", &file]].concat()).await;
    assert!(std::fs::read_to_string(&file).unwrap().contains("\"ada\""));

    let erased = officer.text(&person("erase")).await;
    let erased: Value = serde_json::from_str(&erased).unwrap();
    assert_eq!(erased["status"], "complete");
    let id = erased["purge_id"].as_str().unwrap();
    let status = officer.text(&["governance", "status", id]).await;
    assert_eq!(serde_json::from_str::<Value>(&status).unwrap()["status"], "complete");
    let certificate = officer.text(&["governance", "status", id, "--certificate"]).await;
    assert!(certificate.contains("signature"), "{certificate}");
    officer.text(&person("readmit")).await;
}
