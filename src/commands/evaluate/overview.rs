//! `evenhand evaluate overview`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use crate::commands::remote::Remote;
use crate::commands::report::{Output, items};
use crate::commands::times::moment;
use base::clock::Clock;

#[derive(Args)]
pub struct Overview {
    #[command(flatten)]
    remote: Remote,
    /// Sessions that began at or after: 2026-01-31T12:00:00Z, 2026-01-31, unix seconds, or 7d (ago)
    #[arg(long, default_value = "7d")]
    from: String,
    /// Sessions that began at or before; the same forms
    #[arg(long, default_value = "0s")]
    to: String,
    /// Sessions with this version of the agent only
    #[arg(long)]
    agent_version: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Overview {
    pub async fn run(self) -> Result<ExitCode> {
        let now = Clock::System.now();
        let body = json!({
            "from_ts": moment(&self.from, now)?, "to_ts": moment(&self.to, now)?,
            "agent_version": self.agent_version, "include_session_ids": false,
        });
        let found = self.remote.client()?.post("/api/get_evaluation_overview", &body).await?;
        if self.output.is_json() {
            say_line!("{found:#}");
        } else {
            say!("{}", report(&found));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn report(found: &Value) -> String {
    let (hero, coverage) = (&found["hero"], &found["hero"]["coverage"]);
    let rate = match hero["regular_success_rate_pp"].as_f64() {
        Some(rate) if coverage["only_rules"] != true => format!("{rate:.1} %"),
        _ => "unknown".to_owned(),
    };
    let interval = match hero["ci95_pp"][0].as_f64().zip(hero["ci95_pp"][1].as_f64()) {
        Some((low, high)) if rate != "unknown" => format!(" (95 % interval {low:.1} to {high:.1})"),
        _ => String::new(),
    };
    let mut lines = vec![
        format!("success     {rate}{interval} of {} sessions judged", hero["n"]),
        format!("failures    {} with evidence", coverage["failures_with_evidence"]),
        format!("no verdict  {} sessions that were due", coverage["without_verdict"]),
    ];
    if let Some(advice) = coverage["advice"].as_str() {
        lines.push(format!("advice      {advice}"));
    }
    for judge in items(found, "judges") {
        let name = judge["judge"].as_str().unwrap_or_default();
        lines.push(format!("judge       {name}, {} of the newest verdicts", judge["n"]));
    }
    lines.join("\n") + "\n"
}
