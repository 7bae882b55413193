//! `evenhand sessions list|show|export`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::remote::{Remote, path, with_query};
use super::report::{Output, cell, items, one_line, time};
use super::times::moment;
use base::clock::Clock;

#[derive(Subcommand)]
pub enum Sessions {
    /// List sessions, newest activity first.
    List(List),
    /// Show one session: its turns and what was judged about it.
    Show(Show),
    /// Write sessions with everything that was published of them into a file, one JSON object per line.
    ///
    /// `evenhand import jsonl` reads it.
    Export(Export),
}

/// The sessions that are meant; all of them when nothing is said.
#[derive(Args)]
struct Filter {
    /// Active at or after: 2026-01-31T12:00:00Z, 2026-01-31, unix seconds, or 7d (ago)
    #[arg(long)]
    from: Option<String>,
    /// Active before; the same forms
    #[arg(long)]
    to: Option<String>,
    #[arg(long)]
    user: Option<String>,
    #[arg(long)]
    source: Option<String>,
    #[arg(long)]
    agent_version: Option<String>,
}

impl Filter {
    fn query(&self) -> Result<Vec<(&'static str, String)>> {
        let now = Clock::System.now();
        let at = |time: &Option<String>| {
            time.as_deref().map(|time| moment(time, now).map(|at| at.to_string())).transpose()
        };
        let given = [
            ("start_time", at(&self.from)?),
            ("end_time", at(&self.to)?),
            ("user_id", self.user.clone()),
            ("source", self.source.clone()),
            ("agent_version", self.agent_version.clone()),
        ];
        Ok(given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }
}

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    filter: Filter,
    /// Newest verdict: success, failure or none
    #[arg(long)]
    verdict: Option<String>,
    /// Words in its turns
    #[arg(long)]
    text: Option<String>,
    #[arg(long, default_value_t = 50)]
    limit: usize,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Show {
    #[command(flatten)]
    remote: Remote,
    user: String,
    session: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    filter: Filter,
    /// File to write; must not exist yet
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

impl Sessions {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Sessions::List(command) => command.run().await?,
            Sessions::Show(command) => command.run().await?,
            Sessions::Export(command) => command.run().await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Most sessions that the server gives in one answer.
const PAGE: usize = 200;

impl List {
    async fn run(self) -> Result<()> {
        let client = self.remote.client()?;
        let mut query = self.filter.query()?;
        query.extend(self.verdict.clone().map(|verdict| ("verdict", verdict)));
        query.extend(self.text.clone().map(|text| ("text", text)));
        let (mut sessions, mut cursor) = (Vec::new(), None::<String>);
        while sessions.len() < self.limit {
            let mut page = query.clone();
            page.push(("limit", (self.limit - sessions.len()).min(PAGE).to_string()));
            page.extend(cursor.map(|cursor| ("cursor", cursor)));
            let answer = client.get("/api/sessions", &page).await?;
            sessions.extend_from_slice(items(&answer, "sessions"));
            cursor = answer["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        let found = json!({"sessions": sessions, "next_cursor": cursor});
        let headings =
            ["last activity", "user", "session", "turns", "verdict", "source", "version"];
        self.output.table(&found, headings, || sessions.iter().map(row).collect());
        Ok(())
    }
}

fn row(session: &Value) -> [String; 7] {
    let verdict = match session["is_success"].as_bool() {
        Some(true) => "success".to_owned(),
        Some(false) => format!("failure: {}", cell(&session["failure_type"])),
        None => "none".to_owned(),
    };
    [
        time(&session["last_request_at"]),
        cell(&session["user_id"]),
        cell(&session["session_id"]),
        cell(&session["interaction_count"]),
        verdict,
        cell(&session["source"]),
        cell(&session["agent_version"]),
    ]
}

impl Show {
    async fn run(self) -> Result<()> {
        let path = path(&["api", "sessions", &self.user, &self.session])?;
        let found = self.remote.client()?.get(&path, &[]).await?;
        if self.output.is_json() {
            say_line!("{found:#}");
            return Ok(());
        }
        for turn in items(&found, "interactions") {
            let said = one_line(turn["content"].as_str().unwrap_or_default());
            say_line!("{}  {}: {said}", time(&turn["created_at"]), cell(&turn["role"]));
        }
        for verdict in items(&found, "evaluation_results") {
            let outcome = match verdict["is_success"] == true {
                true => "success".to_owned(),
                false => format!(
                    "{}: {}",
                    cell(&verdict["failure_type"]),
                    cell(&verdict["failure_reason"])
                ),
            };
            let name = cell(&verdict["evaluation_name"]);
            say_line!("{name}, judged by {}: {outcome}", cell(&verdict["judge"]));
        }
        Ok(())
    }
}

impl Export {
    async fn run(self) -> Result<()> {
        let client = self.remote.client()?;
        let path = with_query("/api/sessions/export", &self.filter.query()?)?;
        let bytes = client.download(client.request(Method::GET, &path), &self.output).await?;
        eprintln!("{}: {bytes} bytes", self.output.display());
        Ok(())
    }
}
