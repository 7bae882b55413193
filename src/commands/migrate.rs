//! `evenhand migrate`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::Installation;
use base::clock::Clock;
use base::ids::Ids;
use service::app::{App, Schema};
use service::schema::MIGRATIONS;
use storage::db::Engine;

#[derive(Args)]
pub struct Migrate {
    #[command(flatten)]
    installation: Installation,
    /// Print which steps are missing and what they lock, and change nothing
    #[arg(long)]
    plan: bool,
}

impl Migrate {
    pub async fn run(self) -> Result<ExitCode> {
        if self.plan {
            return self.print_plan().await;
        }
        let app = self.installation.open(Schema::Migrate).await?;
        say_line!("the schema is at version {}", MIGRATIONS.newest());
        app.stop().await;
        Ok(ExitCode::SUCCESS)
    }

    async fn print_plan(&self) -> Result<ExitCode> {
        let settings = self.installation.settings(&[])?;
        service::telemetry::init_logs(&settings);
        let ids = Ids::system(Clock::System);
        let db = App::open_database(&settings, &ids).await?;
        let engine = db.engine().unwrap_or(Engine::Sqlite);
        let steps = MIGRATIONS.plan(&db).await?;
        if steps.is_empty() {
            say_line!("nothing is missing: the schema is at version {}", MIGRATIONS.newest());
        }
        for line in steps.iter().flat_map(|step| step.in_words(engine)) {
            say_line!("{line}");
        }
        db.close().await;
        Ok(ExitCode::SUCCESS)
    }
}
