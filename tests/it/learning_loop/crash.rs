//! Killed (-9) and restarted in the middle of extraction and aggregation: no window is lost, none is kept twice, no
//! learning doubled.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use storage::faults::LEARNING;

use super::finished;
use crate::support::{Backend, Calls, Model, Process, digits_after, new_schema, patient_client};

/// Proposes what the person said.
const COUNTING: Model = Model {
    marker: "person-",
    takes: Duration::from_millis(80),
    answers: |text| {
        let id: i64 = digits_after(text, "\\\"id\\\":").expect("a turn's id").parse().unwrap();
        json!({"proposals": [{"rationale": "r", "evidence_turns": [id], "kind": "user_playbook",
            "trigger": "prices", "content": "Quote prices with tax"}]})
    },
};

/// An installation whose process comes and goes.
struct Installation {
    calls: Calls,
    url: String,
    place: [String; 2],
    client: reqwest::Client,
    begun: Instant,
    _folder: tempfile::TempDir,
}

impl Installation {
    async fn new(backend: Backend) -> Self {
        judge::llm::install_tls();
        let (calls, url) = COUNTING.start().await;
        let folder = tempfile::tempdir().unwrap();
        let place = match backend {
            Backend::Sqlite => ["--data-dir".to_owned(), folder.path().display().to_string()],
            Backend::Postgres => ["--database-url".to_owned(), new_schema().await],
        };
        let (client, begun) = (patient_client(), Instant::now());
        Installation { calls, url, place, client, begun, _folder: folder }
    }

    /// Starts the process; it is killed where `fault` says.
    fn serve(&self, fault: Option<&str>) -> Process {
        let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0"]);
        command
            .args(&self.place)
            .env("OPENAI_BASE_URL", &self.url)
            .env("OPENAI_API_KEY", "sk-test")
            .env("EVENHAND_JUDGE__MODEL", "openai/counting")
            .env("EVENHAND_JOBS__LEASE_SECONDS", "5")
            .env("EVENHAND_JOBS__POLL_SECONDS", "1")
            .env("EVENHAND_LOG__LEVEL", "warn");
        if let Some(fault) = fault {
            command.env("EVENHAND_FAULT", format!("kill:{fault}"));
        }
        Process::start(&mut command)
    }

    async fn post(&self, process: &Process, path: &str, body: Value) -> Value {
        let begun = Instant::now();
        loop {
            // On a busy machine the storage may be slow to answer right after a start, and a connection may be cut.
            let problem = match self
                .client
                .post(process.url(path))
                .header("x-evenhand-caller", "dashboard")
                .json(&body)
                .send()
                .await
            {
                Ok(answer) if answer.status() == 200 => return answer.json().await.unwrap(),
                Ok(answer) if answer.status() != 503 => panic!("{}", answer.text().await.unwrap()),
                Ok(answer) => answer.text().await.unwrap(),
                Err(error) => error.to_string(),
            };
            assert!(begun.elapsed() < Duration::from_secs(30), "{problem}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Has people say the same, each in a finished session.
    async fn teach(&self, process: &Process, people: Range<usize>) {
        let unjudged = json!({"agent_success_config": {"sampling_rate": 0}});
        self.post(process, "/api/update_config", unjudged).await;
        for n in people {
            let text = format!("I am person-{n}. Prices with tax, please.");
            let mut body = finished(&format!("u{n}"), "s", &[("User", &text)]);
            body["request_id"] = json!(format!("r{n}"));
            self.post(process, "/api/publish_interaction", body).await;
        }
    }

    async fn playbooks(&self, process: &Process) -> Vec<Value> {
        let found = self.post(process, "/api/get_user_playbooks", json!({"limit": 1000})).await;
        found["user_playbooks"].as_array().unwrap().clone()
    }

    /// To the end: everybody's window was read once for good, and everybody is behind the one agent playbook.
    async fn comes_to_its_end(&self, process: &Process, people: usize, killed: usize) {
        let agent = loop {
            let found = self.post(process, "/api/get_agent_playbooks", json!({})).await;
            let found = found["agent_playbooks"].as_array().unwrap().clone();
            if found.first().is_some_and(|p| p["source_user_count"] == people) {
                break found;
            }
            assert!(self.begun.elapsed() < Duration::from_secs(240), "{found:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        assert_eq!(agent.len(), 1, "one idea, one playbook");
        assert_eq!(agent[0]["source_windows"].as_array().unwrap().len(), people);
        let learned = self.playbooks(process).await;
        let users: BTreeSet<_> = learned.iter().map(|p| p["user_id"].as_str().unwrap()).collect();
        assert_eq!((learned.len(), users.len()), (people, people), "exactly one each");
        for playbook in &learned {
            let ask = json!({"kind": "user_playbook", "learning_id": playbook["user_playbook_id"].to_string()});
            let way = self.post(process, "/api/get_learning_provenance", ask).await;
            let ways: Vec<_> = way["proposals"]
                .as_array()
                .unwrap()
                .iter()
                .map(|p| (&p["window_no"], &p["outcome"]))
                .collect();
            assert_eq!(ways, [(&json!(1), &json!("added"))], "one window, kept once");
        }
        let calls = self.calls.lock().unwrap();
        assert_eq!(calls.len(), people, "no window was lost");
        let extra: usize = calls.values().map(|count| count - 1).sum();
        assert!(
            extra <= killed * 8,
            "{extra} windows were read again; only those in flight may be"
        );
    }
}

/// Ended from outside, again and again: killed, and asked to stop.
async fn ended_at_any_time(backend: Backend) {
    let (people, rounds) = (40, 4);
    let installation = Installation::new(backend).await;
    let mut process = installation.serve(None);
    installation.teach(&process, 0..people).await;
    let mut seen = 0;
    for round in 0..rounds {
        loop {
            let done = installation.playbooks(&process).await.len();
            assert!(done >= seen, "what was learned stays learned");
            if done >= people * (round + 1) / (rounds + 1) {
                seen = done;
                break;
            }
            let waited = installation.begun.elapsed();
            assert!(waited < Duration::from_secs(180), "{done} after {round} rounds");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        match round % 2 {
            0 => process.kill(),
            _ => drop(process.terminate()),
        }
        process = installation.serve(None);
    }
    installation.comes_to_its_end(&process, people, rounds).await;
}

/// Killed before, inside and after each transaction that the loop writes.
async fn killed_at_every_place(backend: Backend) {
    let people = 5;
    let installation = Installation::new(backend).await;
    let mut process = installation.serve(Some(LEARNING[0]));
    // The first person's window kills it; the others come when it is back.
    installation.teach(&process, 0..1).await;
    process.ended().await;
    for place in &LEARNING[1..3] {
        process = installation.serve(Some(place));
        process.ended().await;
    }
    process = installation.serve(None);
    installation.teach(&process, 1..people).await;
    while installation.playbooks(&process).await.len() < people {
        assert!(installation.begun.elapsed() < Duration::from_secs(120));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    process.kill();
    for place in &LEARNING[3..] {
        process = installation.serve(Some(place));
        process.ended().await;
    }
    process = installation.serve(None);
    installation.comes_to_its_end(&process, people, LEARNING.len()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extraction_and_aggregation_survive_being_ended_sqlite() {
    ended_at_any_time(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extraction_and_aggregation_survive_being_ended_postgres() {
    ended_at_any_time(Backend::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_every_place_of_the_loop_sqlite() {
    killed_at_every_place(Backend::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_every_place_of_the_loop_postgres() {
    killed_at_every_place(Backend::Postgres).await;
}
