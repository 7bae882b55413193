//! `kill -9` in the middle of a regeneration, five times over, with the real binary and a provider that counts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::talk;
use crate::support::{Backend, Model, NOW, Process, new_schema};

const SESSIONS: usize = 500;
const KILLS: usize = 5;
const CONCURRENCY: usize = 10;

const COUNTING: Model = Model {
    marker: "parcel-",
    takes: Duration::from_millis(60),
    answers: |_| {
        json!({"reasoning": "r", "number_of_corrections": 0, "is_escalated": false,
            "failure_reason": "", "failure_type": "", "is_success": true})
    },
};

async fn check(backend: Backend) {
    let (calls, url) = COUNTING.start().await;
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
            .env("EVENHAND_JUDGE__CONCURRENCY", CONCURRENCY.to_string())
            .env("EVENHAND_JOBS__LEASE_SECONDS", "5")
            .env("EVENHAND_JOBS__POLL_SECONDS", "1")
            .env("EVENHAND_LEARNING__EXTRACTOR", "off")
            .env("EVENHAND_LOG__LEVEL", "warn");
        Process::start(&mut command)
    };
    judge::llm::install_tls();
    let client = reqwest::Client::new();
    let mut process = serve();
    for n in 0..SESSIONS {
        let mut body = talk(&format!("u{}", n % 50), &format!("s{n}"), true);
        body["interaction_data_list"][0]["content"] = json!(format!("Where is parcel-{n}?"));
        body["created_at"] = json!(NOW);
        let answer =
            client.post(process.url("/api/publish_interaction")).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let body = json!({"eval_sample_n_per_stratum": 10_000});
    client.post(process.url("/api/update_config")).json(&body).send().await.unwrap();
    let body = json!({"from_ts": NOW - 1, "to_ts": NOW + 1});
    let begun =
        client.post(process.url("/api/evaluations/regenerate")).json(&body).send().await.unwrap();
    let begun: Value = begun.json().await.unwrap();
    assert_eq!(begun["total"], SESSIONS);
    let path = format!("/api/evaluations/regenerate/{}", begun["job_id"].as_str().unwrap());
    let mut seen = 0;
    for round in 0..=KILLS {
        let begun = Instant::now();
        loop {
            let answer = client.get(process.url(&path)).send().await.unwrap();
            let text = answer.text().await.unwrap();
            let progress: Value = serde_json::from_str(&text).unwrap();
            assert!(progress["completed"].is_u64(), "round {round}: {text}");
            let done = progress["completed"].as_u64().unwrap();
            assert!(done >= seen, "what was judged stays judged");
            // A kill for every part of the way; the last process goes to the end.
            if round < KILLS && done >= (SESSIONS * (round + 1) / (KILLS + 2)) as u64 {
                seen = done;
                break;
            }
            if progress["status"] != "running" {
                assert!(round == KILLS, "ended before the last kill");
                assert_eq!(progress["status"], "completed", "{progress}");
                let sum = done + progress["failed"].as_u64().unwrap();
                assert_eq!(sum, SESSIONS as u64, "{progress}");
                assert_eq!(done, SESSIONS as u64, "{progress}");
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{progress}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        if round < KILLS {
            process.kill();
            process = serve();
        }
    }
    let body = json!({"limit": 1000});
    let found = client
        .post(process.url("/api/get_agent_success_evaluation_results"))
        .json(&body)
        .send()
        .await
        .unwrap();
    let found: Value = found.json().await.unwrap();
    let rows = found["agent_success_evaluation_results"].as_array().unwrap();
    let sessions: std::collections::BTreeSet<_> =
        rows.iter().map(|r| r["session_id"].as_str().unwrap()).collect();
    assert_eq!((rows.len(), sessions.len()), (SESSIONS, SESSIONS), "exactly one row each");
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), SESSIONS);
    assert!(calls.values().all(|count| *count <= 1 + KILLS), "at most once more per kill");
    // Only what was in flight is judged again: the ones being judged, and those judged but not yet saved.
    let extra: usize = calls.values().map(|count| count - 1).sum();
    assert!(extra <= KILLS * CONCURRENCY * 3, "{extra} judgements too many");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regeneration_survives_five_kills_sqlite() {
    check(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regeneration_survives_five_kills_postgres() {
    check(Backend::Postgres).await;
}
