//! `evenhand learnings effects`.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};

use super::Format;
use service::evaluation::effects::{Effect, read_rows};

#[derive(Subcommand)]
pub enum Learnings {
    /// Compute the effects of playbooks on trial from a file of rows.
    ///
    /// Takes what GET /api/learnings/effects/export gives, and finds what GET /api/learnings/effects says, to the last
    /// digit (docs/trials.md). Needs no database.
    Effects(Effects),
}

#[derive(Args)]
pub struct Effects {
    /// The rows, one JSON object per line
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    #[arg(long, value_enum, default_value_t = Format::Report)]
    format: Format,
}

impl Learnings {
    pub fn run(self) -> Result<ExitCode> {
        let Learnings::Effects(Effects { rows, format }) = self;
        let name = rows.display();
        let file = File::open(&rows).with_context(|| format!("cannot read {name}"))?;
        let found = read_rows(BufReader::new(file)).map_err(|why| anyhow!("{name}, {why}"))?;
        match format {
            Format::Json => say_line!("{}", serde_json::to_string_pretty(&found)?),
            Format::Report => {
                for effect in &found.effects {
                    say_line!("{}", line(effect));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn line(effect: &Effect) -> String {
    let estimate = &effect.estimate;
    let interval = estimate.always_valid_lower.zip(estimate.always_valid_upper);
    let found = match (estimate.effect, interval) {
        (Some(effect), Some((lower, upper))) => {
            format!("{effect:+.2} points (95 %, any day: {lower:+.2} to {upper:+.2})")
        }
        _ => {
            let reason = estimate.null_reason.map_or("unknown", |reason| reason.as_str());
            format!("no effect yet: {}", reason.replace('_', " "))
        }
    };
    format!(
        "playbook {:<8} {:<12} {found}; {} users with it, {} without",
        effect.agent_playbook_id,
        effect.state.as_str().replace('_', " "),
        effect.served.users,
        effect.withheld.users
    )
}
