//! Deleting profiles whose time to live is over. Reads pass over them from that second on; the sweep makes them
//! gone from the disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Sweep;

impl Recurring<App> for Sweep {
    const KIND: &'static str = "sweep_profiles";
    const EVERY_SECONDS: i64 = 900;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let now = app.clock.now();
            loop {
                let deleted = app
                    .db
                    .write("learnings.sweep", now, |tx, now| {
                        Box::pin(sql::profiles::delete_expired(tx, *now, BATCH))
                    })
                    .await?;
                if deleted < BATCH as u64 {
                    break;
                }
            }
            Ok(())
        })
    }
}
