//! Forgetting finished jobs after the time that `jobs.keep_finished_days` says.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Recurring, sql};
use crate::app::App;
use crate::error::Result;

/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Prune;

impl Recurring for Prune {
    const KIND: &'static str = "prune_jobs";
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let before = app.clock.now() - app.settings.jobs.keep_finished_days * 86_400;
            loop {
                let deleted = app
                    .db
                    .write("jobs.prune", before, |tx, before| {
                        Box::pin(sql::delete_finished_before(tx, *before, BATCH))
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
