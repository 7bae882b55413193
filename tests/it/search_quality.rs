//! Quality of search on a small judged set, with floors it must keep.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use storage::jobs;

use crate::support::{Backend, Server, TestApp, apply, both_backends, not_run};

#[derive(Deserialize)]
struct Judged {
    learnings: Vec<Learning>,
    queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Learning {
    id: String,
    content: String,
}

#[derive(Deserialize)]
struct Query {
    lang: String,
    query: String,
    relevant: Vec<String>,
    kind: String,
}

#[derive(Default, Clone, Copy)]
struct Score {
    queries: f64,
    recall: f64,
    reciprocal: f64,
}

impl Score {
    fn recall(&self) -> f64 {
        self.recall / self.queries
    }

    fn mrr(&self) -> f64 {
        self.reciprocal / self.queries
    }
}

fn judged() -> Judged {
    serde_json::from_str(include_str!("../data/search_quality.json")).unwrap()
}

async fn fill(server: &Server, judged: &Judged) {
    let profile =
        |l: &Learning| json!({"profile_id": l.id, "user_id": "ada", "content": l.content});
    let body = json!({"user_profiles": judged.learnings.iter().map(profile).collect::<Vec<_>>()});
    server.post("/api/add_user_profile", &body).await.ok();
}

/// Recall among the first five and mean reciprocal rank, by the kind and language of the query.
async fn score(server: &Server, judged: &Judged, mode: &str) -> BTreeMap<String, Score> {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for query in &judged.queries {
        let body = json!({"user_id": "ada", "query": query.query, "top_k": 5, "search_mode": mode});
        let found = server.post("/api/search_profiles", &body).await.ok();
        let ids: Vec<&str> = found["user_profiles"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row: &Value| row["profile_id"].as_str().unwrap())
            .collect();
        let hits = query.relevant.iter().filter(|id| ids.contains(&id.as_str()));
        let recall = hits.count() as f64 / query.relevant.len() as f64;
        let first = ids.iter().position(|id| query.relevant.iter().any(|r| r == id));
        let reciprocal = first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
        if reciprocal < 1.0 || recall < 1.0 {
            println!("  {mode}: {:?} found {ids:?}, wanted {:?}", query.query, query.relevant);
        }
        for group in [query.kind.clone(), format!("{} {}", query.kind, query.lang)] {
            let score = scores.entry(group).or_default();
            score.queries += 1.0;
            score.recall += recall;
            score.reciprocal += reciprocal;
        }
    }
    for (group, score) in &scores {
        println!(
            "{mode:>7} {group:<12} n={:<3} recall@5={:.3} MRR={:.3}",
            score.queries,
            score.recall(),
            score.mrr()
        );
    }
    scores
}

#[apply(both_backends)]
async fn full_text_keeps_its_floor(t: TestApp) {
    let server = t.serve().await;
    let judged = judged();
    fill(&server, &judged).await;
    let scores = score(&server, &judged, "fts").await;
    let words = scores["words"];
    assert!(words.recall() >= 0.95, "recall@5 {:.3}", words.recall());
    assert!(words.mrr() >= 0.95, "MRR {:.3}", words.mrr());
    for (group, score) in scores.iter().filter(|(group, _)| group.starts_with("words ")) {
        assert!(score.recall() >= 0.85, "{group}: recall@5 {:.3}", score.recall());
    }
}

/// With a real model, queries that share no word with their answer are found too. `scripts/fetch-embedder` gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_finds_meaning() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models/wordllama");
    if !folder.join("model.safetensors").is_file() {
        not_run("search_quality::a_model_finds_meaning", "scripts/fetch-embedder was not run");
        return;
    }
    let t = TestApp::with(Backend::Sqlite, |settings| {
        settings.embedder.kind = "local".to_owned();
        settings.embedder.directory = folder;
    })
    .await;
    let server = t.serve().await;
    let judged = judged();
    fill(&server, &judged).await;
    jobs::run_until_idle(&t.app, &service::wiring::job_handlers()).await.unwrap();
    let text = score(&server, &judged, "fts").await;
    score(&server, &judged, "vector").await;
    let hybrid = score(&server, &judged, "hybrid").await;
    assert!(hybrid["words"].recall() >= 0.93, "{:.3}", hybrid["words"].recall());
    assert!(hybrid["words"].mrr() >= 0.85, "{:.3}", hybrid["words"].mrr());
    assert!(hybrid["meaning"].recall() >= 0.6, "{:.3}", hybrid["meaning"].recall());
    assert!(hybrid["meaning"].recall() > text["meaning"].recall() + 0.2);
}
