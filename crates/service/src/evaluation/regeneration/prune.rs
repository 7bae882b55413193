//! Forgetting regenerations and judge diffs that ended, as long after their end as finished jobs are kept.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::app::App;
use crate::evaluation::sql;
use storage::error::Result;
use storage::jobs::Recurring;

pub struct ForgetRegenerations;

impl Recurring<App> for ForgetRegenerations {
    const KIND: &'static str = "forget_regenerations";
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let before = app.clock.now() - app.settings.jobs.keep_finished_days * 86_400;
            while app
                .db
                .write("evaluation.forget_regeneration", before, |tx, before| {
                    Box::pin(sql::forget_regeneration_before(tx, *before))
                })
                .await?
            {}
            Ok(())
        })
    }
}
