//! `evenhand evaluate regenerate`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use crate::commands::remote::{RemoteClient, path};
use crate::commands::target::Target;
use crate::commands::times::moment;
use base::clock::Clock;
use service::app::{App, Schema};
use service::evaluation;
use service::evaluation::regeneration::{
    self, NewRegeneration, Pace, Progress, RegenerationStatus,
};
use storage::jobs::Runner;

#[derive(Args)]
pub struct Regenerate {
    #[command(flatten)]
    target: Target,
    /// Sessions that began at or after: 2026-01-31T12:00:00Z, 2026-01-31, unix seconds, or 7d (ago)
    #[arg(long)]
    from: String,
    /// Sessions that began at or before; the same forms
    #[arg(long, default_value = "0s")]
    to: String,
    /// agent_success, or the name of a configured evaluator
    #[arg(long, default_value = evaluation::AGENT_SUCCESS)]
    evaluation_name: String,
    /// Stop when this much (US dollars) is spent; what is judged stays
    #[arg(long)]
    max_cost_usd: Option<f64>,
}

impl Regenerate {
    pub async fn run(self) -> Result<ExitCode> {
        let now = Clock::System.now();
        let window = NewRegeneration {
            from_ts: moment(&self.from, now)?,
            to_ts: moment(&self.to, now)?,
            evaluation_name: self.evaluation_name,
            max_cost_usd: self.max_cost_usd,
            candidate_version: None,
        };
        if window.from_ts >= window.to_ts {
            bail!("--to must be after --from");
        }
        if !window.max_cost_usd.is_none_or(|most| most >= 0.0) {
            bail!("--max-cost-usd must not be negative");
        }
        let ended = match self.target.server()? {
            Some(server) => on_server(&server, window).await?,
            None => on_installation(&self.target, window).await?,
        };
        let Some(ended) = ended else { return Ok(ExitCode::FAILURE) };
        for failure in &ended.failures {
            eprintln!("not judged: {}: {}", failure.session_id, failure.reason);
        }
        let reason = ended.reason.as_deref().map(|r| format!(" ({r})")).unwrap_or_default();
        say_line!(
            "{}{reason}: {} judged, {} failed, ${:.4} spent",
            ended.status,
            ended.completed,
            ended.failed,
            ended.cost_usd
        );
        let all = ended.status == RegenerationStatus::Completed && ended.failed == 0;
        Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

async fn on_installation(target: &Target, window: NewRegeneration) -> Result<Option<Progress>> {
    let app = target.installation.open(Schema::MustBeCurrent).await?;
    service::spending::count_spent_today(&app).await?;
    let (job_id, total) = regeneration::start(&app, &target.org, window).await?;
    eprintln!("regeneration {job_id}: {total} sessions, judged by {}", app.judge.label());
    app.spawn(Runner::new(app.clone(), regeneration::handlers()).run());
    let ended = follow(&job_id, async || look_here(&app, target, &job_id).await).await;
    app.stop().await;
    ended
}

async fn look_here(app: &Arc<App>, target: &Target, job_id: &str) -> Result<Progress> {
    Ok(regeneration::progress(app, &target.org, job_id).await?)
}

async fn on_server(server: &RemoteClient, window: NewRegeneration) -> Result<Option<Progress>> {
    let body = json!({
        "evaluation_name": window.evaluation_name, "from_ts": window.from_ts, "to_ts": window.to_ts,
        "max_cost_usd": window.max_cost_usd,
    });
    let started = server.post("/api/evaluations/regenerate", &body).await?;
    let job_id = started["job_id"].as_str().context("the server names no regeneration")?;
    eprintln!("regeneration {job_id}: {} sessions", started["total"]);
    let path = path(&["api", "evaluations", "regenerate", job_id])?;
    let look = async || Ok(serde_json::from_value(server.get(&path, &[]).await?)?);
    follow(job_id, look).await
}

/// Shows progress, rate, time left and spend until the end; nothing is the result of Ctrl-C.
async fn follow(
    job_id: &str,
    look: impl AsyncFn() -> Result<Progress>,
) -> Result<Option<Progress>> {
    tokio::select! {
        ended = show(look) => ended.map(Some),
        _ = tokio::signal::ctrl_c() => {
            eprintln!("left to the server; GET /api/evaluations/regenerate/{job_id} follows it");
            Ok(None)
        }
    }
}

async fn show(look: impl AsyncFn() -> Result<Progress>) -> Result<Progress> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{bar:40} {pos}/{len}  {msg}";
    bar.set_style(ProgressStyle::with_template(style).map_err(|e| anyhow!(e))?);
    let mut pace = Pace::default();
    loop {
        let progress = look().await?;
        let done = progress.completed + progress.failed;
        let (rate, left) = pace.look(&progress);
        let left = match left {
            Some(seconds) => format!("{seconds:.0} s left"),
            None => progress.reason.clone().unwrap_or_else(|| "…".to_owned()),
        };
        let estimate =
            progress.estimated_cost_usd.map(|e| format!(" of about ${e:.4}")).unwrap_or_default();
        bar.set_length(u64::try_from(progress.total).unwrap_or(0));
        bar.set_position(u64::try_from(done).unwrap_or(0));
        let spent = progress.cost_usd;
        bar.set_message(format!("{rate:.1}/s  {left}  ${spent:.4}{estimate}"));
        if progress.status != RegenerationStatus::Running {
            bar.finish();
            return Ok(progress);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}
