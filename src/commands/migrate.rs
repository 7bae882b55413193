//! `evenhand migrate`.

use std::process::ExitCode;

use anyhow::Result;

use super::Installation;
use service::app::Schema;
use service::schema::MIGRATIONS;

pub async fn run(installation: &Installation) -> Result<ExitCode> {
    let app = installation.open(Schema::Migrate).await?;
    say_line!("the schema is at version {}", MIGRATIONS.newest());
    app.stop().await;
    Ok(ExitCode::SUCCESS)
}
