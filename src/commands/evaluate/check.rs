//! `evenhand evaluate check`.

use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::commands::report::Output;
use crate::commands::target::Target;
use crate::commands::times::duration;
use base::clock::Clock;
use service::app::Schema;
use service::evaluation::overview::{self, Bucket, OverviewRequest};

#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    target: Target,
    /// The smallest share of successes that passes, from 0 to 1
    #[arg(long)]
    min_success: f64,
    /// Length of the window up to now: 7d, 24h, 2w
    #[arg(long, default_value = "7d")]
    window: String,
    /// Fewer verdicts than this say nothing
    #[arg(long, default_value_t = 1)]
    min_sessions: i64,
    /// Sessions with this version of the agent only
    #[arg(long)]
    agent_version: Option<String>,
    /// Decide by the 95 % interval: nobody can tell while the minimum is inside it
    #[arg(long)]
    sure: bool,
    #[command(flatten)]
    output: Output,
}

/// Outcome of a comparison, with its exit code.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Reached = 0,
    NotReached = 1,
    CannotTell = 2,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Outcome::Reached => "reached",
            Outcome::NotReached => "not reached",
            Outcome::CannotTell => "cannot tell",
        }
    }
}

impl Check {
    pub async fn run(self) -> Result<ExitCode> {
        let outcome = match self.hero().await {
            Ok(hero) => self.say(&hero),
            Err(error) => {
                eprintln!("evenhand: {error:#}");
                Outcome::CannotTell
            }
        };
        Ok(ExitCode::from(outcome as u8))
    }

    /// The first block of the overview: of the server, or computed here.
    async fn hero(&self) -> Result<Value> {
        if !(0.0..=1.0).contains(&self.min_success) {
            bail!("--min-success is from 0 to 1");
        }
        let seconds = duration(&self.window)
            .ok_or_else(|| anyhow!("--window {}: write 7d, 24h or 2w", self.window))?;
        let now = Clock::System.now();
        if let Some(server) = self.target.server()? {
            let body = json!({
                "from_ts": now - seconds, "to_ts": now, "agent_version": self.agent_version,
                "include_shadow": false, "include_session_ids": false, "include_rules": false,
            });
            let overview = server.post("/api/get_evaluation_overview", &body).await?;
            return Ok(overview["hero"].clone());
        }
        let app = self.target.installation.open(Schema::MustBeCurrent).await?;
        let request = OverviewRequest {
            from_ts: now - seconds,
            to_ts: now,
            bucket: Bucket::Week,
            include_shadow: false,
            include_session_ids: false,
            include_rules: false,
            source_sets: Vec::new(),
            agent_version: self.agent_version.clone(),
        };
        let hero = overview::hero(&app, &self.target.org, request).await;
        app.stop().await;
        Ok(serde_json::to_value(hero?)?)
    }

    fn say(&self, hero: &Value) -> Outcome {
        let (outcome, reason) = self.outcome(hero);
        if self.output.is_json() {
            let found = json!({
                "outcome": outcome.words().replace(' ', "_"), "reason": reason,
                "minimum_pp": self.min_success * 100.0, "success_rate_pp": hero["regular_success_rate_pp"],
                "ci95_pp": hero["ci95_pp"], "n": hero["n"], "coverage": hero["coverage"],
            });
            say_line!("{found:#}");
        } else {
            say_line!("{}: {reason}", outcome.words());
        }
        outcome
    }

    fn outcome(&self, hero: &Value) -> (Outcome, String) {
        let n = hero["n"].as_i64().unwrap_or(0);
        if n < self.min_sessions.max(1) {
            return (Outcome::CannotTell, format!("{n} verdicts in the last {}", self.window));
        }
        if hero["coverage"]["only_rules"] == true {
            let advice = hero["coverage"]["advice"].as_str().unwrap_or_default();
            return (Outcome::CannotTell, format!("rules alone judged. {advice}"));
        }
        let Some(rate) = hero["regular_success_rate_pp"].as_f64() else {
            return (Outcome::CannotTell, "there is no success rate".to_owned());
        };
        let interval = hero["ci95_pp"][0].as_f64().zip(hero["ci95_pp"][1].as_f64());
        let minimum = self.min_success * 100.0;
        let outcome = match (self.sure, interval) {
            (true, Some((low, _))) if low >= minimum => Outcome::Reached,
            (true, Some((_, high))) if high < minimum => Outcome::NotReached,
            (true, _) => Outcome::CannotTell,
            (false, _) if rate >= minimum => Outcome::Reached,
            (false, _) => Outcome::NotReached,
        };
        let interval = interval.map_or("no 95 % interval".to_owned(), |(low, high)| {
            format!("95 % interval {low:.1} to {high:.1}")
        });
        (
            outcome,
            format!("success {rate:.1} % of {n} sessions ({interval}), minimum {minimum:.1} %"),
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        check: Check,
    }

    fn outcome(hero: Value, more: &[&str]) -> Outcome {
        let args = ["check", "--min-success", "0.8"].iter().chain(more);
        Line::parse_from(args).check.outcome(&hero).0
    }

    fn hero(rate: f64, low: f64, high: f64) -> Value {
        json!({
            "n": 100, "regular_success_rate_pp": rate, "ci95_pp": [low, high],
            "coverage": {"only_rules": false},
        })
    }

    #[test]
    fn the_rate_decides_and_with_sure_the_interval() {
        assert_eq!(outcome(hero(82.0, 75.0, 88.0), &[]), Outcome::Reached);
        assert_eq!(outcome(hero(78.0, 71.0, 85.0), &[]), Outcome::NotReached);
        assert_eq!(outcome(hero(82.0, 75.0, 88.0), &["--sure"]), Outcome::CannotTell);
        assert_eq!(outcome(hero(90.0, 84.0, 95.0), &["--sure"]), Outcome::Reached);
        assert_eq!(outcome(hero(60.0, 50.0, 70.0), &["--sure"]), Outcome::NotReached);
    }

    #[test]
    fn too_little_or_rules_alone_say_nothing() {
        let found = hero(90.0, 84.0, 95.0);
        assert_eq!(outcome(found.clone(), &["--min-sessions", "101"]), Outcome::CannotTell);
        let mut by_rules = found.clone();
        by_rules["coverage"]["only_rules"] = json!(true);
        assert_eq!(outcome(by_rules, &[]), Outcome::CannotTell);
        let mut none = found;
        none["regular_success_rate_pp"] = Value::Null;
        assert_eq!(outcome(none, &[]), Outcome::CannotTell);
    }
}
