//! `evenhand migrate`.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::Installation;
use base::clock::Clock;
use base::ids::Ids;
use service::app::{App, Schema};
use service::schema::MIGRATIONS;
use storage::db::{Engine, locks};

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
        for step in steps {
            let beside = match step.works_from < step.version {
                true => format!("replicas of schema {} go on beside it", step.works_from),
                false => "replicas of older schemas must be stopped before".to_owned(),
            };
            say_line!("{}: {beside}", step.name);
            if engine == Engine::Sqlite {
                say_line!("  writers wait until the commit");
                continue;
            }
            for lock in locks::of_script(step.text(engine)) {
                match lock.mode {
                    "" => say_line!("  {} {}", lock.table, lock.effect),
                    mode => say_line!("  {mode} on {}: {}", lock.table, lock.effect),
                }
            }
        }
        db.close().await;
        Ok(ExitCode::SUCCESS)
    }
}
