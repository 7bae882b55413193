//! `evenhand experiments …`: those of a server, and numbers computed from files.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressDrawTarget};
use reqwest::Method;
use serde_json::Value;

use super::Installation;
use super::remote::{Remote, path};
use super::report::{Output, cell, items, time};
use base::clock::Clock;
use base::owner::OrgId;
use base::vocabulary::Vocabulary;
use service::app::Schema;
use service::credentials::DEFAULT_ORG;
use service::experiments::analysis::{Design, Sample, analyse};
use service::experiments::looks::Looks;
use service::experiments::rows::SessionRow;
use service::experiments::{MARGIN, PLANNED_USERS, simulate};
use stats::CiMethod;

#[derive(Subcommand)]
pub enum Experiments {
    /// List the experiments of a server, the newest start first.
    List(List),
    /// Show the results of an experiment of a server: lift, interval, decision and health.
    Results(Results),
    /// Write the rows behind the results into a file, which `experiments analyse` reads.
    Export(Export),
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
pub struct List {
    #[command(flatten)]
    remote: Remote,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Results {
    #[command(flatten)]
    remote: Remote,
    experiment: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    remote: Remote,
    experiment: String,
    /// File to write; must not exist yet
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
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
    #[command(flatten)]
    output: Output,
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
    #[command(flatten)]
    output: Output,
}

impl Experiments {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Experiments::List(command) => command.run().await,
            Experiments::Results(command) => command.run().await,
            Experiments::Export(command) => command.run().await,
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
        print(self.output, &serde_json::to_value(&found)?);
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

impl List {
    async fn run(self) -> Result<ExitCode> {
        let found = self.remote.client()?.get("/api/retrieval_experiments", &[]).await?;
        let headings = ["experiment", "held out, %", "started", "ended"];
        self.output.table(&found, headings, || {
            let row = |experiment: &Value| {
                [
                    cell(&experiment["experiment_id"]),
                    cell(&experiment["holdout_percentage"]),
                    time(&experiment["started_at"]),
                    match experiment["ended_at"].is_null() {
                        true => "active".to_owned(),
                        false => time(&experiment["ended_at"]),
                    },
                ]
            };
            items(&found, "experiments").iter().map(row).collect()
        });
        Ok(ExitCode::SUCCESS)
    }
}

impl Results {
    async fn run(self) -> Result<ExitCode> {
        let path = path(&["api", "retrieval_experiments", &self.experiment, "results"])?;
        print(self.output, &self.remote.client()?.get(&path, &[]).await?);
        Ok(ExitCode::SUCCESS)
    }
}

impl Export {
    async fn run(self) -> Result<ExitCode> {
        let path = path(&["api", "retrieval_experiments", &self.experiment, "export"])?;
        let client = self.remote.client()?;
        let bytes = client.download(client.request(Method::GET, &path), &self.output).await?;
        eprintln!("{}: {bytes} bytes", self.output.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints results, computed here or by a server.
fn print(output: Output, found: &Value) {
    match output.is_json() {
        true => say_line!("{found:#}"),
        false => say!("{}", report(found)),
    }
}

fn report(found: &Value) -> String {
    let mut lines = Vec::new();
    for arm in [&found["treatment"], &found["holdout"]] {
        let rate = arm["success_rate"].as_f64();
        let rate = rate.map_or("no rate".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
        lines.push(format!(
            "{:<10} {:>8} users {:>9} sessions judged, success {rate}",
            cell(&arm["arm"]),
            cell(&arm["evaluated_user_count"]),
            cell(&arm["evaluated_session_count"])
        ));
    }
    let inference = &found["inference"];
    lines.push(match found["success_rate_lift_percentage_points"].as_f64() {
        Some(lift) => {
            let interval = match ends(&found["confidence_interval_95_percentage_points"]) {
                Some([low, high]) => format!("95 %: {low:+.2} to {high:+.2}"),
                None => format!("no interval: {}", reason(&inference["interval_null_reason"])),
            };
            format!("lift       {lift:+.2} percentage points ({interval})")
        }
        None => format!("lift       none: {}", reason(&inference["lift_null_reason"])),
    });
    let any_day = &found["always_valid"];
    lines.push(match ends(&any_day["interval_pp"]) {
        Some([low, high]) => format!("any day    {low:+.2} to {high:+.2} (safe to read every day)"),
        None => {
            let why = [&any_day["interval_pp_null_reason"], &found["always_valid_null_reason"]];
            let why = why.into_iter().find(|why| why.is_string());
            format!("any day    none: {}", why.map_or("unknown".to_owned(), reason))
        }
    });
    lines.push(format!("decision   {}", cell(&found["decision"]["sentence"])));
    for problem in items(&found["health"], "problems") {
        lines.push(format!("warning    {}", cell(problem)));
    }
    let not_counted = found["unattributed_evaluated_session_count"].as_u64().unwrap_or(0);
    if not_counted > 0 {
        lines.push(format!(
            "coverage   {not_counted} judged sessions do not count; --json says why"
        ));
    }
    for guardrail in items(found, "guardrails") {
        let name = reason(&guardrail["name"]);
        lines.push(format!("guardrail  {name}: {}", cell(&guardrail["verdict"])));
    }
    lines.push(format!("digest     {}", cell(&found["analysis"]["input_digest"])));
    lines.join("\n") + "\n"
}

/// The ends of an interval.
fn ends(interval: &Value) -> Option<[f64; 2]> {
    Some([interval[0].as_f64()?, interval[1].as_f64()?])
}

/// A word of a closed vocabulary, for people.
fn reason(word: &Value) -> String {
    word.as_str().unwrap_or("unknown").replace('_', " ")
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
        if self.output.is_json() {
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
