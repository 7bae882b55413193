//! Killed (-9) in the middle of extraction and aggregation: no window is lost, none is read twice, no learning doubled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use serde_json::{Value, json};

use super::finished;
use crate::support::{Backend, Process, new_schema};

const PEOPLE: usize = 40;
const KILLS: usize = 4;

type Calls = Arc<Mutex<BTreeMap<String, usize>>>;

/// A model on loopback that takes a while, counts its calls by person and proposes what the person said.
async fn model() -> (Calls, String) {
    let calls = Calls::default();
    let router = axum::Router::new().fallback(answer).with_state(calls.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    tokio::spawn(evenhand::http::server::serve(listener, router, stop, 60));
    (calls, format!("http://{address}/v1"))
}

async fn answer(State(calls): State<Calls>, request: Request) -> axum::Json<Value> {
    let bytes = axum::body::to_bytes(request.into_body(), 10 << 20).await.unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let marker = text.split("person-").nth(1).expect("the person's marker");
    let person: String = marker.chars().take_while(char::is_ascii_digit).collect();
    *calls.lock().unwrap().entry(person).or_default() += 1;
    tokio::time::sleep(Duration::from_millis(80)).await;
    let id = text.split("\\\"id\\\":").nth(1).expect("a turn's id");
    let id: i64 = id.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap();
    let verdict = json!({"proposals": [{"rationale": "r", "evidence_turns": [id], "kind": "user_playbook",
        "trigger": "prices", "content": "Quote prices with tax"}]});
    axum::Json(json!({
        "id": "c", "object": "chat.completion", "model": "counting",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": verdict.to_string(), "refusal": null}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }))
}

async fn check(backend: Backend) {
    let (calls, url) = model().await;
    let folder = tempfile::tempdir().unwrap();
    let place = match backend {
        Backend::Sqlite => ["--data-dir".to_owned(), folder.path().display().to_string()],
        Backend::Postgres => ["--database-url".to_owned(), new_schema().await],
    };
    let serve = || {
        let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0"]);
        command
            .args(&place)
            .env("OPENAI_BASE_URL", &url)
            .env("OPENAI_API_KEY", "sk-test")
            .env("EVENHAND_JUDGE__MODEL", "openai/counting")
            .env("EVENHAND_JOBS__LEASE_SECONDS", "5")
            .env("EVENHAND_JOBS__POLL_SECONDS", "1")
            .env("EVENHAND_LOG__LEVEL", "warn");
        Process::start(&mut command)
    };
    evenhand::judge::llm::install_tls();
    let client = reqwest::Client::new();
    let mut process = serve();
    let post = async |process: &Process, path: &str, body: Value| -> Value {
        let begun = Instant::now();
        loop {
            let answer = client.post(process.url(path)).json(&body).send().await.unwrap();
            let (status, text) = (answer.status(), answer.text().await.unwrap());
            if status == 200 {
                return serde_json::from_str(&text).unwrap();
            }
            // On a busy machine the storage may be slow to answer right after a start.
            assert!(status == 503 && begun.elapsed() < Duration::from_secs(30), "{text}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    post(&process, "/api/update_config", json!({"agent_success_config": {"sampling_rate": 0}}))
        .await;
    for n in 0..PEOPLE {
        let text = format!("I am person-{n}. Prices with tax, please.");
        post(
            &process,
            "/api/publish_interaction",
            finished(&format!("u{n}"), "s", &[("User", &text)]),
        )
        .await;
    }
    let playbooks = async |process: &Process| -> Vec<Value> {
        let found = post(process, "/api/get_user_playbooks", json!({"limit": 1000})).await;
        found["user_playbooks"].as_array().unwrap().clone()
    };
    let (mut seen, begun) = (0, Instant::now());
    for round in 0..KILLS {
        loop {
            let done = playbooks(&process).await.len();
            assert!(done >= seen, "what was learned stays learned");
            if done >= PEOPLE * (round + 1) / (KILLS + 1) {
                seen = done;
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(180), "{done} after {round} kills");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        process.kill();
        process = serve();
    }
    // To the end: everybody's window is read, and everybody is behind the one agent playbook.
    let agent = loop {
        let found = post(&process, "/api/get_agent_playbooks", json!({})).await;
        let found = found["agent_playbooks"].as_array().unwrap().clone();
        if found.first().is_some_and(|p| p["source_user_count"] == PEOPLE) {
            break found;
        }
        assert!(begun.elapsed() < Duration::from_secs(240), "{found:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(agent.len(), 1, "one idea, one playbook");
    let learned = playbooks(&process).await;
    let people: std::collections::BTreeSet<_> =
        learned.iter().map(|p| p["user_id"].as_str().unwrap()).collect();
    assert_eq!((learned.len(), people.len()), (PEOPLE, PEOPLE), "exactly one each");
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), PEOPLE, "no window was lost");
    let extra: usize = calls.values().map(|count| count - 1).sum();
    assert!(extra <= KILLS * 8, "{extra} windows were read again; only those in flight may be");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extraction_and_aggregation_survive_kills_sqlite() {
    check(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extraction_and_aggregation_survive_kills_postgres() {
    check(Backend::Postgres).await;
}
