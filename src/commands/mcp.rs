//! `evenhand mcp`: the Model Context Protocol on standard input and output, for clients that start a program.

use std::process::ExitCode;

use anyhow::Result;
use base::clock::Clock;
use clap::Args;
use mcp::{Answer, Api, Call};

use super::remote::{Remote, RemoteClient};

#[derive(Args)]
pub struct Mcp {
    #[command(flatten)]
    remote: Remote,
}

impl Mcp {
    pub async fn run(self) -> Result<ExitCode> {
        mcp::serve_stdio(OverHttp(self.remote.client()?), Clock::System).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The interface of a running server.
#[derive(Clone)]
struct OverHttp(RemoteClient);

impl Api for OverHttp {
    async fn call(&self, call: Call) -> std::result::Result<Answer, String> {
        let mut request = self.0.request(call.method, &call.path);
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        let unreachable = |error: reqwest::Error| {
            format!(
                "The server cannot be reached: {error}. Is it running, and is EVENHAND_URL its address?"
            )
        };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(unreachable)?.to_vec();
        Ok(Answer { status, body })
    }
}
