//! The command line: parse, run, report.

use std::process::ExitCode;

use clap::Parser;
use evenhand::commands::{Cli, run};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("evenhand: {error:#}");
            ExitCode::FAILURE
        }
    }
}
