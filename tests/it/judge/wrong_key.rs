//! A server that was started with a wrong key: what it shows, and what becomes of its sessions.

use judge::Provider;
use serde_json::{Value, json};

use super::wire::{KEY, Mock, Script, reply, verdict};
use crate::support::{Process, throughout, until};

/// Answer of each provider to a key that is not one.
fn refusal(provider: Provider) -> Script {
    let (status, body) = match provider {
        Provider::Openai => (
            401,
            json!({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error",
                "param": null, "code": "invalid_api_key"}}),
        ),
        Provider::Openrouter => {
            (401, json!({"error": {"message": "No auth credentials found", "code": 401}}))
        }
        Provider::Anthropic => (
            401,
            json!({"type": "error",
                "error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
        ),
        Provider::Gemini => (
            400,
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                "message": "API key not valid. Please pass a valid API key.",
                "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}}),
        ),
    };
    Script { status, headers: vec![], body: body.to_string() }
}

async fn get(process: &Process, path: &str) -> Value {
    reqwest::get(process.url(path)).await.unwrap().json().await.unwrap()
}

/// The judge in `/health/ready`.
async fn judge_check(process: &Process) -> String {
    let ready = get(process, "/health/ready").await;
    let checks = ready["checks"].as_array().unwrap();
    let judge = checks.iter().find(|check| check["name"] == "judge").unwrap();
    judge["detail"].as_str().unwrap().to_owned()
}

async fn publish(process: &Process, session: usize) {
    let body = json!({"user_id": "ada", "session_id": format!("s{session}"), "session_finished": true,
        "interaction_data_list": [
            {"role": "User", "content": "Where is my parcel?"},
            {"role": "Assistant", "content": "It comes on Tuesday."}]});
    let url = process.url("/api/publish_interaction");
    let sent = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
    assert_eq!(sent.status(), 200);
}

/// One call finds out; the server says so and asks no more until the key is good; then every session is judged.
#[rstest::rstest]
#[case::openai(Provider::Openai, "OPENAI", "stop")]
#[case::anthropic(Provider::Anthropic, "ANTHROPIC", "end_turn")]
#[case::gemini(Provider::Gemini, "GEMINI", "STOP")]
#[case::openrouter(Provider::Openrouter, "OPENROUTER", "stop")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_key_pauses_within_one_call(
    #[case] provider: Provider,
    #[case] name: &str,
    #[case] finish: &str,
) {
    let mock = Mock::start(vec![refusal(provider)]).await;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data]);
    for other in ["OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "OPENROUTER"] {
        command.env_remove(format!("{other}_API_KEY"));
    }
    command
        .env(format!("{name}_API_KEY"), KEY)
        .env(format!("{name}_BASE_URL"), &mock.url)
        .env("EVENHAND_JUDGE__PROBE_SECONDS", "4")
        .env("EVENHAND_LEARNING__EXTRACTOR", "off")
        .env("EVENHAND_LOG__LEVEL", "off");
    let process = Process::start(&mut command);

    publish(&process, 0).await;
    until("the pause is shown", async || judge_check(&process).await.contains("is paused")).await;
    let shown = judge_check(&process).await;
    assert!(shown.contains("key"), "{shown}");
    assert!(!shown.contains(KEY), "the key is shown");
    assert_eq!(mock.seen.count(), 1);
    for session in 1..6 {
        publish(&process, session).await;
    }
    throughout(1, "nothing is asked during the pause", async || mock.seen.count() == 1).await;
    let health = get(&process, "/api/evaluations/judge_health").await;
    assert_eq!(health["state"], "paused");
    assert!(!health["decisions"].to_string().contains("failed"), "{health}");

    mock.seen.answer_with(reply(provider, &verdict().to_string(), finish));
    until("every session is judged", async || {
        let health = get(&process, "/api/evaluations/judge_health").await;
        health["decisions"] == json!([{"decision": "judged", "count": 6}])
    })
    .await;
    assert!(!judge_check(&process).await.contains("paused"));
}
