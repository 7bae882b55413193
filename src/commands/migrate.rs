//! `evenhand migrate`.

use std::process::ExitCode;

use anyhow::Result;

use super::Installation;
use crate::app::Schema;
use crate::db::migrations;

pub async fn run(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::Migrate).await?;
    say_line!("the schema is at version {}", migrations::newest());
    app.stop().await;
    Ok(ExitCode::SUCCESS)
}
