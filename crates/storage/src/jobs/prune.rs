//! Forgetting finished jobs after the time that `jobs.keep_finished_days` says.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Context, Recurring, sql};
use crate::error::Result;

/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Prune;

impl<C: Context> Recurring<C> for Prune {
    const KIND: &'static str = "prune_jobs";
    const EVERY_SECONDS: i64 = 3600;

    fn work(context: &Arc<C>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let before = context.clock.now() - context.jobs.keep_finished_days * 86_400;
            loop {
                let deleted = context
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
