//! `evenhand config default|check`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use super::Installation;
use service::config::{DEFAULTS, Settings};

#[derive(Subcommand)]
pub enum Config {
    /// Print every setting with its default and what it is for.
    Default,
    /// Read all settings (file, environment, flags) and name every problem.
    ///
    /// Exit code 0 when they are valid, 1 when not.
    Check(Installation),
}

impl Config {
    pub fn run(self) -> Result<ExitCode> {
        match self {
            Config::Default => say!("{DEFAULTS}"),
            Config::Check(installation) => {
                let overrides = installation.overrides();
                if let Err(problems) = Settings::load(installation.config.as_deref(), &overrides) {
                    for problem in problems {
                        say_line!("problem: {problem}");
                    }
                    return Ok(ExitCode::FAILURE);
                }
                say_line!("the settings are valid");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
