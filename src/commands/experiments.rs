//! `evenhand experiments analyse|simulate`.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget};

use super::{Format, Installation};
use base::clock::Clock;
use base::owner::OrgId;
use base::vocabulary::Vocabulary;
use service::app::Schema;
use service::credentials::DEFAULT_ORG;
use service::experiments::analysis::{Analysis, Design, Sample, analyse};
use service::experiments::looks::Looks;
use service::experiments::rows::SessionRow;
use service::experiments::{MARGIN, PLANNED_USERS, simulate};
use stats::{CiMethod, NullReason};

#[derive(Subcommand)]
pub enum Experiments {
    /// Compute the numbers of an experiment from a file of rows.
    ///
    /// Takes what GET /api/retrieval_experiments/{id}/export gives, or rows of your own: one JSON object per line
    /// with user, arm and session, success (1, 0, true or false), and optionally corrections, turns, escalated,
    /// tokens, pre_period and more (docs/statistics.md).
    Analyse(Analyse),
    /// Assign the recorded users to arms that differ in nothing, many times, and count the false alarms.
    Simulate(Simulate),
}

#[derive(Args)]
pub struct Analyse {
    /// The planned share of the holdout, in percent
    #[arg(long)]
    holdout_percentage: f64,
    /// The rows, one JSON object per line
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    /// Number of users the experiment was planned for
    #[arg(long, default_value_t = PLANNED_USERS.unsigned_abs())]
    planned_users: u64,
    /// The smallest lift that matters, in percentage points
    #[arg(long, default_value_t = MARGIN)]
    margin: f64,
    /// clustered_newcombe_tbm, cr2_bell_mccaffrey, cr1_t_clusters_minus_1, delta_welch or newcombe_neff
    #[arg(long, default_value = CiMethod::ClusteredNewcombe.as_str())]
    ci_method: String,
    #[arg(long, value_enum, default_value_t = Format::Report)]
    format: Format,
}

#[derive(Args)]
pub struct Simulate {
    #[command(flatten)]
    installation: Installation,
    #[arg(long, default_value = DEFAULT_ORG)]
    org: OrgId,
    #[arg(long, default_value_t = 10.0)]
    holdout_percentage: f64,
    /// Number of times everyone is assigned
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    assignments: u32,
    /// Number of past days that recorded sessions are taken from
    #[arg(long, default_value_t = 90, value_parser = clap::value_parser!(i64).range(1..=36_500))]
    days: i64,
    #[arg(long, value_enum, default_value_t = Format::Report)]
    format: Format,
}

impl Experiments {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Experiments::Analyse(command) => command.run(),
            Experiments::Simulate(command) => command.run().await,
        }
    }
}

fn check_percentage(percentage: f64) -> Result<()> {
    if percentage > 0.0 && percentage < 100.0 {
        return Ok(());
    }
    bail!("--holdout-percentage is greater than 0 and less than 100");
}

impl Analyse {
    fn run(self) -> Result<ExitCode> {
        check_percentage(self.holdout_percentage)?;
        let Some(ci_method) = CiMethod::parse(&self.ci_method) else {
            bail!("--ci-method is one of {}", CiMethod::listed());
        };
        let sample = Sample::of_rows(self.read()?);
        let design = Design {
            holdout_percentage: self.holdout_percentage,
            planned_users: self.planned_users,
            margin_percentage_points: self.margin,
            ci_method,
        };
        let found = analyse(&sample, &design, Clock::System.now(), &mut Looks::default());
        match self.format {
            Format::Json => say_line!("{}", serde_json::to_string_pretty(&found)?),
            Format::Report => say!("{}", report(&found)),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn read(&self) -> Result<Vec<SessionRow>> {
        let name = self.rows.display();
        let file = File::open(&self.rows).with_context(|| format!("cannot read {name}"))?;
        let mut rows = Vec::new();
        for (index, line) in BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("cannot read {name}"))?;
            if line.trim().is_empty() {
                continue;
            }
            match SessionRow::parse(&line) {
                Ok(row) => rows.push(row),
                Err(problem) => bail!("{name}, line {}: {problem}", index + 1),
            }
        }
        Ok(rows)
    }
}

fn report(found: &Analysis) -> String {
    let mut lines = Vec::new();
    for arm in [&found.treatment, &found.holdout] {
        let rate = arm.success_rate.map_or("no rate".to_owned(), |r| format!("{:.1} %", r * 100.0));
        lines.push(format!(
            "{:<10} {:>8} users {:>9} sessions judged, success {rate}",
            arm.arm.as_str(),
            arm.evaluated_user_count,
            arm.evaluated_session_count
        ));
    }
    let reason = |reason: Option<NullReason>| {
        reason.map_or("unknown".to_owned(), |reason| reason.as_str().replace('_', " "))
    };
    let inference = &found.inference;
    lines.push(match found.success_rate_lift_percentage_points {
        Some(lift) => {
            let interval = match found.confidence_interval_95_percentage_points {
                Some([low, high]) => format!("95 %: {low:+.2} to {high:+.2}"),
                None => format!("no interval: {}", reason(inference.interval_null_reason)),
            };
            format!("lift       {lift:+.2} percentage points ({interval})")
        }
        None => format!("lift       none: {}", reason(inference.lift_null_reason)),
    });
    let any_day = found.always_valid.as_ref().map_err(|reason| *reason);
    lines.push(match any_day.and_then(|lift| lift.interval_pp) {
        Ok([low, high]) => format!("any day    {low:+.2} to {high:+.2} (safe to read every day)"),
        Err(why) => format!("any day    none: {}", reason(Some(why))),
    });
    lines.push(format!("decision   {}", found.decision.sentence));
    for problem in &found.health.problems {
        lines.push(format!("warning    {problem}"));
    }
    if found.unattributed_evaluated_session_count > 0 {
        let count = found.unattributed_evaluated_session_count;
        lines.push(format!(
            "coverage   {count} judged sessions do not count; --format json says why"
        ));
    }
    for guardrail in &found.guardrails {
        let name = guardrail.name.as_str().replace('_', " ");
        lines.push(format!("guardrail  {name}: {}", guardrail.verdict));
    }
    lines.push(format!("digest     {}", found.analysis.input_digest));
    lines.join("\n") + "\n"
}

impl Simulate {
    async fn run(self) -> Result<ExitCode> {
        check_percentage(self.holdout_percentage)?;
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        let recorded = simulate::recorded(&app, &self.org, self.days).await?;
        app.stop().await;
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(Some(u64::from(self.assignments)), target);
        let found = recorded.simulate(self.holdout_percentage, self.assignments, || bar.inc(1));
        bar.finish_and_clear();
        if self.format == Format::Json {
            say_line!("{}", serde_json::to_string_pretty(&found)?);
            return Ok(ExitCode::SUCCESS);
        }
        let percent = |rate: Option<f64>| match rate {
            Some(rate) => format!("{:.1} %", rate * 100.0),
            None => "none".to_owned(),
        };
        say_line!(
            "{} users, {} sessions, {} % held out, {} assignments\n\
             intervals that exclude zero: {} of {} ({}; 5 % is expected)\n\
             sample-ratio alarms: {} ({}; 0.1 % is expected)",
            found.users,
            found.sessions,
            found.holdout_percentage,
            found.assignments,
            found.intervals_excluding_zero,
            found.intervals,
            percent(found.false_alarm_rate),
            found.sample_ratio_alarms,
            percent(found.sample_ratio_alarm_rate),
        );
        Ok(ExitCode::SUCCESS)
    }
}
