//! Programs that take messages, as a test tells them to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use axum::routing::post;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// A message as it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub id: String,
    pub timestamp: String,
    pub signature: String,
    pub body: String,
    pub status: u16,
}

/// A program that takes messages, as it is told to.
#[derive(Clone)]
pub struct Receiver {
    pub address: std::net::SocketAddr,
    inner: Arc<Mutex<Receiving>>,
}

struct Receiving {
    status: u16,
    answer: &'static str,
    delay: Duration,
    arrived: Vec<Arrived>,
}

impl Receiver {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let delay = Duration::ZERO;
        let inner = Receiving { status: 200, answer: "", delay, arrived: Vec::new() };
        let receiver = Receiver { address, inner: Arc::new(Mutex::new(inner)) };
        let router = Router::new().route("/hook", post(receive)).with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn answers(&self, status: u16, answer: &'static str) {
        let mut inner = self.inner.lock().unwrap();
        (inner.status, inner.answer) = (status, answer);
    }

    pub fn takes(&self, delay: Duration) {
        self.inner.lock().unwrap().delay = delay;
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.inner.lock().unwrap().arrived.clone()
    }

    pub fn accepted(&self) -> Vec<Arrived> {
        self.arrived().into_iter().filter(|message| message.status == 200).collect()
    }
}

async fn receive(
    State(receiver): State<Receiver>,
    headers: HeaderMap,
    body: String,
) -> impl IntoResponse {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let (status, answer, delay) = {
        let mut inner = receiver.inner.lock().unwrap();
        let status = inner.status;
        inner.arrived.push(Arrived {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
            body,
            status,
        });
        (status, inner.answer, inner.delay)
    };
    tokio::time::sleep(delay).await;
    (StatusCode::from_u16(status).unwrap(), [("location", "/elsewhere")], answer)
}

/// A server that takes every e-mail, one connection after the other.
pub async fn smtp_server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let taken: Arc<Mutex<Vec<String>>> = Arc::default();
    let mails = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (reader, mut writer) = stream.split();
            let mut lines = BufReader::new(reader).lines();
            writer.write_all(b"220 here\r\n").await.unwrap();
            let mut mail: Option<String> = None;
            while let Ok(Some(line)) = lines.next_line().await {
                let answer = match (&mut mail, line.as_str()) {
                    (Some(text), ".") => {
                        mails.lock().unwrap().push(std::mem::take(text));
                        mail = None;
                        "250 taken\r\n"
                    }
                    (Some(text), line) => {
                        text.push_str(line);
                        text.push('\n');
                        continue;
                    }
                    (None, "DATA") => {
                        mail = Some(String::new());
                        "354 go on\r\n"
                    }
                    (None, "QUIT") => "221 bye\r\n",
                    (None, _) => "250 fine\r\n",
                };
                if writer.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    (port, taken)
}
