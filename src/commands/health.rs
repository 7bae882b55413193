//! `evenhand health`: for images that hold this binary and no other program.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use reqwest::Method;
use serde::Deserialize;

use super::remote::Remote;

#[derive(Args)]
pub struct Health {
    #[command(flatten)]
    remote: Remote,
}

/// The part of `GET /health/ready` that is printed.
#[derive(Deserialize)]
struct Readiness {
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
}

impl Health {
    pub async fn run(self) -> Result<ExitCode> {
        let client = self.remote.client()?;
        let answer = client.reach(client.request(Method::GET, "/health/ready")).await?;
        let ready = answer.status().is_success();
        let readiness: Readiness = client.json(answer).await?;
        for check in readiness.checks {
            let mark = if check.ok { "ok      " } else { "PROBLEM " };
            say_line!("{mark} {}: {}", check.name, check.detail);
        }
        Ok(if ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
