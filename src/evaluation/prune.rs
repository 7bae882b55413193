//! Forgetting regenerations and judge diffs that ended, as long after their end as finished jobs are kept.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::sql;
use crate::app::App;
use crate::error::Result;
use crate::jobs::{Claim, Handler, Outcome, recurring};

const KIND: &str = "forget_regenerations";
const EVERY_SECONDS: i64 = 3600;

pub struct ForgetRegenerations;

impl Handler for ForgetRegenerations {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn schedule<'a>(&'a self, app: &'a Arc<App>) -> BoxFuture<'a, Result<()>> {
        Box::pin(recurring::ensure(app, KIND, EVERY_SECONDS))
    }

    fn run<'a>(&'a self, app: &'a Arc<App>, _job: &'a Claim) -> BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            let before = app.clock.now() - app.settings.jobs.keep_finished_days * 86_400;
            while app
                .db
                .write("evaluation.forget_regeneration", before, |tx, before| {
                    Box::pin(sql::forget_regeneration_before(tx, *before))
                })
                .await?
            {}
            recurring::again(app, KIND, EVERY_SECONDS).await?;
            Ok(Outcome::Done)
        })
    }
}
