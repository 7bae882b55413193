//! The command line, one file per command.

#[macro_use]
mod output;

mod backup;
mod completions;
mod config;
mod demo;
mod doctor;
mod evaluate;
mod experiments;
mod governance;
mod health;
mod import;
mod judge;
mod keys;
mod learnings;
mod man;
mod mcp;
mod migrate;
mod remote;
mod report;
mod serve;
mod sessions;
mod target;
mod times;
mod unit;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};

use base::clock::Clock;
use base::ids::Ids;
use service::app::{App, Schema};
use service::config::Settings;
use service::telemetry;

/// The binary as it is called, also in completions.
const NAME: &str = "evenhand";

/// Is the agent succeeding? Does what it learned actually help? Can we forget a person, and prove it?
///
/// Evenhand stores agent sessions and learned context, judges sessions, runs holdout experiments on retrieval,
/// and exports and erases people's data. One process on an embedded SQLite file is the default; the same binary
/// runs as many replicas on PostgreSQL.
#[derive(Parser)]
#[command(name = NAME, version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API and work on background jobs.
    ///
    /// Without credentials it listens on loopback only and serves programs on this machine. Stops gracefully on
    /// SIGTERM or Ctrl-C: requests in flight are answered, jobs finished or given back, exit code 0.
    Serve(serve::Serve),
    /// Work on background jobs without serving the API.
    Work(serve::WorkArgs),
    /// Bring the database to this version's schema, then exit.
    Migrate(migrate::Migrate),
    /// Create, list and revoke credentials.
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Print the OpenAPI specification of this version.
    Openapi,
    /// Print the documented default settings, or check the ones in force.
    #[command(subcommand)]
    Config(config::Config),
    /// Check the judge's connection, or grade a session from a file.
    #[command(subcommand)]
    Judge(judge::Judge),
    /// List, show and export the sessions of a running server.
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    /// Show success rates and verdicts, judge sessions again, or check a success rate.
    #[command(subcommand)]
    Evaluate(evaluate::Evaluate),
    /// Show the experiments of a running server, compute one's numbers from its rows, or try assignments.
    #[command(subcommand)]
    Experiments(experiments::Experiments),
    /// Show what the agent learned, whether it helps, and what is proposed to do about it.
    #[command(subcommand)]
    Learnings(learnings::Learnings),
    /// Publish files that other tools export to a running server.
    ///
    /// Nothing is stored twice: the same command can be run again, and goes on where it was interrupted
    /// (docs/import.md). Exit code 0 when every record was understood, 2 when some gave nothing.
    Import(import::Import),
    /// Give an assistant the tools of a running server, on standard input and output.
    ///
    /// A server of the Model Context Protocol, to be started by its clients (docs/mcp.md). Clients that speak HTTP
    /// need no program: the server answers at /mcp.
    Mcp(mcp::Mcp),
    /// Export and erase people, and prove it.
    #[command(subcommand)]
    Governance(governance::Governance),
    /// Fill a folder with demo data and serve it.
    Demo(demo::Demo),
    /// Copy a SQLite database while it is in use.
    ///
    /// The copy is consistent and complete. It does not include governance.key: keep that file safe on its own.
    Backup(backup::Backup),
    /// Check an installation and say what is wrong with it.
    ///
    /// Exit code 0 when everything is well, 1 when something needs attention.
    Doctor(doctor::Doctor),
    /// Ask a running server whether it is ready.
    ///
    /// Exit code 0 when it is, 1 when it is not or does not answer.
    Health(health::Health),
    /// Print the systemd unit that starts this binary.
    ///
    /// It is the one of the Debian package (docs/installing.md).
    Service,
    /// Print a script by which a shell completes commands and flags.
    Completions(completions::Completions),
    /// Write the manual pages.
    Man(man::Man),
}

/// Installation that a command works on.
#[derive(Args, Clone, Default)]
pub struct Installation {
    /// A TOML file with settings; `evenhand config default` prints all of them.
    #[arg(long, value_name = "FILE", env = "EVENHAND_CONFIG")]
    config: Option<PathBuf>,
    /// The folder of the SQLite database and its keys [default: evenhand-data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Use PostgreSQL instead: postgres://user:password@host/database
    #[arg(long, value_name = "URL", conflicts_with = "data_dir")]
    database_url: Option<String>,
}

impl Installation {
    fn overrides(&self) -> Vec<(&'static str, String)> {
        let mut overrides = Vec::new();
        if let Some(dir) = &self.data_dir {
            overrides.push(("server.data_dir", dir.to_string_lossy().into_owned()));
            overrides.push(("server.database_url", String::new()));
        }
        if let Some(url) = &self.database_url {
            overrides.push(("server.database_url", url.clone()));
        }
        overrides
    }

    fn settings(&self, more: &[(&'static str, String)]) -> Result<Settings> {
        let overrides: Vec<_> = self.overrides().into_iter().chain(more.iter().cloned()).collect();
        Settings::load(self.config.as_deref(), &overrides)
            .map_err(|problems| anyhow!("the settings have problems:\n  {}", problems.join("\n  ")))
    }

    /// Opens it for a command that does its work and exits.
    async fn open(&self, schema: Schema) -> Result<Arc<App>> {
        let settings = self.settings(&[])?;
        telemetry::init_logs(&settings);
        let clock = Clock::System;
        Ok(App::open(settings, clock.clone(), Ids::system(clock), schema).await?)
    }
}

/// Runs a parsed command line.
pub fn run(cli: Cli) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run().await,
            Command::Work(command) => command.run().await,
            Command::Migrate(command) => command.run().await,
            Command::Keys(command) => command.run().await,
            Command::Openapi => {
                say!("{}", service::router::json());
                Ok(ExitCode::SUCCESS)
            }
            Command::Config(command) => command.run(),
            Command::Judge(command) => command.run().await,
            Command::Sessions(command) => command.run().await,
            Command::Evaluate(command) => command.run().await,
            Command::Experiments(command) => command.run().await,
            Command::Learnings(command) => command.run().await,
            Command::Import(command) => command.run().await,
            Command::Mcp(command) => command.run().await,
            Command::Governance(command) => command.run().await,
            Command::Demo(command) => command.run().await,
            Command::Backup(command) => command.run().await,
            Command::Doctor(command) => command.run().await,
            Command::Health(command) => command.run().await,
            Command::Service => unit::run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
        }
    });
    // A blocking call that hangs (a full disk, a stuck mount) must not keep the process from ending.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    if let Some(error) = output::failure() {
        bail!("cannot write to standard output: {error}");
    }
    code
}
