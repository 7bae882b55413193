//! `evenhand evaluate …`: numbers, verdicts, and judging again.

mod check;
mod overview;
mod regenerate;
mod results;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub enum Evaluate {
    /// Show the success rate of a window with its interval, by what was judged and what was not.
    Overview(overview::Overview),
    /// List verdicts on sessions, newest session first.
    Results(results::Results),
    /// Judge the sessions of a window again and show how it goes.
    ///
    /// Works on the installation itself, whether or not a server runs on it, or asks the server that --url names.
    /// Ctrl-C leaves the rest to the server. Exit code 0 when every session was judged, 1 otherwise.
    Regenerate(regenerate::Regenerate),
    /// Compare the success rate of a window with a minimum, for pipelines.
    ///
    /// Exit code 0 when it is reached, 1 when it is not, 2 when nobody can tell: too few verdicts, rules alone judged,
    /// or an error.
    Check(check::Check),
}

impl Evaluate {
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Evaluate::Overview(command) => command.run().await,
            Evaluate::Results(command) => command.run().await,
            Evaluate::Regenerate(command) => command.run().await,
            Evaluate::Check(command) => command.run().await,
        }
    }
}
