//! A model on loopback that takes a while and counts its calls by what they are about.

use service::http::connections::Limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::{Json, Router};
use serde_json::{Value, json};

/// Calls by the digits that follow the marker.
pub type Calls = Arc<Mutex<BTreeMap<String, usize>>>;

/// A model stub: its marker, latency and answers.
#[derive(Clone, Copy)]
pub struct Model {
    /// Stands before the number of the session or person in what it is sent.
    pub marker: &'static str,
    pub takes: Duration,
    /// Answer to a text.
    pub answers: fn(&str) -> Value,
}

impl Model {
    /// Starts it; gives its call counts and its URL.
    pub async fn start(self) -> (Calls, String) {
        let calls = Calls::default();
        let router = Router::new().fallback(answer).with_state((self, calls.clone()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = tokio_util::sync::CancellationToken::new();
        tokio::spawn(service::http::server::serve(listener, router, stop, Limits::small(60)));
        (calls, format!("http://{address}/v1"))
    }
}

async fn answer(State((model, calls)): State<(Model, Calls)>, request: Request) -> Json<Value> {
    let bytes = axum::body::to_bytes(request.into_body(), 10 << 20).await.unwrap();
    let text = String::from_utf8_lossy(&bytes);
    let about = digits_after(&text, model.marker).expect("the marker");
    *calls.lock().unwrap().entry(about).or_default() += 1;
    tokio::time::sleep(model.takes).await;
    Json(json!({
        "id": "c", "object": "chat.completion", "model": "counting",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": (model.answers)(&text).to_string(), "refusal": null}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }))
}

/// The number that first follows a text.
pub fn digits_after(text: &str, marker: &str) -> Option<String> {
    let rest = text.split(marker).nth(1)?;
    Some(rest.chars().take_while(char::is_ascii_digit).collect())
}
