//! Forgetting finished jobs after the time that `jobs.keep_finished_days` says.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Claim, Handler, Outcome, recurring, sql};
use crate::app::App;
use crate::error::Result;

const KIND: &str = "prune_jobs";
const EVERY_SECONDS: i64 = 3600;
/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Prune;

impl Handler for Prune {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(recurring::ensure(app, KIND, EVERY_SECONDS))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
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
            recurring::again(app, KIND, EVERY_SECONDS).await?;
            Ok(Outcome::Done)
        })
    }
}
