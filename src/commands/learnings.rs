//! `evenhand learnings list|effects|scorecard|proposals`.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::remote::Remote;
use super::report::{Output, beginning, cell, items, signed, time};
use service::evaluation::effects::read_rows;

#[derive(Subcommand)]
pub enum Learnings {
    /// List the playbooks of the agent, newest first.
    List(List),
    /// Show which playbooks on trial help and which hurt.
    ///
    /// Those of a server; or with --rows computed from what GET /api/learnings/effects/export gave, equal to the last
    /// digit (docs/trials.md), without a server or a database.
    Effects(Effects),
    /// Show how relevant and how helpful retrieved learnings were, harmful ones first.
    Scorecard(Scorecard),
    /// List what is proposed to do about learnings that hurt.
    Proposals(Proposals),
}

#[derive(Args)]
pub struct List {
    #[command(flatten)]
    remote: Remote,
    /// approved, pending or rejected; all of them when absent
    #[arg(long)]
    status: Option<String>,
    #[arg(long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Effects {
    #[command(flatten)]
    remote: Remote,
    /// Rows to compute the effects from, one JSON object per line, instead of asking a server
    #[arg(long, value_name = "FILE")]
    rows: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Scorecard {
    #[command(flatten)]
    remote: Remote,
    #[arg(long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Proposals {
    #[command(flatten)]
    remote: Remote,
    /// open, accepted or declined; all of them when absent
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Learnings {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Learnings::List(command) => command.run().await?,
            Learnings::Effects(command) => command.run().await?,
            Learnings::Scorecard(command) => command.run().await?,
            Learnings::Proposals(command) => command.run().await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn run(self) -> Result<()> {
        let mut body = json!({"limit": self.limit});
        if let Some(status) = self.status {
            body["playbook_status_filter"] = json!(status);
        }
        let found = self.remote.client()?.post("/api/get_agent_playbooks", &body).await?;
        let headings = ["id", "made", "status", "version", "name", "content"];
        self.output.table(&found, headings, || {
            let row = |playbook: &Value| {
                [
                    cell(&playbook["agent_playbook_id"]),
                    time(&playbook["created_at"]),
                    cell(&playbook["playbook_status"]),
                    cell(&playbook["agent_version"]),
                    cell(&playbook["playbook_name"]),
                    beginning(&playbook["content"], 80),
                ]
            };
            items(&found, "agent_playbooks").iter().map(row).collect()
        });
        Ok(())
    }
}

impl Effects {
    async fn run(self) -> Result<()> {
        let found = match &self.rows {
            Some(rows) => computed(rows)?,
            None => self.remote.client()?.get("/api/learnings/effects", &[]).await?,
        };
        let headings = ["playbook", "state", "effect, points", "95 %, any day", "with", "without"];
        self.output.table(&found, headings, || {
            let row = |effect: &Value| {
                let interval = match effect["always_valid_lower"].is_null() {
                    true => cell(&effect["null_reason"]).replace('_', " "),
                    false => format!(
                        "{} to {}",
                        signed(&effect["always_valid_lower"]),
                        signed(&effect["always_valid_upper"])
                    ),
                };
                [
                    cell(&effect["agent_playbook_id"]),
                    cell(&effect["state"]).replace('_', " "),
                    signed(&effect["effect"]),
                    interval,
                    format!("{} users", cell(&effect["served"]["users"])),
                    format!("{} users", cell(&effect["withheld"]["users"])),
                ]
            };
            items(&found, "effects").iter().map(row).collect()
        });
        Ok(())
    }
}

fn computed(rows: &Path) -> Result<Value> {
    let name = rows.display();
    let file = File::open(rows).with_context(|| format!("cannot read {name}"))?;
    let found = read_rows(BufReader::new(file)).map_err(|why| anyhow!("{name}, {why}"))?;
    Ok(serde_json::to_value(&found)?)
}

impl Scorecard {
    async fn run(self) -> Result<()> {
        let query = [("limit", self.limit.to_string())];
        let found = self.remote.client()?.get("/api/learnings/scorecard", &query).await?;
        let headings = ["learning", "standing", "impact", "users", "sessions", "title"];
        self.output.table(&found, headings, || {
            let row = |score: &Value| {
                [
                    format!("{} {}", cell(&score["kind"]), cell(&score["learning_id"])),
                    cell(&score["standing"]).replace('_', " "),
                    signed(&score["shrunken_impact"]),
                    cell(&score["users"]),
                    cell(&score["sessions"]),
                    beginning(&score["title"], 80),
                ]
            };
            items(&found, "scores").iter().map(row).collect()
        });
        Ok(())
    }
}

impl Proposals {
    async fn run(self) -> Result<()> {
        let query: Vec<_> = self.status.into_iter().map(|status| ("status", status)).collect();
        let found = self.remote.client()?.get("/api/learnings/tuning_proposals", &query).await?;
        let headings = ["proposal", "learning", "action", "impact", "status", "rationale"];
        self.output.table(&found, headings, || {
            let row = |proposal: &Value| {
                [
                    cell(&proposal["proposal_id"]),
                    format!("{} {}", cell(&proposal["kind"]), cell(&proposal["learning_id"])),
                    cell(&proposal["action"]),
                    signed(&proposal["impact"]),
                    cell(&proposal["status"]),
                    beginning(&proposal["rationale"], 80),
                ]
            };
            items(&found, "proposals").iter().map(row).collect()
        });
        Ok(())
    }
}
