//! `evenhand evaluate regenerate|check`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Installation;
use base::owner::OrgId;
use service::app::{App, Schema};
use service::credentials::DEFAULT_ORG;
use service::evaluation;
use service::evaluation::regeneration::{
    self, NewRegeneration, Pace, Progress, RegenerationStatus,
};
use service::http::fields::parse_time;
use stats::distributions::normal_critical_value;
use stats::wilson::wilson;
use storage::jobs::Runner;

#[derive(Subcommand)]
pub enum Evaluate {
    /// Judge the sessions of a window again and show how it goes.
    ///
    /// Works on the installation itself, whether or not a server runs on it; Ctrl-C leaves the rest to the server.
    /// Exit code 0 when every session was judged, 1 otherwise.
    Regenerate(Regenerate),
    /// Compare the success rate of a window with a minimum, for pipelines.
    ///
    /// Exit code 0 when it is reached, 1 when it is not, 2 when there are too few verdicts to say.
    Check(Check),
}

#[derive(Args)]
pub struct Regenerate {
    #[command(flatten)]
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
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

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    /// The smallest share of successes that passes, from 0 to 1
    #[arg(long)]
    min_success: f64,
    /// Length of the window up to now: 7d, 24h, 2w
    #[arg(long, default_value = "7d")]
    window: String,
    /// Fewer verdicts than this say nothing
    #[arg(long, default_value_t = 1)]
    min_sessions: i64,
}

impl Evaluate {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Evaluate::Regenerate(command) => command.run().await,
            Evaluate::Check(command) => command.run().await,
        }
    }
}

impl Regenerate {
    async fn run(self) -> Result<ExitCode> {
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let now = app.clock.now();
        let window = NewRegeneration {
            evaluation_name: self.evaluation_name,
            from_ts: moment(&self.from, now)?,
            to_ts: moment(&self.to, now)?,
            max_cost_usd: self.max_cost_usd,
            candidate_version: None,
        };
        if window.from_ts >= window.to_ts {
            bail!("--to must be after --from");
        }
        if !window.max_cost_usd.is_none_or(|most| most >= 0.0) {
            bail!("--max-cost-usd must not be negative");
        }
        service::spending::count_spent_today(&app).await?;
        let (job_id, total) = regeneration::start(&app, &self.org, window).await?;
        eprintln!("regeneration {job_id}: {total} sessions, judged by {}", app.judge.label());
        app.spawn(Runner::new(app.clone(), regeneration::handlers()).run());
        let ended = tokio::select! {
            ended = follow(&app, &self.org, &job_id) => Some(ended?),
            _ = tokio::signal::ctrl_c() => None,
        };
        app.stop().await;
        let Some(ended) = ended else {
            eprintln!("left to the server; GET /api/evaluations/regenerate/{job_id} follows it");
            return Ok(ExitCode::FAILURE);
        };
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

/// Shows progress, rate, time left and spend until the end.
async fn follow(app: &Arc<App>, org: &OrgId, job_id: &str) -> Result<Progress> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = "{bar:40} {pos}/{len}  {msg}";
    bar.set_style(ProgressStyle::with_template(style).map_err(|e| anyhow!(e))?);
    let mut pace = Pace::default();
    loop {
        let progress = regeneration::progress(app, org, job_id).await?;
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

impl Check {
    async fn run(self) -> Result<ExitCode> {
        if !(0.0..=1.0).contains(&self.min_success) {
            bail!("--min-success is from 0 to 1");
        }
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let now = app.clock.now();
        let seconds = duration(&self.window)
            .ok_or_else(|| anyhow!("--window {}: write 7d, 24h or 2w", self.window))?;
        let (successes, n) =
            evaluation::success_rate(&app, &self.org, now - seconds, now + 1).await?;
        app.stop().await;
        if n < self.min_sessions.max(1) {
            say_line!("too few verdicts: {n} in the last {}", self.window);
            return Ok(ExitCode::from(2));
        }
        #[allow(clippy::cast_precision_loss)] // a number of sessions
        let (rate, trials) = (successes as f64 / n as f64, n as f64);
        let interval = wilson(rate, trials, normal_critical_value(0.025));
        let passed = rate >= self.min_success;
        say_line!(
            "{}: success {:.1} % of {n} sessions (95 %: {:.1} to {:.1}), minimum {:.1} %",
            if passed { "passed" } else { "failed" },
            rate * 100.0,
            interval.lower * 100.0,
            interval.upper * 100.0,
            self.min_success * 100.0
        );
        Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// A moment in any of the forms people type; a duration is that long ago.
fn moment(text: &str, now: i64) -> Result<i64> {
    if let Some(ago) = duration(text) {
        return Ok(now - ago);
    }
    parse_time(text, true)
        .or_else(|| parse_time(&format!("{text}T00:00:00Z"), false))
        .ok_or_else(|| anyhow!("{text} is no time: write 2026-01-31T12:00:00Z, 2026-01-31 or 7d"))
}

/// `90s`, `15m`, `24h`, `7d` or `2w` in seconds.
fn duration(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let number: i64 = text[..text.len() - 1].parse().ok().filter(|n| *n >= 0)?;
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_type_them() {
        assert_eq!(moment("7d", 700_000).unwrap(), 700_000 - 604_800);
        assert_eq!(moment("1970-01-02", 0).unwrap(), 86_400);
        assert_eq!(moment("1970-01-02T00:00:01Z", 0).unwrap(), 86_401);
        assert_eq!(moment("86400", 0).unwrap(), 86_400);
        assert!(moment("noon", 0).is_err());
        assert_eq!(duration("2w"), Some(1_209_600));
        assert_eq!((duration("-1d"), duration("d"), duration("")), (None, None, None));
    }
}
