//! Several processes on one PostgreSQL are one service.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::publish::two_turns;
use crate::support::{Process, new_schema};

async fn post(process: &Process, path: &str, body: &Value) -> Value {
    let answer = reqwest::Client::new().post(process.url(path)).json(body).send().await.unwrap();
    let (status, text) = (answer.status(), answer.text().await.unwrap());
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_started_together_serve_the_same_data() {
    let url = new_schema().await;
    let args = ["--database-url", url.as_str()];
    // Both find an empty database and bring it up to date.
    let (one, two) = std::thread::scope(|scope| {
        let one = scope.spawn(|| Process::serve(&args));
        let two = scope.spawn(|| Process::serve(&args));
        (one.join().unwrap(), two.join().unwrap())
    });
    let mut body = two_turns("ada", "s1");
    body["request_id"] = json!("r1");
    assert_eq!(post(&one, "/api/publish_interaction", &body).await["duplicate"], false);
    assert_eq!(post(&two, "/api/publish_interaction", &body).await["duplicate"], true);
    let filter = json!({"user_id": "ada"});
    let (seen, also) = (
        post(&one, "/api/get_requests", &filter).await,
        post(&two, "/api/get_requests", &filter).await,
    );
    assert_eq!(seen, also);
    assert_eq!(seen["sessions"][0]["requests"][0]["interactions"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_id_sent_to_both_at_once_is_stored_once() {
    let url = new_schema().await;
    let args = ["--database-url", url.as_str()];
    let processes = [Process::serve(&args), Process::serve(&args)];
    for round in 0..10 {
        let mut body = two_turns("ada", "s1");
        body["request_id"] = json!(format!("r{round}"));
        let answers =
            join_all((0..16).map(|n| post(&processes[n % 2], "/api/publish_interaction", &body)))
                .await;
        assert_eq!(answers.iter().filter(|a| a["duplicate"] == false).count(), 1);
        assert!(answers.iter().all(|a| a["interaction_ids"] == answers[0]["interaction_ids"]));
    }
    let read = post(&processes[0], "/api/get_requests", &json!({"session_id": "s1"})).await;
    assert_eq!(read["sessions"][0]["requests"].as_array().unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_with_another_key_does_not_start() {
    let url = new_schema().await;
    let _one = Process::serve(&["--database-url", &url]);
    let mut command =
        Process::command(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
    let refused = command
        .env("EVENHAND_GOVERNANCE__KEYS", format!("k1:{}", "0f".repeat(32)))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("governance_key/k1"));
    let refused = Process::command(&["serve", "--database-url", &url])
        .env_remove("EVENHAND_GOVERNANCE__KEYS")
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("openssl rand -hex 32"),
        "{refused:?}"
    );
}
