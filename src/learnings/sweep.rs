//! Deleting profiles whose time to live is over. Reads pass over them from that second on; the sweep makes them
//! gone from the disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use crate::error::Result;
use crate::jobs::{Claim, Handler, Outcome, recurring};

const KIND: &str = "sweep_profiles";
const EVERY_SECONDS: i64 = 900;
/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct Sweep;

impl Handler for Sweep {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(recurring::ensure(app, KIND, EVERY_SECONDS))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
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
            recurring::again(app, KIND, EVERY_SECONDS).await?;
            Ok(Outcome::Done)
        })
    }
}
