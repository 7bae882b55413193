//! The command line: parse, run, report.

mod commands;

use std::process::ExitCode;

use clap::Parser;
use commands::{Cli, run};
use mimalloc::MiMalloc;

/// A fifth of the time of a busy server goes into the system's own, mostly because what one thread allocates another
/// one frees.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("evenhand: {error:#}");
            ExitCode::FAILURE
        }
    }
}
