//! `evenhand evaluate results`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::commands::remote::Remote;
use crate::commands::report::{Output, beginning, cell, items, time};
use crate::commands::times::moment;
use base::clock::Clock;

#[derive(Args)]
pub struct Results {
    #[command(flatten)]
    remote: Remote,
    /// Sessions that began at or after: 2026-01-31T12:00:00Z, 2026-01-31, unix seconds, or 7d (ago)
    #[arg(long)]
    from: Option<String>,
    /// Sessions of this user only
    #[arg(long)]
    user: Option<String>,
    /// agent_success, or the name of a configured evaluator; all of them when absent
    #[arg(long)]
    evaluation_name: Option<String>,
    #[arg(long, default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    output: Output,
}

impl Results {
    pub async fn run(self) -> Result<ExitCode> {
        let now = Clock::System.now();
        let from = self.from.as_deref().map(|from| moment(from, now)).transpose()?;
        let body = json!({
            "start_time": from, "user_id": self.user, "evaluation_name": self.evaluation_name,
            "limit": self.limit,
        });
        let path = "/api/get_agent_success_evaluation_results";
        let found = self.remote.client()?.post(path, &body).await?;
        let headings = ["session began", "user", "session", "verdict", "judge", "reason"];
        self.output.table(&found, headings, || {
            let verdicts = items(&found, "agent_success_evaluation_results").iter();
            verdicts
                .map(|verdict| {
                    [
                        time(&verdict["created_at"]),
                        cell(&verdict["user_id"]),
                        cell(&verdict["session_id"]),
                        if verdict["is_success"] == true { "success" } else { "failure" }
                            .to_owned(),
                        cell(&verdict["judge"]),
                        beginning(&verdict["failure_reason"], 80),
                    ]
                })
                .collect()
        });
        Ok(ExitCode::SUCCESS)
    }
}
