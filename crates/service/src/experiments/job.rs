//! Summing users up in the background, so that whoever looks after a long time does not wait for all of them.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{refresh, sql};
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

pub struct SumUp;

impl Recurring<App> for SumUp {
    const KIND: &'static str = "sum_up_experiments";
    const EVERY_SECONDS: i64 = 300;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let stale = app
                .db
                .lookup("experiments.stale_experiments", (), |tx, ()| {
                    Box::pin(sql::stale_experiments(tx))
                })
                .await?;
            for (org_id, experiment_id) in stale {
                refresh::refresh(app, &org_id, &experiment_id).await?;
            }
            Ok(())
        })
    }
}
