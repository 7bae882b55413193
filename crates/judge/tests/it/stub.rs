//! A provider on loopback that answers from a script, byte by byte as it is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// One answer.
#[derive(Clone, Debug)]
pub struct Script {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

impl Script {
    pub fn json(status: u16, body: Value) -> Script {
        let headers = vec![("content-type", "application/json".to_owned())];
        Script { status, headers, body: body.to_string() }
    }

    pub fn page(status: u16) -> Script {
        let body = "<!DOCTYPE html><html><body>Sign in to continue</body></html>".to_owned();
        Script { status, headers: vec![("content-type", "text/html".to_owned())], body }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Script {
        self.headers.retain(|(old, _)| *old != name);
        self.headers.push((name, value.to_owned()));
        self
    }
}

pub struct Stub {
    pub url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Stub {
    /// The last answer of the script is repeated.
    pub fn start(script: Vec<Script>) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = requests.clone();
        std::thread::spawn(move || {
            let mut script = script.into_iter().peekable();
            while let Ok((stream, _)) = listener.accept() {
                let Some(next) = script.next() else { return };
                if script.peek().is_none() {
                    script = vec![next.clone()].into_iter().peekable();
                }
                answer(stream, &next, &seen);
            }
        });
        Stub { url, requests }
    }

    /// The bodies of what was asked.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, script: &Script, seen: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    seen.lock().unwrap().push(serde_json::from_slice(&body).unwrap_or(Value::Null));
    let mut head = format!("HTTP/1.1 {} X\r\n", script.status);
    for (name, value) in &script.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", script.body.len()));
    let mut stream = reader.into_inner();
    // A client that hung up does not want the answer.
    let _ =
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(script.body.as_bytes()));
}
