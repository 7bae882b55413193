//! `evenhand judge test|try`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Installation;
use base::clock::Clock;
use base::ids::Ids;
use judge::prompts::{self, Kind, Rubric};
use judge::{Context, Grader, JudgeState, Keys, Outcome, ToolCall, Turn};
use service::telemetry;

#[derive(Subcommand)]
pub enum Judge {
    /// Ask the judge one question and print model, latency and cost.
    ///
    /// Exit code 0 when a verdict came back, 1 when not.
    Test(Test),
    /// Grade a session from a file and print the verdict as JSON with its provenance.
    ///
    /// The file holds {"interactions": [{"role": "User", "content": "…", "tools_used": […]}, …]}.
    Try(Try),
}

#[derive(Args)]
pub struct Test {
    #[command(flatten)]
    installation: Installation,
}

#[derive(Args)]
pub struct Try {
    #[command(flatten)]
    installation: Installation,
    /// The session; - reads standard input
    #[arg(value_name = "SESSION.json")]
    file: PathBuf,
    /// The version of the rubric [default: the newest]
    #[arg(long)]
    version: Option<String>,
}

impl Judge {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Judge::Test(command) => command.run().await,
            Judge::Try(command) => command.run().await,
        }
    }
}

impl Test {
    async fn run(self) -> Result<ExitCode> {
        let grader = grader(&self.installation)?;
        if grader.is_offline() {
            say_line!("judge    offline (rules, no model: there is no connection to test)");
        } else {
            say_line!("judge    {}", grader.label());
        }
        let turn = |id, role: &str, content: &str| Turn {
            id,
            role: role.to_owned(),
            content: content.to_owned(),
            ..Turn::default()
        };
        let turns = [
            turn(1, "User", "What is the capital of France?"),
            turn(2, "Assistant", "The capital of France is Paris."),
            turn(3, "User", "Thank you!"),
        ];
        match grader.session(rubric(None)?, &Context::default(), &turns).await {
            Ok(graded) => {
                let provenance = graded.provenance;
                say_line!("answered {}", provenance.judge);
                say_line!("verdict  {}", graded.verdict.outcome);
                say_line!(
                    "latency  {} ms, attempts {}",
                    provenance.latency_ms,
                    provenance.attempts
                );
                say_line!(
                    "tokens   {} in, {} out",
                    provenance.input_tokens,
                    provenance.output_tokens
                );
                match provenance.cost_usd {
                    Some(cost) => say_line!("cost     ${cost:.6}"),
                    None => say_line!("cost     unpriced: add the model to judge.prices_file"),
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => {
                say_line!("failed   {error}");
                if let Some(said) = grader.refusal() {
                    say_line!("it says  {said}");
                }
                if let JudgeState::Paused { reason, .. } = grader.state() {
                    say_line!("reason   {}", reason.code());
                }
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

#[derive(Deserialize)]
struct Session {
    interactions: Vec<Interaction>,
}

#[derive(Deserialize)]
struct Interaction {
    interaction_id: Option<i64>,
    #[serde(default = "user")]
    role: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    tools_used: Vec<Tool>,
}

/// As in a publish.
fn user() -> String {
    "User".to_owned()
}

#[derive(Deserialize)]
struct Tool {
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_data: Value,
    #[serde(default)]
    status: String,
}

impl Try {
    async fn run(self) -> Result<ExitCode> {
        let text = if self.file.as_os_str() == "-" {
            std::io::read_to_string(std::io::stdin())?
        } else {
            std::fs::read_to_string(&self.file)
                .with_context(|| format!("cannot read {}", self.file.display()))?
        };
        let session: Session = serde_json::from_str(&text)
            .with_context(|| format!("{} is not a session", self.file.display()))?;
        let turns = turns(session);
        if turns.is_empty() {
            bail!("there is no interaction to judge");
        }
        let grader = grader(&self.installation)?;
        let rubric = rubric(self.version.as_deref())?;
        let graded = grader.session(rubric, &Context::default(), &turns).await?;
        let user_turns = turns.iter().filter(|turn| turn.is_user()).count();
        let resolved = (graded.verdict.outcome == Outcome::Success).then_some(user_turns);
        let mut verdict = serde_json::to_value(&graded.verdict)?;
        verdict["user_turns_to_resolution"] = json!(resolved);
        let answer = json!({"verdict": verdict, "provenance": graded.provenance});
        say_line!("{}", serde_json::to_string_pretty(&answer)?);
        Ok(ExitCode::SUCCESS)
    }
}

fn turns(session: Session) -> Vec<Turn> {
    (1..)
        .zip(session.interactions)
        .map(|(number, interaction)| Turn {
            id: interaction.interaction_id.unwrap_or(number),
            role: interaction.role,
            content: interaction.content,
            tools: interaction
                .tools_used
                .into_iter()
                .map(|t| ToolCall { name: t.tool_name, data: t.tool_data, status: t.status })
                .collect(),
            ..Turn::default()
        })
        .collect()
}

fn grader(installation: &Installation) -> Result<Grader> {
    let settings = installation.settings(&[])?;
    telemetry::init_logs(&settings);
    let clock = Clock::System;
    let ids = Ids::system(clock.clone());
    Grader::from_settings(&settings.judge, &Keys::from_environment(), clock, ids)
        .map_err(anyhow::Error::msg)
}

fn rubric(version: Option<&str>) -> Result<&'static Rubric> {
    let kind = Kind::SessionSuccess;
    let found = match version {
        Some(version) => prompts::load(kind, version),
        None => prompts::newest(kind),
    };
    let known = prompts::known(kind).join(", ");
    found.with_context(|| format!("there is no such version; known are {known}"))
}
