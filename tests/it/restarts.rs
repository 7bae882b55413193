//! Restarts lose no work: of the process by `kill -9`, and of the database under it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::evaluation::talk;
use crate::support::{Calls, Cluster, Model, NOW, Process, new_schema, throughout, until, within};

/// Longer than a lease, and six times the patience of a request.
const OUTAGE_SECONDS: u64 = 60;

const JUDGE: Model = Model {
    marker: "parcel-",
    takes: Duration::from_millis(250),
    answers: |_| {
        json!({"reasoning": "r", "number_of_corrections": 0, "is_escalated": false,
            "failure_reason": "", "failure_type": "", "is_success": true})
    },
};

/// A server with the default lease, on a judge that takes its time.
struct Installation {
    place: [String; 2],
    judge_url: String,
    calls: Calls,
    client: reqwest::Client,
}

impl Installation {
    async fn new(place: [String; 2]) -> Self {
        let (calls, judge_url) = JUDGE.start().await;
        judge::llm::install_tls();
        Installation { place, judge_url, calls, client: reqwest::Client::new() }
    }

    fn serve(&self) -> Process {
        let mut command = Process::command(&["serve", "--listen", "127.0.0.1:0"]);
        command
            .args(&self.place)
            .env("OPENAI_BASE_URL", &self.judge_url)
            .env("OPENAI_API_KEY", "sk-test")
            .env("EVENHAND_JUDGE__MODEL", "openai/counting")
            .env("EVENHAND_GOVERNANCE_BEARER", GOVERNOR)
            .env("EVENHAND_DASHBOARD_KEY", OPERATOR)
            .env("EVENHAND_LEARNING__EXTRACTOR", "off")
            .env("EVENHAND_LOG__LEVEL", "error");
        Process::start(&mut command)
    }

    async fn publish(&self, process: &Process, user: &str, n: usize) {
        let mut body = talk(user, &format!("s{n}"), true);
        body["interaction_data_list"][0]["content"] = json!(format!("Where is parcel-{n}?"));
        body["created_at"] = json!(NOW);
        self.post(process, "/api/publish_interaction", &body).await;
    }

    async fn post(&self, process: &Process, path: &str, body: &Value) -> Value {
        let answer = self.client.post(process.url(path)).bearer_auth(OPERATOR).json(body);
        let answer = answer.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Begins to judge everything; gives the path of its progress.
    async fn regenerate(&self, process: &Process, sessions: usize) -> String {
        let config = json!({"eval_sample_n_per_stratum": 10_000, "eval_concurrency_limit": 4});
        self.post(process, "/api/update_config", &config).await;
        let window = json!({"from_ts": NOW - 1, "to_ts": NOW + 1});
        let begun = self.post(process, "/api/evaluations/regenerate", &window).await;
        assert_eq!(begun["total"], sessions);
        format!("/api/evaluations/regenerate/{}", begun["job_id"].as_str().unwrap())
    }

    /// None while the server does not know.
    async fn progress(&self, process: &Process, path: &str) -> Option<Value> {
        let answer = self.client.get(process.url(path)).bearer_auth(OPERATOR).send().await.ok()?;
        if answer.status() == 200 { answer.json().await.ok() } else { None }
    }

    async fn completed(&self, process: &Process, path: &str) -> u64 {
        let progress = self.progress(process, path).await;
        progress.map_or(0, |progress| progress["completed"].as_u64().unwrap())
    }
}

const GOVERNOR: &str = "governor-governor-governor-governor";
const OPERATOR: &str = "operator-operator-operator-operator";

async fn goes_on_after_a_kill(place: [String; 2], seconds: u64) {
    const SESSIONS: usize = 300;
    let t = Installation::new(place).await;
    let mut process = t.serve();
    for n in 0..SESSIONS {
        t.publish(&process, &format!("u{}", n % 20), n).await;
    }
    let path = t.regenerate(&process, SESSIONS).await;
    until("it has begun", async || t.completed(&process, &path).await >= 8).await;
    process.kill();
    let process = t.serve();
    let (restarted, seen) = (Instant::now(), t.completed(&process, &path).await);
    within(seconds, "it goes on", async || t.completed(&process, &path).await > seen).await;
    println!("went on after {:?}", restarted.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regeneration_goes_on_within_5_s_of_a_kill_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data-dir".to_owned(), folder.path().display().to_string()];
    goes_on_after_a_kill(place, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_regeneration_goes_on_within_20_s_of_a_kill_on_postgres() {
    goes_on_after_a_kill(["--database-url".to_owned(), new_schema().await], 20).await;
}

/// Two replicas, one of which works on a regeneration while an erasure waits its turn: neither fails while the database
/// is away, no verdict that was paid for is asked for again, and the other replica takes nothing over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_ends_no_regeneration_and_no_erasure() {
    const SESSIONS: usize = 120;
    let cluster = Cluster::start();
    let t = Installation::new(["--database-url".to_owned(), cluster.url()]).await;
    let (process, _other) = (t.serve(), t.serve());
    for n in 0..SESSIONS {
        t.publish(&process, &format!("u{}", n % 20), n).await;
    }
    for n in SESSIONS..SESSIONS + 200 {
        let mut body = talk("leaver", &format!("s{n}"), true);
        body["created_at"] = json!(NOW - 86_400);
        t.post(&process, "/api/publish_interaction", &body).await;
    }
    let path = t.regenerate(&process, SESSIONS).await;
    until("it has begun", async || t.completed(&process, &path).await >= 12).await;
    let erase = json!({"user_id": "leaver", "request_id": "dsr-1"});
    let erasing = t.client.post(process.url("/api/governance/erase-user"));
    let erasing = tokio::spawn(erasing.bearer_auth(GOVERNOR).json(&erase).send());
    until("the erasure has begun", async || {
        cluster.number("SELECT COUNT(*) FROM purge_operations").await == 1
    })
    .await;
    tokio::task::block_in_place(|| cluster.stop());
    throughout(OUTAGE_SECONDS, "the server lives and says 503", async || {
        let ready = t.client.get(process.url("/health/ready")).send().await.unwrap();
        ready.status() == 503
    })
    .await;
    tokio::task::block_in_place(|| cluster.resume());
    let mut last = Value::Null;
    within(60, "the regeneration ends", async || {
        let Some(progress) = t.progress(&process, &path).await else { return false };
        last = progress;
        last["status"] != "running"
    })
    .await;
    assert_eq!((&last["status"], &last["failed"]), (&json!("completed"), &json!(0)), "{last}");
    let calls: usize = t.calls.lock().unwrap().values().sum();
    assert_eq!(calls, SESSIONS, "each session was judged once");
    drop(erasing.await);
    within(30, "the erasure is complete", async || {
        cluster.number("SELECT COUNT(*) FROM purge_operations WHERE status = 'complete'").await == 1
    })
    .await;
    let failed = "SELECT COUNT(*) FROM audit_events WHERE operation = 'ERASE' AND status = 'error'";
    assert_eq!(cluster.number(failed).await, 0, "it never failed");
}
