//! Embedders: from text to vectors. None by default; an OpenAI-compatible endpoint; a model in a local folder.
//!
//! A vector carries the name of the model that made it, and only vectors of one model are compared.

mod endpoint;
mod hash;
mod local;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde::Deserialize;

/// The longest vector that a model may give.
pub const DIMENSIONS: usize = 4096;

/// An embedding failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EmbedderError(String);

pub type Result<T> = std::result::Result<T, EmbedderError>;

#[derive(Clone, Debug, Deserialize)]
pub struct EmbedderSettings {
    /// `none`, `endpoint`, `local` or `hash`.
    pub kind: String,
    pub url: String,
    pub model: String,
    pub api_key: SecretString,
    pub directory: PathBuf,
    pub query_timeout_milliseconds: u64,
    pub min_similarity: f64,
}

/// Texts are cut here before they are embedded: models read no further.
const TEXT_CHARS: usize = 8_000;

pub enum Embedder {
    None,
    Endpoint(endpoint::Endpoint),
    Local(Arc<local::Model>),
    /// Hashed words: deterministic and without meaning, for tests and measurements.
    Hash,
}

impl Embedder {
    /// The embedder that the settings describe.
    pub fn open(settings: &EmbedderSettings) -> std::result::Result<Self, String> {
        Ok(match settings.kind.as_str() {
            "endpoint" => Embedder::Endpoint(endpoint::Endpoint::new(settings)?),
            "local" => Embedder::local(&settings.directory)?,
            "hash" => Embedder::Hash,
            _ => Embedder::None,
        })
    }

    /// A model in a folder.
    pub fn local(directory: &Path) -> std::result::Result<Self, String> {
        Ok(Embedder::Local(Arc::new(local::Model::load(directory)?)))
    }

    /// The name that vectors are stored under; none without an embedder.
    pub fn model(&self) -> Option<&str> {
        match self {
            Embedder::None => None,
            Embedder::Endpoint(endpoint) => Some(endpoint.name()),
            Embedder::Local(model) => Some(model.name()),
            Embedder::Hash => Some("hash-256"),
        }
    }

    /// The vector of a query, quickly or not at all: an endpoint that failed is left alone for a while.
    pub async fn embed_query(&self, query: &str) -> Result<Vec<f32>> {
        let started = Instant::now();
        let query = cut(query);
        let vector = match self {
            Embedder::Endpoint(endpoint) => endpoint.embed_query(query).await,
            Embedder::Local(model) => model.embed(query),
            Embedder::Hash => Ok(hash::embed(query)),
            Embedder::None => Err(EmbedderError("there is no embedder".to_owned())),
        };
        metrics::histogram!("evenhand_query_embedding_seconds")
            .record(started.elapsed().as_secs_f64());
        vector
    }

    /// The vectors of several texts, in their order.
    pub async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>> {
        let texts: Vec<String> = texts.iter().map(|text| cut(text).to_owned()).collect();
        match self {
            Embedder::Endpoint(endpoint) => endpoint.embed(&texts, Duration::from_secs(30)).await,
            Embedder::Local(model) => {
                let model = model.clone();
                let all = move || texts.iter().map(|text| model.embed(text)).collect();
                tokio::task::spawn_blocking(all).await.map_err(|e| EmbedderError(e.to_string()))?
            }
            Embedder::Hash => Ok(texts.iter().map(|text| hash::embed(text)).collect()),
            Embedder::None => Err(EmbedderError("there is no embedder".to_owned())),
        }
    }
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(TEXT_CHARS) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
