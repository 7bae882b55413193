//! Bounds of the delivery log: a month, and the newest of each webhook.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{WebhookKey, sql};
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

/// Seconds that a delivery that is over stays in the log.
const KEPT_SECONDS: i64 = 30 * 86_400;
/// Deliveries of one webhook that stay in the log.
const KEPT: i64 = 1000;
/// Seconds after which news of one day are forgotten.
const DAILY_NEWS: i64 = 7 * 86_400;
/// Rows per transaction: small enough that publishes do not wait.
const BATCH: i64 = 500;

pub struct ForgetDeliveries;

impl Recurring<App> for ForgetDeliveries {
    const KIND: &'static str = "forget_deliveries";
    const EVERY_SECONDS: i64 = 3600;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let now = app.clock.now();
            while forget_old(app, now).await? == BATCH as u64 {}
            let keys = app.db.read("webhooks.keys", (), |tx, ()| Box::pin(sql::keys(tx))).await?;
            for (org_id, webhook_id) in keys {
                let key = WebhookKey { org_id, webhook_id };
                while forget_many(app, &key).await? == BATCH as u64 {}
            }
            Ok(())
        })
    }
}

async fn forget_old(app: &App, now: i64) -> Result<u64> {
    app.db
        .write("webhooks.forget_old", now, |tx, now| {
            Box::pin(async move {
                sql::delete_daily_news(tx, now - DAILY_NEWS).await?;
                sql::delete_ended_before(tx, now - KEPT_SECONDS, BATCH).await
            })
        })
        .await
}

async fn forget_many(app: &App, key: &WebhookKey) -> Result<u64> {
    app.db
        .write("webhooks.forget_many", key.clone(), |tx, key| {
            Box::pin(sql::delete_all_but(tx, key, KEPT, BATCH))
        })
        .await
}
