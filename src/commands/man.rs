//! `evenhand man`: the manual, made of the same texts as `--help`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

use super::Cli;

#[derive(Args)]
pub struct Man {
    /// Folder that gets one page for each command; made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    pub fn run(self) -> Result<ExitCode> {
        let name = self.folder.display();
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {name}"))?;
        clap_mangen::generate_to(Cli::command(), &self.folder)
            .with_context(|| format!("cannot write the manual into {name}"))?;
        Ok(ExitCode::SUCCESS)
    }
}
