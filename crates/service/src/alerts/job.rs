//! Looking at every rule once an hour.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{look, sql};
use crate::app::App;
use storage::error::Result;
use storage::jobs::Recurring;

pub struct EvaluateAlerts;

impl Recurring<App> for EvaluateAlerts {
    const KIND: &'static str = "evaluate_alerts";
    const EVERY_SECONDS: i64 = 3600;
    const FIRST_AFTER_SECONDS: i64 = 300;

    fn work(app: &Arc<App>) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let organizations = app
                .db
                .read("alerts.organizations", (), |tx, ()| Box::pin(sql::organizations(tx)))
                .await?;
            for (org_id,) in organizations {
                look::look(app, &org_id).await?;
            }
            Ok(())
        })
    }
}
