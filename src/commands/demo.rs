//! `evenhand demo`: ninety days of a support desk, lived through the interface on a clock that is moved by hand,
//! then served, with customers who keep coming.
//!
//! The data is made in a folder beside and moved into place when it is complete: a demo is there whole or not at all.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;

use super::{Installation, serve};
use base::clock::Clock;
use base::ids::Ids;
use demo::{AT_A_TIME, Story};
use service::app::{App, Schema};
use service::telemetry;

#[derive(Args)]
pub struct Demo {
    /// The folder for the demo's database; made if it is not there, reused if it is
    #[arg(long, value_name = "DIR", default_value = "demo-data")]
    data_dir: PathBuf,
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8700")]
    listen: String,
    /// Number of sessions to make, spread over ninety days
    #[arg(long, default_value_t = 20_000)]
    sessions: u64,
    /// The same seed makes the same story
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Make the data and exit
    #[arg(long)]
    no_serve: bool,
    /// Serve without new customers
    #[arg(long)]
    still: bool,
}

impl Demo {
    pub async fn run(self) -> Result<ExitCode> {
        let database = self.data_dir.join("evenhand.db");
        if database.is_file() {
            let app = self.open(&self.data_dir, Clock::System).await?;
            if !demo::is_filled(&app).await? {
                bail!(
                    "{} holds a database that is no demo; choose another --data-dir",
                    self.data_dir.display()
                );
            }
            say_line!("using the demo data in {}", self.data_dir.display());
            return self.serve(app).await;
        }
        self.make().await?;
        let app = self.open(&self.data_dir, Clock::System).await?;
        self.serve(app).await
    }

    async fn open(&self, folder: &Path, clock: Clock) -> Result<Arc<App>> {
        let installation =
            Installation { data_dir: Some(folder.to_owned()), ..Installation::default() };
        let mut settings = installation.settings(&[("server.listen", self.listen.clone())])?;
        telemetry::init_logs(&settings);
        if matches!(clock, Clock::Manual(_)) {
            // Many at a time share each commit.
            settings.jobs.concurrency = AT_A_TIME;
        }
        Ok(App::open(settings, clock.clone(), Ids::system(clock), Schema::Migrate).await?)
    }

    /// Lives the story in a folder of its own and moves it into place.
    async fn make(&self) -> Result<()> {
        let unfinished = self.data_dir.with_extension("unfinished");
        if unfinished.exists() {
            std::fs::remove_dir_all(&unfinished)?;
        }
        let story = Story::new(self.seed, self.sessions, Clock::System.now());
        let app = self.open(&unfinished, Clock::manual(story.begins_at())).await?;
        let made = demo::fill(&app, &story).await;
        if made.is_ok() {
            demo::mark_filled(&app, self.seed).await?;
        }
        app.stop().await;
        let made = made?;
        std::fs::rename(&unfinished, &self.data_dir)?;
        say_line!("made {made} demo sessions");
        Ok(())
    }

    async fn serve(&self, app: Arc<App>) -> Result<ExitCode> {
        if self.no_serve {
            app.stop().await;
            return Ok(ExitCode::SUCCESS);
        }
        if !self.still {
            app.spawn(demo::live::run(app.clone()));
        }
        serve::serve(app, true).await
    }
}
