//! Parts of all load programs: a server to talk to, clients that keep their connection, and percentiles.
//! Talks to the given address only; every run is bounded in time.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::disallowed_methods)]

pub mod place;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A server under test: one we started, or one at a given address.
pub struct Target {
    pub address: String,
    pub token: Option<String>,
    child: Option<Child>,
}

impl Target {
    /// A server that is running already: `http://127.0.0.1:8700`.
    pub fn at(url: &str, token: Option<String>) -> Self {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        Target { address, token, child: None }
    }

    /// Starts [`binary`].
    pub fn start_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(args)
            .envs(environment.iter().copied())
            .env("EVENHAND_LOG__LEVEL", "warn")
            .stdout(Stdio::piped())
            .spawn()
            .expect("evenhand starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
        let address = line.split("http://").nth(1).expect("an address").trim().to_owned();
        Target { address, token: None, child: Some(child) }
    }

    /// Resident memory of the server we started, in MiB.
    pub fn memory_mib(&self) -> Option<f64> {
        let id = self.child.as_ref()?.id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024.0)
    }

    /// Processor time the server we started has used, which says more than latency on a busy machine.
    pub fn cpu(&self) -> Option<Duration> {
        let id = self.child.as_ref()?.id();
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 =
            fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * 10))
    }

    pub fn client(&self) -> Client {
        Client::connect(self)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `evenhand` of the same build as this program, or the one that `BINARY` names.
pub fn binary() -> PathBuf {
    if let Some(binary) = std::env::var_os("BINARY") {
        return binary.into();
    }
    let here = std::env::current_exe().expect("a path");
    let folder = here.parent().and_then(Path::parent).expect("target/<profile>");
    let binary = folder.join("evenhand");
    assert!(binary.is_file(), "build the server first: cargo build --release");
    binary
}

/// One keep-alive connection.
pub struct Client {
    stream: BufReader<TcpStream>,
    head: String,
    body: Vec<u8>,
}

impl Client {
    fn connect(target: &Target) -> Self {
        let stream = TcpStream::connect(&target.address).expect("the server listens");
        stream.set_nodelay(true).expect("nodelay");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let credential = target.token.as_ref().map(|t| format!("Authorization: Bearer {t}\r\n"));
        let head = format!(
            "Host: {}\r\nContent-Type: application/json\r\n{}",
            target.address,
            credential.unwrap_or_default()
        );
        Client { stream: BufReader::new(stream), head, body: Vec::new() }
    }

    /// Sends a request and reads the whole answer; gives its status.
    pub fn send(&mut self, method: &str, path: &str, body: &str) -> u16 {
        let length = body.len();
        let head = &self.head;
        let request =
            format!("{method} {path} HTTP/1.1\r\n{head}Content-Length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes()).expect("the server reads");
        let (mut status, mut length, mut chunked) = (0, 0, false);
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("the server answers");
            let text = line.trim_end();
            if text.is_empty() {
                break;
            }
            if let Some(rest) = text.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().expect("a status");
            } else if let Some((name, value)) = text.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            } else if text.to_ascii_lowercase().starts_with("transfer-encoding: chunked") {
                chunked = true;
            }
        }
        if chunked {
            self.read_chunks();
        } else {
            self.body.resize(length, 0);
            self.stream.read_exact(&mut self.body).expect("the whole answer");
        }
        status
    }

    fn read_chunks(&mut self) {
        self.body.clear();
        let mut line = String::new();
        loop {
            line.clear();
            self.stream.read_line(&mut line).expect("the length of a chunk");
            let length = usize::from_str_radix(line.trim(), 16).expect("a length");
            let begun = self.body.len();
            // The line end after the chunk is read with it and left out.
            self.body.resize(begun + length + 2, 0);
            self.stream.read_exact(&mut self.body[begun..]).expect("a chunk");
            self.body.truncate(begun + length);
            if length == 0 {
                return;
            }
        }
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// The measurements of one run.
pub struct Run {
    pub clients: usize,
    pub latencies: Vec<Duration>,
    pub elapsed: Duration,
    pub failures: usize,
    cpu: Option<Duration>,
}

impl Run {
    /// Processor time of the server during the run.
    pub fn cpu(&self) -> Option<Duration> {
        self.cpu
    }

    pub fn header() -> String {
        format!(
            "{:>8} {:>10} {:>12} {:>9} {:>9} {:>9} {:>9} {:>12} {:>7}",
            "clients",
            "requests",
            "per second",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "max ms",
            "server µs",
            "failed"
        )
    }

    pub fn row(&mut self) -> String {
        self.latencies.sort_unstable();
        let at = |share: f64| {
            let index =
                ((self.latencies.len() as f64 * share) as usize).min(self.latencies.len() - 1);
            self.latencies[index].as_secs_f64() * 1000.0
        };
        let cpu = self.cpu.map_or(0.0, |cpu| cpu.as_secs_f64() * 1e6 / self.latencies.len() as f64);
        format!(
            "{:>8} {:>10} {:>12.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>12.0} {:>7}",
            self.clients,
            self.latencies.len(),
            self.latencies.len() as f64 / self.elapsed.as_secs_f64(),
            at(0.50),
            at(0.95),
            at(0.99),
            at(1.0),
            cpu,
            self.failures
        )
    }
}

/// Runs `clients` threads for `seconds`; each calls `work(client number, call number, connection)` in a loop and
/// says whether the answer was right.
pub fn run(
    target: &Target,
    clients: usize,
    seconds: f64,
    work: impl Fn(usize, usize, &mut Client) -> bool + Sync,
) -> Run {
    let stop = AtomicBool::new(false);
    let cpu_before = target.cpu();
    let started = Instant::now();
    let results: Vec<(Vec<Duration>, usize)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|number| {
                let (work, stop) = (&work, &stop);
                scope.spawn(move || {
                    let mut client = target.client();
                    let (mut latencies, mut failures) = (Vec::new(), 0);
                    while !stop.load(Ordering::Relaxed) {
                        let begun = Instant::now();
                        if !work(number, latencies.len(), &mut client) {
                            failures += 1;
                        }
                        latencies.push(begun.elapsed());
                    }
                    (latencies, failures)
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        threads.into_iter().map(|t| t.join().expect("a client")).collect()
    });
    let elapsed = started.elapsed();
    let cpu = target.cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let failures = results.iter().map(|(_, failures)| failures).sum();
    let latencies = results.into_iter().flat_map(|(latencies, _)| latencies).collect();
    Run { clients, latencies, elapsed, failures, cpu }
}

/// Small synced writes per second under `folder`.
pub fn fsyncs_per_second(folder: &Path) -> f64 {
    let path = folder.join("sync-test");
    let mut file = std::fs::File::create(&path).expect("a file");
    let started = Instant::now();
    let mut count = 0u32;
    while started.elapsed() < Duration::from_millis(500) {
        file.write_all(&[0u8; 4096]).expect("a write");
        file.sync_data().expect("a sync");
        count += 1;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    let _ = std::fs::remove_file(&path);
    rate
}
