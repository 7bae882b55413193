//! An OpenAI-compatible `/v1/embeddings` endpoint. The key is sent, never logged.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::{EmbedderError, EmbedderSettings, Result};
use crate::llm;

/// After a failed query the endpoint is not asked again for this long: searches go on without it at once.
const REST: Duration = Duration::from_secs(5);
/// Texts per call.
const BATCH: usize = 64;

pub struct Endpoint {
    client: reqwest::Client,
    url: String,
    model: String,
    name: String,
    key: SecretString,
    query_timeout: Duration,
    failed_at: Mutex<Option<Instant>>,
}

#[derive(Serialize)]
struct Ask<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    embedding: Vec<f32>,
}

impl Endpoint {
    pub fn new(settings: &EmbedderSettings) -> std::result::Result<Self, String> {
        llm::install_tls();
        let client = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(3))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| format!("embedder: {e}"))?;
        Ok(Endpoint {
            client,
            url: format!("{}/embeddings", settings.url.trim_end_matches('/')),
            model: settings.model.clone(),
            name: format!("endpoint-{}", settings.model),
            key: settings.api_key.clone(),
            query_timeout: Duration::from_millis(settings.query_timeout_milliseconds),
            failed_at: Mutex::new(None),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub async fn embed_query(&self, query: &str) -> Result<Vec<f32>> {
        let resting = |at: Instant| at.elapsed() < REST;
        if self.failed_at().is_some_and(resting) {
            return Err(failure("it failed a moment ago"));
        }
        let result = self.call(&[query], self.query_timeout).await;
        let failed_at = result.is_err().then(Instant::now);
        *self.failed_at.lock().unwrap_or_else(PoisonError::into_inner) = failed_at;
        result?.pop().ok_or_else(|| failure("it answered without a vector"))
    }

    pub async fn embed(&self, texts: &[String], timeout: Duration) -> Result<Vec<Vec<f32>>> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
            vectors.extend(self.call(&batch, timeout).await?);
        }
        Ok(vectors)
    }

    async fn call(&self, texts: &[&str], timeout: Duration) -> Result<Vec<Vec<f32>>> {
        let ask = Ask { model: &self.model, input: texts, encoding_format: "float" };
        let mut request = self.client.post(&self.url).timeout(timeout).json(&ask);
        if !self.key.expose_secret().is_empty() {
            request = request.bearer_auth(self.key.expose_secret());
        }
        // Errors are told without their URL, which may carry a credential.
        let response = request.send().await.map_err(|e| failure(&e.without_url().to_string()))?;
        if !response.status().is_success() {
            return Err(failure(&format!("it answered {}", response.status().as_u16())));
        }
        let answer: EmbeddingResponse =
            response.json().await.map_err(|e| failure(&e.without_url().to_string()))?;
        in_order(answer, texts.len())
    }

    fn failed_at(&self) -> Option<Instant> {
        *self.failed_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_order(answer: EmbeddingResponse, count: usize) -> Result<Vec<Vec<f32>>> {
    let mut items = answer.data;
    items.sort_by_key(|item| item.index);
    let places = items.iter().map(|item| item.index);
    let usable = |vector: &Vec<f32>| {
        let length = vector.len();
        length > 0 && length <= super::DIMENSIONS && vector.iter().all(|v| v.is_finite())
    };
    if !places.eq(0..count) || !items.iter().all(|item| usable(&item.embedding)) {
        return Err(failure("its answer does not fit the question"));
    }
    Ok(items.into_iter().map(|item| item.embedding).collect())
}

fn failure(why: &str) -> EmbedderError {
    EmbedderError(format!("the embedding endpoint gave no vectors: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(items: &[(usize, &[f32])]) -> EmbeddingResponse {
        let item =
            |(index, vector): &(usize, &[f32])| Item { index: *index, embedding: vector.to_vec() };
        EmbeddingResponse { data: items.iter().map(item).collect() }
    }

    #[test]
    fn answers_come_in_the_order_of_the_texts_or_are_refused() {
        let swapped = answer(&[(1, &[2.0]), (0, &[1.0])]);
        assert_eq!(in_order(swapped, 2).unwrap(), [vec![1.0], vec![2.0]]);
        assert!(in_order(answer(&[(0, &[1.0])]), 2).is_err());
        assert!(in_order(answer(&[(0, &[1.0]), (0, &[1.0])]), 2).is_err());
        assert!(in_order(answer(&[(0, &[f32::NAN])]), 1).is_err());
        assert!(in_order(answer(&[(0, &[])]), 1).is_err());
    }
}
