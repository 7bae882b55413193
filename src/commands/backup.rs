//! `evenhand backup`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use super::Installation;
use service::app::Schema;

#[derive(Args)]
pub struct Backup {
    /// The file to write; must not exist yet
    file: PathBuf,
    #[command(flatten)]
    installation: Installation,
}

impl Backup {
    pub async fn run(self) -> Result<ExitCode> {
        if self.file.exists() {
            bail!("{} exists already; name a new file", self.file.display());
        }
        let app = self.installation.open(Schema::MustBeCurrent).await?;
        app.db.backup(&self.file).await?;
        app.stop().await;
        let size = std::fs::metadata(&self.file)?.len();
        say_line!("copied {size} bytes to {}", self.file.display());
        eprintln!(
            "governance.key is not in the copy; keep it safe on its own, apart from backups."
        );
        Ok(ExitCode::SUCCESS)
    }
}
