//! Embedders: a model in a folder, an endpoint that works, fails and is left alone, and vectors made later.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use storage::jobs;

use crate::learnings::add_profile;
use service::http::connections::Limits;

use crate::support::{Backend, Server, TestApp, apply, both_backends};

/// A model of six words in two directions, written the way real ones are.
fn write_model(folder: &Path) {
    let words = ["[UNK]", "tea", "coffee", "drinks", "car", "vehicle"];
    let vectors: [[f32; 2]; 6] =
        [[0.0, 0.0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.0], [0.1, 1.0], [0.0, 1.0]];
    let vocab: serde_json::Map<String, Value> =
        words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let tokenizer = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
        "decoder": null, "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}});
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let data: Vec<u8> = vectors.iter().flatten().flat_map(|v| v.to_le_bytes()).collect();
    let header = json!({"embedding.weight": {"dtype": "F32", "shape": [6, 2], "data_offsets": [0, data.len()]}});
    let header = header.to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&data);
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
}

async fn by_vector(server: &Server, query: &str) -> (Vec<String>, Value) {
    let body = json!({"user_id": "ada", "query": query, "search_mode": "vector", "threshold": 0.8});
    let found = server.post("/api/search_profiles", &body).await.ok();
    let rows = found["user_profiles"].as_array().unwrap().iter();
    (rows.map(|row| row["content"].as_str().unwrap().to_owned()).collect(), found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_is_read_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_model(folder.path());
    let directory = folder.path().to_owned();
    let t = TestApp::with(Backend::Sqlite, |s| {
        s.embedder.kind = "local".to_owned();
        s.embedder.directory = directory;
    })
    .await;
    let server = t.serve().await;
    for content in ["coffee", "a vehicle", "?!"] {
        add_profile(&server, "ada", content).await;
    }
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    let (found, answer) = by_vector(&server, "tea drinks").await;
    assert_eq!(found, ["coffee"], "near in meaning, without a word in common");
    assert_eq!(
        (&answer["degraded"], &answer["search_mode_effective"]),
        (&json!(false), &json!("vector"))
    );
    assert_eq!(by_vector(&server, "CAR").await.0, ["a vehicle"]);
    // A query that the model has no words for is searched by full text alone.
    let (_, answer) = by_vector(&server, "zebra").await;
    assert_eq!(answer["search_mode_effective"], "fts");
}

#[tokio::test]
async fn a_folder_without_a_model_says_what_is_missing() {
    use judge::embedder::Embedder;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = service::config::Settings::defaults().unwrap().embedder;
    settings.kind = "local".to_owned();
    settings.directory = folder.path().to_owned();
    let problem =
        |settings: &judge::embedder::EmbedderSettings| Embedder::open(settings).err().unwrap();
    assert!(problem(&settings).contains("tokenizer.json"));
    write_model(folder.path());
    assert!(Embedder::open(&settings).is_ok());
    std::fs::write(folder.path().join("model.safetensors"), b"broken").unwrap();
    assert!(problem(&settings).contains("model.safetensors"));
    std::fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    assert!(problem(&settings).contains("no .safetensors"));
}

/// An endpoint of the test's own: lengths of texts as vectors.
struct Fake {
    down: AtomicBool,
    calls: AtomicUsize,
}

async fn embeddings(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    axum::Json(ask): axum::Json<Value>,
) -> Result<axum::Json<Value>, StatusCode> {
    fake.calls.fetch_add(1, Ordering::SeqCst);
    if fake.down.load(Ordering::SeqCst) {
        return Err(StatusCode::INTERNAL_SERVER_ERROR);
    }
    if headers["authorization"] != "Bearer secret-key" || ask["model"] != "tiny" {
        return Err(StatusCode::UNAUTHORIZED);
    }
    let input = ask["input"].as_array().unwrap();
    let vector = |text: &Value| {
        if text.as_str().unwrap().contains("tea") { [1.0, 0.0] } else { [0.0, 1.0] }
    };
    // Out of order, as the interface allows.
    let items = input.iter().enumerate().rev();
    let data: Vec<Value> =
        items.map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    Ok(axum::Json(json!({"data": data})))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_is_asked_and_its_failure_is_told() {
    let fake = Arc::new(Fake { down: AtomicBool::new(false), calls: AtomicUsize::new(0) });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    let router =
        axum::Router::new().route("/v1/embeddings", post(embeddings)).with_state(fake.clone());
    tokio::spawn(async move {
        service::http::server::serve(
            listener,
            router,
            tokio_util::sync::CancellationToken::new(),
            Limits::small(5),
        )
        .await
    });
    let key: secrecy::SecretString = serde_json::from_value(json!("secret-key")).unwrap();
    assert!(!format!("{key:?}").contains("secret-key"));
    let t = TestApp::with(Backend::Sqlite, |s| {
        s.embedder.kind = "endpoint".to_owned();
        s.embedder.url = url;
        s.embedder.model = "tiny".to_owned();
        s.embedder.api_key = key;
    })
    .await;
    let server = t.serve().await;
    for content in ["green tea", "black coffee"] {
        add_profile(&server, "ada", content).await;
    }
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    assert_eq!(by_vector(&server, "some tea").await.0, ["green tea"]);

    fake.down.store(true, Ordering::SeqCst);
    let (found, answer) = by_vector(&server, "coffee").await;
    assert_eq!(found, ["black coffee"], "full text stands in");
    assert_eq!(
        (&answer["degraded"], &answer["search_mode_effective"]),
        (&json!(true), &json!("fts"))
    );
    let calls = fake.calls.load(Ordering::SeqCst);
    by_vector(&server, "coffee").await;
    assert_eq!(
        fake.calls.load(Ordering::SeqCst),
        calls,
        "an endpoint that just failed is left alone"
    );

    // A job that fails is tried again, and its error names no key.
    add_profile(&server, "ada", "more tea").await;
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    let summary = jobs::summary(&t.app, None).await.unwrap().0;
    assert!(
        summary
            .iter()
            .any(|c| c.kind == "embed_learnings" && c.state == storage::jobs::QueueState::Waiting),
        "{summary:?}"
    );
    fake.down.store(false, Ordering::SeqCst);
    t.clock().advance(60);
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    let summary = jobs::summary(&t.app, None).await.unwrap().0;
    assert!(
        !summary
            .iter()
            .any(|c| c.kind == "embed_learnings" && c.state != storage::jobs::QueueState::Done),
        "{summary:?}"
    );
}

#[apply(both_backends)]
async fn learnings_from_before_the_embedder_get_vectors_at_the_next_start(t: TestApp) {
    let server = t.serve().await;
    add_profile(&server, "ada", "Enjoys photography").await;
    crate::learnings::add_agent_playbook(&server, json!({"content": "Offer photography courses"}))
        .await;
    let later = t.replica_with(|s| s.embedder.kind = "hash".to_owned()).await;
    crate::support::schedule(&later.app, "embed_learnings").await;
    assert_eq!(
        jobs::run_until_idle(&later.app, &service::wiring::job_handlers()).await.unwrap(),
        2
    );
    let server = later.serve().await;
    let body = json!({"user_id": "ada", "query": "photography", "search_mode": "vector"});
    let found = server.post("/api/search", &body).await.ok();
    assert_eq!(found["profiles"].as_array().unwrap().len(), 1);
    assert_eq!(found["agent_playbooks"].as_array().unwrap().len(), 1);
    crate::support::schedule(&later.app, "embed_learnings").await;
    assert_eq!(
        jobs::run_until_idle(&later.app, &service::wiring::job_handlers()).await.unwrap(),
        0,
        "nothing is behind"
    );
}
