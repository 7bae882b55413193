//! The demo: ninety days of a support desk, lived through the interface on a clock that is moved by hand, and customers
//! who keep coming afterwards. A story around the service, not a part of it.

mod desk;
mod experiments;
mod fill;
mod lessons;
pub mod live;
mod story;
mod talk;

use anyhow::Result;
use service::app::App;
use storage::{row, run};

pub use fill::{AT_A_TIME, fill};
pub use story::Story;

/// True if the demo data was filled in completely.
pub async fn is_filled(app: &App) -> Result<bool> {
    let found = app
        .db
        .read("demo.is_filled", (), |tx, ()| {
            Box::pin(async move {
                row!(tx, (String,), "SELECT value FROM installation WHERE key = 'demo_filled'")
            })
        })
        .await?;
    Ok(found.is_some())
}

/// Marks the database as holding the whole demo of this seed.
pub async fn mark_filled(app: &App, seed: u64) -> Result<()> {
    let mark = app.db.write("demo.mark", seed, |tx, seed| {
        Box::pin(async move {
            let sql = "INSERT INTO installation (key, value) VALUES ('demo_filled', $1)
                       ON CONFLICT DO NOTHING";
            run!(tx, sql, seed.to_string())
        })
    });
    mark.await?;
    Ok(())
}
