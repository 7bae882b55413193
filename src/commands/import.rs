//! `evenhand import FORMAT FILE…`: other tools' exports become sessions of a running server.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use futures_util::stream::{self, StreamExt};
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::remote::{Remote, RemoteClient, detail};
use base::clock::Clock;
use traces::files::{Format, Item, Options, Problem, read};

/// Publishes that are on their way at the same time.
const AT_A_TIME: usize = 32;
/// Items between two notes of how far an import has come.
const BETWEEN_NOTES: u64 = 500;
/// Attempts at one publish, with growing pauses: about two minutes in all.
const ATTEMPTS: u32 = 8;
/// Problems that are printed of each file; the others are counted.
const SHOWN: u64 = 20;

/// The exporter, the server, and what the files leave open.
#[derive(Args)]
pub struct Import {
    /// The tool that wrote the files: langfuse, langsmith, phoenix, openai or jsonl
    format: Format,
    /// Files that it exported: JSON Lines or JSON
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    remote: Remote,
    /// Source of the sessions [default: the format's name]
    #[arg(long)]
    source: Option<String>,
    /// User of records that name none; {session} in it becomes the id of the session
    #[arg(long, value_name = "USER")]
    default_user: Option<String>,
    /// Say what was understood, and send nothing
    #[arg(long)]
    dry_run: bool,
}

/// How far the import of a file has come, kept beside it until it is through.
#[derive(Serialize, Deserialize, PartialEq)]
struct Note {
    format: String,
    url: String,
    /// Length of the file: another length is another file.
    bytes: u64,
    /// Items of the file that the server has.
    items: u64,
}

#[derive(Default)]
struct Tally {
    publishes: u64,
    turns: u64,
    duplicates: u64,
    problems: u64,
}

impl Tally {
    fn note_problem(&mut self, bar: &ProgressBar, problem: &str) {
        self.problems += 1;
        if self.problems <= SHOWN {
            bar.suspend(|| eprintln!("{problem}"));
        }
    }
}

/// The server's answer to a publish.
enum Answer {
    Stored,
    /// It was there before.
    Known,
    /// Sending it again would change nothing.
    Refused(String),
}

impl Import {
    pub async fn run(self) -> Result<ExitCode> {
        let client = self.remote.client()?;
        let mut problems = 0;
        for file in &self.files {
            let tally = self.import(&client, file).await?;
            problems += tally.problems;
            say_line!(
                "{}: {} publishes with {} turns{}{}",
                file.display(),
                tally.publishes,
                tally.turns,
                if self.dry_run { " understood, nothing sent" } else { " stored" },
                match (tally.duplicates, tally.problems) {
                    (0, 0) => String::new(),
                    (known, 0) => format!("; {known} were there before"),
                    (known, wrong) => {
                        format!("; {known} were there before; {wrong} records gave nothing")
                    }
                }
            );
        }
        Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }

    async fn import(&self, client: &RemoteClient, path: &Path) -> Result<Tally> {
        let name = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
        let bytes = file.metadata().with_context(|| format!("cannot read {name}"))?.len();
        let place = note_path(path);
        let mut note =
            Note { format: self.format.to_string(), url: self.remote.url.clone(), bytes, items: 0 };
        if let Some(kept) = kept(&place) {
            let items = kept.items;
            if (Note { items: 0, ..kept }) == note {
                note.items = items;
            }
        }
        let bar = ProgressBar::new(bytes).with_style(ProgressStyle::with_template(
            "{msg} {bar:36} {decimal_bytes}/{decimal_total_bytes} ({eta} left)",
        )?);
        bar.set_message(name.to_string());
        let options = Options {
            source: self.source.clone(),
            default_user: self.default_user.clone(),
            now: Clock::System.now(),
        };
        let mut tally = Tally::default();
        let mut items = read(self.format, BufReader::new(file), &options);
        let mut done = 0;
        loop {
            let batch: Vec<Result<Item, Problem>> = items.by_ref().take(batch_size()).collect();
            if batch.is_empty() {
                break;
            }
            let mut sending = Vec::new();
            for item in batch {
                match item {
                    Ok(item) => {
                        done += 1;
                        bar.set_position(item.read);
                        tally.publishes += 1;
                        tally.turns += item.publication.interaction_data_list.len() as u64;
                        if done > note.items && !self.dry_run {
                            sending.push(self.send(client, item));
                        }
                    }
                    Err(problem) => tally.note_problem(&bar, &format!("{name}, {problem}")),
                }
            }
            let mut sent = stream::iter(sending).buffer_unordered(AT_A_TIME);
            while let Some(answer) = sent.next().await {
                let answer = answer.with_context(|| {
                    format!(
                        "{name} was imported in part; the same command goes on where it stopped"
                    )
                })?;
                match answer {
                    Answer::Stored => {}
                    Answer::Known => tally.duplicates += 1,
                    Answer::Refused(why) => tally.note_problem(&bar, &format!("{name}, {why}")),
                }
            }
            if !self.dry_run {
                note.items = note.items.max(done);
                fs::write(&place, serde_json::to_string(&note)?)
                    .with_context(|| format!("cannot write {}", place.display()))?;
            }
        }
        bar.finish_and_clear();
        if !self.dry_run {
            let _ = fs::remove_file(&place);
        }
        Ok(tally)
    }

    /// Publishes an item; an error means that the server cannot be reached for long, or refuses the caller.
    async fn send(&self, client: &RemoteClient, item: Item) -> Result<Answer> {
        let mut pause = Duration::from_millis(500);
        let mut attempt = 1;
        loop {
            let request = client.request(Method::POST, "/api/publish_interaction");
            let request = request.json(&item.publication);
            let failure = match request.send().await {
                Ok(answer) if answer.status().is_success() => {
                    let is_known = answer.json::<Value>().await?["duplicate"] == true;
                    return Ok(if is_known { Answer::Known } else { Answer::Stored });
                }
                Ok(answer) => {
                    let (status, text) = (answer.status(), answer.text().await.unwrap_or_default());
                    let failure = format!("the server answered {status}: {}", detail(&text));
                    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                        bail!("{failure} Give a key with --token.");
                    }
                    if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
                        let at = item.position;
                        return Ok(Answer::Refused(format!(
                            "{} {}: {failure}",
                            at.unit, at.number
                        )));
                    }
                    failure
                }
                Err(error) => format!("{} cannot be reached: {error}", self.remote.url),
            };
            if attempt == ATTEMPTS {
                bail!(failure);
            }
            attempt += 1;
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

fn batch_size() -> usize {
    usize::try_from(BETWEEN_NOTES).unwrap_or(usize::MAX)
}

fn note_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".evenhand-import");
    name.into()
}

fn kept(place: &Path) -> Option<Note> {
    serde_json::from_str(&fs::read_to_string(place).ok()?).ok()
}
