//! `evenhand completions`: scripts by which shells complete its commands and flags.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::{Cli, NAME};

#[derive(Args)]
pub struct Completions {
    /// The shell that will read it
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<ExitCode> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), NAME, &mut script);
        say!("{}", String::from_utf8(script)?);
        Ok(ExitCode::SUCCESS)
    }
}
